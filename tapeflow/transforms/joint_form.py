"""The joint form of a function that is called: both sweeps in one function, so that passes see what mirrors what.

A callee that stays one is split: `@g_fwd` is its forward sweep, `@g_rev` its reverse sweep. While its tape is decided
upon the two are one function, each sweep in a branch that is always taken:

```mlir
func.func @g_fwd(arguments, seeds, shadows) -> (results, adjoints) {
  %tape_x = tape.create : !tape.tape<f64>
  %r = scf.if %true -> (f64) { ..forward sweep.. } else { .. } {tapeflow.sweep = "forward"}
  %x_b = scf.if %true -> (f64) { ..reverse sweep.. } else { .. }
  func.return %r, %x_b
}
```

So nothing that the forward sweep computes is in the top block, as if the reverse sweep had it; what that needs is
taped, or computed again from the arguments. Calls may nest, so a tape holds what several calls pushed: within a block
everything is pushed behind all calls, at the end, and popped before all of their mirrors, at the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.nested_sweeps import SWEEP, sweep_of
from tapeflow.analysis.source_names import set_result_names, source_name
from tapeflow.dialects import tape
from tapeflow.dialects.handle import HandleType
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.gradient_signature import NAME, append_argument, argument_attributes, result_attributes
from tapeflow.transforms.located_builder import place_of
from tapeflow.transforms.promote_scalars import zero_of
from tapeflow.transforms.simplify import Constants, constant_of, simplify


@dataclass(frozen=True)
class JointForm:
    """A function in joint form, and what it is split into.

    Attributes:
        function: its first arguments and results are those of the primal.
        arguments: how many arguments the primal has.
        results: how many results the primal has.
        forward: the name of the function that is its forward sweep.
        reverse: the name of the function that is its reverse sweep.
    """

    function: func.FuncOp
    arguments: int
    results: int
    forward: str
    reverse: str


@dataclass(frozen=True)
class SplitForm:
    """A function split into its sweeps, each a function.

    Attributes:
        forward: `(primal arguments, its tapes) -> (primal results)`.
        reverse: `(primal arguments, seeds, shadows, its tapes) -> (adjoints of active scalars)`.
    """

    forward: func.FuncOp
    reverse: func.FuncOp


def enclose(function: func.FuncOp) -> None:
    """Put the body of `function` into a branch that is always taken: its forward sweep, in joint form."""
    block, returned = function.body.block, function.get_return_op()
    assert returned is not None
    body = Block()
    for op in list(block.ops):
        if op is not returned and not isinstance(op, arith.ConstantOp):
            op.detach()
            body.add_op(op)
    branch = _always(function, body, returned.operands)
    branch.attributes[SWEEP] = StringAttr("forward")
    block.insert_op_before(branch, returned)
    returned.operands = branch.results


def _always(function: func.FuncOp, body: Block, results: Sequence[SSAValue]) -> scf.IfOp:
    """A branch that is always taken, into `body`, which computes `results`."""
    true = Constants(function).of(IntegerAttr(1, i1))
    body.add_op(end := scf.YieldOp(*results))
    otherwise = Region()
    if results:
        zeros = [zero_of(value.type) for value in results]
        otherwise = Region(Block([*zeros, scf.YieldOp(*(zero.result for zero in zeros))]))
    branch = scf.IfOp(true, [value.type for value in results], Region(body), otherwise)
    for op in (branch, end, *(op for block in otherwise.blocks for op in block.ops)):
        op.location = place_of(function)
    set_result_names(branch, [source_name(value) for value in results])
    return branch


def split(joint: JointForm) -> SplitForm:
    """The two sweeps of `joint` as functions, which take its tapes behind their other arguments."""
    return SplitForm(_forward(joint), _reverse(joint))


def _forward(joint: JointForm) -> func.FuncOp:
    function = joint.function.clone()
    branch, returned = sweep_of(function), function.get_return_op()
    assert branch is not None and returned is not None
    returned.operands = returned.operands[: joint.results]
    while (last := returned.prev_op) is not None and last is not branch:
        _erase(last)
    return _finished(joint, function, joint.forward, range(joint.arguments), range(joint.results))


def _reverse(joint: JointForm) -> func.FuncOp:
    function = joint.function.clone()
    branch, returned = sweep_of(function), function.get_return_op()
    assert branch is not None and returned is not None
    results = range(joint.results, len(returned.operands))
    returned.operands = returned.operands[joint.results :]
    _erase(branch)
    return _finished(joint, function, joint.reverse, range(len(function.args)), results)


def _finished(
    joint: JointForm, function: func.FuncOp, name: str, arguments: Sequence[int], results: Sequence[int]
) -> func.FuncOp:
    """One sweep: out of its branch, with the arguments and results that it has, and the tapes for more arguments."""
    _take_branches(function)
    argument_marks, result_marks = argument_attributes(function), result_attributes(function)
    for position in reversed(range(len(function.args))):
        if position not in arguments:
            function.body.block.erase_arg(function.args[position])
    marks = [argument_marks[position] for position in arguments]
    for op in [op for op in function.body.block.ops if isinstance(op, tape.CreateOp)]:
        handle_name = source_name(op.tape) or "tape"
        if joint.forward not in handle_name:
            handle_name = f"{handle_name}_{joint.forward}"
        handle = append_argument(function, op.tape, handle_name)
        op.tape.replace_all_uses_with(handle)
        op.detach()
        op.erase()
        marks.append(tape_marks(handle_name, joint.forward))
    function.sym_name = StringAttr(name)
    function.properties["sym_visibility"] = StringAttr("private")
    set_signature(function, marks, [result_marks[position] for position in results])
    simplify(function)
    remove_dead_code(function)
    return function


_TAPE_OF = "tapeflow.tape_of"


def tape_marks(name: str, owner: str) -> dict[str, Attribute]:
    """The attributes of an argument that is a tape of the function whose forward sweep is `owner`."""
    return {NAME: StringAttr(name), _TAPE_OF: StringAttr(owner)}


def owner_of_tape(marks: dict[str, Attribute]) -> str | None:
    """The forward sweep whose tape an argument with these attributes is; None for other arguments."""
    owner = marks.get(_TAPE_OF)
    return owner.data if isinstance(owner, StringAttr) else None


def set_signature(
    function: func.FuncOp, arguments: Iterable[dict[str, Attribute]], results: Iterable[dict[str, Attribute]]
) -> None:
    """Give `function` the type that its body has, and attributes to each argument and result."""
    returned = function.get_return_op()
    assert returned is not None
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in function.args], [value.type for value in returned.operands]
    )
    function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, arguments))
    function.properties["res_attrs"] = ArrayAttr(map(DictionaryAttr, results))


def reorder(function: func.FuncOp, arguments: Sequence[int], results: Sequence[int]) -> None:
    """Put the arguments of `function` and its results, given by where they are now, into this order."""
    marks, result_marks = argument_attributes(function), result_attributes(function)
    returned, given = function.get_return_op(), list(function.args)
    assert returned is not None
    for position in arguments:
        moved = append_argument(function, given[position], source_name(given[position]) or "argument")
        given[position].replace_all_uses_with(moved)
    for argument in given:
        function.body.block.erase_arg(argument)
    returned.operands = [returned.operands[position] for position in results]
    set_signature(function, [marks[it] for it in arguments], [result_marks[it] for it in results])


def _take_branches(function: func.FuncOp) -> None:
    """Put what the branches of the top block that are always taken do in their place."""
    for op in list(function.body.block.ops):
        if isinstance(op, scf.IfOp) and _is_true(op.cond):
            block, arm = op.parent, op.true_region.block
            end = arm.last_op
            assert block is not None and isinstance(end, scf.YieldOp)
            values = list(end.operands)
            _erase(end)
            for inner in list(arm.ops):
                inner.detach()
                block.insert_op_before(inner, op)
            for result, value in zip(op.results, values, strict=True):
                result.replace_all_uses_with(value)
            _erase(op)
        elif isinstance(op, arith.SelectOp) and _is_true(op.cond):
            op.result.replace_all_uses_with(op.lhs)
            _erase(op)


def _is_true(value: SSAValue) -> bool:
    constant = constant_of(value)
    return isinstance(constant, IntegerAttr) and constant.type == i1 and constant.value.data != 0


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def join(halves: SplitForm) -> JointForm:
    """What `split` gives, in joint form again; `halves` are left as they are."""
    forward, reverse = halves.forward.sym_name.data, halves.reverse.sym_name.data
    function, undone = halves.forward.clone(), halves.reverse.clone()
    tapes = list(_tapes(function))
    arguments, results = len(function.args) - len(tapes), len(function.function_type.outputs)
    own = argument_attributes(function)[:arguments]
    own_results, more_results = result_attributes(function), result_attributes(undone)
    more = argument_attributes(undone)[arguments : len(undone.args) - len(tapes)]
    enclose(function)
    top = function.body.block
    for position in range(arguments, arguments + len(more)):
        append_argument(function, undone.args[position], source_name(undone.args[position]) or "adjoint")
    first = top.first_op
    assert first is not None
    creates: list[SSAValue] = []
    for handle in tapes:
        create = tape.CreateOp(_handle_type(handle))
        create.location = place_of(handle)
        top.insert_op_before(create, first)
        set_result_names(create, [source_name(handle)])
        handle.replace_all_uses_with(create.tape)
        creates.append(create.tape)
    for handle in reversed(tapes):
        top.erase_arg(handle)
    for old, new in zip(undone.args, (*function.args, *creates), strict=True):
        old.replace_all_uses_with(new)
    _append(function, undone)
    set_signature(function, [*own, *more], [*own_results, *more_results])
    simplify(function)
    return JointForm(function, arguments, results, forward, reverse)


def _append(function: func.FuncOp, undone: func.FuncOp) -> None:
    """Put the body of `undone`, which uses the arguments of `function`, into a branch of that, and return more."""
    body, returned, last = Block(), function.get_return_op(), undone.get_return_op()
    assert returned is not None and last is not None
    for op in list(undone.body.block.ops):
        op.detach()
        if op is not last:
            body.add_op(op)
    branch = _always(function, body, last.operands)
    last.erase()
    function.body.block.insert_op_before(branch, returned)
    returned.operands = [*returned.operands, *branch.results]


def _tapes(function: func.FuncOp) -> Iterator[BlockArgument]:
    return (argument for argument in function.args if isinstance(argument.type, HandleType))


def _handle_type(handle: SSAValue) -> tape.TapeType | tape.RegionType:
    assert isinstance(handle.type, tape.TapeType | tape.RegionType)
    return handle.type


def at_start(function: func.FuncOp) -> InsertPoint:
    """Behind the constants that `function` begins with."""
    block = function.body.block
    return InsertPoint(block, next((op for op in block.ops if not isinstance(op, arith.ConstantOp)), None))

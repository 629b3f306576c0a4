"""The roots of an array: the arguments and allocations that a memref may be a view of.

A memref that a cast or a subview makes is a view of its source; one that comes out of a branch, a loop or a select is
a view of one of several. `roots` looks through all of these, so two memrefs with no root in common do not overlap
(arguments do not overlap one another: the Python surface checks it, and C says so by `restrict`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import SymbolTable

from tapeflow.analysis.kept_calls import is_kept, written_operands
from tapeflow.dialects.ad import AccumulateOp
from tapeflow.dialects.memref_more import TransposeOp

VIEWS = (
    memref.CastOp,
    memref.SubviewOp,
    memref.ReinterpretCastOp,
    memref.MemorySpaceCastOp,
    memref.ViewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    TransposeOp,
)
"""Operations whose result is a view of their first operand."""


def is_array(value: SSAValue) -> bool:
    """Whether `value` is an array."""
    # Asked for every operand: the type itself is compared, as isinstance asks an abstract class.
    return type(value.type) is MemRefType


def _yielded(block: Block, position: int) -> SSAValue:
    terminator = block.last_op
    assert terminator is not None
    return terminator.operands[position]


def _sources(value: SSAValue) -> Iterator[SSAValue]:
    """What `value` may be a view of, one step back; nothing for a root."""
    owner = value.owner
    if not isinstance(owner, Block) and type(owner) not in _HANDING_ON:
        return
    match value:
        case OpResult(op=op) if isinstance(op, VIEWS):
            yield op.operands[0]
        case OpResult(op=arith.SelectOp() as op):
            yield op.lhs
            yield op.rhs
        case OpResult(op=scf.IfOp() as op, index=index):
            yield _yielded(op.true_region.block, index)
            yield _yielded(op.false_region.block, index)
        case OpResult(op=scf.ForOp() as op, index=index):
            yield op.iter_args[index]
            yield _yielded(op.body.block, index)
        case OpResult(op=scf.WhileOp() as op, index=index):
            yield _yielded(op.before_region.block, index + 1)
        case BlockArgument(block=block, index=index):
            loop = block.parent_op()
            if isinstance(loop, scf.WhileOp):
                yield from _sources_in_while(loop, block, index)
            if isinstance(loop, scf.ForOp):
                yield loop.iter_args[index - 1]
                yield _yielded(block, index - 1)
        case _:
            pass


_HANDING_ON: frozenset[type[Operation]] = frozenset((*VIEWS, arith.SelectOp, scf.IfOp, scf.ForOp, scf.WhileOp))
"""Operations whose results may be views of other arrays."""


def _sources_in_while(loop: scf.WhileOp, block: Block, index: int) -> Iterator[SSAValue]:
    if block is loop.before_region.block:
        yield loop.arguments[index]
        yield _yielded(loop.after_region.block, index)
    else:
        yield _yielded(loop.before_region.block, index + 1)


def roots(array: SSAValue) -> frozenset[SSAValue]:
    """The arguments and allocations that `array` may be a view of: one for most arrays, several for a selected one."""
    found: set[SSAValue] = set()
    seen = {array}
    pending = [array]
    while pending:
        value = pending.pop()
        sources = tuple(_sources(value))
        if not sources:
            found.add(value)
        fresh = [source for source in sources if source not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return frozenset(found)


_ONLY_READ = (
    memref.LoadOp,
    memref.DimOp,
    memref.DeallocOp,
    arith.SelectOp,
    scf.YieldOp,
    scf.ConditionOp,
    func.ReturnOp,
    *VIEWS,
)
"""Operations that write to none of the arrays among their operands."""


def written_arrays(op: Operation) -> Iterator[SSAValue]:
    """The arrays that `op` itself, not the ops nested in it, may write to.

    An operation that Tapeflow does not know may write to every array it is given.
    """
    if not any(map(is_array, op.operands)):
        return
    match op:
        case func.CallOp() if not is_kept(op):
            callee = _definition(op)
            yield from _written_by_call(op, None if callee is None else _written_by(callee)[callee])
        case _:
            yield from _written_arrays(op, {})


def written_roots(function: func.FuncOp) -> frozenset[SSAValue]:
    """The roots of all arrays that `function` itself may write to."""
    arrays = (array for op in function.body.walk() for array in written_arrays(op))
    return frozenset(root for array in arrays for root in roots(array))


def written_arguments(function: func.FuncOp) -> frozenset[BlockArgument]:
    """The array arguments of `function` that it, or a function that it calls, may write to."""
    return frozenset() if function.is_declaration else _written_by(function)[function]


def _written_by(function: func.FuncOp) -> Mapping[func.FuncOp, frozenset[BlockArgument]]:
    """The array arguments that `function`, and each function that it calls, may write to: the least such sets."""
    written: dict[func.FuncOp, frozenset[BlockArgument]] = {function: frozenset()}
    before: dict[func.FuncOp, frozenset[BlockArgument]] = {}
    while written != before:
        before = dict(written)
        for each in before:
            arrays = (array for op in each.body.walk() for array in _written_arrays(op, written))
            found = {root for array in arrays for root in roots(array)}
            written[each] = frozenset(argument for argument in each.args if argument in found)
    return written


def _written_arrays(op: Operation, written: dict[func.FuncOp, frozenset[BlockArgument]]) -> Iterator[SSAValue]:
    """What `op` writes to, as far as `written` tells what functions do; notes there those that it does not know."""
    if not any(map(is_array, op.operands)):
        return
    match op:
        case memref.StoreOp() | AccumulateOp():
            yield op.memref
        case memref.CopyOp():
            yield op.destination
        case func.CallOp() if is_kept(op):
            yield from written_operands(op)
        case func.CallOp():
            callee = _definition(op)
            yield from _written_by_call(op, None if callee is None else written.setdefault(callee, frozenset()))
        case scf.ForOp() | scf.WhileOp() | scf.IfOp():
            return
        case _ if not isinstance(op, _ONLY_READ):
            yield from filter(is_array, op.operands)
        case _:
            return


def _definition(call: func.CallOp) -> func.FuncOp | None:
    """The callee, if it is here and has a body."""
    callee = SymbolTable.lookup_symbol(call, call.callee)
    return callee if isinstance(callee, func.FuncOp) and not callee.is_declaration else None


def _written_by_call(call: func.CallOp, written: Container[SSAValue] | None) -> Iterator[SSAValue]:
    """The operands of `call` for which its callee writes to an argument in `written`; None for all."""
    callee = _definition(call)
    if callee is None or written is None:
        yield from filter(is_array, call.operands)
        return
    yield from (operand for operand, argument in zip(call.operands, callee.args, strict=True) if argument in written)

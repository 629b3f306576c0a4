"""Promote scalar variables to SSA values: a rank-0 local array that is only loaded and stored becomes no memory at all.

A variable that a loop stores to is carried round it, one that a branch stores to is a result of it. Values keep the
variable's name. A variable that is surely read before it is written is refused; one that may be (it is set in an
earlier iteration, say) starts at zero.

A copy reads nothing: what is loaded only to be stored in another variable, as where a struct is copied that has a
member without a value, leaves that without a value too. A copy to other memory stays as it is, until it is clear
(`refuse_unset_copies`) whether that is ever read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.source_names import set_result_names, set_source_name, source_name
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of

_Allocation = memref.AllocaOp | memref.AllocOp


def is_scalar_variable(op: Operation) -> bool:
    """Whether `op` allocates one scalar whose address goes nowhere: it is only loaded, stored and freed."""
    if not isinstance(op, _Allocation):
        return False
    if op.memref.type.get_num_dims() != 0:
        return False
    return all(
        isinstance(use.operation, memref.LoadOp | memref.DeallocOp)
        or (isinstance(use.operation, memref.StoreOp) and use.operation.memref is op.memref and use.index == 1)
        for use in op.memref.uses
    )


def zero_of(type_: Attribute) -> arith.ConstantOp:
    """The constant 0 of a scalar type."""
    match type_:
        case IndexType() | IntegerType():
            return arith.ConstantOp.from_int_and_width(0, type_)
        case _:
            return arith.ConstantOp(FloatAttr(0.0, cast(AnyFloat, type_)))


@dataclass(frozen=True)
class _Unset:
    """No value: that of `variable`, which nothing has been stored in."""

    variable: SSAValue


_Content: TypeAlias = SSAValue | _Unset


class _Promotion:
    """The walk over a function, with what each variable holds at this point.

    What is loaded is put in place at the end, when it is known which carried values are never set.
    """

    def __init__(self, function: func.FuncOp):
        self._variables = {op.results[0] for op in function.body.walk() if is_scalar_variable(op)}
        self._stored: dict[Operation, dict[SSAValue, None]] = {}
        self._values: dict[SSAValue, _Content] = {}
        self._loads: dict[memref.LoadOp, _Content] = {}
        self._zeros: dict[SSAValue, _Unset] = {}
        self._carried: dict[SSAValue, list[SSAValue]] = {}
        self._collect(function.body.block)

    def run(self, function: func.FuncOp) -> None:
        """Promote the variables of `function`."""
        self.block(function.body.block)
        unset = self._never_set()
        for load, content in self._loads.items():
            if isinstance(content, SSAValue):
                content = unset.get(content, content)
            if isinstance(content, SSAValue):
                load.res.replace_all_uses_with(content)
            elif any(not _is_copied_by(use) for use in load.res.uses):
                raise _read_error(load, content.variable)
            elif load.res.uses:
                continue
            _erase(load)
        for variable in self._variables:
            if not variable.uses:
                assert isinstance(variable.owner, Operation)
                _erase(variable.owner)

    def _never_set(self) -> dict[SSAValue, _Unset]:
        """The zeros that stand for no value, and the carried values that are nothing else on any way."""
        unset: dict[SSAValue, _Unset] = dict(self._zeros)
        users: dict[SSAValue, list[SSAValue]] = {}
        for value, sources in self._carried.items():
            for source in sources:
                users.setdefault(source, []).append(value)
        # Only what one of them reaches can be without a value; of these, what anything else reaches is not.
        reached, pending = dict(unset), list(unset)
        while pending:
            source = pending.pop()
            for value in users.get(source, ()):
                if value not in reached:
                    reached[value] = reached[source]
                    pending.append(value)
        pending = [value for value in reached if any(of not in reached for of in self._carried.get(value, ()))]
        while pending:
            value = pending.pop()
            if reached.pop(value, None) is not None:
                pending.extend(users.get(value, ()))
        return reached

    def _collect(self, block: Block) -> dict[SSAValue, None]:
        """The variables that `block` stores to and does not itself define; notes them for its loops and branches."""
        total: dict[SSAValue, None] = {}
        defined: list[SSAValue] = []
        for op in block.ops:
            match op:
                case memref.StoreOp() if op.memref in self._variables:
                    total[op.memref] = None
                case memref.AllocaOp() | memref.AllocOp():
                    defined.append(op.memref)
                case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                    stored: dict[SSAValue, None] = {}
                    for inner in _blocks(op):
                        stored |= self._collect(inner)
                    self._stored[op] = stored
                    total |= stored
                case _:
                    pass
        for variable in defined:
            total.pop(variable, None)
        return total

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            match op:
                case memref.AllocaOp() | memref.AllocOp() if op.memref in self._variables:
                    self._values[op.memref] = _Unset(op.memref)
                case memref.LoadOp() if op.memref in self._variables:
                    self._loads[op] = self._values[op.memref]
                case memref.StoreOp() if op.memref in self._variables:
                    self._store(op)
                case memref.DeallocOp() if op.memref in self._variables:
                    _erase(op)
                case scf.ForOp():
                    self._loop(op)
                case scf.WhileOp():
                    self._while(op)
                case scf.IfOp():
                    self._branch(op)
                case _:
                    pass

    def _store(self, op: memref.StoreOp) -> None:
        name = source_name(op.memref)
        content: _Content = op.value
        if isinstance(content.owner, memref.LoadOp):
            content = self._loads.get(content.owner, content)
        if (
            isinstance(content, SSAValue)
            and name is not None
            and source_name(content) is None
            and not isinstance(content.owner, arith.ConstantOp)
        ):
            set_source_name(content, name)
        self._values[op.memref] = content
        _erase(op)

    def _current(self, variable: SSAValue, before: Operation) -> SSAValue:
        """The value of `variable` just before `before`: zero where it has none yet."""
        content = self._values[variable]
        if isinstance(content, _Unset):
            build = LocatedBuilder(InsertPoint.before(before), place=place_of(before))
            zero = build.value(zero_of(_scalar_type(variable)), source_name(variable))
            self._zeros[zero] = content
            return zero
        return content

    def _loop(self, op: scf.ForOp) -> None:
        carried = list(self._stored[op])
        inits = [self._current(variable, op) for variable in carried]
        body = op.body.block
        for variable in carried:
            argument = body.insert_arg(_scalar_type(variable), len(body.args), place_of(op))
            if (name := source_name(variable)) is not None:
                set_source_name(argument, name)
            self._values[variable] = argument
        arguments = body.args[len(body.args) - len(carried) :]
        self.block(body)
        ends = self._end(body, carried)
        self._carry(arguments, inits, ends)
        if carried:
            names = _result_names(op)
            loop = scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *inits], op.detach_region(op.body))
            self._carry(self._put_in_place(op, loop, carried, names), inits, ends)

    def _while(self, op: scf.WhileOp) -> None:
        """The test and the body both start with what is carried, and both hand it on."""
        carried = list(self._stored[op])
        inits = [self._current(variable, op) for variable in carried]
        arguments: list[Sequence[SSAValue]] = []
        ends: list[list[SSAValue]] = []
        for block in _blocks(op):
            for variable in carried:
                argument = block.insert_arg(_scalar_type(variable), len(block.args), place_of(op))
                if (name := source_name(variable)) is not None:
                    set_source_name(argument, name)
                self._values[variable] = argument
            arguments.append(block.args[len(block.args) - len(carried) :])
            self.block(block)
            ends.append(self._end(block, carried))
        self._carry(arguments[0], inits, ends[1])
        self._carry(arguments[1], ends[0])
        if carried:
            types = [*op.result_types, *map(_scalar_type, carried)]
            names = _result_names(op)
            before, after = (op.detach_region(region) for region in tuple(op.regions))
            loop = scf.WhileOp([*op.arguments, *inits], types, before, after)
            self._carry(self._put_in_place(op, loop, carried, names), ends[0])

    def _branch(self, op: scf.IfOp) -> None:
        assigned = list(self._stored[op])
        if assigned and not op.false_region.blocks:
            op.false_region.add_block(otherwise := Block())
            LocatedBuilder(InsertPoint.at_end(otherwise), place=place_of(op)).insert(scf.YieldOp())
        before = {variable: self._values[variable] for variable in assigned}
        ends: list[list[SSAValue]] = []
        for block in _blocks(op):
            self._values |= before
            self.block(block)
            ends.append(self._end(block, assigned))
        if assigned:
            types = [*op.result_types, *map(_scalar_type, assigned)]
            names = _result_names(op)
            true_region, false_region = (op.detach_region(region) for region in tuple(op.regions))
            branch = scf.IfOp(op.cond, types, true_region, false_region)
            self._carry(self._put_in_place(op, branch, assigned, names), *ends)

    def _end(self, block: Block, variables: Sequence[SSAValue]) -> list[SSAValue]:
        """Hand on the values of `variables` at the end of `block`; the values."""
        terminator = block.last_op
        assert terminator is not None
        values = [self._current(variable, terminator) for variable in variables]
        terminator.operands = [*terminator.operands, *values]
        return values

    def _carry(self, values: Sequence[SSAValue], *sources: Sequence[SSAValue]) -> None:
        """Note that each of `values` is one of those at its position in `sources`."""
        for value, *of in zip(values, *sources, strict=True):
            self._carried[value] = of

    def _put_in_place(
        self,
        old: Operation,
        new: scf.ForOp | scf.WhileOp | scf.IfOp,
        variables: list[SSAValue],
        names: list[str | None],
    ) -> Sequence[SSAValue]:
        """Replace `old` by `new`, whose last results are the values of `variables` from here on; these results."""
        block = old.parent
        assert block is not None
        new.location = old.location
        new.attributes |= old.attributes
        block.insert_op_before(new, old)
        earlier = len(old.results)
        for theirs, ours in zip(old.results, new.results[:earlier], strict=True):
            theirs.replace_all_uses_with(ours)
        set_result_names(new, [*names, *map(source_name, variables)])
        self._values |= dict(zip(variables, new.results[earlier:], strict=True))
        _erase(old)
        return new.results[earlier:]


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks


def _result_names(op: Operation) -> list[str | None]:
    """What the results of `op` are called; asked while its regions, which know, are still its own."""
    return [source_name(result) for result in op.results]


def _scalar_type(variable: SSAValue) -> Attribute:
    return cast(MemRefType[Attribute], variable.type).element_type


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _is_copied_by(use: Use) -> bool:
    """Whether what is used is stored, and no more."""
    return isinstance(use.operation, memref.StoreOp) and use.index == 0


def _read_error(load: memref.LoadOp, unset: SSAValue) -> TapeflowError:
    """That `load` reads a variable without a value, which it has from `unset`."""
    name, origin = (source_name(variable) or "a local variable" for variable in (load.memref, unset))
    if name == origin:
        return TapeflowError(f"'{name}' is read before it is written", location=load.location, hint=_HINT)
    return TapeflowError(
        f"'{name}', a copy of '{origin}', is read before it is written",
        location=load.location,
        hint=f"give '{origin}' a value where it is declared",
    )


_HINT = "give it a value where it is declared"


def promote_scalars(function: func.FuncOp) -> None:
    """Promote all scalar variables of `function`, whose control flow is `scf.for`, `scf.while` and `scf.if`.

    Of those that are copied to other memory before they are written, these copies remain.

    Raises:
        TapeflowError: a variable is read where it cannot have been written.
    """
    _Promotion(function).run(function)


def refuse_unset_copies(function: func.FuncOp) -> None:
    """Refuse a copy of a variable that is never written, in a function that is prepared but for this.

    Raises:
        TapeflowError: there is one, to memory that may be read.
    """
    for op in function.body.walk():
        if isinstance(op, memref.AllocaOp) and is_scalar_variable(op):
            loads = [use.operation for use in op.memref.uses if isinstance(use.operation, memref.LoadOp)]
            if loads and len(loads) == op.memref.uses.get_length():
                name = source_name(op.memref) or "a local variable"
                raise TapeflowError(
                    f"'{name}' is copied before it is written, to where it may be read",
                    location=loads[0].location,
                    hint=_HINT,
                )

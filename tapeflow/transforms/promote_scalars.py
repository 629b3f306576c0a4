"""Promote scalar variables to SSA values: a rank-0 local array that is only loaded and stored becomes no memory at all.

A variable that a loop stores to is carried round it, one that a branch stores to is a result of it. Values keep the
variable's name. A variable that is surely read before it is written is refused; one that may be (it is set in an
earlier iteration, say) starts at zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
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


class _Promotion:
    """The walk over a function, with the value that each variable has at this point."""

    def __init__(self, function: func.FuncOp):
        self._variables = {op.results[0] for op in function.body.walk() if is_scalar_variable(op)}
        self._stored: dict[Operation, dict[SSAValue, None]] = {}
        self._values: dict[SSAValue, SSAValue | None] = {}
        self._collect(function.body.block)

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
                    self._values[op.memref] = None
                case memref.LoadOp() if op.memref in self._variables:
                    self._load(op)
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
        for op in list(block.ops):
            if op.results and op.results[0] in self._variables:
                _erase(op)

    def _load(self, op: memref.LoadOp) -> None:
        value = self._values[op.memref]
        if value is None:
            name = source_name(op.memref) or "a local variable"
            raise TapeflowError(
                f"'{name}' is read before it is written",
                location=op.location,
                hint="give it a value where it is declared",
            )
        op.res.replace_all_uses_with(value)
        _erase(op)

    def _store(self, op: memref.StoreOp) -> None:
        name = source_name(op.memref)
        value = op.value
        if name is not None and source_name(value) is None and not isinstance(value.owner, arith.ConstantOp):
            set_source_name(value, name)
        self._values[op.memref] = op.value
        _erase(op)

    def _current(self, variable: SSAValue, before: Operation) -> SSAValue:
        """The value of `variable` just before `before`: zero where it has none yet."""
        value = self._values[variable]
        if value is None:
            build = LocatedBuilder(InsertPoint.before(before), place=place_of(before))
            value = build.value(zero_of(_scalar_type(variable)), source_name(variable))
        return value

    def _loop(self, op: scf.ForOp) -> None:
        carried = list(self._stored[op])
        inits = [self._current(variable, op) for variable in carried]
        body = op.body.block
        for variable in carried:
            argument = body.insert_arg(_scalar_type(variable), len(body.args), place_of(op))
            if (name := source_name(variable)) is not None:
                set_source_name(argument, name)
            self._values[variable] = argument
        self.block(body)
        _extend_yield(body, [self._after(variable, body) for variable in carried])
        if carried:
            names = _result_names(op)
            loop = scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *inits], op.detach_region(op.body))
            self._put_in_place(op, loop, carried, names)

    def _while(self, op: scf.WhileOp) -> None:
        """The test and the body both start with what is carried, and both hand it on."""
        carried = list(self._stored[op])
        inits = [self._current(variable, op) for variable in carried]
        for block in _blocks(op):
            for variable in carried:
                argument = block.insert_arg(_scalar_type(variable), len(block.args), place_of(op))
                if (name := source_name(variable)) is not None:
                    set_source_name(argument, name)
                self._values[variable] = argument
            self.block(block)
            _extend_yield(block, [self._after(variable, block) for variable in carried])
        if carried:
            types = [*op.result_types, *map(_scalar_type, carried)]
            names = _result_names(op)
            before, after = (op.detach_region(region) for region in tuple(op.regions))
            self._put_in_place(op, scf.WhileOp([*op.arguments, *inits], types, before, after), carried, names)

    def _branch(self, op: scf.IfOp) -> None:
        assigned = list(self._stored[op])
        if assigned and not op.false_region.blocks:
            op.false_region.add_block(otherwise := Block())
            LocatedBuilder(InsertPoint.at_end(otherwise), place=place_of(op)).insert(scf.YieldOp())
        before = {variable: self._values[variable] for variable in assigned}
        for block in _blocks(op):
            self._values |= before
            self.block(block)
            _extend_yield(block, [self._after(variable, block) for variable in assigned])
        if assigned:
            types = [*op.result_types, *map(_scalar_type, assigned)]
            names = _result_names(op)
            true_region, false_region = (op.detach_region(region) for region in tuple(op.regions))
            self._put_in_place(op, scf.IfOp(op.cond, types, true_region, false_region), assigned, names)

    def _after(self, variable: SSAValue, block: Block) -> SSAValue:
        """The value of `variable` at the end of `block`."""
        terminator = block.last_op
        assert terminator is not None
        return self._current(variable, terminator)

    def _put_in_place(
        self,
        old: Operation,
        new: scf.ForOp | scf.WhileOp | scf.IfOp,
        variables: list[SSAValue],
        names: list[str | None],
    ) -> None:
        """Replace `old` by `new`, whose last results are the values of `variables` from here on."""
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


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks


def _result_names(op: Operation) -> list[str | None]:
    """What the results of `op` are called; asked while its regions, which know, are still its own."""
    return [source_name(result) for result in op.results]


def _scalar_type(variable: SSAValue) -> Attribute:
    return cast(MemRefType[Attribute], variable.type).element_type


def _extend_yield(block: Block, values: list[SSAValue]) -> None:
    terminator = block.last_op
    assert terminator is not None
    terminator.operands = [*terminator.operands, *values]


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def promote_scalars(function: func.FuncOp) -> None:
    """Promote all scalar variables of `function`, whose control flow is `scf.for`, `scf.while` and `scf.if`.

    Raises:
        TapeflowError: a variable is read where it cannot have been written.
    """
    _Promotion(function).block(function.body.block)

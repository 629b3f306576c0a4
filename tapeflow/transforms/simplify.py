"""Simple folds of a structured function: constants in one place, conversions that undo each other, loops over `index`.

After it every constant is in the function's top block, once, and so is each parameter's conversion to `index`; integer
arithmetic on constants, or with a neutral one, is gone; a conversion to `index` of what came from `index` is that
index; all loops count in `index`; what a loop carries unchanged is used as it is outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.loops import Loop, carried_arguments, initial_values, is_normal, yielded_values
from tapeflow.analysis.source_names import source_name
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


def constant_of(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """The number that `value` is, if it is a constant."""
    if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp):
        constant = value.op.value
        return constant if isinstance(constant, IntegerAttr | FloatAttr) else None
    return None


class Constants:
    """The constants of a function: each once, at the start of its top block."""

    def __init__(self, function: func.FuncOp):
        block = function.body.block
        self._known: dict[Attribute, SSAValue] = {}
        self._last: arith.ConstantOp | None = None
        self._moved: Operation | None = None
        self._builder = LocatedBuilder(InsertPoint.at_start(block), place=place_of(function))
        for op in block.ops:
            if not isinstance(op, arith.ConstantOp):
                break
            # One that is there twice will go, so nothing may be put behind it.
            if op.value not in self._known:
                self._known[op.value] = op.result
                self._last = op

    def of(self, value: IntegerAttr | FloatAttr, origin: Operation | None = None) -> SSAValue:
        """The SSA value of a number; made, for `origin`, if the function does not have it yet."""
        known = self._known.get(value)
        if known is None:
            constant = arith.ConstantOp(value)
            constant.location = self._builder.place if origin is None else place_of(origin)
            at_start = InsertPoint.at_start(self._builder.insertion_point.block)
            Rewriter.insert_op(constant, at_start if self._last is None else InsertPoint.after(self._last))
            self._last = constant
            known = self._known[value] = constant.result
        return known

    def move_behind(self, op: Operation) -> None:
        """Move `op`, which uses arguments and constants only, to just behind the constants."""
        op.detach()
        block = self._builder.insertion_point.block
        before = self._moved or self._last
        if before is not None:
            block.insert_op_after(op, before)
        else:
            self._builder.insert(op, InsertPoint.at_start(block))
        self._moved = op

    def index(self, value: int) -> SSAValue:
        """A number of type `index`."""
        return self.of(IntegerAttr(value, IndexType()))

    def float(self, value: float, type_: Attribute) -> SSAValue:
        """A number of a float type."""
        return self.of(FloatAttr(value, cast(AnyFloat, type_)))

    def zero(self, type_: Attribute) -> SSAValue:
        """Zero as a float, an integer or an index."""
        if isinstance(type_, AnyFloat):
            return self.float(0.0, type_)
        return self.of(IntegerAttr(0, cast(IntegerType | IndexType, type_)))


def _cast_of_cast(op: Operation) -> SSAValue | None:
    """`x` for a conversion of a conversion of `x` that is back at its type: C integers do not overflow."""
    source = op.operands[0]
    if isinstance(source, OpResult) and isinstance(source.op, arith.IndexCastOp | arith.ExtSIOp):
        origin = source.op.operands[0]
        return origin if origin.type == op.results[0].type else None
    return None


def _integer(op: Operation) -> IntegerAttr | None:
    """The constant operand of a conversion, as a constant of its result's type."""
    constant = constant_of(op.operands[0])
    type_ = op.results[0].type
    if not isinstance(constant, IntegerAttr):
        return None
    match type_:
        case IntegerType():
            return IntegerAttr(constant.value.data, type_)
        case IndexType():
            return IntegerAttr.from_index_int_value(constant.value.data)
        case _:
            return None


def _float(op: Operation) -> FloatAttr | None:
    """The constant integer operand of a conversion, as a float constant."""
    constant = constant_of(op.operands[0])
    if isinstance(constant, IntegerAttr):
        return FloatAttr(float(constant.value.data), cast(AnyFloat, op.results[0].type))
    return None


def _negated(op: Operation) -> FloatAttr | None:
    constant = constant_of(op.operands[0])
    return FloatAttr(-constant.value.data, constant.type) if isinstance(constant, FloatAttr) else None


def _cancelled(op: Operation) -> SSAValue | None:
    """`b` for `a - (a - b)`, as a descending subscript of a descending loop is."""
    left, right = op.operands
    if isinstance(right, OpResult) and isinstance(right.op, arith.SubiOp) and right.op.lhs is left:
        return right.op.rhs
    return None


_FOLDS: Mapping[type[Operation], Callable[[Operation], SSAValue | IntegerAttr | FloatAttr | None]] = {
    arith.IndexCastOp: lambda op: _integer(op) or _cast_of_cast(op),
    arith.ExtSIOp: _integer,
    arith.TruncIOp: _cast_of_cast,
    arith.SIToFPOp: _float,
    arith.NegfOp: _negated,
    arith.SubiOp: _cancelled,
}
"""What a conversion or sign is equal to without it; None if to nothing simpler."""


def _folded(op: Operation) -> SSAValue | IntegerAttr | FloatAttr | None:
    fold = _FOLDS.get(type(op))
    if fold is not None and (simpler := fold(op)) is not None:
        return simpler
    if isinstance(op, HasFolderInterface) and len(op.results) == 1 and not isinstance(op, arith.ConstantOp):
        result = op.results[0].type
        if isinstance(result, IntegerType | IndexType) and (values := op.fold()):
            return cast(SSAValue | IntegerAttr, values[0])
    return None


class _Simplification:
    def __init__(self, function: func.FuncOp):
        self._constants = Constants(function)
        self._top = function.body.block

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if type(op) is arith.ConstantOp:
                self._hoist(op)
            elif (value := _folded(op)) is not None:
                _replace(op, value if isinstance(value, SSAValue) else self._constants.of(value, op))
            elif type(op) is arith.IndexCastOp and op.input in self._top.args and block is not self._top:
                # A parameter as an index: had once, in the top block, where unification finds its like.
                self._constants.move_behind(op)
            elif op.regions:
                self._structure(op)

    def _structure(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp):
            _check_step(op)
            self._count_in_index(op)
        for region in op.regions:
            for inner in region.blocks:
                self.block(inner)
        if isinstance(op, scf.ForOp) or (isinstance(op, scf.WhileOp) and is_normal(op)):
            _use_what_stays(op)

    def _count_in_index(self, loop: scf.ForOp) -> None:
        """Make `loop` count in `index`; its body sees its variable in the type it had."""
        variable = loop.body.block.args[0]
        type_ = variable.type
        if isinstance(type_, IndexType):
            return
        for position, bound in enumerate((loop.lb, loop.ub, loop.step)):
            loop.operands[position] = self._as_index(bound, loop)
        body = loop.body.block
        index = body.insert_arg(IndexType(), 0, variable.location)
        index.name_hint = variable.name_hint
        inside = LocatedBuilder(InsertPoint.at_start(body), place=place_of(loop))
        variable.replace_all_uses_with(inside.value(arith.IndexCastOp(index, type_), source_name(variable)))
        body.erase_arg(variable)

    def _as_index(self, bound: SSAValue, loop: scf.ForOp) -> SSAValue:
        if isinstance(constant := constant_of(bound), IntegerAttr):
            return self._constants.index(constant.value.data)
        build = LocatedBuilder(InsertPoint.before(loop), place=place_of(loop))
        conversion = build.insert(arith.IndexCastOp(bound, IndexType()))
        if bound in self._top.args:
            self._constants.move_behind(conversion)
        return conversion.result

    def _hoist(self, op: arith.ConstantOp) -> None:
        if isinstance(op.value, IntegerAttr | FloatAttr):
            hoisted = self._constants.of(op.value, op)
            if hoisted is not op.result:
                _replace(op, hoisted)


def _check_step(loop: scf.ForOp) -> None:
    step = constant_of(loop.step)
    if isinstance(step, IntegerAttr) and step.value.data < 1:
        raise TapeflowError(
            f"this loop has the step {step.value.data}, but scf.for counts upwards",
            location=loop.location,
            hint="count up and compute the descending index in the body",
        )


def _use_what_stays(loop: Loop) -> None:
    """Use the initial value of what `loop` carries unchanged, in its body and behind it."""
    for argument, result, initial, yielded in zip(
        carried_arguments(loop), loop.results, initial_values(loop), tuple(yielded_values(loop)), strict=True
    ):
        if yielded is argument or yielded is initial:
            argument.replace_all_uses_with(initial)
            result.replace_all_uses_with(initial)
            if isinstance(loop, scf.WhileOp):
                # What the test hands on stays: it is the form of every while.
                tested = loop.before_region.block.args[argument.index]
                tested.replace_uses_with_if(initial, lambda use: not isinstance(use.operation, scf.ConditionOp))


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def simplify(function: func.FuncOp) -> None:
    """Fold constants and conversions of `function`, and make its loops count in `index`.

    Raises:
        TapeflowError: a loop has a step that is not positive.
    """
    _Simplification(function).block(function.body.block)

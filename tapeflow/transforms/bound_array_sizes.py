"""Give local arrays in loops a size that is known when the function is entered, where theirs changes with the loops.

```c
for (int i = 0; i < n; i++) {        becomes        for (int i = 0; i < n; i++) {
    double u[i + 1];                                    double u[max(n - 1 + 1, 0)];
```
All memory is reserved when a function is entered, so each extent becomes the largest that it can be there, by interval
arithmetic on what loops count. Subscripts stay within the smaller array; who asks for its size gets the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.transforms.located_builder import LocatedBuilder, place_of

_Binary = type[arith.AddiOp] | type[arith.SubiOp] | type[arith.MuliOp] | type[arith.MinSIOp] | type[arith.MaxSIOp]


@dataclass(frozen=True)
class _Range:
    """The least and the largest that an integer can be: values of the top block, of type index."""

    low: SSAValue
    high: SSAValue

    @property
    def is_point(self) -> bool:
        """Whether it is one number."""
        return self.low is self.high


@dataclass
class _Ranges:
    """The ranges of integers that loops make, computed in the top block.

    Args:
        top: the top block.
        build: inserts there, before all that the integers are used in.
    """

    top: Block
    build: LocatedBuilder
    _known: dict[SSAValue, _Range | None] = field(default_factory=dict[SSAValue, _Range | None])

    def of(self, value: SSAValue) -> _Range | None:
        """The range of `value`; None if nothing is known of it."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: SSAValue) -> _Range | None:
        if _is_of(self.top, value):
            return self._point(value)
        match value:
            case BlockArgument(index=0, block=block) if isinstance(loop := block.parent_op(), scf.ForOp):
                return self._counted(loop)
            case OpResult(op=op, index=index):
                return self._of_operation(op, index)
            case _:
                return None

    def _point(self, value: SSAValue) -> _Range:
        if not isinstance(value.type, IndexType):
            # In 64 bits what an int holds in the end, but not on the way there, does no harm.
            value = self.build.value(arith.IndexCastOp(value, IndexType()))
        return _Range(value, value)

    def _counted(self, loop: scf.ForOp) -> _Range | None:
        lower, upper = self.of(loop.lb), self.of(loop.ub)
        if lower is None or upper is None:
            return None
        return _Range(lower.low, self._make(arith.SubiOp, upper.high, self._constant(1)))

    def _of_operation(self, op: Operation, index: int) -> _Range | None:
        match op:
            case arith.ConstantOp(value=IntegerAttr() as constant):
                value = self._constant(constant.value.data)
                return _Range(value, value)
            case arith.SelectOp():
                return self._either(op.lhs, op.rhs)
            case scf.IfOp():
                return self._either(*(_yielded(arm.block, index) for arm in op.regions))
            case _:
                pass
        operands = [self.of(operand) for operand in op.operands] if type(op) in _RULES else []
        known = [operand for operand in operands if operand is not None]
        return _RULES[type(op)](self, op, known) if known and len(known) == len(operands) else None

    def _either(self, left: SSAValue, right: SSAValue) -> _Range | None:
        one, other = self.of(left), self.of(right)
        if one is None or other is None:
            return None
        return _Range(
            self._make(arith.MinSIOp, one.low, other.low),
            self._make(arith.MaxSIOp, one.high, other.high),
        )

    def same(self, _: Operation, operands: Sequence[_Range]) -> _Range:
        """Of a conversion that leaves the number as it is."""
        return operands[0]

    def sum(self, _: Operation, operands: Sequence[_Range]) -> _Range:
        """Of `arith.addi`."""
        left, right = operands
        return self._range(arith.AddiOp, (left.low, right.low), (left.high, right.high))

    def difference(self, _: Operation, operands: Sequence[_Range]) -> _Range:
        """Of `arith.subi`."""
        left, right = operands
        return self._range(arith.SubiOp, (left.low, right.high), (left.high, right.low))

    def product(self, _: Operation, operands: Sequence[_Range]) -> _Range:
        """Of `arith.muli`: it is largest and least at ends of both."""
        left, right = operands
        if left.is_point and right.is_point:
            return self._range(arith.MuliOp, (left.low, right.low), (left.low, right.low))
        lefts, rights = dict.fromkeys((left.low, left.high)), dict.fromkeys((right.low, right.high))
        first, *others = (self._make(arith.MuliOp, a, b) for a in lefts for b in rights)
        low = high = first
        for other in others:
            low, high = self._make(arith.MinSIOp, low, other), self._make(arith.MaxSIOp, high, other)
        return _Range(low, high)

    def extreme(self, op: Operation, operands: Sequence[_Range]) -> _Range:
        """Of `arith.minsi` and `arith.maxsi`."""
        left, right = operands
        make = arith.MinSIOp if isinstance(op, arith.MinSIOp) else arith.MaxSIOp
        return self._range(make, (left.low, right.low), (left.high, right.high))

    def quotient(self, op: Operation, operands: Sequence[_Range]) -> _Range | None:
        """Of a division by a positive constant, which grows with what is divided."""
        divisor = _constant(op.operands[1])
        if divisor is None or divisor <= 0:
            return None
        make = arith.DivSIOp if isinstance(op, arith.DivSIOp) else arith.FloorDivSIOp
        by = self._constant(divisor)
        low = self.build.value(make(operands[0].low, by))
        return _Range(low, low if operands[0].is_point else self.build.value(make(operands[0].high, by)))

    def remainder(self, op: Operation, _: Sequence[_Range]) -> _Range | None:
        """Of a division by a positive constant."""
        divisor = _constant(op.operands[1])
        if divisor is None or divisor <= 0:
            return None
        return _Range(self._constant(1 - divisor), self._constant(divisor - 1))

    def _range(self, make: _Binary, low: tuple[SSAValue, SSAValue], high: tuple[SSAValue, SSAValue]) -> _Range:
        least = self._make(make, *low)
        return _Range(least, least if low == high else self._make(make, *high))

    def _make(self, make: _Binary, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.build.value(make(left, right))

    def _constant(self, value: int) -> SSAValue:
        return self.build.value(arith.ConstantOp(IntegerAttr.from_index_int_value(value)))


_RULES: dict[type[Operation], Callable[[_Ranges, Operation, Sequence[_Range]], _Range | None]] = {
    arith.IndexCastOp: _Ranges.same,
    arith.ExtSIOp: _Ranges.same,
    arith.AddiOp: _Ranges.sum,
    arith.SubiOp: _Ranges.difference,
    arith.MuliOp: _Ranges.product,
    arith.MinSIOp: _Ranges.extreme,
    arith.MaxSIOp: _Ranges.extreme,
    arith.DivSIOp: _Ranges.quotient,
    arith.FloorDivSIOp: _Ranges.quotient,
    arith.RemSIOp: _Ranges.remainder,
}


def _constant(value: SSAValue) -> int | None:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as constant):
            return constant.value.data
        case arith.IndexCastOp() | arith.ExtSIOp():
            return _constant(value.owner.input)
        case _:
            return None


def _yielded(block: Block, position: int) -> SSAValue:
    terminator = block.last_op
    assert terminator is not None
    return terminator.operands[position]


def _is_of(block: Block, value: SSAValue) -> bool:
    """Whether `value` is an argument of `block` or computed in it."""
    return value.owner is block or (isinstance(value, OpResult) and value.op.parent is block)


def _users(array: SSAValue) -> Iterator[Operation]:
    """What uses `array` or a view of it."""
    for use in array.uses:
        yield use.operation
        if isinstance(use.operation, memref.CastOp | memref.SubviewOp):
            yield from _users(use.operation.results[0])


def bound_array_sizes(function: func.FuncOp) -> None:
    """Replace sizes of local arrays of `function` that change with loops by the largest that they can be.

    Those of which nothing is known stay, and so do those of arrays of several dimensions that calls are given, whose
    callees count on elements that lie side by side.
    """
    top = function.body.block
    for op in list(function.body.walk()):
        if not isinstance(op, memref.AllocaOp) or op.parent is top:
            continue
        if len(op.memref.type.get_shape()) > 1 and any(isinstance(user, func.CallOp) for user in _users(op.memref)):
            continue
        before = top.find_ancestor_op_in_block(op)
        assert before is not None
        ranges = _Ranges(top, LocatedBuilder(InsertPoint.before(before), place=place_of(op)))
        for position, size in enumerate(op.dynamic_sizes):
            if not _is_of(top, size) and (found := ranges.of(size)) is not None:
                _keep_asked(op, position, size)
                zero = ranges.build.value(arith.ConstantOp(IntegerAttr.from_index_int_value(0)))
                op.operands[position] = ranges.build.value(arith.MaxSIOp(found.high, zero))


def _keep_asked(array: memref.AllocaOp, position: int, size: SSAValue) -> None:
    """Let those who ask for the dynamic size at `position` of `array` know `size`."""
    dimension = [k for k, extent in enumerate(array.memref.type.get_shape()) if extent < 0][position]
    for user in list(_users(array.memref)):
        if isinstance(user, memref.DimOp) and _constant(user.index) == dimension:
            source = user.source
            while isinstance(source.owner, memref.CastOp):
                source = source.owner.source
            if source is array.memref:
                user.result.replace_all_uses_with(size)
                user.detach()
                user.erase()

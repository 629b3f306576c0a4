"""Integer operations of `arith` and `math` that C has no operator for, in those that it has.

Bits are counted by adding them up in pairs, in fours, in bytes (H. S. Warren, Hacker's Delight, section 5-1); leading
and trailing zeros are counted as the bits of a mask of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.loop_nest import index_constant


def _width(type_: Attribute) -> int:
    return cast("IntegerType[int]", type_).width.data if isinstance(type_, IntegerType) else 64


def _constant(value: int, type_: Attribute, build: LocatedBuilder) -> SSAValue:
    return build.value(arith.ConstantOp(IntegerAttr(value, cast("IntegerType | IndexType", type_))))


def _sum_and_carry(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    left, right = op.operands
    total = build.value(arith.AddiOp(left, right))
    return total, build.value(arith.CmpiOp(total, left, "ult"))


def _halves(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    """The low and the high half of a product."""
    type_ = op.operands[0].type
    width = _width(type_)
    if isinstance(type_, IndexType) or width > 32:
        raise TapeflowError(
            f"'{op.name}' of {type_}: C has no integers of twice its width",
            location=op.location,
            hint="multiply integers of at most 32 bits, or in halves of 32 bits",
        )
    is_signed = isinstance(op, arith.MulSIExtendedOp)
    widen = arith.ExtSIOp if is_signed else arith.ExtUIOp
    left, right = (build.value(widen(operand, i64)) for operand in op.operands)
    product = build.value(arith.MuliOp(left, right))
    shift = arith.ShRSIOp if is_signed else arith.ShRUIOp
    high = build.value(shift(product, _constant(width, i64, build)))
    narrow = cast("IntegerType", type_)
    return build.value(arith.TruncIOp(product, narrow)), build.value(arith.TruncIOp(high, narrow))


_PAIRS, _FOURS, _BYTES, _ONES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101


def _count_bits(bits: SSAValue, build: LocatedBuilder) -> SSAValue:
    """How many bits of `bits` are set, in its type."""
    type_ = bits.type

    def shifted(value: SSAValue, by: int) -> SSAValue:
        return build.value(arith.ShRUIOp(value, _constant(by, i64, build)))

    def masked(value: SSAValue, mask: int) -> SSAValue:
        return build.value(arith.AndIOp(value, _constant(mask, i64, build)))

    if isinstance(type_, IndexType):
        wide = build.value(arith.IndexCastOp(bits, i64))
    else:
        wide = bits if type_ == i64 else build.value(arith.ExtUIOp(bits, i64))
    wide = build.value(arith.SubiOp(wide, masked(shifted(wide, 1), _PAIRS)))
    wide = build.value(arith.AddiOp(masked(wide, _FOURS), masked(shifted(wide, 2), _FOURS)))
    wide = masked(build.value(arith.AddiOp(wide, shifted(wide, 4))), _BYTES)
    for by in (8, 16, 32):
        wide = build.value(arith.AddiOp(wide, shifted(wide, by)))
    count = masked(wide, 0x7F)
    if isinstance(type_, IndexType):
        return build.value(arith.IndexCastOp(count, type_))
    return count if type_ == i64 else build.value(arith.TruncIOp(count, cast("IntegerType", type_)))


def _ones(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    return (_count_bits(op.operands[0], build),)


def _trailing_zeros(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    (bits,) = op.operands
    inverted = build.value(arith.XOrIOp(bits, _constant(-1, bits.type, build)))
    less = build.value(arith.SubiOp(bits, _constant(1, bits.type, build)))
    return (_count_bits(build.value(arith.AndIOp(inverted, less)), build),)


def _leading_zeros(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    (bits,) = op.operands
    type_ = bits.type
    by = 1
    while by < _width(type_):
        bits = build.value(arith.OrIOp(bits, build.value(arith.ShRUIOp(bits, _constant(by, type_, build)))))
        by *= 2
    return (build.value(arith.SubiOp(_constant(_width(type_), type_, build), _count_bits(bits, build))),)


def _power(op: Operation, build: LocatedBuilder) -> Sequence[SSAValue]:
    """Repeated multiplication; to a negative power 1 and -1 are themselves or 1, all else is 0."""
    base, exponent = op.operands
    type_ = base.type
    one, minus_one, zero = (_constant(value, type_, build) for value in (1, -1, 0))
    count = exponent
    if not isinstance(type_, IndexType):
        count = build.value(arith.IndexCastOp(exponent, IndexType()))
    body = build.block([(IndexType(), None), (type_, None)])
    loop = scf.ForOp(index_constant(0, build), count, index_constant(1, build), [one], Region(body))
    build.insert(loop)
    inner = build.into(body)
    inner.insert(scf.YieldOp(inner.value(arith.MuliOp(body.args[1], base))))

    def choose(left: SSAValue, predicate: str, right: SSAValue, chosen: SSAValue, other: SSAValue) -> SSAValue:
        return build.value(arith.SelectOp(build.value(arith.CmpiOp(left, right, predicate)), chosen, other))

    odd = build.value(arith.AndIOp(exponent, one))
    of_minus_one = choose(odd, "eq", one, minus_one, one)
    reciprocal = choose(base, "eq", one, one, choose(base, "eq", minus_one, of_minus_one, zero))
    return (choose(exponent, "slt", zero, reciprocal, loop.results[0]),)


INTEGER_FORMULAS: Mapping[type[Operation], Callable[[Operation, LocatedBuilder], Sequence[SSAValue]]] = {
    arith.AddUIExtendedOp: _sum_and_carry,
    arith.MulSIExtendedOp: _halves,
    arith.MulUIExtendedOp: _halves,
    math.CtPopOp: _ones,
    math.CountTrailingZerosOp: _trailing_zeros,
    math.CountLeadingZerosOp: _leading_zeros,
    math.IPowIOp: _power,
}
"""What replaces each operation: its results."""

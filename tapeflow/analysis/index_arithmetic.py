"""Simple facts about subscripts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import OpResult, SSAValue


def base_and_offset(index: SSAValue) -> tuple[SSAValue | None, int]:
    """`index` as a value plus a constant; None plus a constant if it is a constant."""
    offset = 0
    while isinstance(index, OpResult):
        match index.op:
            case arith.ConstantOp(value=IntegerAttr() as constant):
                return None, offset + constant.value.data
            case arith.AddiOp() | arith.SubiOp() as op:
                right, by = op.rhs, 1 if isinstance(op, arith.AddiOp) else -1
                match right:
                    case OpResult(op=arith.ConstantOp(value=IntegerAttr() as constant)):
                        offset += by * constant.value.data
                        index = op.lhs
                    case _:
                        return index, offset
            case _:
                return index, offset
    return index, offset


def surely_differ(left: Sequence[SSAValue], right: Sequence[SSAValue]) -> bool:
    """Whether two lists of subscripts, in effect at one time, are of different elements: `i, j` and `i, j + 1`."""
    for one, other in zip(left, right, strict=True):
        (base, offset), (other_base, other_offset) = base_and_offset(one), base_and_offset(other)
        if base is other_base and offset != other_offset:
            return True
    return False

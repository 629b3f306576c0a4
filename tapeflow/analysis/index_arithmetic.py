"""Simple facts about subscripts."""

from __future__ import annotations

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

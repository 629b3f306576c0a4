"""Lift what computes the size of a local array out of the branches and loops that the array is in.

All memory is reserved when a function is entered, so a size has to be known there. One that is computed from the
parameters, but inside a branch or loop, is computed before it instead: integer arithmetic that is right for all
operands changes nothing when it runs though nobody needs it. Division by what is not constant stays where it is, for it
may be zero.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

_TOTAL = (
    arith.ConstantOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.IndexCastOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    memref.DimOp,
)


def _divides_safely(op: Operation) -> bool:
    """Whether `op` is a division that is right whatever is divided."""
    if not isinstance(op, arith.DivSIOp | arith.FloorDivSIOp | arith.RemSIOp):
        return False
    divisor = op.rhs.owner
    return (
        isinstance(divisor, arith.ConstantOp)
        and isinstance(divisor.value, IntegerAttr)
        and divisor.value.value.data not in (0, -1)
    )


def nested_arithmetic(size: SSAValue, top: Block) -> list[Operation] | None:
    """The operations outside `top` that compute `size`, in order; None if some cannot run in `top`."""
    found: dict[Operation, None] = {}

    def visit(value: SSAValue) -> bool:
        if value.owner is top or (isinstance(value, OpResult) and value.op.parent is top):
            return True
        if not isinstance(value, OpResult) or not (isinstance(value.op, _TOTAL) or _divides_safely(value.op)):
            return False
        if value.op not in found:
            if not all(visit(operand) for operand in value.op.operands):
                return False
            found[value.op] = None
        return True

    return list(found) if visit(size) else None


def lift_array_sizes(function: func.FuncOp) -> None:
    """Move the arithmetic behind the sizes of local arrays into the top block of `function`, where that is possible."""
    top = function.body.block
    for op in list(function.body.walk()):
        if not isinstance(op, memref.AllocaOp) or op.parent is top:
            continue
        before = top.find_ancestor_op_in_block(op)
        assert before is not None
        for size in op.dynamic_sizes:
            for part in nested_arithmetic(size, top) or ():
                part.detach()
                top.insert_op_before(part, before)

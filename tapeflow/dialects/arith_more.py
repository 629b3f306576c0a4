"""What xDSL 0.75's arith dialect lacks of MLIR's: `arith.remf` and `arith.index_castui`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloatConstr, IndexType, IntegerType
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(IRDLOperation):
    """The remainder of a division whose quotient is truncated: C's `fmod`."""

    name = "arith.remf"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """An unsigned integer as an index, or an index as one."""

    name = "arith.index_castui"

    input = operand_def(BaseAttr(IntegerType) | BaseAttr(IndexType))
    result = result_def(BaseAttr(IntegerType) | BaseAttr(IndexType))

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"


OPERATIONS = (RemFOp, IndexCastUIOp)

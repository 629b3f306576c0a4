"""What xDSL 0.75's math dialect lacks of MLIR's: `erfc`, `sincos`, `clampf` and the tests for kinds of numbers."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloatConstr, i1
from xdsl.irdl import (
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
class ErfcOp(IRDLOperation):
    """`1 - erf(x)`, without cancellation."""

    name = "math.erfc"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    operand = operand_def(T)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


@irdl_op_definition
class SincosOp(IRDLOperation):
    """The sine and the cosine of one number."""

    name = "math.sincos"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    operand = operand_def(T)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    sin = result_def(T)
    cos = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """`value`, but no less than `min` and no more than `max`."""

    name = "math.clampf"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    value = operand_def(T)
    min = operand_def(T)
    max = operand_def(T)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$value `to` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class NumberTest(IRDLOperation, ABC):
    """Whether a number is of a kind: an i1."""

    operand = operand_def(AnyFloatConstr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(i1)

    traits = traits_def(Pure())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($operand)"


@irdl_op_definition
class IsFiniteOp(NumberTest):
    """Neither infinite nor not a number."""

    name = "math.isfinite"


@irdl_op_definition
class IsInfOp(NumberTest):
    """Infinite."""

    name = "math.isinf"


@irdl_op_definition
class IsNaNOp(NumberTest):
    """Not a number."""

    name = "math.isnan"


@irdl_op_definition
class IsNormalOp(NumberTest):
    """Finite, not 0 and not denormal."""

    name = "math.isnormal"


OPERATIONS = (ErfcOp, SincosOp, ClampFOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp)

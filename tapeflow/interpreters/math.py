"""The meaning of `math`: the C library's function of each operation, one row an operation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects import math
from xdsl.dialects.builtin import Float32Type
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation

from tapeflow.interpreters.arith import divide, float_row
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.libm import libm
from tapeflow.interpreters.values import round_to, unsigned, width_of, wrap


def libm_row(op_type: type[Operation], name: str, arity: int = 1) -> Any:
    """An operation on floats that C calls `name`, or `name` with an `f` on f32."""
    double, single = libm(name, arity), libm(name, arity, single=True)

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        scalar = op.results[0].type
        return (round_to((single if isinstance(scalar, Float32Type) else double)(*args), scalar),)

    return run


def bits_row(op_type: type[Operation], function: Callable[[int, int], int]) -> Any:
    """An operation on the bits of an integer: `function` of them, read as unsigned, and of the width."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        scalar = op.results[0].type
        return (wrap(function(unsigned(args[0], scalar), width_of(scalar)), scalar),)

    return run


def reciprocal_root(value: float) -> float:
    """One over the square root; at zero, an infinity of its sign."""
    return divide(1.0, libm("sqrt")(value))


def integer_power(base: int, exponent: int, scalar: Attribute) -> int:
    """`base` to the power `exponent`; a negative power is 1 / base ** -exponent, rounded towards zero."""
    if exponent >= 0:
        return wrap(pow(base, exponent, 1 << width_of(scalar)), scalar)
    if base == 1:
        return 1
    if base == -1:
        return 1 if exponent % 2 == 0 else -1
    return 0


@register_impls
class MathFunctions(Functions):
    """All of `math` on scalars."""

    run_absf = float_row(math.AbsFOp, float.__abs__)
    run_acos = libm_row(math.AcosOp, "acos")
    run_acosh = libm_row(math.AcoshOp, "acosh")
    run_asin = libm_row(math.AsinOp, "asin")
    run_asinh = libm_row(math.AsinhOp, "asinh")
    run_atan = libm_row(math.AtanOp, "atan")
    run_atan2 = libm_row(math.Atan2Op, "atan2", 2)
    run_atanh = libm_row(math.AtanhOp, "atanh")
    run_cbrt = libm_row(math.CbrtOp, "cbrt")
    run_ceil = libm_row(math.CeilOp, "ceil")
    run_copysign = libm_row(math.CopySignOp, "copysign", 2)
    run_cos = libm_row(math.CosOp, "cos")
    run_cosh = libm_row(math.CoshOp, "cosh")
    run_erf = libm_row(math.ErfOp, "erf")
    run_exp = libm_row(math.ExpOp, "exp")
    run_exp2 = libm_row(math.Exp2Op, "exp2")
    run_expm1 = libm_row(math.ExpM1Op, "expm1")
    run_floor = libm_row(math.FloorOp, "floor")
    run_fma = libm_row(math.FmaOp, "fma", 3)
    run_log = libm_row(math.LogOp, "log")
    run_log10 = libm_row(math.Log10Op, "log10")
    run_log1p = libm_row(math.Log1pOp, "log1p")
    run_log2 = libm_row(math.Log2Op, "log2")
    run_powf = libm_row(math.PowFOp, "pow", 2)
    run_round = libm_row(math.RoundOp, "round")
    # In the default rounding mode, which nothing here changes, `rint` rounds halves to even.
    run_roundeven = libm_row(math.RoundEvenOp, "rint")
    run_rsqrt = float_row(math.RsqrtOp, reciprocal_root)
    run_sin = libm_row(math.SinOp, "sin")
    run_sinh = libm_row(math.SinhOp, "sinh")
    run_sqrt = libm_row(math.SqrtOp, "sqrt")
    run_tan = libm_row(math.TanOp, "tan")
    run_tanh = libm_row(math.TanhOp, "tanh")
    run_trunc = libm_row(math.TruncOp, "trunc")

    run_absi = bits_row(math.AbsIOp, lambda bits, width: bits if not bits >> (width - 1) else -bits)
    run_ctlz = bits_row(math.CountLeadingZerosOp, lambda bits, width: width - bits.bit_length())
    run_cttz = bits_row(
        math.CountTrailingZerosOp, lambda bits, width: (bits & -bits).bit_length() - 1 if bits else width
    )
    run_ctpop = bits_row(math.CtPopOp, lambda bits, width: bits.bit_count())

    @impl(math.IPowIOp)
    def run_ipowi(self, interpreter: Interpreter, op: math.IPowIOp, args: PythonValues) -> PythonValues:
        """An integer power, wrapped."""
        return (integer_power(args[0], operator.index(args[1]), op.results[0].type),)

    @impl(math.FPowIOp)
    def run_fpowi(self, interpreter: Interpreter, op: math.FPowIOp, args: PythonValues) -> PythonValues:
        """A power with an integer exponent: C's `pow` of the exponent as a float."""
        single = isinstance(op.results[0].type, Float32Type)
        return (libm("pow", 2, single=single)(args[0], float(args[1])),)

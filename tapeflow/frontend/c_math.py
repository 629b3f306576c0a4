"""The functions of <math.h> and <stdlib.h>: those that have an operation in the IR, one row a function, and the rest.

The rest, in `analysis/library_functions.py`, are calls of private declarations.

The `f`-suffixed versions for float share the rows: the operation takes its type from its operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f32, f64
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import ARITIES, POLYGAMMA, library_call

_UNARY: dict[str, type[math.FloatingPointLikeUnaryMathOperation]] = {
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "cbrt": math.CbrtOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "fabs": math.AbsFOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    # In the default rounding mode, which nothing here changes, these two round halves to even.
    "nearbyint": math.RoundEvenOp,
    "rint": math.RoundEvenOp,
    "round": math.RoundOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}

_BINARY: dict[str, type[math.FloatingPointLikeBinaryMathOperation] | type[arith.FloatingPointLikeBinaryOperation]] = {
    "atan2": math.Atan2Op,
    "copysign": math.CopySignOp,
    # C's fmax and fmin return the other operand where one is NaN; maximumf and minimumf would return NaN.
    "fmax": arith.MaxnumfOp,
    "fmin": arith.MinnumfOp,
    "pow": math.PowFOp,
}

_CALLS = {name: arity for name, arity in ARITIES.items() if name != POLYGAMMA}

_INTEGER = frozenset({"abs", "labs", "llabs"})


def is_math_function(name: str) -> bool:
    """Whether C's library has a function `name` that is an operation here. C reserves these names for it."""
    name = name.removeprefix("__builtin_")
    bases = {name, name.removesuffix("f")}
    return name in _INTEGER or not bases.isdisjoint({"fma", *_UNARY, *_BINARY, *_CALLS})


def math_operation(name: str, operands: Sequence[SSAValue]) -> Operation | None:
    """The operation that the C function `name` is, on operands of its parameters' types; None if it is none."""
    name = name.removeprefix("__builtin_")
    base = name if name in _UNARY or name in _BINARY or name == "fma" or name in _CALLS else name.removesuffix("f")
    if name in _INTEGER and len(operands) == 1 and isinstance(operands[0].type, IntegerType):
        return math.AbsIOp(operands[0])
    if any(operand.type != (f64 if name == base else f32) for operand in operands):
        return None
    if base in _UNARY and len(operands) == 1:
        return _UNARY[base](operands[0])
    if base in _BINARY and len(operands) == 2:
        left, right = operands
        return _BINARY[base](left, right)
    if base == "fma" and len(operands) == 3:
        left, right, addend = operands
        return math.FmaOp(left, right, addend)
    if _CALLS.get(base) == len(operands):
        return library_call(base, *operands)
    return None

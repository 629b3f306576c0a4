"""The functions of `math`, NumPy and Python that are known here, one row a function.

A function of `math` takes numbers, computes in double precision, and gives a Python float. A function of NumPy takes
numbers and arrays, and keeps float32.
"""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import complex as complex_dialect
from xdsl.dialects import math as ir
from xdsl.dialects.builtin import ComplexType, f64
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import ARITIES, library_call
from tapeflow.frontend.python_numbers import Numbers
from tapeflow.frontend.python_types import (
    BOOL,
    COMPLEX,
    COMPLEX128,
    FLOAT,
    FLOAT32,
    FLOAT64,
    INT,
    INT64,
    ScalarType,
    as_float,
    promoted,
)
from tapeflow.frontend.python_values import Scalar, integer, truth

Make: TypeAlias = Callable[[Numbers, Sequence[Scalar]], Scalar]
Operate: TypeAlias = Callable[..., Operation]


@dataclass(frozen=True)
class Function:
    """A function of numbers.

    Attributes:
        arities: how many arguments it takes.
        make: makes its IR.
        on_arrays: whether it takes arrays too, and is applied to each of their elements.
    """

    arities: range
    make: Make
    on_arrays: bool = False


# Functions of floats.


def _python_float(operate: Operate, arity: int = 1) -> Function:
    """A function of `math` that is one operation."""

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        operands = [numbers.build.ssa(numbers.convert(argument, FLOAT)) for argument in arguments]
        return Scalar(FLOAT, numbers.build.value(operate(*operands)))

    return Function(range(arity, arity + 1), make)


def _numpy_float(operate: Operate, arity: int = 1) -> Function:
    """A function of NumPy that is one operation."""

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        common = _numpy_type(numbers, arguments)
        operands = [numbers.build.ssa(numbers.convert(argument, common)) for argument in arguments]
        if common.kind == "complex":
            return Scalar(common, _of_complex(numbers, operate, operands))
        return Scalar(common, numbers.build.value(operate(*operands)))

    return Function(range(arity, arity + 1), make, on_arrays=True)


def _of_complex(numbers: Numbers, operate: Operate, operands: Sequence[SSAValue]) -> SSAValue:
    """What the function that is `operate` on floats is on complex numbers.

    Raises:
        TapeflowError: it has no meaning there, or no operation.
    """
    function = _ON_COMPLEX.get(operate)
    if function is None:
        raise numbers.build.refuse(
            "this function of complex numbers is not supported",
            "use exp, log, sqrt, the trigonometric and hyperbolic functions, or compute with the parts",
        )
    return function(numbers, operands[0])


def _complex_operation(operate: Operate) -> Callable[[Numbers, SSAValue], SSAValue]:
    return lambda numbers, operand: numbers.build.value(operate(operand))


def _times_i(numbers: Numbers, operand: SSAValue, sign: float) -> SSAValue:
    return numbers.build.value(complex_dialect.MulOp(numbers.build.constant(complex(0.0, sign), operand.type), operand))


def _complex_sinh(numbers: Numbers, operand: SSAValue) -> SSAValue:
    """`-i sin(iz)`."""
    turned = numbers.build.value(complex_dialect.SinOp(_times_i(numbers, operand, 1.0)))
    return _times_i(numbers, turned, -1.0)


def _complex_cosh(numbers: Numbers, operand: SSAValue) -> SSAValue:
    """`cos(iz)`."""
    return numbers.build.value(complex_dialect.CosOp(_times_i(numbers, operand, 1.0)))


_ON_COMPLEX: dict[Operate, Callable[[Numbers, SSAValue], SSAValue]] = {
    ir.CosOp: _complex_operation(complex_dialect.CosOp),
    ir.CoshOp: _complex_cosh,
    ir.ExpOp: _complex_operation(complex_dialect.ExpOp),
    ir.ExpM1Op: _complex_operation(complex_dialect.Expm1Op),
    ir.LogOp: _complex_operation(complex_dialect.LogOp),
    ir.Log1pOp: _complex_operation(complex_dialect.Log1pOp),
    ir.SinOp: _complex_operation(complex_dialect.SinOp),
    ir.SinhOp: _complex_sinh,
    ir.SqrtOp: _complex_operation(complex_dialect.SqrtOp),
    ir.TanOp: _complex_operation(complex_dialect.TanOp),
    ir.TanhOp: _complex_operation(complex_dialect.TanhOp),
}
"""The functions of complex numbers, by the operation on floats."""


def _cmath(operate: Operate) -> Function:
    """A function of `cmath`, which gives a Python complex."""

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        operand = numbers.build.ssa(numbers.convert(arguments[0], COMPLEX))
        return Scalar(COMPLEX, _of_complex(numbers, operate, [operand]))

    return Function(range(1, 2), make)


def _phase(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    operand = numbers.build.ssa(numbers.convert(arguments[0], COMPLEX))
    return Scalar(FLOAT, numbers.build.value(complex_dialect.AngleOp(operand)))


def _numpy_angle(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    (operand,) = arguments
    if operand.type.kind != "complex":
        raise numbers.build.refuse(
            "numpy.angle of a real number is not supported", "write '0.0 if x >= 0 else math.pi'"
        )
    angle = numbers.build.value(complex_dialect.AngleOp(numbers.build.ssa(operand)))
    return Scalar(FLOAT64 if operand.type.bits == 64 else FLOAT32, angle)


def _conjugate(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    (operand,) = arguments
    if operand.type.kind != "complex":
        return _of_numpy(operand)
    conjugate = numbers.build.value(complex_dialect.ConjOp(numbers.build.ssa(operand)))
    return _of_numpy(Scalar(operand.type, conjugate))


def _part(which: Literal["real", "imag"]) -> Make:
    return lambda numbers, arguments: _of_numpy(numbers.part(arguments[0], which))


def _builtin_complex(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    """`complex(x)` or `complex(x, y)`."""
    if len(arguments) == 1:
        return numbers.convert(arguments[0], COMPLEX)
    real, imaginary = (numbers.build.ssa(numbers.convert(argument, FLOAT)) for argument in arguments)
    return Scalar(COMPLEX, numbers.build.value(complex_dialect.CreateOp(real, imaginary, ComplexType(f64))))


def _numpy_type(numbers: Numbers, arguments: Sequence[Scalar]) -> ScalarType:
    """The type in which a function of NumPy computes a float."""
    common = as_float(arguments[0].type)
    for argument in arguments[1:]:
        merged = promoted(common, argument.type)
        if merged is None:
            raise numbers.build.refuse(
                "the arguments are of 32 bits and of a variable that may be Python's or NumPy's: the type of the "
                "result depends on which it is",
                "convert the variable first: 'float(...)' or 'numpy.float64(...)'",
            )
        common = as_float(merged)
    for argument in arguments:
        if argument.type.kind == "bool":
            raise numbers.build.refuse("a function of a bool is not supported", "convert it with float()")
    if common.kind == "complex":
        return COMPLEX128 if common.bits == 64 else common
    return FLOAT64 if common.bits == 64 else common


def _numpy_binary(symbol: str) -> Function:
    """A function of NumPy that is an operator."""

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        return _of_numpy(numbers.binary(symbol, arguments[0], arguments[1], on_arrays=True))

    return Function(range(2, 3), make, on_arrays=True)


def _numpy_comparison(symbol: str) -> Function:
    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        return numbers.compare(symbol, arguments[0], arguments[1])

    return Function(range(2, 3), make, on_arrays=True)


def _numpy_logical(symbol: str) -> Function:
    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        left, right = (numbers.convert(argument, BOOL) for argument in arguments)
        return numbers.binary(symbol, left, right)

    return Function(range(2, 3), make, on_arrays=True)


def _of_numpy(scalar: Scalar) -> Scalar:
    """A number as NumPy's functions return it."""
    wide = {("int", 64): INT64, ("float", 64): FLOAT64, ("complex", 64): COMPLEX128}.get(
        (scalar.type.kind, scalar.type.bits)
    )
    return scalar if wide is None else replace(scalar, type=wide)


def _numpy_extreme(greatest: bool, of_floats: Operate) -> Function:
    """`maximum` and `minimum`, or `fmax` and `fmin`."""
    floats = _numpy_float(of_floats, 2)

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        if all(argument.type.kind == "int" for argument in arguments):
            common = promoted(arguments[0].type, arguments[1].type)
            if common is not None:
                return _of_numpy(numbers.extreme(greatest, *(numbers.convert(a, common) for a in arguments)))
        return floats.make(numbers, arguments)

    return Function(range(2, 3), make, on_arrays=True)


# Functions with a case for each type.


def _abs(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return numbers.absolute(arguments[0])


def _numpy_abs(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return _of_numpy(numbers.absolute(arguments[0]))


def _negative(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return _of_numpy(numbers.negate(arguments[0]))


def _logical_not(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return numbers.negate_truth(arguments[0])


def _square(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return _of_numpy(numbers.binary("*", arguments[0], arguments[0]))


def _reciprocal(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    if arguments[0].type.kind == "int":
        raise numbers.build.refuse("numpy.reciprocal of an int is not supported", "write '1.0 / x'")
    return _of_numpy(numbers.binary("/", Scalar(FLOAT, 1.0), arguments[0]))


def _sign(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    """1, -1 or 0; NaN stays NaN."""
    (operand,) = arguments
    common = _numpy_type(numbers, arguments)
    if operand.type.kind == "complex":
        raise numbers.build.refuse("numpy.sign of a complex number is not supported", "write 'z / abs(z)'")
    if operand.type.kind == "int":
        raise numbers.build.refuse("numpy.sign of an int is not supported", "write '(x > 0)' and '(x < 0)' with 'if'")
    zero, one, minus_one = (numbers.convert(Scalar(FLOAT, number), common) for number in (0.0, 1.0, -1.0))
    operand = numbers.convert(operand, common)
    result = numbers.select(numbers.compare("==", operand, zero), zero, operand)
    result = numbers.select(numbers.compare("<", operand, zero), minus_one, result)
    return numbers.select(numbers.compare(">", operand, zero), one, result)


def _rounded(operate: Operate) -> Make:
    """A function of `math` that rounds to an int."""

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        (operand,) = arguments
        if operand.type.kind == "int":
            return numbers.convert(operand, INT)
        if operand.type.kind == "complex":
            raise numbers.build.refuse("rounding a complex number has no meaning", "round its parts")
        if operand.type.kind == "bool":
            raise numbers.build.refuse("rounding a bool is not supported", "convert it with int()")
        if operand.number is not None:
            operand = replace(operand, now=numbers.build.ssa(operand))
        rounded = numbers.build.value(operate(numbers.build.ssa(operand)))
        return numbers.convert(replace(operand, now=rounded), INT)

    return make


def _numpy_rounded(operate: Operate) -> Function:
    """A function of NumPy that rounds to a float."""
    floats = _numpy_float(operate)

    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        if arguments[0].type.kind == "int":
            raise numbers.build.refuse("rounding an int is not supported", "leave it out")
        return floats.make(numbers, arguments)

    return Function(range(1, 2), make, on_arrays=True)


def _extreme(greatest: bool) -> Make:
    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        result = arguments[0]
        for argument in arguments[1:]:
            result = numbers.extreme(greatest, result, argument)
        return result

    return make


def _math_log(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    """The logarithm, to a base if there is one: a quotient of two, as in Python."""
    logs = [_LOG.make(numbers, [argument]) for argument in arguments]
    return logs[0] if len(logs) == 1 else numbers.binary("/", logs[0], logs[1])


def _builtin_pow(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    return numbers.binary("**", arguments[0], arguments[1])


def _scaled(factor: float, of_numpy: bool) -> Make:
    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        operand = numbers.convert(arguments[0], as_float(arguments[0].type))
        if operand.type.kind == "complex":
            raise numbers.build.refuse("a complex number is no angle", "convert its part: '.real' or '.imag'")
        product = numbers.binary("*", operand, Scalar(FLOAT, factor))
        return _of_numpy(product) if of_numpy else numbers.convert(product, FLOAT)

    return make


def _clip(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
    operand, least, greatest = arguments
    return _MINIMUM.make(numbers, [_MAXIMUM.make(numbers, [operand, least]), greatest])


# Tests of floats.


def _is_nan(numbers: Numbers, operand: SSAValue) -> SSAValue:
    return numbers.build.value(arith.CmpfOp(operand, operand, "uno"))


def _against_infinity(predicate: str) -> Callable[[Numbers, SSAValue], SSAValue]:
    def test(numbers: Numbers, operand: SSAValue) -> SSAValue:
        size = numbers.build.value(ir.AbsFOp(operand))
        return numbers.build.value(arith.CmpfOp(size, numbers.build.constant(math.inf, operand.type), predicate))

    return test


def _float_test(test: Callable[[Numbers, SSAValue], SSAValue], of_int: bool) -> Make:
    def make(numbers: Numbers, arguments: Sequence[Scalar]) -> Scalar:
        (operand,) = arguments
        if operand.type.kind == "complex":
            raise numbers.build.refuse("this test of a complex number is not supported", "test its parts")
        if operand.type.kind != "float":
            return truth(of_int)
        return Scalar(BOOL, test(numbers, numbers.build.ssa(operand)))

    return make


_SAME_NAME: dict[str, Operate] = {
    "acos": ir.AcosOp,
    "acosh": ir.AcoshOp,
    "asin": ir.AsinOp,
    "asinh": ir.AsinhOp,
    "atan": ir.AtanOp,
    "atanh": ir.AtanhOp,
    "cbrt": ir.CbrtOp,
    "cos": ir.CosOp,
    "cosh": ir.CoshOp,
    "erf": ir.ErfOp,
    "exp": ir.ExpOp,
    "exp2": ir.Exp2Op,
    "expm1": ir.ExpM1Op,
    "fabs": ir.AbsFOp,
    "log10": ir.Log10Op,
    "log1p": ir.Log1pOp,
    "log2": ir.Log2Op,
    "sin": ir.SinOp,
    "sinh": ir.SinhOp,
    "sqrt": ir.SqrtOp,
    "tan": ir.TanOp,
    "tanh": ir.TanhOp,
}
_NUMPY_ALIASES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
}

_LOG = _python_float(ir.LogOp)
_MAXIMUM = _numpy_extreme(True, arith.MaximumfOp)
_MINIMUM = _numpy_extreme(False, arith.MinimumfOp)
_ONE, _TWO, _THREE = range(1, 2), range(2, 3), range(3, 4)
_ANY_NUMBER = range(2, 1 << 16)

_TESTS = {
    "isnan": _float_test(_is_nan, of_int=False),
    "isinf": _float_test(_against_infinity("oeq"), of_int=False),
    "isfinite": _float_test(_against_infinity("olt"), of_int=True),
}

_LIBRARY = {
    name: partial(library_call, function)
    for name, function in {
        "erfc": "erfc",
        "fmod": "fmod",
        "gamma": "tgamma",
        "hypot": "hypot",
        "lgamma": "lgamma",
        "remainder": "remainder",
    }.items()
}
"""Functions of `math` that are calls of C's library."""

_MATH: dict[str, Function] = {
    **{name: _python_float(operate) for name, operate in _SAME_NAME.items()},
    **{name: Function(_ONE, make) for name, make in _TESTS.items()},
    **{name: _python_float(call, ARITIES[call.args[0]]) for name, call in _LIBRARY.items()},
    "atan2": _python_float(ir.Atan2Op, 2),
    "copysign": _python_float(ir.CopySignOp, 2),
    "pow": _python_float(ir.PowFOp, 2),
    "log": Function(range(1, 3), _math_log),
    "floor": Function(_ONE, _rounded(ir.FloorOp)),
    "ceil": Function(_ONE, _rounded(ir.CeilOp)),
    "trunc": Function(_ONE, _rounded(ir.TruncOp)),
    "degrees": Function(_ONE, _scaled(180.0 / math.pi, of_numpy=False)),
    "radians": Function(_ONE, _scaled(math.pi / 180.0, of_numpy=False)),
}

_NUMPY: dict[str, Function] = {
    **{
        _NUMPY_ALIASES.get(n, n): _numpy_float(o)
        for n, o in _SAME_NAME.items()
        if hasattr(np, _NUMPY_ALIASES.get(n, n))
    },
    **{name: Function(_ONE, make, on_arrays=True) for name, make in _TESTS.items()},
    "log": _numpy_float(ir.LogOp),
    "arctan2": _numpy_float(ir.Atan2Op, 2),
    "copysign": _numpy_float(ir.CopySignOp, 2),
    "hypot": _numpy_float(_LIBRARY["hypot"], 2),
    "floor": _numpy_rounded(ir.FloorOp),
    "ceil": _numpy_rounded(ir.CeilOp),
    "trunc": _numpy_rounded(ir.TruncOp),
    "rint": _numpy_rounded(ir.RoundEvenOp),
    "absolute": Function(_ONE, _numpy_abs, on_arrays=True),
    "negative": Function(_ONE, _negative, on_arrays=True),
    "square": Function(_ONE, _square, on_arrays=True),
    "reciprocal": Function(_ONE, _reciprocal, on_arrays=True),
    "sign": Function(_ONE, _sign, on_arrays=True),
    "conjugate": Function(_ONE, _conjugate, on_arrays=True),
    "real": Function(_ONE, _part("real"), on_arrays=True),
    "imag": Function(_ONE, _part("imag"), on_arrays=True),
    "angle": Function(_ONE, _numpy_angle, on_arrays=True),
    "deg2rad": Function(_ONE, _scaled(math.pi / 180.0, of_numpy=True), on_arrays=True),
    "rad2deg": Function(_ONE, _scaled(180.0 / math.pi, of_numpy=True), on_arrays=True),
    "radians": Function(_ONE, _scaled(math.pi / 180.0, of_numpy=True), on_arrays=True),
    "degrees": Function(_ONE, _scaled(180.0 / math.pi, of_numpy=True), on_arrays=True),
    "logical_not": Function(_ONE, _logical_not, on_arrays=True),
    "maximum": _MAXIMUM,
    "minimum": _MINIMUM,
    "fmax": _numpy_extreme(True, arith.MaxnumfOp),
    "fmin": _numpy_extreme(False, arith.MinnumfOp),
    "clip": Function(_THREE, _clip, on_arrays=True),
    "logical_and": _numpy_logical("&"),
    "logical_or": _numpy_logical("|"),
    "add": _numpy_binary("+"),
    "subtract": _numpy_binary("-"),
    "multiply": _numpy_binary("*"),
    "divide": _numpy_binary("/"),
    "floor_divide": _numpy_binary("//"),
    "remainder": _numpy_binary("%"),
    "power": _numpy_binary("**"),
    "less": _numpy_comparison("<"),
    "less_equal": _numpy_comparison("<="),
    "greater": _numpy_comparison(">"),
    "greater_equal": _numpy_comparison(">="),
    "equal": _numpy_comparison("=="),
    "not_equal": _numpy_comparison("!="),
}

_CMATH: dict[str, Function] = {
    **{name: _cmath(_SAME_NAME[name]) for name in ("cos", "cosh", "exp", "sin", "sinh", "sqrt", "tan", "tanh")},
    "log": _cmath(ir.LogOp),
    "phase": Function(_ONE, _phase),
}

_BUILTINS: dict[str, Function] = {
    "abs": Function(_ONE, _abs, on_arrays=True),
    "max": Function(_ANY_NUMBER, _extreme(True)),
    "min": Function(_ANY_NUMBER, _extreme(False)),
    "round": Function(_ONE, _rounded(ir.RoundEvenOp)),
    "pow": Function(_TWO, _builtin_pow),
    "complex": Function(range(1, 3), _builtin_complex),
}

FUNCTIONS: dict[Any, Function] = {
    **{getattr(math, name): function for name, function in _MATH.items() if hasattr(math, name)},
    **{getattr(cmath, name): function for name, function in _CMATH.items()},
    **{getattr(np, name): function for name, function in _NUMPY.items()},
    **{getattr(builtins, name): function for name, function in _BUILTINS.items()},
}
"""The functions of numbers, by the Python object."""

REDUCTIONS: dict[Any, str] = {
    np.sum: "sum",
    np.prod: "prod",
    np.max: "max",
    np.min: "min",
    np.amax: "max",
    np.amin: "min",
    np.mean: "mean",
}
"""The functions that make one number of an array, by the Python object; also their names as methods."""

INNER_PRODUCTS = (np.inner, np.vdot)
"""The functions that are `@` for two arrays of one dimension, and something else for more."""

ALLOCATIONS: dict[Any, float | None] = {np.zeros: 0.0, np.ones: 1.0, np.empty: None}
"""The functions that make an array of a shape, with what they fill it with."""

LIKE_ALLOCATIONS: dict[Any, float | None] = {np.zeros_like: 0.0, np.ones_like: 1.0, np.empty_like: None}
"""The functions that make an array of the shape and type of another."""


def zero_of(scalar: ScalarType) -> Scalar:
    """0 of a type."""
    return integer(0, scalar) if scalar.kind == "int" else Scalar(scalar, False if scalar.kind == "bool" else 0.0)

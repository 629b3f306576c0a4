"""Every row of the derivative rules, against derivatives at high precision on a grid of ordinary and extreme points."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath
import pytest
from mpmath import mp
from parsing import parse
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect

from tapeflow.analysis.derivative_rules import (
    FUNCTIONS,
    LIBRARY_RULES,
    RULES,
    Constant,
    Expression,
    Result,
    Row,
    evaluate,
    leaves,
)
from tapeflow.analysis.library_functions import POLYGAMMA
from tapeflow.interpreters import run

mp.dps = 260

FLOAT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": abs,
    "eq": operator.eq,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
    "float": float,
    "select": lambda condition, x, y: x if condition else y,
}
EXACT_FUNCTIONS = {
    **FLOAT_FUNCTIONS,
    "div": operator.truediv,
    "pow": mpmath.power,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "sqrt": mpmath.sqrt,
    "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x),
    "polygamma": lambda order, x: mpmath.polygamma(int(order), x),
    "float": mpmath.mpf,
}


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _fmod(x: Any, y: Any) -> Any:
    quotient = x / y
    return x - y * mpmath.sign(quotient) * mpmath.floor(abs(quotient))


GAMMA = (-7.3, -2.5, -1e-8, 1e-8, 0.3, 1.4616321449683622, 4.0, 20.0, 150.0)
MIDDLE = (-2.5, -1.0, -0.3, 0.4, 1.0, 3.7)
TINY_AND_LARGE = (-1e100, -1e-8, 1e-100, 1e-8, 700.0, 1e100)
UNIT = (-0.999999, -0.5, 1e-9, 0.3, 0.999999)
POSITIVE = (1e-300, 1e-8, 0.3, 1.0, 2.5, 1e8, 1e300)
ANGLES = (-30.0, -1.0, 1e-9, 0.7, 3.0, 100.0)

Function = Callable[..., Any]
CASES: dict[type | str, tuple[Function, tuple[Sequence[Any], ...]]] = {
    arith.AddfOp: (operator.add, (MIDDLE + TINY_AND_LARGE, MIDDLE)),
    arith.SubfOp: (operator.sub, (MIDDLE + TINY_AND_LARGE, MIDDLE)),
    arith.MulfOp: (operator.mul, (MIDDLE + TINY_AND_LARGE, MIDDLE)),
    arith.DivfOp: (operator.truediv, (MIDDLE + TINY_AND_LARGE, (*MIDDLE, 1e-8, 1e100))),
    arith.NegfOp: (operator.neg, (MIDDLE,)),
    arith.ExtFOp: (operator.pos, (MIDDLE,)),
    arith.TruncFOp: (operator.pos, (MIDDLE,)),
    arith.SelectOp: (lambda c, x, y: x if c else y, ((False, True), MIDDLE, MIDDLE)),
    arith.MaximumfOp: (max, (MIDDLE, (-2.0, 0.0, 5.0))),
    arith.MaxnumfOp: (max, (MIDDLE, (-2.0, 0.0, 5.0))),
    arith.MinimumfOp: (min, (MIDDLE, (-2.0, 0.0, 5.0))),
    arith.MinnumfOp: (min, (MIDDLE, (-2.0, 0.0, 5.0))),
    math_dialect.FmaOp: (lambda x, y, z: x * y + z, (MIDDLE, MIDDLE, (-1.0, 2.0))),
    math_dialect.AbsFOp: (abs, (MIDDLE + TINY_AND_LARGE,)),
    math_dialect.CopySignOp: (EXACT_FUNCTIONS["copysign"], (MIDDLE, (-3.0, 0.5))),
    math_dialect.SqrtOp: (mpmath.sqrt, (POSITIVE,)),
    math_dialect.RsqrtOp: (lambda x: 1 / mpmath.sqrt(x), ((1e-200, *POSITIVE[1:-1], 1e200),)),
    math_dialect.CbrtOp: (_cbrt, ((*MIDDLE, 1e-200, 1e200),)),
    math_dialect.PowFOp: (mpmath.power, ((1e-8, 0.3, 1.0, 2.5, 1e8), (-2.0, -0.5, 1e-8, 0.5, 1.0, 3.0))),
    math_dialect.FPowIOp: (lambda x, n: mpmath.power(x, n), ((-2.5, -0.3, 0.4, 3.7), (-2, -1, 1, 2, 5))),
    math_dialect.ExpOp: (mpmath.exp, ((-700.0, -1.0, 1e-9, 1.0, 700.0),)),
    math_dialect.Exp2Op: (lambda x: mpmath.power(2, x), ((-1000.0, -1.0, 1e-9, 1.0, 1000.0),)),
    math_dialect.ExpM1Op: (mpmath.expm1, ((-700.0, -40.0, -1.0, 1e-9, 1.0, 700.0),)),
    math_dialect.LogOp: (mpmath.log, (POSITIVE,)),
    math_dialect.Log2Op: (lambda x: mpmath.log(x, 2), (POSITIVE,)),
    math_dialect.Log10Op: (mpmath.log10, (POSITIVE,)),
    math_dialect.Log1pOp: (mpmath.log1p, ((-0.999, -0.3, 1e-12, 1.0, 1e300),)),
    math_dialect.SinOp: (mpmath.sin, (ANGLES,)),
    math_dialect.CosOp: (mpmath.cos, (ANGLES,)),
    math_dialect.TanOp: (mpmath.tan, (ANGLES,)),
    math_dialect.AsinOp: (mpmath.asin, (UNIT,)),
    math_dialect.AcosOp: (mpmath.acos, (UNIT,)),
    math_dialect.AtanOp: (mpmath.atan, ((*MIDDLE, 1e-09, 1e100),)),
    math_dialect.Atan2Op: (mpmath.atan2, ((*MIDDLE, 1e-100, 1e100), MIDDLE)),
    math_dialect.SinhOp: (mpmath.sinh, ((-700.0, -1.0, 1e-9, 2.0, 700.0),)),
    math_dialect.CoshOp: (mpmath.cosh, ((-700.0, -1.0, 1e-9, 2.0, 700.0),)),
    math_dialect.TanhOp: (mpmath.tanh, ((-3.0, -0.5, 1e-9, 0.7, 5.0),)),
    math_dialect.AsinhOp: (mpmath.asinh, ((*MIDDLE, 1e-09, 1e100),)),
    math_dialect.AcoshOp: (mpmath.acosh, ((1.0000001, 1.5, 20.0, 1e100),)),
    math_dialect.AtanhOp: (mpmath.atanh, (UNIT,)),
    math_dialect.ErfOp: (mpmath.erf, ((-5.0, -0.5, 1e-9, 1.0, 6.0),)),
    "erfc": (mpmath.erfc, ((-5.0, -0.5, 1e-9, 1.0, 20.0),)),
    "fdim": (lambda x, y: max(x - y, mpmath.mpf(0)), (MIDDLE, (-2.0, 0.0, 5.0))),
    "fmod": (_fmod, ((-7.5, -0.4, 3.7, 1000000.5), (-2.2, 0.3, 4.9))),
    "hypot": (mpmath.hypot, ((*MIDDLE, 1e-50, 1e50), MIDDLE)),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), (GAMMA,)),
    "remainder": (lambda x, y: x - y * mpmath.nint(x / y), ((-7.5, -0.4, 3.7, 1000000.5), (-2.2, 0.3, 4.9))),
    "tgamma": (mpmath.gamma, (GAMMA,)),
    POLYGAMMA: (lambda n, x: mpmath.polygamma(int(n), x), ((0.0, 1.0, 2.0), (-2.5, -0.3, 1e-8, 1.5, 30.0))),
    math_dialect.FloorOp: (mpmath.floor, (MIDDLE,)),
    math_dialect.CeilOp: (mpmath.ceil, (MIDDLE,)),
    math_dialect.TruncOp: (lambda x: mpmath.sign(x) * mpmath.floor(abs(x)), (MIDDLE,)),
    math_dialect.RoundOp: (mpmath.nint, (MIDDLE,)),
    math_dialect.RoundEvenOp: (mpmath.nint, (MIDDLE,)),
}


ALL_RULES: dict[type | str, Row] = {**RULES, **LIBRARY_RULES}


def rule_name(key: type | str) -> str:
    return key if isinstance(key, str) else key.name


def test_every_rule_has_a_case():
    assert set(CASES) == set(ALL_RULES)


def derivative(function: Function, point: Sequence[Any], position: int) -> Any:
    """The partial derivative by a central difference with digits to spare."""
    x = mpmath.mpf(point[position])
    step = (abs(x) or 1) * mpmath.mpf(10) ** -40

    def at(value: Any) -> Any:
        return function(*point[:position], value, *point[position + 1 :])

    return (at(x + step) - at(x - step)) / (2 * step)


def exact(point: Sequence[Any]) -> list[Any]:
    return [it if isinstance(it, bool | int) else mpmath.mpf(it) for it in point]


def is_a_kink(op: type | str, point: Sequence[Any]) -> bool:
    if op in (math_dialect.FloorOp, math_dialect.CeilOp, math_dialect.TruncOp):
        return float(point[0]).is_integer()
    if op in (arith.MaximumfOp, arith.MaxnumfOp, arith.MinimumfOp, arith.MinnumfOp):
        return point[0] == point[1]
    return op in (math_dialect.RoundOp, math_dialect.RoundEvenOp) and (2 * point[0]) % 2 == 1


@pytest.mark.parametrize("op", ALL_RULES, ids=rule_name)
def test_partials_are_the_derivatives(op: type | str):
    function, grid = CASES[op]
    for point in itertools.product(*grid):
        if is_a_kink(op, point):
            continue
        operands = exact(point)
        result = function(*operands)
        for position, partial in enumerate(ALL_RULES[op].partials):
            if partial is None:
                continue
            found = evaluate(partial, operands, result, EXACT_FUNCTIONS)
            if (op, position) == (POLYGAMMA, 0):
                continue  # the order, a constant
            expected = derivative(function, operands, position)
            assert abs(found - expected) <= mpmath.mpf(10) ** -15 * max(abs(expected), mpmath.mpf(10) ** -200), point


def interpreted(expression: Expression, arity: int) -> Callable[..., float]:
    """`expression`, on f64 operands and the result, as IR that the interpreter runs."""
    lines: list[str] = []

    def emit(it: Expression) -> str:
        name = f"%v{len(lines)}"
        match it:
            case Constant(value):
                lines.append(f"  {name} = arith.constant {value!r} : f64")
            case Result():
                return "%r"
            case _ if hasattr(it, "position"):
                return f"%x{it.position}"
            case _:
                arguments = [emit(argument) for argument in it.arguments]
                name = f"%v{len(lines)}"
                comparison = {"eq": "oeq", "gt": "ogt", "ge": "oge", "lt": "olt", "le": "ole"}.get(it.function)
                if it.function == "polygamma":
                    lines.append(f"  {name} = func.call @{POLYGAMMA}({', '.join(arguments)}) : (f64, f64) -> f64")
                elif comparison:
                    lines.append(f"  {name} = arith.cmpf {comparison}, {', '.join(arguments)} : f64")
                else:
                    lines.append(f"  {name} = {FUNCTIONS[it.function].name} {', '.join(arguments)} : f64")
        return name

    value = emit(expression)
    parameters = ", ".join(f"%x{k}: f64" for k in range(arity))
    declaration = f"func.func private @{POLYGAMMA}(f64, f64) -> f64"
    text = "\n".join(
        (declaration, f"func.func @p({parameters}, %r: f64) -> f64 {{", *lines, f"  func.return {value} : f64", "}")
    )
    module = parse(text)
    return lambda *values: run(module, "p", values)[0]


# Not relative to the partial itself, which is small where R or X rounds to a bound.
LOSES_DIGITS = {
    math_dialect.TanhOp: 1e-15,
    # The quotient is known as well as the remainder is, which is given rounded.
    "fmod": 1e-13,
    "remainder": 1e-13,
    # The digamma function has zeros.
    "lgamma": 1e-13,
    "tgamma": 1e-12,
    math_dialect.AsinOp: 1e-9,
    math_dialect.AcosOp: 1e-9,
    math_dialect.AcoshOp: 1e-8,
    math_dialect.AtanhOp: 1e-9,
}


@pytest.mark.parametrize(
    "op", [op for op in ALL_RULES if op not in (arith.SelectOp, math_dialect.FPowIOp)], ids=rule_name
)
def test_partials_keep_their_digits_in_double_precision(op: type | str):
    function, grid = CASES[op]
    for position, partial in enumerate(ALL_RULES[op].partials):
        assert partial is not None
        rounded = interpreted(partial, len(grid))
        for point in itertools.product(*grid):
            operands = exact(point)
            result = function(*operands)
            expected = float(evaluate(partial, operands, result, EXACT_FUNCTIONS))
            found = rounded(*map(float, point), float(result))
            tolerance = LOSES_DIGITS.get(op, 1e-13)
            if op in (math_dialect.SinOp, math_dialect.CosOp, math_dialect.TanOp):
                tolerance = 1e-12
            assert math.isclose(found, expected, rel_tol=tolerance, abs_tol=1e-15 if op in LOSES_DIGITS else 1e-300), (
                position,
                point,
            )


@pytest.mark.parametrize(
    ("op", "point", "expected"),
    [
        (arith.MaximumfOp, (2.0, 2.0), (0.5, 0.5)),
        (arith.MinnumfOp, (2.0, 2.0), (0.5, 0.5)),
        (arith.MaxnumfOp, (math.nan, 2.0), (1.0, 1.0)),
        (math_dialect.AbsFOp, (0.0,), (1.0,)),
        (math_dialect.AbsFOp, (-0.0,), (1.0,)),
        (math_dialect.CopySignOp, (0.0, -1.0), (-1.0, 0.0)),
        (math_dialect.PowFOp, (0.0, 0.0), (0.0, 0.0)),
        (math_dialect.PowFOp, (0.0, 2.0), (0.0, 0.0)),
        (math_dialect.PowFOp, (-2.0, 3.0), (12.0, math.nan)),
        (math_dialect.SqrtOp, (0.0,), (math.inf,)),
        (math_dialect.FloorOp, (2.0,), (0.0,)),
        (math_dialect.Atan2Op, (0.0, 0.0), (math.nan, math.nan)),
        (math_dialect.Atan2Op, (0.0, -1.0), (-1.0, 0.0)),
        (math_dialect.PowFOp, (0.0, 1.0), (1.0, 0.0)),
        (math_dialect.PowFOp, (0.0, 0.5), (math.inf, 0.0)),
        (math_dialect.PowFOp, (-2.0, 2.0), (-4.0, math.nan)),
        (math_dialect.CbrtOp, (0.0,), (math.inf,)),
        (math_dialect.RsqrtOp, (0.0,), (-math.inf,)),
        (math_dialect.LogOp, (0.0,), (math.inf,)),
        (math_dialect.Log1pOp, (-1.0,), (math.inf,)),
        (math_dialect.AsinOp, (1.0,), (math.inf,)),
        (math_dialect.AcosOp, (1.0,), (-math.inf,)),
        (math_dialect.AcoshOp, (1.0,), (math.inf,)),
        (math_dialect.AtanhOp, (1.0,), (math.inf,)),
        (math_dialect.TanhOp, (40.0,), (0.0,)),
        (arith.DivfOp, (1.0, 0.0), (math.inf, -math.inf)),
    ],
)
def test_choices_where_there_is_no_derivative(op: type, point: tuple[float, ...], expected: tuple[float, ...]):
    """As JAX 0.10.2 gives them in double precision, but for fmax and fmin at a tie or a NaN, and pow(x, 0) at 0."""
    results = {
        arith.MaximumfOp: max,
        arith.MinnumfOp: min,
        arith.MaxnumfOp: lambda x, y: y,
        math_dialect.AbsFOp: abs,
        math_dialect.CopySignOp: lambda x, y: -x,
        math_dialect.PowFOp: math.pow,
        math_dialect.SqrtOp: math.sqrt,
        math_dialect.FloorOp: math.floor,
        math_dialect.Atan2Op: math.atan2,
        math_dialect.CbrtOp: math.cbrt,
        math_dialect.RsqrtOp: lambda x: math.inf,
        math_dialect.LogOp: lambda x: -math.inf,
        math_dialect.Log1pOp: lambda x: -math.inf,
        math_dialect.AsinOp: math.asin,
        math_dialect.AcosOp: math.acos,
        math_dialect.AcoshOp: math.acosh,
        math_dialect.AtanhOp: lambda x: math.inf,
        math_dialect.TanhOp: math.tanh,
        arith.DivfOp: lambda x, y: math.inf,
    }
    result = float(results[op](*point))
    for partial, value in zip(RULES[op].partials, expected, strict=True):
        assert partial is not None
        found = interpreted(partial, len(point))(*point, result)
        assert found == value or (math.isnan(found) and math.isnan(value))


def test_needs_are_read_off_the_expressions():
    exp = RULES[math_dialect.ExpOp].partials[0]
    add = RULES[arith.AddfOp].partials[0]
    assert exp is not None and add is not None
    assert list(leaves(exp)) == [Result()]
    assert list(leaves(add)) == []


def test_the_manual_lists_every_rule():
    page = (Path(__file__).parents[2] / "docs" / "ad.md").read_text()
    for op, row in ALL_RULES.items():
        partials = " and ".join(f"`{partial}`" for partial in row.partials if partial is not None)
        line = f"| `{rule_name(op)}` | `{row.formula}` | {partials} | ".replace("|x|", "\\|x\\|") + f"{row.note} |"
        assert line in page, line


@pytest.mark.parametrize(
    ("function", "point", "result", "expected"),
    [
        ("hypot", (0.0, 0.0), 0.0, (0.0, 0.0)),
        ("fdim", (2.0, 2.0), 0.0, (0.5, -0.5)),
        ("fdim", (1.0, 2.0), 0.0, (0.0, 0.0)),
        ("lgamma", (0.0,), math.inf, (math.nan,)),
        ("lgamma", (-3.0,), math.inf, (math.nan,)),
        ("lgamma", (math.inf,), math.inf, (math.inf,)),
        ("fmod", (6.0, 2.0), 0.0, (1.0, -3.0)),
        ("fmod", (5.0, math.inf), 5.0, (1.0, 0.0)),
        ("remainder", (5.0, 2.0), 1.0, (1.0, -2.0)),
    ],
)
def test_choices_of_library_functions(
    function: str, point: tuple[float, ...], result: float, expected: tuple[float, ...]
):
    for partial, value in zip(LIBRARY_RULES[function].partials, expected, strict=True):
        assert partial is not None
        found = interpreted(partial, len(point))(*point, result)
        assert found == value or (math.isnan(found) and math.isnan(value))

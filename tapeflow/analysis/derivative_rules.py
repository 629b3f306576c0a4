"""Derivative rules: one row an operation, the partial derivatives of its result with respect to each operand.

A partial is an expression over the operands `X`, `Y`, `Z`, the result `R` and constants. Reverse mode multiplies the
result's adjoint by it, forward mode the operand's tangent; what must be known for that, and so be taped, is read off
the expression. Operands that carry no derivative (integers, conditions) have None.

Where a function has no derivative the rows follow JAX: one half each at a tie of `max` and `min`, 1 at `abs(0)`, 0 for
steps such as `floor`, 0 for the exponent of `pow(0, y)`. The notes of a row say so, and where they do not: `pow(x, 0)`
is the constant 1, so its derivative is 0 at x = 0 too, where JAX gives not a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import POLYGAMMA, library_call, library_function


@dataclass(frozen=True)
class Expression:
    """An expression of a partial derivative; the operators of Python build larger ones."""

    def __add__(self, other: Term) -> Expression:
        return apply("add", self, other)

    def __radd__(self, other: Term) -> Expression:
        return apply("add", other, self)

    def __sub__(self, other: Term) -> Expression:
        return apply("sub", self, other)

    def __rsub__(self, other: Term) -> Expression:
        return apply("sub", other, self)

    def __mul__(self, other: Term) -> Expression:
        return apply("mul", self, other)

    def __rmul__(self, other: Term) -> Expression:
        return apply("mul", other, self)

    def __truediv__(self, other: Term) -> Expression:
        return apply("div", self, other)

    def __rtruediv__(self, other: Term) -> Expression:
        return apply("div", other, self)

    def __neg__(self) -> Expression:
        return Apply("neg", (self,))

    def __str__(self) -> str:
        return _text(self, 0)


Term: TypeAlias = Expression | float


@dataclass(frozen=True)
class Operand(Expression):
    """An operand of the operation."""

    position: int


@dataclass(frozen=True)
class Result(Expression):
    """The result of the operation."""


@dataclass(frozen=True)
class Constant(Expression):
    """A number."""

    value: float


@dataclass(frozen=True)
class Apply(Expression):
    """A function of `FUNCTIONS` applied to expressions."""

    function: str
    arguments: tuple[Expression, ...]


def _comparison(predicate: str) -> Callable[[SSAValue, SSAValue], Operation]:
    return lambda left, right: arith.CmpfOp(left, right, predicate)


FUNCTIONS: Mapping[str, Callable[..., Operation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "neg": arith.NegfOp,
    "abs": math_dialect.AbsFOp,
    "pow": math_dialect.PowFOp,
    "exp": math_dialect.ExpOp,
    "log": math_dialect.LogOp,
    "sin": math_dialect.SinOp,
    "cos": math_dialect.CosOp,
    "sinh": math_dialect.SinhOp,
    "cosh": math_dialect.CoshOp,
    "sqrt": math_dialect.SqrtOp,
    "copysign": math_dialect.CopySignOp,
    "polygamma": partial(library_call, POLYGAMMA),
    # Comparisons are false where an operand is not a number.
    "eq": _comparison("oeq"),
    "gt": _comparison("ogt"),
    "ge": _comparison("oge"),
    "lt": _comparison("olt"),
    "le": _comparison("ole"),
    "select": arith.SelectOp,
    # An integer operand as a float of the row's type, which the constructor takes too.
    "float": arith.SIToFPOp,
}
"""The constructors of the operations that expressions are made of."""


def apply(function: str, *arguments: Term) -> Expression:
    """`function` of expressions and numbers."""
    return Apply(function, tuple(it if isinstance(it, Expression) else Constant(float(it)) for it in arguments))


_INFIX = {
    "add": ("+", 0),
    "sub": ("-", 0),
    "mul": ("*", 1),
    "div": ("/", 1),
    "eq": ("==", 1),
    "gt": (">", 1),
    "ge": (">=", 1),
    "lt": ("<", 1),
    "le": ("<=", 1),
}
"""The sign of a function of two arguments, and how tightly it binds."""

_NUMBERS = {
    math.log(2): "ln 2",
    1 / math.log(2): "(1 / ln 2)",
    1 / math.log(10): "(1 / ln 10)",
    2 / math.sqrt(math.pi): "(2 / sqrt(pi))",
}
"""Constants that have names."""


def _text(expression: Expression, binding: int) -> str:
    """`expression` as one would write it, in brackets where it binds less tightly than `binding`."""
    match expression:
        case Operand(position):
            return "xyz"[position]
        case Result():
            return "r"
        case Constant(value):
            return _NUMBERS.get(value, f"{value:g}")
        case Apply("neg", (inner,)):
            return f"-{_text(inner, 2)}"
        case Apply("float", (inner,)):
            return _text(inner, binding)
        case Apply("select", (condition, chosen, other)):
            return f"({condition} ? {chosen} : {other})"
        case Apply(function, (left, right)) if function in _INFIX:
            sign, ours = _INFIX[function]
            right_binding = ours + 1 if function in ("sub", "div") else ours
            plain = f"{_text(left, ours)} {sign} {_text(right, right_binding)}"
            return f"({plain})" if binding > ours else plain
        case Apply(function, arguments):
            return f"{function}({', '.join(map(str, arguments))})"
        case _:
            raise AssertionError("no such expression")


def evaluate(expression: Expression, operands: Sequence[Any], result: Any, functions: Mapping[str, Any]) -> Any:
    """The value of `expression` on numbers of any kind, with `functions` for the names in `FUNCTIONS`."""
    match expression:
        case Operand(position):
            return operands[position]
        case Result():
            return result
        case Constant(value):
            return value
        case Apply(function, arguments):
            return functions[function](*(evaluate(it, operands, result, functions) for it in arguments))
        case _:
            raise AssertionError(f"no such expression: {expression}")


def leaves(expression: Expression) -> Iterator[Operand | Result]:
    """The operands and results that `expression` reads: what reverse mode must know."""
    match expression:
        case Operand() | Result():
            yield expression
        case Apply(_, arguments):
            for argument in arguments:
                yield from leaves(argument)
        case _:
            pass


@dataclass(frozen=True)
class Row:
    """The rule of one operation."""

    formula: str
    """The function, in the letters of the partials."""

    partials: tuple[Expression | None, ...]
    """d(result)/d(operand), one an operand; None where the operand is no float."""

    note: str = ""
    """Where the partials are a choice, or lose digits."""


def _row(formula: str, *partials: Term | None, note: str = "") -> Row:
    return Row(formula, tuple(Constant(float(p)) if isinstance(p, float | int) else p for p in partials), note)


X, Y, Z, R = Operand(0), Operand(1), Operand(2), Result()

_SIGN = apply("select", apply("ge", X, 0.0), 1.0, -1.0)
_POWER_MINUS_ONE = apply("select", apply("eq", Y, 0.0), 0.0, Y * apply("pow", X, Y - 1.0))
_X_IS_LARGER = apply("ge", apply("abs", X), apply("abs", Y))
_LARGER, _SMALLER = apply("select", _X_IS_LARGER, X, Y), apply("select", _X_IS_LARGER, Y, X)
_SUM_OF_SQUARES = _LARGER + _SMALLER * (_SMALLER / _LARGER)
"""x^2 + y^2, divided by the larger of the two."""
_INTEGER_POWER = apply("float", Y)


def _chosen(comparison: str) -> tuple[Expression, Expression]:
    """The partials of a choice of two by `comparison`: 1 to the chosen, one half each at a tie.

    Written so that only the operands are needed, and so that a number beats what is not a number, as in C's fmax.
    """
    x_wins = apply(comparison, X, Y)
    y_wins = apply(comparison, Y, X)
    return (
        apply("select", y_wins, apply("select", x_wins, 0.5, 0.0), 1.0),
        apply("select", x_wins, apply("select", y_wins, 0.5, 0.0), 1.0),
    )


_TIE = "a tie gives one half each (JAX)"
_TIE_NUM = "a tie gives one half each (JAX's maximum; its fmax gives 0 and 1)"

RULES: Mapping[type[Operation], Row] = {
    # arithmetic
    arith.AddfOp: _row("x + y", 1, 1),
    arith.SubfOp: _row("x - y", 1, -1),
    arith.MulfOp: _row("x * y", Y, X),
    arith.DivfOp: _row("x / y", 1 / Y, -(1 / Y * R)),
    arith.NegfOp: _row("-x", -1),
    math_dialect.FmaOp: _row("x * y + z", Y, X, 1),
    # choices
    arith.SelectOp: _row("x ? y : z", None, apply("select", X, 1.0, 0.0), apply("select", X, 0.0, 1.0)),
    arith.MaximumfOp: _row("max(x, y)", *_chosen("ge"), note=_TIE),
    arith.MaxnumfOp: _row("fmax(x, y)", *_chosen("ge"), note=_TIE_NUM),
    arith.MinimumfOp: _row("min(x, y)", *_chosen("le"), note=_TIE),
    arith.MinnumfOp: _row("fmin(x, y)", *_chosen("le"), note=_TIE_NUM),
    math_dialect.AbsFOp: _row("|x|", _SIGN, note="1 at 0 (JAX)"),
    math_dialect.CopySignOp: _row(
        "|x| sign(y)", _SIGN * apply("copysign", 1.0, Y), 0, note="that of +0 at x = 0 (JAX)"
    ),
    # conversions between widths: the adjoint is converted back
    arith.ExtFOp: _row("x", 1),
    arith.TruncFOp: _row("x", 1),
    # roots and powers
    math_dialect.SqrtOp: _row("sqrt(x)", 0.5 / R, note="infinite at 0"),
    math_dialect.RsqrtOp: _row("1/sqrt(x)", -0.5 * R / X),
    math_dialect.CbrtOp: _row("cbrt(x)", 1 / (3.0 * (R * R)), note="infinite at 0"),
    math_dialect.PowFOp: _row(
        "pow(x, y)",
        _POWER_MINUS_ONE,
        R * apply("log", apply("select", apply("eq", X, 0.0), 1.0, X)),
        note="0 to x at y = 0 (JAX: not a number if x = 0 too), 0 to y at x = 0 < y (JAX); to y not a number for x < 0",
    ),
    math_dialect.FPowIOp: _row(
        "pow(x, int y)",
        apply(
            "select",
            apply("eq", _INTEGER_POWER, 0.0),
            0.0,
            _INTEGER_POWER * apply("pow", X, _INTEGER_POWER - 1.0),
        ),
        None,
    ),
    # exponentials and logarithms
    math_dialect.ExpOp: _row("exp(x)", R),
    math_dialect.Exp2Op: _row("2^x", math.log(2) * R),
    math_dialect.ExpM1Op: _row("exp(x) - 1", apply("exp", X), note="not 1 + r, which loses all digits for x << 0"),
    math_dialect.LogOp: _row("log(x)", 1 / X),
    math_dialect.Log2Op: _row("log2(x)", (1 / math.log(2)) / X),
    math_dialect.Log10Op: _row("log10(x)", (1 / math.log(10)) / X),
    math_dialect.Log1pOp: _row("log(1 + x)", 1 / (1.0 + X)),
    # trigonometric
    math_dialect.SinOp: _row("sin(x)", apply("cos", X)),
    math_dialect.CosOp: _row("cos(x)", -apply("sin", X)),
    math_dialect.TanOp: _row("tan(x)", 1.0 + R * R),
    math_dialect.AsinOp: _row("asin(x)", 1 / apply("sqrt", (1.0 - X) * (1.0 + X)), note="infinite at +-1"),
    math_dialect.AcosOp: _row("acos(x)", -(1 / apply("sqrt", (1.0 - X) * (1.0 + X))), note="infinite at +-1"),
    math_dialect.AtanOp: _row("atan(x)", 1 / (1.0 + X * X)),
    math_dialect.Atan2Op: _row(
        "atan2(x, y)",
        Y / _LARGER / _SUM_OF_SQUARES,
        -(X / _LARGER / _SUM_OF_SQUARES),
        note="y / (x^2 + y^2) and -x / (x^2 + y^2) without squares, which overflow; not a number at (0, 0) (JAX)",
    ),
    # hyperbolic
    math_dialect.SinhOp: _row("sinh(x)", apply("cosh", X)),
    math_dialect.CoshOp: _row("cosh(x)", apply("sinh", X)),
    math_dialect.TanhOp: _row("tanh(x)", (1.0 - R) * (1.0 + R), note="0 where r rounds to +-1"),
    math_dialect.AsinhOp: _row("asinh(x)", 1 / apply("sqrt", X * X + 1.0), note="0 where x * x overflows"),
    math_dialect.AcoshOp: _row("acosh(x)", 1 / apply("sqrt", (X - 1.0) * (X + 1.0)), note="infinite at 1"),
    math_dialect.AtanhOp: _row("atanh(x)", 1 / ((1.0 - X) * (1.0 + X)), note="infinite at +-1"),
    math_dialect.ErfOp: _row("erf(x)", (2 / math.sqrt(math.pi)) * apply("exp", -(X * X))),
    # steps: constant between jumps
    math_dialect.FloorOp: _row("floor(x)", 0, note="0 at the jumps too (JAX)"),
    math_dialect.CeilOp: _row("ceil(x)", 0, note="0 at the jumps too (JAX)"),
    math_dialect.TruncOp: _row("trunc(x)", 0, note="0 at the jumps too (JAX)"),
    math_dialect.RoundOp: _row("round(x)", 0, note="0 at the jumps too (JAX)"),
    math_dialect.RoundEvenOp: _row("rint(x)", 0, note="0 at the jumps too (JAX)"),
}
"""The rule of each differentiable operation. Others that touch active values are refused by name and place."""


_REMAINDER_NOTE = "to y minus the quotient, also at its jumps"

LIBRARY_RULES: Mapping[str, Row] = {
    "erfc": _row("erfc(x)", -2 / math.sqrt(math.pi) * apply("exp", -(X * X))),
    "fdim": _row(
        "fdim(x, y)",
        apply("select", apply("gt", X, Y), 1.0, apply("select", apply("eq", X, Y), 0.5, 0.0)),
        apply("select", apply("gt", X, Y), -1.0, apply("select", apply("eq", X, Y), -0.5, 0.0)),
        note="a tie gives half, as max(x - y, 0) in JAX",
    ),
    # The quotient as an integer, trunc(x / y), would be wrong where x / y rounds to an integer.
    "fmod": _row("fmod(x, y)", 1, (R - X) / Y, note=_REMAINDER_NOTE),
    "hypot": _row(
        "hypot(x, y)",
        apply("select", apply("eq", R, 0.0), 0.0, X / R),
        apply("select", apply("eq", R, 0.0), 0.0, Y / R),
        note="0 at (0, 0) (JAX)",
    ),
    "lgamma": _row("log(abs(gamma(x)))", apply("polygamma", 0.0, X), note="not a number at the poles (JAX)"),
    "remainder": _row("remainder(x, y)", 1, (R - X) / Y, note=_REMAINDER_NOTE),
    "tgamma": _row("gamma(x)", R * apply("polygamma", 0.0, X), note="not a number at the poles (JAX)"),
    POLYGAMMA: _row("polygamma(x, y)", 0, apply("polygamma", X + 1.0, Y), note="x is the order: an integer"),
}
"""The rule of each function of `library_functions`, by its name on doubles."""


def rule_of(op: Operation) -> Row | None:
    """The row of `op`, or None when its operation has none."""
    if (function := library_function(op)) is not None:
        return LIBRARY_RULES[function]
    return RULES.get(type(op))


def differentiable_operands(op: Operation) -> Iterator[tuple[int, SSAValue]]:
    """The operands that `op`'s result changes with: those whose partial is there and not zero everywhere."""
    if (row := rule_of(op)) is not None:
        for position, partial in enumerate(row.partials):
            if partial is not None and partial != Constant(0.0):
                yield position, op.operands[position]

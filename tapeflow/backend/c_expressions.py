"""C expressions of pure operations: a row an operation.

An expression knows the type that C computes it in beside the type that the IR means, so that a conversion is written
only where C would not make it by itself: `(ptrdiff_t)n * m` for two ints, but `i * m` for an index and an int.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from tapeflow.analysis.library_functions import library_function
from tapeflow.backend.c_types import c_type, is_float, of_arithmetic, same, unsigned, widens
from tapeflow.errors import TapeflowError

PRIMARY, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY = 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITIONAL = 8, 7, 6, 5, 4, 3


@dataclass(frozen=True)
class Expression:
    """C text that computes a value.

    Attributes:
        text: the C.
        precedence: of its outermost operator.
        ctype: the type that C gives it.
        meant: the type that the IR gives it, at least as wide; a conversion from `ctype` to it may be outstanding.
        literal: the integer, if it is a constant one.
    """

    text: str
    precedence: int
    ctype: str
    meant: str
    literal: int | None = None

    def within(self, precedence: int) -> str:
        """The text as an operand that must bind at least as tightly as `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def converted(self) -> Expression:
        """The expression with the outstanding conversion written out."""
        return self if same(self.ctype, self.meant) else cast_to(self.meant, self)


def name(text: str, ctype: str) -> Expression:
    """A variable, or anything else that needs no parentheses."""
    return Expression(text, PRIMARY, ctype, ctype)


def cast_to(ctype: str, operand: Expression) -> Expression:
    """`(ctype)operand`."""
    return Expression(f"({ctype}){operand.within(UNARY)}", UNARY, ctype, ctype)


def meaning(ctype: str, operand: Expression) -> Expression:
    """`operand` converted to `ctype`: by C itself where it keeps the value, else by a cast."""
    if same(operand.meant, ctype):
        return operand
    if operand.ctype == operand.meant and widens(operand.ctype, ctype):
        return replace(operand, meant=ctype)
    return cast_to(ctype, operand.converted())


# Literals


def integer(value: int, ctype: str = "ptrdiff_t") -> Expression:
    """An integer literal."""
    if ctype == "bool":
        return Expression("true" if value else "false", PRIMARY, "bool", "bool", value)
    if value == -(1 << 63):
        return Expression("INT64_MIN", PRIMARY, "int64_t", ctype, value)
    if value == -(1 << 31) and ctype == "int":
        return Expression("INT32_MIN", PRIMARY, "int", ctype, value)
    small = -(1 << 31) < value < 1 << 31
    text = str(value) if small else f"INT64_C({value})" if value >= 0 else f"-INT64_C({-value})"
    return Expression(text, PRIMARY if value >= 0 else UNARY, "int" if small else "int64_t", ctype, value)


def floating(value: float, ctype: str) -> Expression:
    """A floating literal that reads back as `value`."""
    suffix = "f" if ctype == "float" else ""
    if math.isnan(value):
        text = "NAN"
    elif math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
    else:
        text = (_shortest_float(value) if ctype == "float" else repr(value)) + suffix
    return Expression(text, UNARY if text.startswith("-") else PRIMARY, ctype, ctype)


def _shortest_float(value: float) -> str:
    """The shortest decimal that reads back as the same single-precision `value`."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", value):
            break
    else:
        text = repr(value)
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def constant(op: arith.ConstantOp) -> Expression:
    """The literal of a constant.

    Raises:
        TapeflowError: it is not a scalar.
    """
    ctype = c_type(op.result.type, op.location)
    match op.value:
        case FloatAttr():
            return floating(op.value.value.data, ctype)
        case IntegerAttr():
            return integer(_signed(op.value.value.data, ctype), ctype)
        case _:
            raise TapeflowError("a constant that is not a scalar cannot be printed as C", location=op.location)


def _signed(value: int, ctype: str) -> int:
    bits = {"bool": 1, "int8_t": 8, "int16_t": 16, "int": 32}.get(ctype, 64)
    if ctype == "bool":
        return value & 1
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


# Operators


def _leading_minus(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def infix(sign: str, precedence: int, ctype: str, a: Expression, b: Expression) -> Expression:
    """`a sign b`, computed in `ctype`."""
    if same(ctype, "int") or same(ctype, "int64_t"):
        a, b = _integers(sign, ctype, a, b)
    elif is_float(ctype):
        a, b = _floats(ctype, a, b)
    computed = of_arithmetic(a.ctype, b.ctype)
    text = f"{a.within(precedence)} {sign} {_leading_minus(b.within(precedence + 1))}"
    result = Expression(text, precedence, computed, ctype)
    return result if widens(computed, ctype) else cast_to(ctype, result)


def _integers(sign: str, ctype: str, a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Operands such that C computes in `ctype`; `n - 1` stays as it is: its source computed it in int too."""
    if not widens(a.ctype, ctype):
        a = a.converted()
    if not widens(b.ctype, ctype):
        b = b.converted()
    if same(of_arithmetic(a.ctype, b.ctype), ctype):
        return a, b
    if sign in "+-" and (a.literal is not None or b.literal is not None):
        return a, b
    return (a, cast_to(ctype, b)) if a.literal is not None else (cast_to(ctype, a), b)


def _floats(ctype: str, a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Operands such that C computes in `ctype`: it converts one itself when the other has the type already."""
    if same(of_arithmetic(a.ctype, b.ctype), ctype):
        return a, b
    return a.converted(), b


def add(a: Expression, b: Expression) -> Expression:
    """The sum of two indices, simplified where one is a literal."""
    if a.literal is not None and b.literal is not None:
        return integer(a.literal + b.literal)
    if a.literal == 0:
        return b
    if b.literal == 0:
        return a
    if b.literal is not None and b.literal < 0:
        return infix("-", SUM, "ptrdiff_t", a, integer(-b.literal))
    if b.precedence == SUM and same(of_arithmetic(a.ctype, b.ctype), "ptrdiff_t"):
        return Expression(f"{a.text} + {b.text}", SUM, "ptrdiff_t", "ptrdiff_t")
    return infix("+", SUM, "ptrdiff_t", a, b)


def multiply(a: Expression, b: Expression) -> Expression:
    """The product of two indices, simplified where one is a literal."""
    if a.literal is not None and b.literal is not None:
        return integer(a.literal * b.literal)
    if a.literal == 0 or b.literal == 1:
        return a
    if b.literal == 0 or a.literal == 1:
        return b
    return infix("*", PRODUCT, "ptrdiff_t", a, b)


def call(function: str, ctype: str, *arguments: Expression) -> Expression:
    """`function(arguments)`, which returns a `ctype`; C converts the arguments."""
    return name(f"{function}({', '.join(argument.text for argument in arguments)})", ctype)


def negation(operand: Expression) -> Expression:
    """`!operand`, or what it says without the sign."""
    if operand.precedence == UNARY and operand.text.startswith("!"):
        inner = operand.text[1:]
        if not inner.startswith("("):
            return name(inner, "bool")
    return Expression(f"!{operand.within(UNARY)}", UNARY, "bool", "bool")


def minus(operand: Expression) -> Expression:
    """`-operand`, a float."""
    operand = operand.converted()
    return Expression(f"-{_leading_minus(operand.within(UNARY))}", UNARY, operand.ctype, operand.meant)


def conditional(condition: Expression, a: Expression, b: Expression, ctype: str) -> Expression:
    """`condition ? a : b`."""
    if a.ctype == b.ctype:
        computed = a.ctype
    else:
        if not same(of_arithmetic(a.ctype, b.ctype), ctype):
            a, b = a.converted(), b.converted()
        computed = ctype
    text = f"{condition.within(OR)} ? {a.within(CONDITIONAL + 1)} : {b.within(CONDITIONAL)}"
    return Expression(text, CONDITIONAL, computed, ctype)


# Rows. Each takes the operation, its operands as expressions, and the C type of its result.

Row = Callable[[Operation, Sequence[Expression], str], Expression]


def _infix(sign: str, precedence: int) -> Row:
    return lambda op, operands, ctype: infix(sign, precedence, ctype, *operands)


def _unsigned_infix(sign: str, precedence: int) -> Row:
    def row(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
        a, b = _unsigned(unsigned(ctype), operands)
        text = f"{a.within(precedence)} {sign} {b.within(precedence + 1)}"
        return cast_to(ctype, Expression(text, precedence, ctype, ctype))

    return row


def _unsigned(ctype: str, operands: Sequence[Expression]) -> list[Expression]:
    """Operands read as unsigned; C converts a literal by itself beside one that is converted."""
    # A conversion to a wider signed type first would not change what comes out.
    literals = [operand.literal is not None and operand.literal >= 0 for operand in operands]
    if all(literals):
        literals[0] = False
    return [it if literal else cast_to(ctype, it) for it, literal in zip(operands, literals, strict=True)]


def _bitwise(sign: str, precedence: int, logical: str, logical_precedence: int) -> Row:
    """Bit by bit; on `bool` the logical operator, which is the same on operands without effects."""

    def row(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
        a, b = operands
        if ctype == "bool":
            if logical == "!=" and b.literal == 1:
                return negation(a)
            text = f"{_logical_operand(a, logical_precedence)} {logical} {_logical_operand(b, logical_precedence)}"
            return Expression(text, logical_precedence, "bool", "bool")
        a, b = _integers(sign, ctype, a, b)
        text = f"{a.within(SUM + 1)} {sign} {b.within(SUM + 1)}"
        return _as(ctype, Expression(text, precedence, of_arithmetic(a.ctype, b.ctype), ctype))

    return row


def _as(ctype: str, result: Expression) -> Expression:
    return result if widens(result.ctype, ctype) else cast_to(ctype, result)


def _logical_operand(operand: Expression, precedence: int) -> str:
    # Compilers warn about && within ||, and about == of ==, without parentheses.
    least = SHIFT if precedence == EQUALITY else EQUALITY
    return operand.text if operand.precedence == precedence != EQUALITY else operand.within(least)


def _shift_left(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    value = cast_to(unsigned(ctype), operands[0])
    return cast_to(ctype, Expression(f"{value.text} << {operands[1].within(SUM + 1)}", SHIFT, ctype, ctype))


def _shift_right(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    value = operands[0].converted()
    return Expression(f"{value.within(SUM + 1)} >> {operands[1].within(SUM + 1)}", SHIFT, ctype, ctype)


def _shift_right_unsigned(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    value = cast_to(unsigned(ctype), operands[0])
    return cast_to(ctype, Expression(f"{value.text} >> {operands[1].within(SUM + 1)}", SHIFT, ctype, ctype))


def _call(function: str) -> Row:
    """A function of <math.h>: with an f behind it in single precision."""

    def row(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
        suffix = "f" if ctype == "float" else ""
        return call(f"{function}{suffix}", ctype, *operands)

    return row


def _integer_call(function: str) -> Row:
    """A function of tapeflow_rt.h on int64_t."""

    def row(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
        return _as(ctype, call(function, "int64_t", *operands))

    return row


def _unsigned_call(function: str) -> Row:
    """A function of tapeflow_rt.h on uint64_t."""

    def row(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
        return cast_to(ctype, call(function, "int64_t", *_unsigned(unsigned(ctype), operands)))

    return row


_CMPI = ["==", "!=", "<", "<=", ">", ">="]
_CMPI_UNSIGNED = ["<", "<=", ">", ">="]
# By the predicate's number: a sign, or a sign to be negated (its ordered opposite), or a macro of <math.h>.
_CMPF: Sequence[tuple[str, str]] = [
    ("false", ""), ("", "=="), ("", ">"), ("", ">="), ("", "<"), ("", "<="), ("", "islessgreater"),
    ("!", "isunordered"), ("!", "islessgreater"), ("!", "<="), ("!", "<"), ("!", ">="), ("!", ">"), ("", "!="),
    ("", "isunordered"), ("true", ""),
]  # fmt: skip


def _comparison(sign: str, a: Expression, b: Expression) -> Expression:
    precedence = EQUALITY if sign in ("==", "!=") else RELATION
    text = f"{a.within(SHIFT)} {sign} {b.within(SHIFT)}"
    return Expression(text, precedence, "bool", "bool")


def _compare_integers(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    predicate = _predicate(op)
    if predicate < 6:
        return _comparison(_CMPI[predicate], *operands)
    a, b = _unsigned(unsigned(c_type(op.operands[0].type)), operands)
    return _comparison(_CMPI_UNSIGNED[predicate - 6], a, b)


def _compare_floats(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    sign, comparison = _CMPF[_predicate(op)]
    if not comparison:
        return name(sign, "bool")
    meant = c_type(op.operands[0].type)
    a, b = _floats(meant, *operands)
    result = call(comparison, "bool", a, b) if comparison[0] == "i" else _comparison(comparison, a, b)
    return negation(result) if sign else result


def _predicate(op: Operation) -> int:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    return predicate.value.data


def _convert(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return meaning(ctype, operands[0])


def _convert_unsigned(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    wide = unsigned(operands[0].meant)
    if operands[0].meant == "bool":
        return meaning(ctype, operands[0])
    return cast_to(ctype, cast_to(wide, operands[0].converted()))


def _sign_extend(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    if operands[0].meant != "bool":
        return meaning(ctype, operands[0])
    return _as(ctype, Expression(f"-{operands[0].within(UNARY)}", UNARY, "int", ctype))


def _signed_to_float(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return meaning(ctype, _sign_extend(op, operands, "int") if operands[0].meant == "bool" else operands[0])


def _truncate_integer(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    if ctype == "bool":
        return Expression(f"({operands[0].within(SUM)} & 1) != 0", EQUALITY, "bool", "bool")
    return meaning(ctype, operands[0])


def _to_unsigned(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return cast_to(ctype, cast_to(unsigned(ctype), operands[0].converted()))


def _select(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return conditional(operands[0], operands[1], operands[2], ctype)


def _negate(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return minus(operands[0])


def _absolute(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    # Compilers suspect abs where fabs is called with an integer.
    return _call("fabs")(op, [operands[0].converted()], ctype)


def _reciprocal_root(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    root = _call("sqrt")(op, operands, ctype)
    return infix("/", PRODUCT, ctype, floating(1.0, ctype), root)


def _power_of_integer(op: Operation, operands: Sequence[Expression], ctype: str) -> Expression:
    return _call("pow")(op, operands, ctype)


ROWS: Mapping[type[Operation], Row] = {
    arith.AddfOp: _infix("+", SUM),
    arith.SubfOp: _infix("-", SUM),
    arith.MulfOp: _infix("*", PRODUCT),
    arith.DivfOp: _infix("/", PRODUCT),
    arith.NegfOp: _negate,
    arith.MinimumfOp: _call("tf_minimum"),
    arith.MaximumfOp: _call("tf_maximum"),
    arith.MinnumfOp: _call("fmin"),
    arith.MaxnumfOp: _call("fmax"),
    arith.AddiOp: _infix("+", SUM),
    arith.SubiOp: _infix("-", SUM),
    arith.MuliOp: _infix("*", PRODUCT),
    arith.DivSIOp: _infix("/", PRODUCT),
    arith.RemSIOp: _infix("%", PRODUCT),
    arith.DivUIOp: _unsigned_infix("/", PRODUCT),
    arith.RemUIOp: _unsigned_infix("%", PRODUCT),
    arith.FloorDivSIOp: _integer_call("tf_floordiv"),
    arith.CeilDivSIOp: _integer_call("tf_ceildiv"),
    arith.CeilDivUIOp: _unsigned_call("tf_ceildivu"),
    arith.MinSIOp: _integer_call("tf_min"),
    arith.MaxSIOp: _integer_call("tf_max"),
    arith.MinUIOp: _unsigned_call("tf_minu"),
    arith.MaxUIOp: _unsigned_call("tf_maxu"),
    arith.AndIOp: _bitwise("&", BIT_AND, "&&", AND),
    arith.OrIOp: _bitwise("|", BIT_OR, "||", OR),
    arith.XOrIOp: _bitwise("^", BIT_XOR, "!=", EQUALITY),
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
    arith.ShRUIOp: _shift_right_unsigned,
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.IndexCastOp: _sign_extend,
    arith.ExtSIOp: _sign_extend,
    arith.ExtUIOp: _convert_unsigned,
    arith.TruncIOp: _truncate_integer,
    arith.SIToFPOp: _signed_to_float,
    arith.UIToFPOp: _convert_unsigned,
    arith.FPToSIOp: _convert,
    arith.FPToUIOp: _to_unsigned,
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
    xmath.AbsFOp: _absolute,
    xmath.AbsIOp: _integer_call("tf_abs"),
    xmath.AcosOp: _call("acos"),
    xmath.AcoshOp: _call("acosh"),
    xmath.AsinOp: _call("asin"),
    xmath.AsinhOp: _call("asinh"),
    xmath.AtanOp: _call("atan"),
    xmath.Atan2Op: _call("atan2"),
    xmath.AtanhOp: _call("atanh"),
    xmath.CbrtOp: _call("cbrt"),
    xmath.CeilOp: _call("ceil"),
    xmath.CopySignOp: _call("copysign"),
    xmath.CosOp: _call("cos"),
    xmath.CoshOp: _call("cosh"),
    xmath.ErfOp: _call("erf"),
    xmath.ExpOp: _call("exp"),
    xmath.Exp2Op: _call("exp2"),
    xmath.ExpM1Op: _call("expm1"),
    xmath.FloorOp: _call("floor"),
    xmath.FmaOp: _call("fma"),
    xmath.FPowIOp: _power_of_integer,
    xmath.LogOp: _call("log"),
    xmath.Log10Op: _call("log10"),
    xmath.Log1pOp: _call("log1p"),
    xmath.Log2Op: _call("log2"),
    xmath.PowFOp: _call("pow"),
    xmath.RoundOp: _call("round"),
    xmath.RoundEvenOp: _call("rint"),
    xmath.RsqrtOp: _reciprocal_root,
    xmath.SinOp: _call("sin"),
    xmath.SinhOp: _call("sinh"),
    xmath.SqrtOp: _call("sqrt"),
    xmath.TanOp: _call("tan"),
    xmath.TanhOp: _call("tanh"),
    xmath.TruncOp: _call("trunc"),
}
"""The pure operations that C has an expression for."""


def is_expression(op: Operation) -> bool:
    """Whether `op` is a pure operation that can be printed as an expression."""
    return type(op) in ROWS or isinstance(op, arith.ConstantOp) or library_function(op) is not None


def expression(op: Operation, operands: Sequence[Expression]) -> Expression:
    """The C expression of a pure operation with these operands."""
    if isinstance(op, arith.ConstantOp):
        return constant(op)
    result: Attribute = op.results[0].type
    if (function := library_function(op)) is not None:
        return _call(function)(op, operands, c_type(result, op.location))
    return ROWS[type(op)](op, operands, c_type(result, op.location))

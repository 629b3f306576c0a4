"""Complex numbers in C: their operators, `I`, and the functions of <complex.h>, as operations of the `complex` dialect.

A real operand of `+ - * /` stays real, as in Annex G of C and in gcc and clang: `x * z` is `x` times each part, so that
an infinite `x` does not meet the zero that a conversion to complex would add. Only in `x / z` is `x` converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, complex
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Operation

from tapeflow.frontend.c_builder import IRBuilder, Value
from tapeflow.frontend.c_complex_inverses import NAMES, inverse
from tapeflow.frontend.c_constants import number
from tapeflow.frontend.c_types import DOUBLE_COMPLEX, FLOAT_COMPLEX, Scalar, convert_number, scalar_of
from tapeflow.frontend.clang_tree import Node

_OPERATIONS: dict[str, type[complex.ComplexBinaryOp]] = {
    "+": complex.AddOp,
    "-": complex.SubOp,
    "*": complex.MulOp,
    "/": complex.DivOp,
}

_ROUND_LITERALS = frozenset({"PAREN_EXPR", "UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR"})


def operand_type(operand: Scalar, common: Scalar) -> Scalar:
    """The type that an operand is converted to where the usual arithmetic conversions give `common`."""
    return common.part if not operand.is_complex else common


def operate(build: IRBuilder, operator: str, left: Value, right: Value, node: Node) -> Value | None:
    """`left operator right`, of the types that `operand_type` gives; None if the types have no such operation."""
    if not left.type.is_complex and not right.type.is_complex:
        return build.binary(operator, left, right, node)
    operation = _OPERATIONS.get(operator)
    if operation is None:
        return None
    to = left.type if left.type.is_complex else right.type
    if left.type == right.type or (operator == "/" and not left.type.is_complex):
        first, second = [build.ssa(build.convert(operand, to, node), node) for operand in (left, right)]
        return Value(to, build.compute(operation(first, second), node))

    def parts(first: Value, second: Value) -> Value | None:
        return build.binary(operator, first, second, node)

    (a, b), (c, d) = build.parts(left, node), build.parts(right, node)
    if operator in ("+", "-"):
        imaginary = b if left.type.is_complex else d if operator == "+" else _opposite(build, d, node)
        real = parts(a, c)
    else:
        real, imaginary = (parts(a, c), parts(b, c)) if left.type.is_complex else (parts(a, c), parts(a, d))
    assert real is not None and imaginary is not None  # floats have these operations
    return build.complex(real, imaginary, to, node)


def negated(build: IRBuilder, operand: Value, node: Node) -> Value:
    """`-operand`, a complex number."""
    return Value(operand.type, build.compute(complex.NegOp(build.ssa(operand, node)), node))


def _opposite(build: IRBuilder, operand: Value, node: Node) -> Value:
    return Value(operand.type, build.compute(arith.NegfOp(build.ssa(operand, node)), node))


def imaginary_constant(node: Node, build: IRBuilder) -> Value | None:
    """The value of `I` or `2.0i`, converted or in parentheses; None of all other expressions."""
    to = scalar_of(node.type)
    if to is None or not to.is_complex:
        return None
    inner, types = node, [to]
    while (inner.kind in _ROUND_LITERALS and inner.children) or inner.operator == "__extension__":
        inner = inner.children[-1]
        scalar = scalar_of(inner.type)
        if scalar is None or not scalar.is_complex:
            return None
        types.append(scalar)
    if inner.kind != "IMAGINARY_LITERAL":
        return None
    known = number(inner.children[0])
    for scalar in reversed(types):
        known = None if known is None else convert_number(known, scalar.part)
    return None if known is None else Value(to, build.constant(0.0, to.ir, node, float(known)))


# The functions of <complex.h>.


def _turned(build: IRBuilder, z: Value, node: Node, *, left: bool) -> Value:
    """`iz`, or `-iz` if not `left`, without arithmetic."""
    real, imaginary = build.parts(z, node)
    if left:
        return build.complex(_opposite(build, imaginary, node), real, z.type, node)
    return build.complex(imaginary, _opposite(build, real, node), z.type, node)


def _operation(operation: Callable[..., Operation]) -> _Function:
    def make(build: IRBuilder, operands: Sequence[Value], node: Node) -> Value:
        scalar = operands[0].type
        ssa = build.compute(operation(*(build.ssa(operand, node) for operand in operands)), node)
        return Value(scalar if ssa.type == scalar.ir else scalar.part, ssa)

    return make


def _hyperbolic_sine(build: IRBuilder, operands: Sequence[Value], node: Node) -> Value:
    """`-i sin(iz)`."""
    sine = complex.SinOp(build.ssa(_turned(build, operands[0], node, left=True), node))
    return _turned(build, Value(operands[0].type, build.compute(sine, node)), node, left=False)


def _hyperbolic_cosine(build: IRBuilder, operands: Sequence[Value], node: Node) -> Value:
    """`cos(iz)`."""
    turned = _turned(build, operands[0], node, left=True)
    return Value(turned.type, build.compute(complex.CosOp(build.ssa(turned, node)), node))


_Function = Callable[[IRBuilder, Sequence[Value], Node], Value]


def _inverse(name: str) -> _Function:
    def make(build: IRBuilder, operands: Sequence[Value], node: Node) -> Value:
        (operand,) = operands
        type_ = cast(ComplexType, operand.type.ir)
        return Value(operand.type, inverse(name, build, build.ssa(operand, node), type_, node))

    return make


_UNARY: Mapping[str, _Function] = {
    "cabs": _operation(complex.AbsOp),
    "carg": _operation(complex.AngleOp),
    "ccos": _operation(complex.CosOp),
    "ccosh": _hyperbolic_cosine,
    "cexp": _operation(complex.ExpOp),
    "cimag": lambda build, operands, node: build.imaginary_part(operands[0], node),
    "clog": _operation(complex.LogOp),
    "conj": _operation(complex.ConjOp),
    "creal": lambda build, operands, node: build.real_part(operands[0], node),
    "csin": _operation(complex.SinOp),
    "csinh": _hyperbolic_sine,
    "csqrt": _operation(complex.SqrtOp),
    "ctan": _operation(complex.TanOp),
    "ctanh": _operation(complex.TanhOp),
    **{name: _inverse(name) for name in NAMES},
}
_BINARY: Mapping[str, _Function] = {"cpow": _operation(complex.PowOp)}
_REFUSED = {
    "cproj": "leave it out: it changes infinite numbers alone",
}
_CONSTRUCTOR = "__builtin_complex"


def _base(name: str) -> tuple[str, Scalar]:
    """The function that `name` is for `double` or, with an `f` behind, `float`; with the type of its operands."""
    name = name.removeprefix("__builtin_")
    if name in _UNARY or name in _BINARY or name in _REFUSED or not name.endswith("f"):
        return name, DOUBLE_COMPLEX
    return name.removesuffix("f"), FLOAT_COMPLEX


def is_complex_function(name: str) -> bool:
    """Whether C's library has a function `name` of complex numbers. C reserves these names for it."""
    base, _ = _base(name)
    return name == _CONSTRUCTOR or base in _UNARY or base in _BINARY or base in _REFUSED


def call(build: IRBuilder, node: Node, function: Node, operands: Sequence[Value]) -> Value:
    """The call `node` of a function of <complex.h>, or of what the macro `CMPLX` stands for.

    Raises:
        TapeflowError: the function is not supported, or not declared as the C library declares it.
    """
    name = function.spelling
    result = scalar_of(node.type)
    if name == _CONSTRUCTOR and result is not None:
        real, imaginary = (build.convert(operand, result.part, node) for operand in operands)
        return build.complex(real, imaginary, result, node)
    base, of = _base(name)
    if (hint := _REFUSED.get(base)) is not None:
        raise node.error(f"'{name}' is not supported", hint)
    make, arity = (_UNARY[base], 1) if base in _UNARY else (_BINARY[base], 2)
    # What it returns is checked first, for nothing is to be made before.
    returned = of.part if base in ("cabs", "carg", "cimag", "creal") else of
    if [operand.type for operand in operands] != [of] * arity or result != returned:
        raise node.error(f"'{name}' is not declared here as the C library declares it", "include <complex.h>")
    return make(build, operands, node)

"""Expressions whose value is known while importing: extents, steps, named constants."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tapeflow.frontend.c_types import Number, Scalar, convert_number, scalar_of, wrapped
from tapeflow.frontend.clang_tree import Node

# What is known of each node, for as long as its tree lives; without this, long sums would take quadratic time.
_KNOWN: WeakKeyDictionary[Node, Number | None] = WeakKeyDictionary()

_CASTS = frozenset({"PAREN_EXPR", "UNEXPOSED_EXPR", "CSTYLE_CAST_EXPR"})


def fold_binary(operator: str, left: int, right: int, scalar: Scalar) -> int | None:
    """The value of an integer operation in the type `scalar`, None if it has none (a division by zero, an overflow)."""
    match operator:
        case "+":
            exact = left + right
        case "-":
            exact = left - right
        case "*":
            exact = left * right
        case "/" | "%" if right != 0:
            # C truncates towards zero.
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            exact = quotient if operator == "/" else left - quotient * right
        case _:
            return None
    fits = wrapped(exact, scalar)
    return fits if fits == exact or not scalar.signed else None


def _named(declaration: Node | None) -> Number | None:
    """The value of an enumerator or of a `const` scalar with a constant initial value."""
    if declaration is None:
        return None
    if declaration.kind == "ENUM_CONSTANT_DECL":
        return declaration.constant
    if declaration.kind != "VAR_DECL" or not declaration.type.is_const or declaration.type.is_volatile:
        return None
    scalar, initializer = scalar_of(declaration.type), declaration.initializer
    if scalar is None or scalar.is_complex or initializer is None:
        return None
    if declaration.is_global and all(node.kind != "INIT_LIST_EXPR" for node in initializer.walk()):
        # Clang has checked that it is constant, and folds more than we do.
        value = initializer.evaluate()
    else:
        value = number(initializer)
    return None if value is None else convert_number(value, scalar)


def number(node: Node) -> Number | None:
    """The value of the expression `node`, converted to its type; None if it is not known, or not by us."""
    if node in _KNOWN:
        return _KNOWN[node]
    scalar = scalar_of(node.type)
    # Of complex numbers no sum is worked out here.
    value = None if scalar is None or scalar.is_complex else _unconverted(node, scalar)
    known = None if value is None or scalar is None else convert_number(value, scalar)
    _KNOWN[node] = known
    return known


def _unconverted(node: Node, scalar: Scalar) -> Number | None:
    if node.kind in _CASTS:
        return number(node.children[-1]) if node.children else None
    if node.kind == "DECL_REF_EXPR":
        return _named(node.declaration)
    if node.kind == "UNARY_OPERATOR" and node.operator in ("+", "-"):
        value = number(node.children[0])
        return None if value is None else value if node.operator == "+" else -value
    if node.kind == "BINARY_OPERATOR" and node.operator in ("+", "-", "*", "/", "%") and scalar.is_integer:
        left, right = [number(child) for child in node.children]
        if isinstance(left, int) and isinstance(right, int):
            return fold_binary(node.operator, left, right, scalar)
        return None
    return node.constant


def integer(node: Node) -> int | None:
    """The value of an integer expression that is known while importing; None for all others."""
    value = number(node)
    return value if isinstance(value, int) else None

"""The extents of array parameters where a call gives them a value: `n`, `n + 1`, `2 * (n - m)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def _tree(extent: str) -> ast.expr | None:
    try:
        return ast.parse(extent, mode="eval").body
    except SyntaxError:
        # A parameter that is called `lambda`, say.
        return None


def names_in(extent: str) -> tuple[str, ...]:
    """The parameters that an extent is computed from, in order of appearance."""
    tree = _tree(extent)
    if tree is None:
        return (extent,)
    return tuple(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def extent_value(extent: str, values: Mapping[str, Any]) -> int | None:
    """The value of an extent, for `values` of the parameters by name; None where one is missing or is no integer.

    Division is C's, towards zero; one by zero has no value.
    """
    tree = _tree(extent)
    return _integer(values.get(extent)) if tree is None else _value(tree, values)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _value(node: ast.expr, values: Mapping[str, Any]) -> int | None:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return _integer(values.get(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _value(operand, values)
            return None if number is None else -number
        case ast.BinOp(left=first, op=operator, right=second):
            left, right = _value(first, values), _value(second, values)
            return None if left is None or right is None else _binary(operator, left, right)
        case _:
            return None


def _binary(operator: ast.operator, left: int, right: int) -> int | None:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if right:
            quotient = abs(left) // abs(right)
            return quotient if (left < 0) == (right < 0) else -quotient
        case _:
            return None

"""Which variables of a loop stay NumPy's numbers: those that are so before it, and are assigned only such numbers.

What is combined with a NumPy number of 64 bits is one, and so is an element of an array. Of a variable that is not
known to stay one each iteration may find either kind, and its sum with a number of 32 bits is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from tapeflow.frontend.python_flow import assigned_values
from tapeflow.frontend.python_types import Origin
from tapeflow.frontend.python_values import Scalar, Value, View


def stay_numpy(names: Collection[str], body: Sequence[ast.stmt], before: Mapping[str, Value]) -> frozenset[str]:
    """Those of `names`, which `body` assigns and the loop carries, that are NumPy's in every iteration.

    Args:
        names: variables that hold numbers before the loop.
        body: what each iteration does.
        before: what all variables stand for before the loop.
    """
    values = assigned_values(body)
    staying = frozenset(name for name in names if _is_numpy_number(before[name]))
    while True:
        fixed = {name for name, value in before.items() if name not in values and _is_numpy_number(value)}
        arrays = {name for name, value in before.items() if isinstance(value, View)}
        known = staying | fixed
        left = frozenset(name for name in staying if all(_is_numpy(node, known, arrays) for node in values[name]))
        if left == staying:
            return staying
        staying = left


def _is_numpy_number(value: Value) -> bool:
    return isinstance(value, Scalar) and value.type.origin is Origin.NUMPY


def _is_numpy(node: ast.expr | None, known: Collection[str], arrays: Collection[str]) -> bool:
    """Whether the value of `node`, if it is a number, is NumPy's."""
    match node:
        case ast.Name(id=name):
            return name in known
        case ast.Subscript(value=ast.Name(id=name)):
            return name in arrays
        case ast.BinOp(left=left, right=right):
            return _is_numpy(left, known, arrays) or _is_numpy(right, known, arrays)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _is_numpy(operand, known, arrays)
        case ast.IfExp(body=then, orelse=otherwise):
            return _is_numpy(then, known, arrays) and _is_numpy(otherwise, known, arrays)
        case _:
            return False

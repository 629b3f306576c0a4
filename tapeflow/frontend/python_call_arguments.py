"""The arguments of a call of a known function: how many there are, and which are named."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_values import ArrayValue, Elements, View, described


def positional(expressions: Expressions, node: ast.Call, arities: range, names: Sequence[str] = ()) -> list[ast.expr]:
    """The positional arguments of `node`, as many as `arities` allows; others may be passed by the names in `names`.

    Raises:
        TapeflowError: there are more or fewer, or others by name.
    """
    source = expressions.build.source
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise source.error(
                keyword,
                f"the argument '{keyword.arg}' of {quoted(node.func)} is not supported",
                "write the loops out" if keyword.arg in ("axis", "out", "where", "keepdims") else None,
            )
    if len(node.args) not in arities:
        least, most = arities.start, arities.stop - 1
        takes = f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"
        if most > 9:
            takes = f"at least {least} arguments"
        given = f"{len(node.args)} {'is' if len(node.args) == 1 else 'are'} given"
        raise source.error(node, f"{quoted(node.func)} takes {takes} here, but {given}", _hint_for_arity(node))
    return node.args


def array_argument(expressions: Expressions, node: ast.Call, position: int) -> ArrayValue:
    """The value of an argument that must be an array.

    Raises:
        TapeflowError: it is not.
    """
    argument = node.args[position]
    value = expressions.value(argument)
    if not isinstance(value, View | Elements):
        raise expressions.build.source.error(
            argument, f"{quoted(node.func)} of {described(value)} is not supported: it takes an array"
        )
    return value


def named(node: ast.Call, name: str) -> ast.expr | None:
    """The argument that is passed by `name`, None if there is none."""
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


def _hint_for_arity(node: ast.Call) -> str | None:
    """What else may be meant by a call with too few or too many arguments."""
    match node.func:
        case ast.Name(id="max" | "min" as name):
            return f"write 'numpy.{name}(...)' for that of an array"
        case ast.Name(id="round"):
            return "write 'round(x * 100.0) / 100.0'"
        case _:
            return None

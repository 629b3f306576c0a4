"""What a function returns: one number, or several, `return a, b`, which are variables that its end reads.

```python
return a, b        becomes        return.1 = b
                                  return a
```
so all that is known of `return` holds of several numbers too. Nothing that changes an array may stand in `a` or `b`,
so it does not matter which is computed first. Questions about the syntax tree only: nothing here makes IR.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from tapeflow.frontend.python_source import Source

RETURN = "return"
"""What the value that a function returns, the first of several, is called: no variable can have that name."""


def returned_names(source: Source) -> tuple[str, ...]:
    """What the values that a function returns are called: `return`, `return.1`, ..."""
    several = _several(source)
    return (RETURN, *(f"{RETURN}.{k}" for k in range(1, len(several[0][1]) if several else 1)))


def is_returned(name: str) -> bool:
    """Whether a variable is a value that the function returns."""
    return name == RETURN or name.removeprefix(f"{RETURN}.").isdecimal()


def without_tuples(source: Source) -> Sequence[ast.stmt]:
    """The body of a function in which each `return` is of one value, the others being variables.

    Raises:
        TapeflowError: one returns more values than another.
    """
    several = _several(source)
    if not several:
        return source.tree.body
    wanted = len(several[0][1])
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Return) and len(_values(node)) != wanted:
            raise source.error(
                node,
                f"this 'return' is of {_numbers(len(_values(node)))}, that of line {several[0][0].lineno} of "
                f"{_numbers(wanted)}",
                "return as many each time",
            )
    spread: ast.FunctionDef = _Spread(returned_names(source)).visit(copy.deepcopy(source.tree))
    return spread.body


def first_tuple(source: Source) -> ast.Return | None:
    """The first `return` of several values; None if there is none."""
    several = _several(source)
    return several[0][0] if several else None


class _Spread(ast.NodeTransformer):
    def __init__(self, names: Sequence[str]):
        self._names = names

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        first, *others = _values(node)
        made: list[ast.stmt] = []
        for name, value in zip(self._names[1:], others, strict=True):
            target = ast.copy_location(ast.Name(name, ast.Store()), value)
            made.append(ast.copy_location(ast.Assign([target], value), node))
        return [*made, ast.copy_location(ast.Return(first), node)]


def _several(source: Source) -> list[tuple[ast.Return, list[ast.expr]]]:
    found = [(node, _values(node)) for node in ast.walk(source.tree) if isinstance(node, ast.Return)]
    return sorted((each for each in found if len(each[1]) > 1), key=lambda each: each[0].lineno)


def _values(node: ast.Return) -> list[ast.expr]:
    match node.value:
        case None:
            return []
        case ast.Tuple(elts=parts) if len(parts) > 1:
            return parts
        case value:
            return [value]


def _numbers(count: int) -> str:
    return f"{count} number{'s' * (count != 1)}"

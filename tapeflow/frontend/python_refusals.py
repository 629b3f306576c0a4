"""What the frontend says of Python that it does not take: construct, reason and what to do, one row a construct."""

from __future__ import annotations

import ast
import math
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_source import Source, quoted


class _Refusal(NamedTuple):
    """The message, and the help below it."""

    message: str
    hint: str


_LOOP = "write it as a loop over range(...)"
_NUMBERS = "keep to numbers and arrays of numbers"

_BY_SYNTAX: dict[type[ast.AST], _Refusal] = {
    ast.Assert: _Refusal("'assert' is not supported", "check the arguments before calling the kernel"),
    ast.AsyncFor: _Refusal("'async for' is not supported", "leave 'async' out"),
    ast.AsyncWith: _Refusal("'async with' is not supported", "leave it out"),
    ast.AsyncFunctionDef: _Refusal("a function inside a function is not supported", "define it at module level"),
    ast.Await: _Refusal("'await' is not supported", "leave it out"),
    ast.ClassDef: _Refusal("a class inside a function is not supported", _NUMBERS),
    ast.Delete: _Refusal("'del' is not supported", "leave it out"),
    ast.Dict: _Refusal("dictionaries are not supported", _NUMBERS),
    ast.DictComp: _Refusal("comprehensions are not supported", _LOOP),
    ast.FormattedValue: _Refusal("strings are not supported", _NUMBERS),
    ast.FunctionDef: _Refusal("a function inside a function is not supported", "define it at module level"),
    ast.GeneratorExp: _Refusal("generator expressions are not supported", _LOOP),
    ast.Global: _Refusal("'global' is not supported: a kernel's results leave through its arguments and its value",
                         "pass an array and write into it"),
    ast.Import: _Refusal("'import' inside a function is not supported", "import it at the top of the file"),
    ast.ImportFrom: _Refusal("'import' inside a function is not supported", "import it at the top of the file"),
    ast.JoinedStr: _Refusal("strings are not supported", _NUMBERS),
    ast.Lambda: _Refusal("a lambda is not supported", "define a function at module level"),
    ast.List: _Refusal("lists are not supported", "use an array: 'numpy.array([...])', or 'numpy.zeros(n)' and a loop"),
    ast.ListComp: _Refusal("comprehensions are not supported", _LOOP),
    ast.Match: _Refusal("'match' is not supported", "write the branches with 'if' and 'elif'"),
    ast.NamedExpr: _Refusal("':=' is not supported", "assign in a statement of its own, before this one"),
    ast.Nonlocal: _Refusal("'nonlocal' is not supported: a kernel's results leave through its arguments and its value",
                           "pass an array and write into it"),
    ast.Raise: _Refusal("'raise' is not supported", "check the arguments before calling the kernel"),
    ast.Set: _Refusal("sets are not supported", _NUMBERS),
    ast.SetComp: _Refusal("comprehensions are not supported", _LOOP),
    ast.Slice: _Refusal("a slice is only supported as the subscript of an array", _NUMBERS),
    ast.Starred: _Refusal("'*' before a value is not supported", "write each value out"),
    ast.Try: _Refusal("'try' is not supported", "check the arguments before calling the kernel"),
    ast.TryStar: _Refusal("'try' is not supported", "check the arguments before calling the kernel"),
    ast.With: _Refusal("'with' is not supported", "leave it out"),
    ast.Yield: _Refusal("'yield' is not supported", "write the values into an array parameter"),
    ast.YieldFrom: _Refusal("'yield' is not supported", "write the values into an array parameter"),
}  # fmt: skip

_COMPARISONS: dict[type[ast.cmpop], _Refusal] = {
    ast.Is: _Refusal("'is' is not supported", "compare numbers with '=='"),
    ast.IsNot: _Refusal("'is not' is not supported", "compare numbers with '!='"),
    ast.In: _Refusal("'in' is not supported", "compare with '==', in a loop or with 'or' between"),
    ast.NotIn: _Refusal("'not in' is not supported", "compare with '!=', in a loop or with 'and' between"),
}

_NO_AXIS = "write the loops out"

_BY_OBJECT: dict[Any, str] = {
    print: "leave it out: a kernel has no output but its arrays and its value",
    enumerate: "count with 'for i in range(len(x))', and read 'x[i]' in the body",
    zip: "count with 'for i in range(len(x))', and read the elements in the body",
    reversed: "count down with 'range(n - 1, -1, -1)'",
    sorted: "sort before calling the kernel",
    range: "use it in 'for i in range(...)' only",
    divmod: "write 'a // b' and 'a % b'",
    isinstance: "write a function for each type",
    math.fsum: "sum in a loop",
    math.dist: "sum the squares in a loop, and take 'math.sqrt'",
    np.arange: "make it with 'numpy.empty(n)' and a loop",
    np.linspace: "make it with 'numpy.empty(n)' and a loop",
    np.concatenate: "make the array with 'numpy.empty(...)', and assign to its parts",
    np.cumsum: _NO_AXIS,
    np.outer: _NO_AXIS,
    np.einsum: _NO_AXIS,
    np.transpose: "exchange the subscripts where the array is read",
    np.reshape: "declare the array with the shape that it is used in",
    np.linalg.norm: "write 'np.sqrt(np.sum(x * x))'",
}


def unsupported(source: Source, node: ast.expr | ast.stmt) -> TapeflowError:
    """The refusal of the statement or expression `node`, which the frontend has no rule for."""
    row = _BY_SYNTAX.get(type(node))
    if row is None:
        return source.error(node, f"{quoted(node)} is not supported", "see docs/frontend-python.md for what is")
    return source.error(node, row.message, row.hint)


def unsupported_comparison(source: Source, node: ast.Compare, symbol: ast.cmpop) -> TapeflowError:
    """The refusal of a comparison that is not one of numbers."""
    return source.error(node, *_COMPARISONS[type(symbol)])


def unsupported_function(source: Source, node: ast.Call, called: Any) -> TapeflowError:
    """The refusal of a call of the object `called`, which is neither a known function nor one that can be imported."""
    name = quoted(node.func)
    hint = _BY_OBJECT.get(called) if callable(called) and is_hashable(called) else None
    if hint is not None:
        return source.error(node, f"{name} is not supported", hint)
    if not callable(called):
        hint = "leave the parentheses out"
        return source.error(node, f"{name} is a {type(called).__name__}, which cannot be called", hint)
    return source.error(
        node,
        f"{name} is not supported: it is not a function that can be imported",
        "write it as a Python function over numbers and arrays; docs/frontend-python.md lists what is known",
    )


def is_library_function(function: FunctionType) -> bool:
    """Whether `function` is part of NumPy, so that its text would mean little to the user."""
    return function.__module__.partition(".")[0] == "numpy"


def is_hashable(called: Any) -> bool:
    """Whether `called` can be looked up in a table."""
    try:
        hash(called)
    except TypeError:
        return False
    return True

"""The text of a Python function: its syntax tree, and where each part of it stands in the user's file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeAlias

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tapeflow.errors import TapeflowError

Positioned: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword
"""The nodes of a syntax tree that know where they stand."""

_LONGEST_QUOTE = 60


class WrappedFunction:
    """An object that stands for a Python function, as a decorator may return it.

    Attributes:
        function: the function.
    """

    def __init__(self, function: FunctionType):
        self.function = function


def function_of(value: object) -> FunctionType | None:
    """The Python function that `value` is or stands for; None if it is none."""
    if isinstance(value, FunctionType):
        return value
    return value.function if isinstance(value, WrappedFunction) else None


class Source:
    """One function of the user's file.

    Attributes:
        function: the function itself.
        tree: its definition.
        lines: of the whole file.
    """

    def __init__(self, function: FunctionType, tree: ast.FunctionDef, lines: tuple[str, ...]):
        self.function = function
        self.tree = tree
        self.lines = lines
        self._file = StringAttr(function.__code__.co_filename)
        self._locations: dict[tuple[int, int], FileLineColLoc] = {}

    @property
    def name(self) -> str:
        """The function's name."""
        return self.tree.name

    def location(self, node: Positioned) -> FileLineColLoc:
        """Where `node` begins: file, line and column, both from 1; the column counts characters."""
        place = (node.lineno, node.col_offset)
        if place not in self._locations:
            # ast counts bytes of UTF-8; editors count characters.
            text = self.lines[node.lineno - 1] if node.lineno <= len(self.lines) else ""
            column = len(text.encode()[: node.col_offset].decode(errors="replace"))
            self._locations[place] = FileLineColLoc(self._file, IntAttr(node.lineno), IntAttr(column + 1))
        return self._locations[place]

    def error(self, node: Positioned, message: str, hint: str | None = None) -> TapeflowError:
        """The refusal of `node`."""
        return TapeflowError(message, location=self.location(node), hint=hint)

    def names(self) -> Mapping[str, Any]:
        """What the function sees of its surroundings: the module's names, and those of enclosing functions."""
        names: dict[str, Any] = dict(self.function.__globals__)
        cells = self.function.__closure__ or ()
        for name, cell in zip(self.function.__code__.co_freevars, cells, strict=True):
            try:
                names[name] = cell.cell_contents
            except ValueError:
                # The enclosing function has not assigned it yet, or deleted it.
                names.pop(name, None)
        return names


def source_of(function: FunctionType) -> Source:
    """The text of `function`.

    Raises:
        TapeflowError: the text is not to be had, or the function is a lambda or async.
    """
    code = function.__code__
    position = f"{code.co_filename}:{code.co_firstlineno}:1"
    lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
    if not lines:
        raise TapeflowError(
            f"the source text of '{function.__name__}' is not available",
            location=position,
            hint="define the function in a file or a notebook, not with exec or in a plain interactive session",
        )
    try:
        module = _parsed("".join(lines))
    except SyntaxError as error:
        raise TapeflowError(
            f"the source text of '{function.__name__}' has changed since it was imported, and has a syntax error now",
            location=f"{code.co_filename}:{error.lineno or 1}:{error.offset or 1}",
            hint="import the file again",
        ) from None
    return Source(function, _definition(module, function, position), lines)


@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    """The syntax tree of a file, whose functions are mostly imported one after the other."""
    return ast.parse(text)


def _definition(module: ast.Module, function: FunctionType, position: str) -> ast.FunctionDef:
    """The definition of `function` in `module`: the one of its name that begins in its first line."""
    name, first_line = function.__name__, function.__code__.co_firstlineno
    for node in ast.walk(module):
        match node:
            case ast.Lambda() if name == "<lambda>" and node.lineno == first_line:
                raise TapeflowError("a lambda is not supported", location=position, hint="define it with 'def'")
            case ast.AsyncFunctionDef() if node.name == name and _first_line(node) == first_line:
                raise TapeflowError(
                    f"'{name}' is async, which is not supported", location=position, hint="leave 'async' out"
                )
            case ast.FunctionDef() if node.name == name and _first_line(node) == first_line:
                return node
            case _:
                pass
    raise TapeflowError(
        f"the definition of '{name}' is not in this line",
        location=position,
        hint="the file has changed since it was imported, or a decorator replaced the function: import it again, "
        "or pass the function before it is decorated",
    )


def _first_line(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min((definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)))


def quoted(node: ast.AST) -> str:
    """The text of `node` in quotes, for messages; its middle is left out where it is long."""
    text = ast.unparse(node)
    if len(text) > _LONGEST_QUOTE:
        half = _LONGEST_QUOTE // 2 - 2
        text = f"{text[:half]} ... {text[-half:]}"
    return f"'{text}'"

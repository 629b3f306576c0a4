"""Whose numbers the variables are that a loop carries, in all its iterations: Python's, NumPy's, or either.

What is combined with a NumPy number of 64 bits is one, and so are an element of an array and what NumPy's functions
give; `math` and conversions such as `float` give Python's; `max`, `abs` and functions of the user what they are given.
All assignments of a loop are looked at together, until nothing changes: a variable has the origins of all that it is
assigned, and of what it is before the loop. Of one that may be either, the sum with a number of 32 bits is refused.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import inspect
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_flow import assigned_values, returned_values
from tapeflow.frontend.python_refusals import is_hashable, is_library_function
from tapeflow.frontend.python_scope import known
from tapeflow.frontend.python_source import Source, function_of, source_of
from tapeflow.frontend.python_types import OF_CLASS, Origin
from tapeflow.frontend.python_values import Scalar, Value, View

Found = Origin | None
"""Whose a number is; None as long as nothing is known that is assigned."""


def carried_origins(
    names: Collection[str], loop: ast.For | ast.While, before: Mapping[str, Value], source: Source
) -> Mapping[str, Origin]:
    """Whose number each of `names` is, which `loop` assigns and carries, in every iteration.

    Args:
        names: variables that hold numbers before the loop.
        loop: the loop.
        before: what all variables stand for before the loop.
        source: of the function.
    """
    values = assigned_values([loop])
    outside = {name: _origin_of(value) for name, value in before.items() if name in names or name not in values}
    found = _Origins(source.names(), values, outside, {}).found
    return {name: found[name] or Origin.EITHER for name in names}


def _origin_of(value: object) -> Origin:
    """Whose numbers `value` is, or has as elements."""
    if isinstance(value, Scalar):
        return value.type.origin
    return Origin.NUMPY if isinstance(value, View) else Origin.EITHER


def _joined(found: Iterable[Found]) -> Found:
    """Whose a number is that is one of several."""
    origins = {origin for origin in found if origin is not None}
    return origins.pop() if len(origins) == 1 else Origin.EITHER if origins else None


def _combined(found: Iterable[Found]) -> Found:
    """Whose the result of an operator is, of operands that are of `found`."""
    origins = set(found)
    if Origin.NUMPY in origins:
        return Origin.NUMPY
    return None if None in origins else _joined(origins)


_Calls = dict[tuple[FunctionType, tuple[Found, ...], int | None], Found]
"""What is known of calls, by the function, the origins of its arguments, and which of several results is meant."""

_UNKNOWN = object()
_OF_PYTHON = frozenset({builtins.len, builtins.round, builtins.complex})
_OF_ARGUMENTS = frozenset({builtins.abs, builtins.max, builtins.min})


@dataclass
class _Origins:
    """Some assignments.

    Args:
        surroundings: what names mean that are no variables.
        values: what each variable is assigned; None for what has no text.
        found: whose numbers the variables are, of those that are assigned so far: what holds at first.
        calls: shared by all that is analysed together.
    """

    surroundings: Mapping[str, Any]
    values: Mapping[str, Sequence[ast.expr | None]]
    found: dict[str, Found]
    calls: _Calls

    def __init__(
        self,
        surroundings: Mapping[str, Any],
        values: Mapping[str, Sequence[ast.expr | None]],
        before: Mapping[str, Found],
        calls: _Calls,
    ):
        self.surroundings, self.values, self.calls = surroundings, values, calls
        self.found = {**dict.fromkeys(values), **before}
        changes = True
        while changes:
            changes = False
            for name, assigned in values.items():
                origin = _joined((self.found[name], *map(self.of, assigned)))
                changes |= origin is not self.found[name]
                self.found[name] = origin

    def of(self, node: ast.expr | None) -> Found:
        """Whose the value of `node` is, if it is a number; an array counts as its elements."""
        match node:
            case ast.Name(id=name) if name in self.found:
                return self.found[name]
            case ast.Constant(value=int() | float() | complex()):
                return Origin.PYTHON
            case ast.Name() | ast.Attribute() if (value := self._object(node)) is not _UNKNOWN:
                return _origin_of(known(value))
            case ast.Attribute(value=of, attr="real" | "imag"):
                return self.of(of)
            case ast.Subscript():
                return self._element(node)
            case ast.BinOp(left=left, right=right):
                return _combined((self.of(left), self.of(right)))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return self.of(operand)
            case ast.IfExp(body=then, orelse=otherwise):
                return _joined((self.of(then), self.of(otherwise)))
            case ast.Call():
                return self._call(node, None)
            case _:
                return Origin.EITHER

    def _element(self, node: ast.Subscript) -> Found:
        match node:
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return Origin.PYTHON
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int() as position)):
                return self._call(call, position)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.found:
                # A variable with elements is an array.
                return Origin.NUMPY
            case ast.Subscript(value=ast.Subscript() as inner):
                return self._element(inner)
            case _:
                return Origin.EITHER

    def _object(self, node: ast.expr) -> Any:
        """The object outside of the function that `node` names."""
        match node:
            case ast.Name(id=name) if name not in self.found:
                return self.surroundings.get(name, getattr(builtins, name, _UNKNOWN))
            case ast.Attribute(value=owner, attr=attribute):
                return getattr(self._object(owner), attribute, _UNKNOWN)
            case _:
                return _UNKNOWN

    # Calls.

    def _call(self, node: ast.Call, position: int | None) -> Found:
        """Whose the result of a call is, or that of its results at `position`."""
        called = self._object(node.func)
        if called is _UNKNOWN:
            # A method, of a number or an array.
            return self.of(node.func.value) if isinstance(node.func, ast.Attribute) else Origin.EITHER
        if is_hashable(called):
            if (scalar := OF_CLASS.get(called)) is not None:
                return scalar.origin
            if called in _OF_ARGUMENTS:
                return _joined(map(self.of, node.args))
            if called is builtins.pow:
                return _combined(map(self.of, node.args))
            if called in _OF_PYTHON or _is_of_module(called, math) or _is_of_module(called, cmath):
                return Origin.PYTHON
            if called is builtins.sum or _is_of_module(called, np):
                return Origin.NUMPY
        function = function_of(called)
        if function is None or is_library_function(function):
            return Origin.EITHER
        return self._call_of_user(node, function, position)

    def _call_of_user(self, node: ast.Call, function: FunctionType, position: int | None) -> Found:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        try:
            source = source_of(function)
            bound = inspect.signature(function).bind(*node.args, **keywords)
        except (TapeflowError, TypeError):
            return Origin.EITHER
        bound.apply_defaults()
        given = {name: self._argument(value) for name, value in bound.arguments.items()}
        key = (function, tuple(given.values()), position)
        if key not in self.calls:
            # What calls itself is known for what it returns without that, or not at all.
            self.calls[key] = Origin.EITHER
            inside = _Origins(source.names(), assigned_values(source.tree.body), given, self.calls)
            self.calls[key] = _joined(inside.returned(source.tree.body, position))
        return self.calls[key]

    def _argument(self, value: Any) -> Found:
        return self.of(value) if isinstance(value, ast.expr) else _origin_of(known(value))

    def returned(self, body: Sequence[ast.stmt], position: int | None) -> Iterator[Found]:
        """Whose the numbers are that a function returns, or those at `position`."""
        for value in returned_values(body):
            if position is None or value is None:
                yield self.of(value)
            elif isinstance(value, ast.Tuple) and position < len(value.elts):
                yield self.of(value.elts[position])
            else:
                yield self._call(value, position) if isinstance(value, ast.Call) else Origin.EITHER


def _is_of_module(called: Any, module: Any) -> bool:
    """Whether `called` is a function of `module`, under its own name there."""
    return getattr(module, getattr(called, "__name__", ""), _UNKNOWN) is called

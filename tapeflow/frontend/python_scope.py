"""The variables of one function while it is imported: what each stands for here, and which type it has throughout."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from tapeflow.analysis.source_names import set_source_name
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_flow import local
from tapeflow.frontend.python_returns import is_returned
from tapeflow.frontend.python_source import Positioned
from tapeflow.frontend.python_types import OF_CLASS, ScalarType
from tapeflow.frontend.python_values import Array, Reference, Scalar, Tuple, Value, View, described, integer, whole

Binding = Scalar | View


class _Declared(NamedTuple):
    """What a variable is throughout the function, and the line where that was decided."""

    type: ScalarType | None
    line: int


class _Lost(NamedTuple):
    """Why a variable cannot be read here, and what to do about it."""

    reason: str
    hint: str


class Scope:
    """The variables of a function.

    Args:
        build: makes the function's IR.
        parameters: the names of the parameters.
        statements: the body.

    Attributes:
        bindings: what each variable stands for here; a variable that may be unassigned is missing.
    """

    def __init__(self, build: Builder, parameters: Iterable[str], statements: Sequence[ast.stmt]):
        self.build = build
        self.bindings: dict[str, Binding] = {}
        self._parameters = frozenset(parameters)
        self._local = self._parameters | local(statements)
        self._declared: dict[str, _Declared] = {}
        self._lost: dict[str, _Lost] = {}
        self._surroundings: Mapping[str, Any] = build.source.names()

    def is_local(self, name: str) -> bool:
        """Whether `name` is a variable of the function."""
        return name in self._local

    # Reading.

    def read(self, node: ast.Name) -> Value:
        """What the name `node` stands for here.

        Raises:
            TapeflowError: it may be unassigned, or is not defined.
        """
        name = node.id
        if (binding := self.bindings.get(name)) is not None:
            return binding
        if name in self._local:
            raise self._unassigned(node)
        if name in self._surroundings:
            return known(self._surroundings[name])
        if hasattr(builtins, name):
            return known(getattr(builtins, name))
        raise self.build.source.error(node, f"the name '{name}' is not defined", "define or import it at module level")

    def _unassigned(self, node: ast.Name) -> TapeflowError:
        lost = self._lost.get(node.id)
        if lost is None:
            return self.build.source.error(
                node, f"'{node.id}' is read before it is assigned", "assign it first, in every way that leads here"
            )
        return self.build.source.error(node, lost.reason, lost.hint)

    # Assigning.

    def declare(self, name: str, value: Scalar | Array, line: int) -> None:
        """Give a parameter its value on entry."""
        if isinstance(value, Scalar):
            self._declared[name] = _Declared(value.type, line)
            self.bindings[name] = value
        else:
            self._declared[name] = _Declared(None, line)
            self.bindings[name] = whole(value)

    def assign(self, name: str, value: Value, node: Positioned) -> None:
        """Let the variable `name` stand for `value` from here on.

        Raises:
            TapeflowError: the variable would change its type, or is not one that can have this value.
        """
        match value:
            case Scalar():
                self._assign_scalar(name, value, node)
            case View(fresh=True):
                self._assign_array(name, value, node)
            case View():
                raise self.build.source.error(
                    node,
                    f"'{name}' would be another name for {_part(value)}",
                    f"use {value.array.name or 'the array'} itself, or make a copy: '.copy()'",
                )
            case _:
                hint = (
                    "give each number a name" if isinstance(value, Tuple) else "keep to numbers and arrays of numbers"
                )
                raise self.build.source.error(node, f"a variable cannot be {described(value)}", hint)

    def _assign_scalar(self, name: str, value: Scalar, node: Positioned) -> None:
        declared = self._declared.setdefault(name, _Declared(value.type, node.lineno))
        if declared.type is None or not declared.type.is_same(value.type):
            raise self._changes_type(name, declared, value, node)
        if not is_returned(name):
            self.build.name(value, name)
        self.bindings[name] = value

    def _changes_type(self, name: str, declared: _Declared, value: Scalar, node: Positioned) -> TapeflowError:
        if declared.type is None:
            return self._rebinds(name, declared, node)
        before, now = declared.type, value.type
        what = "the returned value" if is_returned(name) else f"'{name}'"
        if is_returned(name):
            hint = f"convert one of them: '{now}(...)' or '{before}(...)'"
        elif (before.kind, now.kind) == ("int", "float") and name not in self._parameters:
            hint = "make it a float from the start: write 0.0 for 0, or use float(...)"
        elif before.kind == now.kind:
            hint = f"convert the value: '{before}(...)'"
            if before.bits < now.bits and name not in self._parameters:
                hint += f", or compute in 64 bits from the start: '{now.in_numpy}(...)'"
        else:
            hint = f"convert the value with {before.kind}(...), or use another variable"
        return self.build.source.error(
            node, f"{what} is {before.phrase} in line {declared.line} and would become {now.phrase} here", hint
        )

    def _assign_array(self, name: str, value: View, node: Positioned) -> None:
        if (declared := self._declared.get(name)) is not None:
            raise self._rebinds(name, declared, node)
        self._declared[name] = _Declared(None, node.lineno)
        set_source_name(value.array.memory, name)
        array = Array(name, value.array.memory, value.array.element, value.array.extents)
        self.bindings[name] = whole(array)

    def _rebinds(self, name: str, declared: _Declared, node: Positioned) -> TapeflowError:
        what = "an array" if declared.type is None else declared.type.phrase
        return self.build.source.error(
            node,
            f"'{name}' is {what} in line {declared.line} and would become something else here",
            f"write '{name}[:] = ...' to change the elements of an array, or use another name",
        )

    # Losing.

    def lose(self, name: str, reason: str, hint: str) -> None:
        """Refuse to read `name` from here on, until it is assigned again."""
        self.bindings.pop(name, None)
        self._lost[name] = _Lost(reason, hint)


def known(value: Any) -> Scalar | Tuple | Reference:
    """A Python object outside the function: a number is a constant from the moment of importing on."""
    scalar = OF_CLASS.get(type(value))
    if scalar is None:
        return _known_tuple(cast(tuple[Any, ...], value)) if type(value) is tuple else Reference(value)
    match scalar.kind:
        case "int":
            return integer(int(value), scalar)
        case "float":
            return Scalar(scalar, float(value))
        case "complex":
            return Scalar(scalar, complex(value))
        case "bool":
            return Scalar(scalar, bool(value))


def _known_tuple(value: tuple[Any, ...]) -> Tuple | Reference:
    items = [known(item) for item in value]
    numbers = tuple(item for item in items if isinstance(item, Scalar))
    return Tuple(numbers) if len(numbers) == len(items) else Reference(value)


def _part(view: View) -> str:
    name = f"'{view.array.name}'" if view.array.name else "an array"
    return name if view.is_whole else f"a part of {name}"

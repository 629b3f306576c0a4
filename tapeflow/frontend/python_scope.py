"""The variables of one function while it is imported: what each stands for here, and which type it has throughout."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tapeflow.analysis.source_names import set_source_name
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_flow import RETURN, assigned, assignments
from tapeflow.frontend.python_source import Positioned
from tapeflow.frontend.python_types import OF_CLASS, ScalarType
from tapeflow.frontend.python_values import Array, Reference, Scalar, Value, View, described, integer, whole

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
        self._local = self._parameters | frozenset(assigned(statements))
        self._times_assigned = assignments(statements)
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
            self.bindings[name] = value.unsettled if self._times_assigned[name] else value
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
                raise self.build.source.error(
                    node, f"a variable cannot be {described(value)}", "keep to numbers and arrays of numbers"
                )

    def _assign_scalar(self, name: str, value: Scalar, node: Positioned) -> None:
        declared = self._declared.setdefault(name, _Declared(value.type, node.lineno))
        if declared.type is None or not declared.type.is_same(value.type):
            raise self._changes_type(name, declared, value, node)
        if name != RETURN:
            self.build.name(value, name)
        self.bindings[name] = value.unsettled if self._times_assigned[name] > 1 else value

    def _changes_type(self, name: str, declared: _Declared, value: Scalar, node: Positioned) -> TapeflowError:
        if declared.type is None:
            return self._rebinds(name, declared, node)
        before, now = declared.type, value.type
        what = "the returned value" if name == RETURN else f"'{name}'"
        if (before.kind, now.kind) == ("int", "float") and name not in self._parameters:
            hint = "make it a float from the start: write 0.0 for 0, or use float(...)"
        elif before.kind == now.kind:
            hint = f"convert the value: '{before}(...)'"
        else:
            hint = f"convert the value with {before.kind}(...), or use another variable"
        return self.build.source.error(
            node, f"{what} is {_a(before)} in line {declared.line} and would become {_a(now)} here", hint
        )

    def _assign_array(self, name: str, value: View, node: Positioned) -> None:
        if (declared := self._declared.get(name)) is not None:
            raise self._rebinds(name, declared, node)
        self._declared[name] = _Declared(None, node.lineno)
        set_source_name(value.array.memory, name)
        array = Array(name, value.array.memory, value.array.element, value.array.extents)
        self.bindings[name] = whole(array)

    def _rebinds(self, name: str, declared: _Declared, node: Positioned) -> TapeflowError:
        what = "an array" if declared.type is None else _a(declared.type)
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


def known(value: Any) -> Scalar | Reference:
    """A Python object outside the function: a number is a constant from the moment of importing on."""
    scalar = OF_CLASS.get(type(value))
    if scalar is None:
        return Reference(value)
    match scalar.kind:
        case "int":
            return integer(int(value), scalar)
        case "float":
            return Scalar(scalar, float(value))
        case "bool":
            return Scalar(scalar, bool(value))


def _a(scalar: ScalarType) -> str:
    return f"{'an' if str(scalar)[0] in 'aeiou' else 'a'} {scalar}"


def _part(view: View) -> str:
    name = f"'{view.array.name}'" if view.array.name else "an array"
    return name if view.is_whole else f"a part of {name}"

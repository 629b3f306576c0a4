"""The arguments of a call of one of the user's functions: their types, and whether they fit what it declares."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue

from tapeflow.frontend.python_annotations import ArrayType, Parameter
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_scope import known
from tapeflow.frontend.python_source import Source, quoted
from tapeflow.frontend.python_types import ScalarType
from tapeflow.frontend.python_values import Elements, Scalar, View, described, integer

ArgumentType: TypeAlias = ScalarType | ArrayType


@dataclass
class Arguments:
    """The arguments of a call of a function that is imported.

    Attributes:
        expressions: makes their IR.
        node: the call.
        source: the function that is called.
        declared: its parameters.
        values: what is passed, one a parameter.
    """

    expressions: Expressions
    node: ast.Call
    source: Source
    declared: Sequence[Parameter]
    values: list[Scalar | View] = field(init=False)

    def __post_init__(self) -> None:
        bound = self._bound()
        self.values = [self._value(parameter, bound) for parameter in self.declared]

    def _bound(self) -> Mapping[str, Any]:
        """The expression for each parameter, or its default."""
        keywords = {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg is not None}
        try:
            bound = inspect.signature(self.source.function).bind(*self.node.args, **keywords)
        except TypeError as error:
            raise self.expressions.build.refuse(f"'{self.source.name}': {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _value(self, parameter: Parameter, bound: Mapping[str, Any]) -> Scalar | View:
        given = bound[parameter.name]
        if not isinstance(given, ast.expr):
            default = known(given)
            if not isinstance(default, Scalar):
                raise self.expressions.build.refuse(
                    f"the default of '{parameter.name}' is {described(default)}", "pass the argument"
                )
            return default
        value = self.expressions.operand(given)
        with self.expressions.build.at(given):
            if isinstance(value, Elements):
                value = self.expressions.arrays.materialize(value)
            self._check_whole(value, given)
            self._check_declared(parameter, value)
        return value

    def _check_whole(self, value: Scalar | View, given: ast.expr) -> None:
        if isinstance(value, View) and not value.is_whole:
            raise self.expressions.build.refuse(
                f"{quoted(given)} is a part of an array, which cannot be passed to '{self.source.name}'",
                "pass the array and its subscripts, or a copy: '.copy()'",
            )

    def _check_declared(self, parameter: Parameter, value: Scalar | View) -> None:
        declared = parameter.type
        if declared is None:
            return
        fits = (
            isinstance(value, Scalar) and declared.is_same(value.type)
            if isinstance(declared, ScalarType)
            else isinstance(value, View)
            and declared.element.is_same(value.array.element)
            and len(declared.extents) == len(value.lengths)
        )
        if not fits:
            what = described(value) if isinstance(value, Scalar) else f"{described(value)} of {value.array.element}"
            raise self.expressions.build.refuse(
                f"'{parameter.name}' of '{self.source.name}' is {what} here, but is declared {_spelled(declared)}",
                f"convert it: '{declared}(...)'" if isinstance(declared, ScalarType) else None,
            )

    def types(self) -> list[ArgumentType]:
        """The types that the function is imported for."""
        return [self._type(parameter, value) for parameter, value in zip(self.declared, self.values, strict=True)]

    def _type(self, parameter: Parameter, value: Scalar | View) -> ArgumentType:
        if isinstance(value, Scalar):
            return value.type
        stated = parameter.type.extents if isinstance(parameter.type, ArrayType) else (None,) * len(value.lengths)
        memory = value.array.memory.type
        assert isinstance(memory, MemRefType)
        extents: list[str | int | None] = []
        for dimension, (named, size) in enumerate(zip(stated, memory.get_shape(), strict=True)):
            if named is not None:
                self._check_extent(parameter, named, value.array.extents[dimension])
            extents.append(size if size != DYNAMIC_INDEX else named if isinstance(named, str) else None)
        return ArrayType(value.array.element, tuple(extents))

    def _check_extent(self, parameter: Parameter, named: str | int, actual: Scalar) -> None:
        """Refuse an array whose extent is not provably the one that the function declares."""
        if isinstance(named, str):
            position = next(k for k, other in enumerate(self.declared) if other.name == named)
            expected = self.values[position]
        else:
            expected = integer(named)
        build = self.expressions.build
        # An extent below 0 means what 0 does, which is what `len` makes of it.
        lengths = [expected, self.expressions.numbers.length(expected)] if isinstance(expected, Scalar) else []
        if not any(build.always_equal(length.linear, actual.linear) for length in lengths):
            raise build.refuse(
                f"'{parameter.name}' of '{self.source.name}' is declared with the extent {named}, which "
                f"{actual.linear} may not be equal to",
                "pass the array's own extent, or leave the extent out of the declaration",
            )

    def check_aliases(self, written: Sequence[bool], is_statement: bool) -> None:
        """Refuse an array that is passed twice and changed, and a change beside other expressions."""
        passed = [(v.array.memory, w) for v, w in zip(self.values, written, strict=True) if isinstance(v, View)]
        for memory, changes in passed:
            if changes and sum(other is memory for other, _ in passed) > 1:
                raise self.expressions.build.refuse(
                    f"an array that '{self.source.name}' changes is passed to it twice", "pass a copy: '.copy()'"
                )
        if not is_statement and any(changes for _, changes in passed):
            raise self.expressions.build.refuse(
                f"'{self.source.name}' changes an array, and is called inside another expression",
                "call it in a statement of its own: 't = f(...)'",
            )

    def changed(self, written: Sequence[bool]) -> list[SSAValue]:
        """The memory of the arrays that the function changes."""
        return [v.array.memory for v, w in zip(self.values, written, strict=True) if isinstance(v, View) and w]

    def operands(self) -> list[SSAValue | Operation]:
        """The operands of the call: the values, then the extents that the function does not have another way."""
        build = self.expressions.build
        operands: list[SSAValue | Operation] = [
            build.ssa(value) if isinstance(value, Scalar) else value.array.memory for value in self.values
        ]
        for value, type_ in zip(self.values, self.types(), strict=True):
            if isinstance(value, View):
                operands.extend(build.ssa(value.array.extents[dimension]) for dimension in open_extents(type_))
        return operands


def open_extents(type_: ArgumentType) -> list[int]:
    """The dimensions of an array whose extents its type does not say."""
    if isinstance(type_, ScalarType):
        return []
    return [dimension for dimension, extent in enumerate(type_.extents) if extent is None]


def _spelled(declared: ArgumentType) -> str:
    if isinstance(declared, ScalarType):
        return str(declared)
    rank = len(declared.extents)
    return f"an array of {rank} dimension{'s' * (rank != 1)} of {declared.element}"

"""New arrays: `numpy.zeros`, `numpy.full`, `numpy.array` and their kin."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tapeflow.frontend.python_call_arguments import array_argument, named, positional
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_functions import ALLOCATIONS, LIKE_ALLOCATIONS, zero_of
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_types import FLOAT64, INT, OF_DTYPE, ScalarType, element_of, joined, promoted
from tapeflow.frontend.python_values import Reference, Scalar, Tuple, View, described, element_type, integer


class NewArrays:
    """Makes the IR of new arrays.

    Args:
        expressions: makes that of shapes and numbers.

    Attributes:
        makers: for each function of NumPy, what makes a call of it.
    """

    def __init__(self, expressions: Expressions):
        self.expressions = expressions
        self.arrays = expressions.arrays
        self.numbers = expressions.numbers
        self.build = expressions.build
        self.makers: dict[Any, Callable[[ast.Call], View]] = {
            np.full: self._full,
            np.full_like: self._full_like,
            np.array: self._array,
            np.copy: self._copy,
            **{called: self._allocation(number) for called, number in ALLOCATIONS.items()},
            **{called: self._like(number) for called, number in LIKE_ALLOCATIONS.items()},
        }

    def _allocation(self, number: float | None) -> Callable[[ast.Call], View]:
        def make(node: ast.Call) -> View:
            arguments = positional(self.expressions, node, range(1, 3), ("dtype",))
            extents = self._shape(arguments[0])
            dtype = arguments[1] if len(arguments) > 1 else named(node, "dtype")
            fresh = self.arrays.allocate(FLOAT64 if dtype is None else self._dtype(dtype), extents)
            return self._filled(fresh, number)

        return make

    def _like(self, number: float | None) -> Callable[[ast.Call], View]:
        def make(node: ast.Call) -> View:
            positional(self.expressions, node, range(1, 2), ("dtype",))
            model = array_argument(self.expressions, node, 0)
            dtype = named(node, "dtype")
            element = element_type(model) if dtype is None else self._dtype(dtype)
            return self._filled(self.arrays.fresh(element, model.lengths), number)

        return make

    def _full(self, node: ast.Call) -> View:
        shape, number = positional(self.expressions, node, range(2, 3), ("dtype",))
        extents, filling = self._shape(shape), self.expressions.scalar(number)
        dtype = named(node, "dtype")
        element = filling.type if dtype is None else self._dtype(dtype)
        fresh = self.arrays.allocate(element_of(element), extents)
        self.arrays.assign(fresh, filling)
        return fresh

    def _full_like(self, node: ast.Call) -> View:
        positional(self.expressions, node, range(2, 3))
        model, filling = array_argument(self.expressions, node, 0), self.expressions.scalar(node.args[1])
        fresh = self.arrays.fresh(element_type(model), model.lengths)
        self.arrays.assign(fresh, filling)
        return fresh

    def _filled(self, fresh: View, number: float | None) -> View:
        if number is not None:
            zero = zero_of(fresh.array.element)
            filling = self.numbers.convert(integer(1), zero.type) if number else zero
            if fresh.array.element.kind == "bool":
                filling = Scalar(fresh.array.element, bool(number))
            self.arrays.assign(fresh, filling)
        return fresh

    def _shape(self, node: ast.expr) -> list[Scalar]:
        value = self.expressions.value(node)
        items = value.items if isinstance(value, Tuple) else (value,)
        extents: list[Scalar] = []
        for item in items:
            if not isinstance(item, Scalar) or item.type.kind != "int":
                raise self.build.source.error(node, f"the shape of an array is {described(item)}", "use ints")
            extents.append(self.numbers.convert(item, INT))
        return extents

    def _dtype(self, node: ast.expr) -> ScalarType:
        value = self.expressions.value(node)
        found = None
        if isinstance(value, Reference):
            with suppress(TypeError):
                found = OF_DTYPE.get(np.dtype(value.object))
        if found is None:
            raise self.build.source.error(
                node,
                f"{quoted(node)} is not supported as the type of an array's elements",
                "use numpy.float64, float32, complex128, complex64, int64, int32 or bool_",
            )
        return found

    def _copy(self, node: ast.Call) -> View:
        positional(self.expressions, node, range(1, 2))
        return self.arrays.materialize(array_argument(self.expressions, node, 0))

    def _array(self, node: ast.Call) -> View:
        """`numpy.array([...])` of numbers, in one or two dimensions; of an array, its copy."""
        (argument,) = positional(self.expressions, node, range(1, 2), ("dtype",))
        dtype = named(node, "dtype")
        if not isinstance(argument, ast.List | ast.Tuple):
            if dtype is not None:
                raise self.build.source.error(dtype, "a copy with another type of elements is not supported", "assign")
            return self.arrays.materialize(array_argument(self.expressions, node, 0))
        rows = argument.elts if argument.elts and isinstance(argument.elts[0], ast.List | ast.Tuple) else None
        if rows is None:
            numbers, extents = [self.expressions.scalar(item) for item in argument.elts], [len(argument.elts)]
        else:
            numbers, extents = self._rows(rows)
        element = self._common(numbers) if dtype is None else self._dtype(dtype)
        fresh = self.arrays.allocate(element, [integer(extent) for extent in extents])
        for position, number in enumerate(numbers):
            at = [position] if rows is None else list(divmod(position, extents[1]))
            self.arrays.store(fresh, number, [integer(index) for index in at])
        return fresh

    def _rows(self, rows: Sequence[ast.expr]) -> tuple[list[Scalar], list[int]]:
        lists = [row.elts if isinstance(row, ast.List | ast.Tuple) else [] for row in rows]
        if len({len(row) for row in lists}) != 1:
            raise self.build.refuse("the rows of an array must be lists of one length")
        return [self.expressions.scalar(item) for row in lists for item in row], [len(rows), len(lists[0])]

    def _common(self, numbers: Sequence[Scalar]) -> ScalarType:
        """The type of the elements of an array that is made of `numbers`."""
        if not numbers:
            return FLOAT64
        common = numbers[0].type
        for number in numbers[1:]:
            merged = joined(common, number.type)
            if merged is None and "bool" not in (common.kind, number.type.kind):
                merged = promoted(common, number.type)
            if merged is None:
                raise self.build.refuse(
                    f"an array of {common.phrase} and {number.type.phrase} is not supported", "convert all to one type"
                )
            common = merged
        return element_of(common)

"""Calls: of known functions of numbers and arrays, of conversions, and of the user's own functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_functions import (
    ALLOCATIONS,
    DOTS,
    FUNCTIONS,
    LIKE_ALLOCATIONS,
    REDUCTIONS,
    Function,
    zero_of,
)
from tapeflow.frontend.python_refusals import is_library_function, unsupported_function
from tapeflow.frontend.python_source import function_of, quoted
from tapeflow.frontend.python_types import FLOAT64, INT, OF_CLASS, OF_DTYPE, ScalarType, joined, promoted
from tapeflow.frontend.python_values import (
    ArrayValue,
    Elements,
    Method,
    Reference,
    Scalar,
    Tuple,
    Value,
    View,
    described,
    integer,
)


class Importer(Protocol):
    """Imports the user's functions that are called."""

    def call(self, node: ast.Call, function: FunctionType, expressions: Expressions) -> Scalar | None:
        """The value of a call of `function`; None if it returns nothing."""
        ...


class Calls:
    """Makes the IR of calls.

    Args:
        expressions: makes that of their arguments.
        importer: imports the user's functions.
    """

    def __init__(self, expressions: Expressions, importer: Importer):
        self.expressions = expressions
        self.arrays = expressions.arrays
        self.arithmetic = expressions.arithmetic
        self.build = expressions.build
        self._importer = importer
        self._special: dict[Any, Callable[[ast.Call], Value]] = {
            len: self._length,
            np.where: self._where,
            np.full: self._full,
            np.full_like: self._full_like,
            np.array: self._array,
            np.copy: lambda node: self.arrays.materialize(self._array_argument(node, 0)),
            np.matmul: self._product,
            **dict.fromkeys(DOTS, self._dot),
            **{called: self._reduction(name) for called, name in REDUCTIONS.items()},
            builtins.sum: self._reduction("sum"),
            **{called: self._allocation(number) for called, number in ALLOCATIONS.items()},
            **{called: self._like(number) for called, number in LIKE_ALLOCATIONS.items()},
        }

    def value(self, node: ast.Call) -> Value | None:
        """The value of the call `node`; None for that of a function that returns nothing.

        Raises:
            TapeflowError: the function is not known and cannot be imported, or does not take these arguments.
        """
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Starred):
                raise self.build.source.error(argument, "'*' before an argument is not supported", "write each out")
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.build.refuse("'**' before an argument is not supported", "write each argument out")
        called = self.expressions.value(node.func)
        match called:
            case Method(receiver, name):
                return self._method(node, receiver, name)
            case Reference(object=function):
                return self._function(node, function)
            case _:
                raise self.build.refuse(f"{quoted(node.func)} is {described(called)}, which cannot be called")

    def _function(self, node: ast.Call, called: Any) -> Value | None:
        if isinstance(called, Hashable):
            if (known := FUNCTIONS.get(called)) is not None:
                return self._known(node, known)
            if (scalar := OF_CLASS.get(called)) is not None:
                return self._conversion(node, scalar)
            if (special := self._special.get(called)) is not None:
                return special(node)
        function = function_of(called)
        if function is not None and not is_library_function(function):
            return self._importer.call(node, function, self.expressions)
        raise unsupported_function(self.build.source, node, called)

    # Arguments.

    def _arguments(self, node: ast.Call, arities: range, keywords: Sequence[str] = ()) -> list[ast.expr]:
        """The positional arguments of `node`, if there are as many as there may be, and no other keywords."""
        for keyword in node.keywords:
            if keyword.arg not in keywords:
                raise self.build.source.error(
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
            raise self.build.refuse(f"{quoted(node.func)} takes {takes} here, but {given}", _hint_for_arity(node))
        return node.args

    def _array_argument(self, node: ast.Call, position: int) -> ArrayValue:
        argument = node.args[position]
        value = self.expressions.value(argument)
        if not isinstance(value, View | Elements):
            raise self.build.source.error(
                argument, f"{quoted(node.func)} of {described(value)} is not supported: it takes an array"
            )
        return value

    def _known(self, node: ast.Call, function: Function) -> Value:
        operands = [self.expressions.operand(argument) for argument in self._arguments(node, function.arities)]
        for operand, argument in zip(operands, node.args, strict=True):
            if not function.on_arrays and not isinstance(operand, Scalar):
                raise self.build.source.error(
                    argument,
                    f"{quoted(node.func)} of {described(operand)} is not supported: it takes numbers",
                    "use the function of that name in numpy, or write a loop",
                )
        return self.arrays.apply(lambda parts: function.make(self.arithmetic, parts), operands)

    def _conversion(self, node: ast.Call, to: ScalarType) -> Scalar:
        (argument,) = self._arguments(node, range(1, 2))
        return self.arithmetic.convert(self.expressions.scalar(argument), to)

    # Functions of arrays.

    def _length(self, node: ast.Call) -> Scalar:
        (argument,) = self._arguments(node, range(1, 2))
        value = self.expressions.value(argument)
        if isinstance(value, Tuple):
            return integer(len(value.items))
        if not isinstance(value, View | Elements) or not value.lengths:
            raise self.build.refuse(f"'len' of {described(value)} is not supported: it takes an array")
        return self.arithmetic.extent(value.lengths[0])

    def _reduction(self, name: str) -> Callable[[ast.Call], Scalar]:
        def make(node: ast.Call) -> Scalar:
            self._arguments(node, range(1, 2))
            return self.expressions.reductions.reduce(name, self._array_argument(node, 0))

        return make

    def _dot(self, node: ast.Call) -> Value:
        self._arguments(node, range(2, 3))
        left, right = self._array_argument(node, 0), self._array_argument(node, 1)
        if len(left.lengths) == len(right.lengths) == 1:
            return self.expressions.reductions.product(left, right)
        if self.expressions.value(node.func) != Reference(np.dot):
            raise self.build.refuse(f"{quoted(node.func)} is only supported for arrays of one dimension", "write '@'")
        return self.expressions.reductions.product(left, right)

    def _product(self, node: ast.Call) -> Value:
        self._arguments(node, range(2, 3))
        return self.expressions.reductions.product(self._array_argument(node, 0), self._array_argument(node, 1))

    def _where(self, node: ast.Call) -> Value:
        """`numpy.where(c, a, b)`: of each pair only the one that is chosen is computed."""
        condition, then, otherwise = self._arguments(node, range(3, 4))
        mask = self.expressions.operand(condition)
        if isinstance(mask, Scalar):
            chosen = self.arithmetic.is_true(mask)
            return self.arithmetic.choose(
                chosen,
                lambda: self.expressions.scalar(then),
                lambda: self.expressions.scalar(otherwise),
                lambda left, right: self._chosen_type(node, left, right),
            )
        arms = [self.expressions.operand(arm) for arm in (then, otherwise)]
        to = self._chosen_type(node, *(arm.type if isinstance(arm, Scalar) else _element(arm) for arm in arms))
        return self.arrays.choose(mask, arms[0], arms[1], to)

    def _chosen_type(self, node: ast.Call, left: ScalarType, right: ScalarType) -> ScalarType:
        common = joined(left, right)
        if common is None and "bool" not in (left.kind, right.kind):
            common = promoted(left, right)
        if common is None:
            raise self.build.refuse(
                f"{quoted(node.func)} of {left.phrase} and {right.phrase} is not supported", "convert both to one type"
            )
        return _stored(common)

    # New arrays.

    def _allocation(self, number: float | None) -> Callable[[ast.Call], View]:
        def make(node: ast.Call) -> View:
            arguments = self._arguments(node, range(1, 3), ("dtype", "shape"))
            extents = self._shape(arguments[0])
            dtype = arguments[1] if len(arguments) > 1 else _keyword(node, "dtype")
            fresh = self.arrays.allocate(FLOAT64 if dtype is None else self._dtype(dtype), extents)
            return self._filled(fresh, number)

        return make

    def _like(self, number: float | None) -> Callable[[ast.Call], View]:
        def make(node: ast.Call) -> View:
            self._arguments(node, range(1, 2), ("dtype",))
            model = self._array_argument(node, 0)
            dtype = _keyword(node, "dtype")
            element = _element(model) if dtype is None else self._dtype(dtype)
            return self._filled(self.arrays.fresh(element, model.lengths), number)

        return make

    def _full(self, node: ast.Call) -> View:
        shape, number = self._arguments(node, range(2, 3), ("dtype",))
        extents, filling = self._shape(shape), self.expressions.scalar(number)
        dtype = _keyword(node, "dtype")
        element = filling.type if dtype is None else self._dtype(dtype)
        fresh = self.arrays.allocate(_stored(element), extents)
        self.arrays.assign(fresh, filling)
        return fresh

    def _full_like(self, node: ast.Call) -> View:
        self._arguments(node, range(2, 3))
        model, filling = self._array_argument(node, 0), self.expressions.scalar(node.args[1])
        fresh = self.arrays.fresh(_element(model), model.lengths)
        self.arrays.assign(fresh, filling)
        return fresh

    def _filled(self, fresh: View, number: float | None) -> View:
        if number is not None:
            zero = zero_of(fresh.array.element)
            filling = self.arithmetic.convert(integer(1), zero.type) if number else zero
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
            extents.append(self.arithmetic.convert(item, INT))
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
                "use numpy.float64, float32, int64, int32 or bool_",
            )
        return found

    def _array(self, node: ast.Call) -> View:
        """`numpy.array([...])` of numbers, in one or two dimensions; of an array, its copy."""
        (argument,) = self._arguments(node, range(1, 2), ("dtype",))
        dtype = _keyword(node, "dtype")
        if not isinstance(argument, ast.List | ast.Tuple):
            if dtype is not None:
                raise self.build.source.error(dtype, "a copy with another type of elements is not supported", "assign")
            return self.arrays.materialize(self._array_argument(node, 0))
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
        return _stored(common)

    # Methods.

    def _method(self, node: ast.Call, receiver: ArrayValue, name: str) -> Value | None:
        match name:
            case "copy":
                self._arguments(node, range(1))
                return self.arrays.materialize(receiver)
            case "dot":
                self._arguments(node, range(1, 2))
                return self.expressions.reductions.product(receiver, self._array_argument(node, 0))
            case "fill":
                (number,) = self._arguments(node, range(1, 2))
                if not isinstance(receiver, View):
                    raise self.build.refuse("'fill' of an expression is not supported", "use it on an array")
                self.arrays.assign(receiver, self.expressions.scalar(number))
                return None
            case _:
                self._arguments(node, range(1))
                return self.expressions.reductions.reduce(name, receiver)


def _element(value: ArrayValue) -> ScalarType:
    return value.array.element if isinstance(value, View) else value.type


def _stored(scalar: ScalarType) -> ScalarType:
    """The type of the elements of an array that holds numbers of the type `scalar`."""
    return next(element for element in OF_DTYPE.values() if element.is_same(scalar))


def _hint_for_arity(node: ast.Call) -> str | None:
    """What else may be meant by a call with too few or too many arguments."""
    match node.func:
        case ast.Name(id="max" | "min" as name):
            return f"write 'numpy.{name}(...)' for that of an array"
        case ast.Name(id="round"):
            return "write 'round(x * 100.0) / 100.0'"
        case _:
            return None


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

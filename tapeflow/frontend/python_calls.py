"""Calls: of known functions of numbers and arrays, of conversions, and of the user's own functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from tapeflow.frontend.python_call_arguments import array_argument, positional
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_functions import (
    FUNCTIONS,
    INNER_PRODUCTS,
    REDUCTIONS,
    Function,
)
from tapeflow.frontend.python_new_arrays import NewArrays
from tapeflow.frontend.python_refusals import is_hashable, is_library_function, unsupported_function
from tapeflow.frontend.python_source import function_of, quoted
from tapeflow.frontend.python_types import BOOL, OF_CLASS, ScalarType, element_of, joined, promoted
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
    element_type,
    integer,
)


class Importer(Protocol):
    """Imports the user's functions that are called."""

    def call(self, node: ast.Call, function: FunctionType, expressions: Expressions) -> Scalar | Tuple | None:
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
        self.numbers = expressions.numbers
        self.build = expressions.build
        self._importer = importer
        self._special: dict[Any, Callable[[ast.Call], Value]] = {
            len: self._length,
            np.where: self._where,
            **NewArrays(expressions).makers,
            np.matmul: self._product,
            np.dot: self._product,
            **dict.fromkeys(INNER_PRODUCTS, self._inner_product),
            **{called: self._reduction(name) for called, name in REDUCTIONS.items()},
            builtins.sum: self._reduction("sum"),
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
                raise self.build.refuse(
                    f"{quoted(node.func)} is {described(called)}, which cannot be called", "leave the parentheses out"
                )

    def _function(self, node: ast.Call, called: Any) -> Value | None:
        if is_hashable(called):
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

    def _known(self, node: ast.Call, function: Function) -> Value:
        operands = [
            self.expressions.operand(argument) for argument in positional(self.expressions, node, function.arities)
        ]
        for operand, argument in zip(operands, node.args, strict=True):
            if not function.on_arrays and not isinstance(operand, Scalar):
                raise self.build.source.error(
                    argument,
                    f"{quoted(node.func)} of {described(operand)} is not supported: it takes numbers",
                    "use the function of that name in numpy, or write a loop",
                )
        return self.arrays.apply(lambda parts: function.make(self.numbers, parts), operands)

    def _conversion(self, node: ast.Call, to: ScalarType) -> Scalar:
        (argument,) = positional(self.expressions, node, range(1, 2))
        return self.numbers.convert(self.expressions.scalar(argument), to)

    # Functions of arrays.

    def _length(self, node: ast.Call) -> Scalar:
        (argument,) = positional(self.expressions, node, range(1, 2))
        value = self.expressions.value(argument)
        if isinstance(value, Tuple):
            return integer(len(value.items))
        if not isinstance(value, View | Elements) or not value.lengths:
            raise self.build.refuse(f"'len' of {described(value)} is not supported: it takes an array")
        return self.numbers.extent(value.lengths[0])

    def _reduction(self, name: str) -> Callable[[ast.Call], Scalar]:
        def make(node: ast.Call) -> Scalar:
            positional(self.expressions, node, range(1, 2))
            return self.expressions.reductions.reduce(name, array_argument(self.expressions, node, 0))

        return make

    def _inner_product(self, node: ast.Call) -> Value:
        product = self._product(node)
        if not isinstance(product, Scalar):
            raise self.build.refuse(f"{quoted(node.func)} is only supported for arrays of one dimension", "write '@'")
        return product

    def _product(self, node: ast.Call) -> Value:
        positional(self.expressions, node, range(2, 3))
        left, right = (array_argument(self.expressions, node, position) for position in range(2))
        return self.expressions.reductions.product(left, right)

    def _where(self, node: ast.Call) -> Value:
        """`numpy.where(c, a, b)`: of each pair only the one that is chosen is computed."""
        condition, then, otherwise = positional(self.expressions, node, range(3, 4))
        mask = self.expressions.operand(condition)
        if isinstance(mask, Scalar):
            chosen = self.numbers.convert(mask, BOOL)
            return self.numbers.choose(
                chosen,
                lambda: self.expressions.scalar(then),
                lambda: self.expressions.scalar(otherwise),
                lambda left, right: self._chosen_type(node, left, right),
            )
        arms = [self.expressions.operand(arm) for arm in (then, otherwise)]
        to = self._chosen_type(node, *(arm.type if isinstance(arm, Scalar) else element_type(arm) for arm in arms))
        return self.arrays.choose(mask, arms[0], arms[1], to)

    def _chosen_type(self, node: ast.Call, left: ScalarType, right: ScalarType) -> ScalarType:
        common = joined(left, right)
        if common is None and "bool" not in (left.kind, right.kind):
            common = promoted(left, right)
        if common is None:
            raise self.build.refuse(
                f"{quoted(node.func)} of {left.phrase} and {right.phrase} is not supported", "convert both to one type"
            )
        return element_of(common)

    # Methods.

    def _method(self, node: ast.Call, receiver: ArrayValue | Scalar, name: str) -> Value | None:
        if isinstance(receiver, Scalar):
            positional(self.expressions, node, range(1))
            # Unlike the function, the method gives a number of the same type.
            return replace(FUNCTIONS[np.conjugate].make(self.numbers, (receiver,)), type=receiver.type)
        match name:
            case "conjugate":
                positional(self.expressions, node, range(1))
                conjugate = FUNCTIONS[np.conjugate].make
                return self.arrays.apply(lambda parts: conjugate(self.numbers, parts), [receiver])
            case "copy":
                positional(self.expressions, node, range(1))
                return self.arrays.materialize(receiver)
            case "dot":
                positional(self.expressions, node, range(1, 2))
                return self.expressions.reductions.product(receiver, array_argument(self.expressions, node, 0))
            case "fill":
                (number,) = positional(self.expressions, node, range(1, 2))
                if not isinstance(receiver, View):
                    raise self.build.refuse("'fill' of an expression is not supported", "use it on an array")
                self.arrays.assign(receiver, self.expressions.scalar(number))
                return None
            case _:
                positional(self.expressions, node, range(1))
                return self.expressions.reductions.reduce(name, receiver)

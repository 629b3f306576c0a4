"""The oracle for random programs: they are run in Python on dual numbers, a forward mode of a dozen lines.

Nothing here is shared with the compiler: the tangent of a program is exact to rounding, so it can be held against the
compiled gradient through the dot product, <J v, w> = <v, J^T w>.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from programs import (
    Assign,
    Binary,
    Call,
    Choice,
    Const,
    Declare,
    DeclareArray,
    Element,
    Expr,
    For,
    If,
    Program,
    Scalar,
    Stmt,
)


@dataclass(frozen=True)
class Dual:
    """A value and its tangent."""

    value: float
    tangent: float = 0.0


CALLS: dict[str, Callable[[float], tuple[float, float]]] = {
    "sin": lambda a: (math.sin(a), math.cos(a)),
    "cos": lambda a: (math.cos(a), -math.sin(a)),
    "tanh": lambda a: (math.tanh(a), 1.0 - math.tanh(a) ** 2),
    "exp": lambda a: (math.exp(a), math.exp(a)),
    "sqrt": lambda a: (math.sqrt(a), 0.5 / math.sqrt(a)),
    "log": lambda a: (math.log(a), 1.0 / a),
    "fabs": lambda a: (abs(a), 1.0 if a >= 0 else -1.0),
}


def binary(op: str, left: Dual, right: Dual) -> Dual:
    """The value and tangent of `left op right`."""
    a, b = left.value, right.value
    match op:
        case "+":
            return Dual(a + b, left.tangent + right.tangent)
        case "-":
            return Dual(a - b, left.tangent - right.tangent)
        case "*":
            return Dual(a * b, left.tangent * b + a * right.tangent)
        case "/":
            return Dual(a / b, (left.tangent - a / b * right.tangent) / b)
        case _:
            raise ValueError(op)


@dataclass
class Machine:
    """The state of one run: integers, scalars and arrays of duals; arrays are indexed as C does."""

    integers: dict[str, int]
    scalars: dict[str, Dual]
    arrays: dict[str, np.ndarray]

    def run(self, program: Program) -> Dual:
        """Run the whole program; arrays are updated in place."""
        self._block(program.body)
        return self._expr(program.value)

    def _integer(self, text: str) -> int:
        return int(eval(text, {"__builtins__": {}}, self.integers))

    def _block(self, statements: tuple[Stmt, ...]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: Stmt) -> None:
        match statement:
            case Declare(name, value):
                self.scalars[name] = self._expr(value)
            case DeclareArray(name, extent, value):
                self.arrays[name] = np.array([self._expr(value) for _ in range(self._integer(extent))], dtype=object)
            case Assign(target, op, value):
                result = self._expr(value)
                self._store(target, result if op == "=" else binary(op[0], self._expr(target), result))
            case For(counter, start, until, step, body):
                for value_of_counter in range(self._integer(start), self._integer(until), step):
                    self.integers[counter] = value_of_counter
                    self._block(body)
            case If(left, right, then, otherwise):
                self._block(then if self._expr(left).value < self._expr(right).value else otherwise)
            case _:
                raise TypeError(statement)

    def _store(self, target: Scalar | Element, value: Dual) -> None:
        if isinstance(target, Scalar):
            self.scalars[target.name] = value
        else:
            self.arrays[target.array][self._place(target)] = value

    def _place(self, element: Element) -> tuple[int, ...]:
        place = tuple(self._integer(subscript) for subscript in element.subscripts)
        assert all(0 <= k < extent for k, extent in zip(place, self.arrays[element.array].shape, strict=True)), element
        return place

    def _expr(self, expr: Expr) -> Dual:
        match expr:
            case Const(value):
                return Dual(value)
            case Scalar(name):
                return self.scalars[name]
            case Element(array, _):
                return self.arrays[array][self._place(expr)]
            case Binary(op, left, right):
                return binary(op, self._expr(left), self._expr(right))
            case Call(function, argument):
                inner = self._expr(argument)
                value, slope = CALLS[function](inner.value)
                return Dual(value, slope * inner.tangent)
            case Choice(left, right, then, otherwise):
                return self._expr(then if self._expr(left).value < self._expr(right).value else otherwise)
            case _:
                raise TypeError(expr)


def dual_array(values: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """An object array of duals with these values and tangents."""
    result = np.empty(values.shape, dtype=object)
    for place in np.ndindex(values.shape):
        result[place] = Dual(float(values[place]), float(tangents[place]))
    return result


def parts(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values and the tangents of an object array of duals."""
    values, tangents = np.empty(array.shape), np.empty(array.shape)
    for place in np.ndindex(array.shape):
        values[place], tangents[place] = array[place].value, array[place].tangent
    return values, tangents

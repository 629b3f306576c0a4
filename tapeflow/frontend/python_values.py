"""The values of Python expressions while importing: numbers, arrays and parts of them, tuples, and Python objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from tapeflow.frontend.python_bounds import Linear
from tapeflow.frontend.python_types import BOOL, INT, ScalarType

Number: TypeAlias = bool | int | float | complex


@dataclass(frozen=True)
class Scalar:
    """A number.

    Attributes:
        type: its type.
        now: the number where it is known while importing, else the SSA value.
        form: of an int, what is known of it.
        if_true: of a bool, forms that are at least 0 where it is true.
        if_false: of a bool, forms that are at least 0 where it is false.
    """

    type: ScalarType
    now: Number | SSAValue
    form: Linear | None = None
    if_true: tuple[Linear, ...] = ()
    if_false: tuple[Linear, ...] = ()

    @property
    def number(self) -> Number | None:
        """The number, None where it is only known at run time."""
        return None if isinstance(self.now, SSAValue) else self.now

    @property
    def known_int(self) -> int | None:
        """Of an int the number, None where it is only known at run time."""
        return self.now if isinstance(self.now, int) else None

    @property
    def linear(self) -> Linear:
        """What is known of an int."""
        assert self.form is not None
        return self.form


def integer(value: int, scalar: ScalarType = INT) -> Scalar:
    """An int known while importing."""
    return Scalar(scalar, value, Linear(value))


def truth(value: bool) -> Scalar:
    """A bool known while importing."""
    return Scalar(BOOL, value)


@dataclass(frozen=True)
class Array:
    """An array that has a name or memory of its own.

    Attributes:
        name: in the source; empty for one without a name.
        memory: of `memref` type.
        element: the type of its elements.
        extents: one a dimension. One below 0, which a parameter may hold, means an empty array, as 0 does.
    """

    name: str
    memory: SSAValue
    element: ScalarType
    extents: tuple[Scalar, ...]


@dataclass(frozen=True)
class At:
    """One index of a dimension."""

    index: Scalar


@dataclass(frozen=True)
class Span:
    """The indices `start`, `start + step`, ... of a dimension, `length` of them (none if it is below 0).

    Attributes:
        start: the first index, not negative.
        step: at least 1.
        length: how many there are.
    """

    start: Scalar
    step: int
    length: Scalar


@dataclass(frozen=True)
class View:
    """A part of an array, or all of it: what a name and its subscripts stand for.

    Attributes:
        array: whose part it is.
        axes: one a dimension of the array.
        fresh: whether nothing else refers to the array, so that a name may be given to it.
    """

    array: Array
    axes: tuple[At | Span, ...]
    fresh: bool = False

    @property
    def lengths(self) -> tuple[Scalar, ...]:
        """How many elements there are in each dimension that is left."""
        return tuple(axis.length for axis in self.axes if isinstance(axis, Span))

    @property
    def is_whole(self) -> bool:
        """Whether it is the array itself, not a part of it."""
        return all(
            isinstance(axis, Span) and axis.start.number == 0 and axis.step == 1 and axis.length is extent
            for axis, extent in zip(self.axes, self.array.extents, strict=True)
        )


@dataclass(frozen=True)
class Elements:
    """An array that is computed element by element where it is used.

    Attributes:
        type: of its elements.
        lengths: how many elements there are in each dimension; one below 0 means none, as 0 does.
        element: makes the IR of the element at the given indices.
        reads: the parts of arrays that its elements are computed from.
    """

    type: ScalarType
    lengths: tuple[Scalar, ...]
    element: Callable[[Sequence[Scalar]], Scalar]
    reads: tuple[View, ...]


@dataclass(frozen=True)
class Tuple:
    """A tuple of numbers, as the shape of an array is."""

    items: tuple[Scalar, ...]


@dataclass(frozen=True)
class Reference:
    """A Python object that is known while importing: a module, a function, a class."""

    object: Any


@dataclass(frozen=True)
class Method:
    """A method of an array or a number, not called yet."""

    receiver: View | Elements | Scalar
    name: str


ArrayValue: TypeAlias = View | Elements
Value: TypeAlias = Scalar | View | Elements | Tuple | Reference | Method


def element_type(value: ArrayValue) -> ScalarType:
    """The type of the elements of an array."""
    return value.array.element if isinstance(value, View) else value.type


def whole(array: Array, fresh: bool = False) -> View:
    """All of `array`."""
    return View(array, tuple(Span(integer(0), 1, extent) for extent in array.extents), fresh)


def described(value: Value) -> str:
    """What `value` is, for messages."""
    match value:
        case Scalar():
            return value.type.phrase
        case View() | Elements():
            rank = len(value.lengths)
            return f"an array of {rank} dimension{'s' * (rank != 1)}"
        case Tuple():
            return "a tuple"
        case Method():
            return "a method that is not called"
        case Reference():
            kind = type(value.object).__name__
            return f"{'an' if kind[0] in 'aeiou' or kind == 'ndarray' else 'a'} {kind}"

"""What the names of a C function stand for in the IR: values, memory, places in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from tapeflow.frontend.c_builder import Index, Value
from tapeflow.frontend.c_types import ArrayType, Scalar


@dataclass
class Fixed:
    """A variable that keeps its value: a parameter or local never assigned again, or a counter inside its loop.

    Attributes:
        type: the variable's type.
        value: its value, made from `index` when first needed.
        index: its value as an `index`, made from `value` when first needed.
        native: whether `index` is how the value came to be.
        nonnegative: whether it is known not to be negative.
    """

    type: Scalar
    value: Value | None = None
    index: Index | None = None
    native: bool = False
    nonnegative: bool = False


@dataclass
class Slot:
    """A variable that is assigned.

    Attributes:
        type: the variable's type.
        memory: of rank 0; an array of one element where the variable's address is taken.
        array: that array.
    """

    type: Scalar
    memory: SSAValue
    array: Array | None = None


@dataclass
class Array:
    """An array: its memory."""

    type: ArrayType
    memory: SSAValue


@dataclass(frozen=True)
class Pointer:
    """A pointer: a part of an array.

    Attributes:
        array: what it points into.
        row: the subscripts of the outer dimensions of the row that it stays in.
        offset: how far it is into the dimension after these; all elements are counted where it is `flat`.
        flat: whether it runs over all elements of an array of several dimensions.
    """

    array: Array
    row: tuple[Index, ...] = ()
    offset: Index = 0
    flat: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it points at the beginning of the array, as the array's own name does."""
        return not self.row and not self.flat and isinstance(self.offset, int) and self.offset == 0


@dataclass
class MovingPointer:
    """A pointer variable that is assigned.

    Attributes:
        offset: the memory of its offset, of rank 0.
        array: what it points into, once that is known.
        row: the memory of the subscripts of its row.
        flat: whether it runs over all elements of an array of several dimensions.
    """

    offset: SSAValue
    array: Array | None = None
    row: list[SSAValue] = field(default_factory=list[SSAValue])
    flat: bool = False


Binding: TypeAlias = Fixed | Slot | Array | Pointer | MovingPointer


@dataclass
class Place:
    """An element of an array or a variable in memory, that can be read and written."""

    type: Scalar
    memory: SSAValue
    indices: Sequence[SSAValue] = ()

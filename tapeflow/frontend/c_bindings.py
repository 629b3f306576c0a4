"""What the names of a C function stand for in the IR: values, memory, places in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from tapeflow.frontend.c_builder import Index, Value
from tapeflow.frontend.c_records import RecordArrayType
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


@dataclass(frozen=True)
class Array:
    """An array of numbers: its memory."""

    type: ArrayType
    memory: SSAValue

    @property
    def memories(self) -> tuple[SSAValue, ...]:
        """All memory that it lies in."""
        return (self.memory,)


@dataclass(frozen=True)
class RecordArray:
    """An array of structs, or one struct: the memory of its numbers, as its type says."""

    type: RecordArrayType
    memories: tuple[SSAValue, ...]

    @property
    def memory(self) -> SSAValue:
        """Memory that has its outer dimensions."""
        return self.memories[0]

    def member(self, name: str) -> Array | RecordArray:
        """The member `name` of all the structs, as one array."""
        member, chosen = self.type.member(name)
        return array_of(member, tuple(self.memories[index] for index in chosen))

    def numbers(self, path: Sequence[str]) -> Array:
        """The numbers that a path of members leads to, as one array."""
        found: Array | RecordArray = self
        for name in path:
            assert isinstance(found, RecordArray)
            found = found.member(name)
        assert isinstance(found, Array)
        return found


def array_of(array_type: ArrayType | RecordArrayType, memories: tuple[SSAValue, ...]) -> Array | RecordArray:
    """An array that lies in the given memory."""
    return Array(array_type, memories[0]) if isinstance(array_type, ArrayType) else RecordArray(array_type, memories)


@dataclass(frozen=True)
class Pointer:
    """A pointer: a part of an array.

    Attributes:
        array: what it points into; a variable by itself has no dimensions.
        row: the subscripts of the outer dimensions of the row that it stays in.
        offset: how far it is into the dimension after these; all elements are counted where it is `flat`.
        flat: whether it runs over all elements of an array of several dimensions.
    """

    array: Array | RecordArray
    row: tuple[Index, ...] = ()
    offset: Index = 0
    flat: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it points at the beginning of the array, as the array's own name does."""
        return not self.row and not self.flat and isinstance(self.offset, int) and self.offset == 0

    @property
    def subscripts(self) -> tuple[Index, ...]:
        """All subscripts of what it points at."""
        return () if self.array.type.rank == 0 else (*self.row, self.offset)


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
    array: Array | RecordArray | None = None
    row: list[SSAValue] = field(default_factory=list[SSAValue])
    flat: bool = False


Binding: TypeAlias = Fixed | Slot | Array | RecordArray | Pointer | MovingPointer


@dataclass
class Place:
    """An element of an array or a variable in memory, that can be read and written."""

    type: Scalar
    memory: SSAValue
    indices: Sequence[SSAValue] = ()

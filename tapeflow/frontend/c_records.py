"""Structs: their members, where these lie, and arrays of structs.

A struct is its numbers. One that the function declares has memory for each member; an array of them has for each member
an array that is longer by the array's own dimensions. What comes from outside keeps its layout in C: for each type of
number in the struct the memory is seen as an array of that type, whose last dimension is one struct.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType, StringAttr, i64
from xdsl.ir import Attribute

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c_types import SUPPORTED_SCALARS, ArrayType, Folding, Scalar, memory_type, scalar_of
from tapeflow.frontend.clang_tree import Member, Node, SourceType

ElementType: TypeAlias = "Scalar | Record"
"""What arrays hold and pointers lead to."""


@dataclass(frozen=True)
class Field:
    """A member of a struct.

    Attributes:
        name: of the member.
        type: of the member, or of its elements.
        extents: of an array, one a dimension; empty for a number or a struct.
        offset: from the beginning of the struct, in bytes.
    """

    name: str
    type: ElementType
    extents: tuple[int, ...]
    offset: int

    @property
    def steps(self) -> tuple[int, ...]:
        """For each dimension, the bytes from one element to the next."""
        return tuple(prod(self.extents[depth + 1 :]) * self.type.bytes for depth in range(len(self.extents)))


@dataclass(frozen=True)
class Leaf:
    """Numbers in a struct: a member, or a member of a member.

    Attributes:
        path: the members' names, outermost first.
        type: of the numbers.
        extents: of all dimensions on the way.
    """

    path: tuple[str, ...]
    type: Scalar
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Record:
    """A struct type.

    Attributes:
        name: as C writes it.
        fields: its members, in order.
        bytes: its `sizeof`.
    """

    name: str
    fields: tuple[Field, ...]
    bytes: int

    def field(self, name: str) -> Field:
        """The member called `name`."""
        return next(each for each in self.fields if each.name == name)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """All numbers in it, in order."""
        return tuple(leaf for each in self.fields for leaf in _leaves(each))

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """The types of numbers in it, in order of first appearance."""
        return tuple(dict.fromkeys(leaf.type for leaf in self.leaves))


def _leaves(field: Field) -> Iterator[Leaf]:
    if isinstance(field.type, Scalar):
        yield Leaf((field.name,), field.type, field.extents)
        return
    for leaf in field.type.leaves:
        yield Leaf((field.name, *leaf.path), leaf.type, (*field.extents, *leaf.extents))


@dataclass(frozen=True)
class RecordArrayType:
    """An array of structs, or what a pointer to structs leads to; a single struct has no dimensions.

    Attributes:
        record: the type of its elements.
        extents: one a dimension: a number, or None where it is only known at run time.
        const: whether it may not be written through this name.
        folding: how the structs lie in memory that holds whole structs; None where each member has its own.
        outer: the number of dimensions that are of the structs which it is a member of.
    """

    record: Record
    extents: tuple[int | None, ...]
    const: bool = False
    folding: Folding | None = None
    outer: int = 0

    @property
    def element(self) -> Record:
        """The type of its elements."""
        return self.record

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.extents)

    @cached_property
    def memories(self) -> tuple[MemRefType, ...]:
        """The types in the IR of the memory that it lies in: one a type of number if it is folded, else one a leaf."""
        if self.folding is not None:
            return tuple(memory_type(scalar, self.extents, self.folding) for scalar in self.record.scalars)
        return tuple(memory_type(leaf.type, (*self.extents, *leaf.extents), None) for leaf in self.record.leaves)

    def member(self, name: str) -> tuple[ArrayType | RecordArrayType, tuple[int, ...]]:
        """The member `name` of all the structs, as one array, and which of the memories it lies in."""
        field = self.record.field(name)
        extents, folding = (*self.extents, *field.extents), self.folding
        if folding is not None:
            offset, steps = folding.offset + field.offset, (*folding.steps, *field.steps)
            folding = Folding(folding.kept, folding.bytes, offset, steps)
        if isinstance(field.type, Scalar):
            member = ArrayType(field.type, extents, self.const, folding, self.rank)
        else:
            member = RecordArrayType(field.type, extents, self.const, folding, self.rank)
        return member, self._memories_of(field)

    def _memories_of(self, field: Field) -> tuple[int, ...]:
        if self.folding is None:
            return tuple(index for index, leaf in enumerate(self.record.leaves) if leaf.path[0] == field.name)
        return tuple(map(self.record.scalars.index, _scalars(field)))


def packed(record: Record, extents: tuple[int | None, ...], const: bool = False) -> RecordArrayType:
    """An array of structs with the layout that it has in C."""
    return RecordArrayType(record, extents, const, Folding(len(extents), record.bytes))


def element_type(source_type: SourceType, node: Node, what: str) -> ElementType | None:
    """The number or struct that `source_type` is; None if it is neither.

    Args:
        source_type: no array.
        node: where it is used.
        what: to call that in messages.

    Raises:
        TapeflowError: it is a struct that the frontend does not take, or a union.
    """
    if (scalar := scalar_of(source_type)) is not None:
        return scalar
    return _record(source_type, node, what) if source_type.kind == "RECORD" else None


def _record(source_type: SourceType, node: Node, what: str) -> Record:
    name = source_type.declared_name
    if not source_type.is_struct:
        raise node.error(
            f"{what} is of type '{source_type.spelling}', which is no struct that the file defines and not supported",
            "use a struct, with a member for each type of number",
        )
    fields = tuple(_field(member, name, node, what) for member in source_type.members)
    record = Record(name, fields, source_type.bytes)
    if not fields:
        raise node.error(f"{what} is of type '{name}', which has no members", "give it a member, or leave it out")
    misplaced = [leaf for leaf in record.leaves if record.bytes % leaf.type.part.bytes]
    if misplaced or any(field.offset % scalar.part.bytes for field in fields for scalar in _scalars(field)):
        raise node.error(
            f"{what} is of type '{name}', whose members are not aligned, which is not supported",
            "leave 'packed' out, so that each member lies where numbers of its type may",
        )
    return record


def _scalars(field: Field) -> tuple[Scalar, ...]:
    return (field.type,) if isinstance(field.type, Scalar) else field.type.scalars


def _field(member: Member, record: str, node: Node, what: str) -> Field:
    where = f"{what} is of type '{record}', whose member '{member.name}'"
    if not member.name:
        raise node.error(
            f"{what} is of type '{record}', which has a member without a name: that is not supported",
            "give the member a name",
        )
    if member.is_bit_field:
        raise node.error(f"{where} is a bit field, which is not supported", "leave the width out")
    innermost, extents = member.type, list[int]()
    while innermost.kind == "CONSTANTARRAY":
        extents.append(innermost.extent)
        innermost = innermost.element
    if innermost.is_volatile:
        raise node.error(f"{where} is volatile, which is not supported", "leave 'volatile' out")
    if innermost.kind == "INCOMPLETEARRAY" or 0 in extents:
        raise node.error(
            f"{where} is an array without a length, which is not supported",
            "give it a constant length, or pass the array as a parameter of its own",
        )
    if innermost.kind == "POINTER":
        raise _pointer_member(innermost, where, node)
    element = element_type(innermost, node, f"the member '{member.name}' of '{record}'")
    if element is None:
        raise node.error(
            f"{where} has type '{member.type.spelling}', which is not supported",
            f"the types are {SUPPORTED_SCALARS}, structs, and arrays of them",
        )
    return Field(member.name, element, tuple(extents), member.offset // 8)


def _pointer_member(pointer: SourceType, where: str, node: Node) -> TapeflowError:
    if pointer.element.kind in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
        return node.error(
            f"{where} is a pointer to a function, which is not supported: which function runs is not known",
            "call a function by its name",
        )
    return node.error(
        f"{where} is a pointer, which is not supported: it must be certain which array an access touches",
        "pass the array as a parameter of its own, beside the struct",
    )


def layout(record: Record) -> dict[str, Attribute]:
    """The struct's layout as attributes, for those who call the function."""

    def described(field: Field) -> Attribute:
        entries: dict[str, Attribute] = {"name": StringAttr(field.name), "offset": IntegerAttr(field.offset, i64)}
        if field.extents:
            entries["shape"] = ArrayAttr([IntegerAttr(extent, i64) for extent in field.extents])
        if isinstance(field.type, Scalar):
            entries["format"] = StringAttr(_format(field.type))
        else:
            entries |= layout(field.type)
        return DictionaryAttr(entries)

    return {
        "type": StringAttr(record.name),
        "bytes": IntegerAttr(record.bytes, i64),
        "members": ArrayAttr([described(field) for field in record.fields]),
    }


def _format(scalar: Scalar) -> str:
    """What NumPy calls the type."""
    if scalar.width == 1:
        return "b1"
    return f"{'f' if scalar.is_float else 'i' if scalar.signed else 'u'}{scalar.bytes}"

"""What a C function's numbers are called: variables, and members of structs that are variables.

Questions on the tree: nothing here makes IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapeflow.frontend.c_effects import variable
from tapeflow.frontend.c_types import scalar_of
from tapeflow.frontend.clang_tree import Node, SourceType


@dataclass(frozen=True)
class Name:
    """The name of a number, a pointer or a struct.

    Attributes:
        holder: the variable, or the `?:` of structs whose value is meant.
        path: of the members that lead to it, outermost first, where that is a struct.
    """

    holder: Node
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.holder.spelling, *self.path))


def named_by(place: Node) -> Name | None:
    """What an expression names: a variable, or a member of a struct that is one; None if it is no such name."""
    place, path = place.stripped, list[str]()
    while place.kind == "MEMBER_REF_EXPR":
        (base,) = (child for child in place.children if child.kind not in ("TYPE_REF", "MEMBER_REF"))
        if base.type.kind != "RECORD":
            return None
        path.append(place.spelling)
        place = base.stripped
    holder = variable(place)
    return None if holder is None else Name(holder, tuple(reversed(path)))


def copied_to(node: Node) -> Name | None:
    """The struct that the assignment `node` copies to; None if it copies none, or to one without a name."""
    if node.kind == "BINARY_OPERATOR" and node.operator == "=" and node.type.kind == "RECORD":
        return named_by(node.children[0])
    return None


def numbers_of(holder: Node) -> tuple[Name, ...]:
    """The names of all numbers and pointers in `holder`, those in arrays aside."""
    return tuple(Name(holder, path) for path in _paths(holder.type))


def _paths(source_type: SourceType) -> Iterator[tuple[str, ...]]:
    if source_type.kind == "RECORD" and source_type.is_struct:
        for member in source_type.members:
            for path in _paths(member.type):
                yield (member.name, *path)
    elif scalar_of(source_type) is not None or source_type.kind == "POINTER":
        yield ()

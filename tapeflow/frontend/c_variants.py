"""Functions for calls with parts of arrays: `g(x + i * n)`, `g(A[i])`, `g(&a)`.

The array that a pointer leads into is passed whole, and beside it where in it the part begins. So each combination of
shapes that a function is called with is a function of its own in the IR, and what it touches stays certain.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tapeflow.frontend.c_bindings import Pointer
from tapeflow.frontend.c_records import RecordArrayType
from tapeflow.frontend.c_types import ArrayType
from tapeflow.frontend.clang_tree import Node


@dataclass(frozen=True)
class Part:
    """How a part of an array, or a struct, is passed: the memory, the subscripts of the row, and the offset.

    Attributes:
        array: the type of the whole array.
        rows: the number of subscripts that the row has.
        flat: whether the offset counts all elements of an array of several dimensions.
        memories: that the array lies in, each by the number of distinct memories that were passed before.
    """

    array: ArrayType | RecordArrayType
    rows: int
    flat: bool
    memories: tuple[int, ...]


Parts = Mapping[int, Part]
"""How the parts of arrays among the arguments of a call are passed, by the parameter's position."""


def parts_of(pointers: Mapping[int, Pointer]) -> Parts:
    """How the arrays among the arguments of a call are passed, where one is not whole; `pointers` by position.

    A whole array is among them if the call passes a part of it, too.
    """
    cut = {memory for pointer in pointers.values() if not _is_plain(pointer) for memory in pointer.array.memories}
    parts: dict[int, Part] = {}
    passed: dict[SSAValue, int] = {}
    for position, pointer in sorted(pointers.items(), key=lambda item: item[0]):
        if cut.isdisjoint(pointer.array.memories):
            continue
        memories = tuple(passed.setdefault(memory, len(passed)) for memory in pointer.array.memories)
        parts[position] = Part(pointer.array.type, len(pointer.row), pointer.flat, memories)
    return parts


def _is_plain(pointer: Pointer) -> bool:
    """Whether a pointer leads to a whole array of numbers in memory of its own."""
    array = pointer.array.type
    return pointer.is_whole and isinstance(array, ArrayType) and array.folding is None and array.rank > 0


@dataclass(frozen=True)
class Variant:
    """A function as it is in the IR.

    Attributes:
        function: its definition in C.
        parts: how it takes parts of arrays; empty for one that takes all arrays whole.
        name: what it is called.
    """

    function: Node
    parts: Parts
    name: str


class Variants:
    """The functions that the IR needs: those that are asked for, and for each call the one with its shapes.

    Args:
        taken: names that the file uses already.
    """

    def __init__(self, taken: Collection[str]):
        self._taken = set(taken)
        self._names: dict[tuple[Node, tuple[tuple[int, Part], ...]], str] = {}
        self._pending: deque[Variant] = deque()

    def name(self, function: Node, parts: Parts) -> str:
        """What the variant of `function` that takes `parts` is called; it is needed from now on."""
        key = (function, tuple(sorted(parts.items(), key=lambda item: item[0])))
        if key not in self._names:
            self._names[key] = name = self._free(f"{function.spelling}_at") if parts else function.spelling
            self._pending.append(Variant(function, parts, name))
        return self._names[key]

    def _free(self, base: str) -> str:
        number, name = 1, base
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name

    def take(self) -> Variant | None:
        """A variant that is needed and has not been made; None if there is none."""
        return self._pending.popleft() if self._pending else None

"""What the elements of arrays are known to hold at a point of a function, and which elements a write may be to.

An element is known from what was stored to it, or loaded from it, until something that may be the same element is
written. Subscripts are compared as a value plus a constant: `i` and `i + 1` are of different elements, `i` and `k` may
be of one. Views of one array may overlap, whatever their subscripts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.index_arithmetic import base_and_offset
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.dialects.ad import AccumulateOp

MOST_COMPARED = 64
"""The most elements, or writes, that one is compared with, so that the time is linear; where there are more, nothing is
known of them."""

Offsets = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """Elements whose subscripts differ by constants alone: of a memref, and the values that the constants are added to.

    A base is None for a subscript that is a constant itself.
    """

    array: SSAValue
    bases: tuple[SSAValue | None, ...]


@dataclass(frozen=True)
class Element:
    """One element: a row, and the constants in it."""

    row: Row
    offsets: Offsets


@dataclass(frozen=True)
class Write:
    """What an operation may write to: an element of an array, or any element of it where that is None."""

    root: SSAValue
    element: Element | None


def element_of(array: SSAValue, indices: Sequence[SSAValue]) -> Element:
    """The element of `array` at `indices`."""
    split = [base_and_offset(index) for index in indices]
    return Element(Row(array, tuple(base for base, _ in split)), tuple(offset for _, offset in split))


def writes_of(op: Operation) -> Iterator[Write]:
    """What `op` itself, not the ops nested in it, may write to."""
    if isinstance(op, memref.StoreOp | AccumulateOp):
        element = element_of(op.memref, list(op.indices))
        for root in roots(op.memref):
            yield Write(root, element)
        return
    for array in written_arrays(op):
        for root in roots(array):
            yield Write(root, None)


class KnownElements:
    """What is known on a walk over a function, in the order in which it runs.

    What happens after `mark` is undone by `back_to`: what was learnt is not known, what was forgotten is known again.
    """

    def __init__(self) -> None:
        self._known: dict[SSAValue, dict[Row, dict[Offsets, SSAValue]]] = {}
        self._history: list[tuple[MutableMapping[Any, Any], Hashable, Any]] = []

    def mark(self) -> int:
        """The point that is reached, for `back_to`."""
        return len(self._history)

    def back_to(self, mark: int) -> None:
        """Know what was known at `mark`."""
        while len(self._history) > mark:
            mapping, key, before = self._history.pop()
            if before is None:
                del mapping[key]
            else:
                mapping[key] = before

    def value(self, array: SSAValue, element: Element) -> SSAValue | None:
        """What `element` of `array` holds; None if that is not known."""
        (root, *others) = roots(array)
        return None if others else self._known.get(root, {}).get(element.row, {}).get(element.offsets)

    def learn(self, array: SSAValue, element: Element, value: SSAValue) -> None:
        """`element` of `array` holds `value`."""
        (root, *others) = roots(array)
        if others:
            return
        rows = self._known.get(root)
        if rows is None:
            self._put(self._known, root, rows := {})
        row = rows.get(element.row)
        if row is None:
            self._put(rows, element.row, row := {})
        self._put(row, element.offsets, value)

    def forget(self, write: Write) -> None:
        """Something that is not known is written."""
        rows = self._known.get(write.root)
        if rows is None:
            return
        if write.element is None:
            self._drop(self._known, write.root)
            return
        written, left = write.element, MOST_COMPARED
        for row, elements in list(rows.items()):
            if row == written.row:
                if written.offsets in elements:
                    self._drop(elements, written.offsets)
                continue
            alike = _alike(row, written.row)
            left -= len(elements) if alike else 0
            if not alike or left < 0:
                self._drop(rows, row)
                continue
            for offsets in list(elements):
                if not _differ(alike, offsets, written.offsets):
                    self._drop(elements, offsets)

    def _put(self, mapping: MutableMapping[Any, Any], key: Hashable, value: object) -> None:
        self._history.append((mapping, key, mapping.get(key)))
        mapping[key] = value

    def _drop(self, mapping: MutableMapping[Any, Any], key: Hashable) -> None:
        self._history.append((mapping, key, mapping.pop(key)))


def surely_apart(one: Element, other: Element) -> bool:
    """Whether two elements, whose subscripts are in effect at one time, are surely not the same."""
    return _differ(_alike(one.row, other.row), one.offsets, other.offsets)


def _differ(dimensions: Sequence[int], one: Offsets, other: Offsets) -> bool:
    return any(one[dimension] != other[dimension] for dimension in dimensions)


def _alike(one: Row, other: Row) -> Sequence[int]:
    """The dimensions in which elements of two rows differ if their constants do."""
    if one.array is not other.array:
        return ()
    return [k for k, (base, its) in enumerate(zip(one.bases, other.bases, strict=True)) if base is its]

"""Initial values in braces: which element each of them is for, as C says, designators and left out braces included.

```c
double w[4] = {1, [3] = 2};                struct P ps[2] = {{1, 2}, {.n = 3, .w[1] = 4}};
```
Questions on the tree: nothing here makes IR.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_records import ElementType, Field, Record
from tapeflow.frontend.c_types import Scalar
from tapeflow.frontend.clang_tree import Node

_Step: TypeAlias = "int | Field"


@dataclass(frozen=True)
class InitialValue:
    """An initial value.

    Attributes:
        names: of the members that lead to what it is for, outermost first.
        indices: of all dimensions on the way.
        value: a number, or a struct where what it is for is one; None where empty braces say zero.
        node: the place in the source.
    """

    names: tuple[str, ...]
    indices: tuple[int, ...]
    value: Node | None
    node: Node


def initial_values(element: ElementType, extents: Sequence[int], braces: Node) -> tuple[InitialValue, ...]:
    """The values that a list in braces gives to a variable, in source order; of those for one place only the last.

    Args:
        element: what the variable holds.
        extents: of an array, one a dimension.
        braces: the list.

    Raises:
        TapeflowError: at a designator that is not taken.
    """
    found: dict[tuple[tuple[str, ...], tuple[int, ...]], InitialValue] = {}
    for value in _Filling(deque(braces.children)).fill(_Place(element, tuple(extents)), (), True):
        key = value.names, value.indices
        found.pop(key, None)
        found[key] = value
    return tuple(found.values())


@dataclass(frozen=True)
class _Place:
    """What values may be for: a number, a struct or an array, and how it is reached."""

    element: ElementType
    extents: tuple[int, ...]
    names: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of its parts."""
        if self.extents:
            return self.extents[0]
        return len(self.element.fields) if isinstance(self.element, Record) else 1

    @property
    def is_number(self) -> bool:
        return isinstance(self.element, Scalar) and not self.extents

    def part(self, position: int) -> _Place:
        """One of its parts."""
        if self.extents:
            return _Place(self.element, self.extents[1:], self.names, (*self.indices, position))
        assert isinstance(self.element, Record)
        field = self.element.fields[position]
        return _Place(field.type, field.extents, (*self.names, field.name), self.indices)


@dataclass
class _Filling:
    """The values of a list that are not used yet."""

    values: deque[Node]

    def fill(self, place: _Place, designators: Sequence[Node], braced: bool) -> Iterator[InitialValue]:
        """Give values to the parts of `place`, beginning with the one that `designators` lead to.

        Args:
            place: a struct or an array.
            designators: that the next value has; they are inside of `place`.
            braced: whether `place` has braces of its own, so that all values are for it.
        """
        position = 0
        while self.values:
            if not designators and _is_designated(self.values[0]):
                if not braced:
                    return
                designators = self._designated()
            if designators:
                position, designators = _position(designators[0], place), designators[1:]
            if position >= place.size:
                if not braced:
                    return
                # clang lets there be too many.
                self.values.popleft()
                continue
            yield from self._part(place.part(position), designators)
            position, designators = position + 1, ()

    def _designated(self) -> Sequence[Node]:
        """Put the value that has designators in their stead; the designators."""
        value = self.values.popleft()
        if "..." in value.tokens:
            raise value.error(
                "a range of elements in an initial value is a GNU extension and not supported", "set them in a loop"
            )
        *designators, designated = value.children
        self.values.appendleft(designated)
        return designators

    def _part(self, part: _Place, designators: Sequence[Node]) -> Iterator[InitialValue]:
        value = self.values[0]
        if designators:
            yield from self.fill(part, designators, False)
        elif value.kind == "INIT_LIST_EXPR":
            self.values.popleft()
            if part.is_number:
                inner = value.children[0] if value.children else None
                yield InitialValue(part.names, part.indices, inner, value)
            else:
                yield from _Filling(deque(value.children)).fill(part, (), True)
        elif part.is_number or (not part.extents and value.type.kind == "RECORD"):
            self.values.popleft()
            yield InitialValue(part.names, part.indices, value, value)
        else:
            yield from self.fill(part, (), False)


def _is_designated(value: Node) -> bool:
    # libclang has no name for these.
    return value.kind == "UNEXPOSED_EXPR" and value.type.kind == "VOID"


def _position(designator: Node, place: _Place) -> int:
    if designator.kind == "MEMBER_REF":
        assert isinstance(place.element, Record)
        return [field.name for field in place.element.fields].index(designator.spelling)
    position = integer(designator)
    if position is None and all(part.kind != "INIT_LIST_EXPR" for part in designator.walk()):
        # Clang has checked that it is constant, and folds more than we do.
        position = designator.evaluate()
    if not isinstance(position, int):
        raise designator.error("this position in an initial value is not constant", "write a number")
    return position

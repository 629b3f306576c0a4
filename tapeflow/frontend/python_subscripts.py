"""Subscripts: which part of an array an index or a slice means.

Python counts a negative index from the end, and cuts a slice off at the ends of the array. What is provably in range
needs neither; where that cannot be shown, the IR does what Python does. A constant negative index is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tapeflow.frontend.python_arrays import Arrays
from tapeflow.frontend.python_flow import is_none
from tapeflow.frontend.python_numbers import Numbers
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_types import INT
from tapeflow.frontend.python_values import At, Scalar, Span, View, described, integer
from tapeflow.frontend.python_values import Value as PythonValue


class Subscripts:
    """Makes the IR of subscripts.

    Args:
        arrays: makes that of arrays.
        value: makes the value of an expression.
    """

    def __init__(self, arrays: Arrays, value: Callable[[ast.expr], PythonValue]):
        self.arrays = arrays
        self.build = arrays.build
        self.numbers: Numbers = arrays.numbers
        self._value = value

    def part(self, view: View, node: ast.Subscript) -> View:
        """The part of `view` that the subscripts of `node` mean.

        Raises:
            TapeflowError: at a subscript that is not supported, or is out of bounds.
        """
        items = self._items(node, len(view.lengths))
        axes: list[At | Span] = []
        for axis in view.axes:
            if isinstance(axis, At) or not items:
                axes.append(axis)
            else:
                item = items.pop(0)
                with self.build.at(item):
                    axes.append(self._subscripted(axis, item, node))
        return View(view.array, tuple(axes))

    def _items(self, node: ast.Subscript, rank: int) -> list[ast.expr]:
        """The subscripts of `node`, one a dimension from the first on."""
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        rest = [item for item in items if not _is_ellipsis(item)]
        for item in rest:
            if is_none(item):
                raise self.build.source.error(item, "'None' as a subscript is not supported", "write a loop")
        if len(rest) > rank:
            raise self.build.source.error(
                node,
                f"{quoted(node)} has {len(rest)} subscripts, but {quoted(node.value)} has {rank} "
                f"dimension{'s' * (rank != 1)}",
            )
        if len(rest) == len(items):
            return items
        if len(rest) < len(items) - 1:
            raise self.build.source.error(node, "'...' is there twice", "write ':' for each dimension")
        place = next(position for position, item in enumerate(items) if _is_ellipsis(item))
        everything = [ast.copy_location(ast.Slice(), items[place]) for _ in range(rank - len(rest))]
        return [*items[:place], *everything, *items[place + 1 :]]

    def _subscripted(self, span: Span, item: ast.expr, node: ast.Subscript) -> At | Span:
        if isinstance(item, ast.Slice):
            return self._sliced(span, item)
        value = self._value(item)
        if not isinstance(value, Scalar) or value.type.kind != "int":
            hint = "convert it: 'int(...)'" if isinstance(value, Scalar) else "write a loop over the elements"
            raise self.build.source.error(
                item, f"{described(value)} as a subscript is not supported: it must be an int or a slice", hint
            )
        index = self._index(self.numbers.convert(value, INT), span.length, node)
        return At(self.arrays.index_in(span, index))

    def _index(self, index: Scalar, length: Scalar, node: ast.Subscript) -> Scalar:
        """`index`, counted from the start of a dimension of `length`."""
        number = index.known_int
        if number is not None and number < 0:
            if length.known_int is not None:
                hint = f"write {length.known_int + number}"
            else:
                hint = f"count from the start: '{length.linear + int(number)}'"
            raise self.build.refuse(f"the negative subscript {number} of {quoted(node.value)} is not supported", hint)
        if number is not None and length.known_int is not None and number >= length.known_int:
            raise self.build.refuse(
                f"the subscript {number} of {quoted(node.value)} is out of bounds: its length is {length.known_int}"
            )
        # A dimension that is subscripted has elements, or Python raises an IndexError.
        if self.build.never_negative(index.linear, length.linear - 1):
            return index
        return self._from_end(index, length)

    def _from_end(self, index: Scalar, length: Scalar) -> Scalar:
        """`index`, to which `length` is added where it is negative."""
        negative = self.numbers.compare("<", index, integer(0))
        return self.numbers.select(negative, self.numbers.binary("+", index, length), index)

    # Slices.

    def _sliced(self, span: Span, item: ast.Slice) -> Span:
        step = self._step(item)
        start = self._start(self._bound(item.lower), span.length)
        length = self._length(start, self._bound(item.upper), span.length, step)
        if start.number == 0 and step == 1 and length is span.length:
            return span
        return Span(self.arrays.index_in(span, start), span.step * step, length)

    def _bound(self, node: ast.expr | None) -> Scalar | None:
        if node is None or is_none(node):
            return None
        with self.build.at(node):
            value = self._value(node)
            if not isinstance(value, Scalar) or value.type.kind != "int":
                raise self.build.refuse(f"the bound of a slice is {described(value)}", "use ints")
            return self.numbers.convert(value, INT)

    def _step(self, item: ast.Slice) -> int:
        step = self._bound(item.step)
        if step is None:
            return 1
        if not isinstance(step.number, int) or step.number < 1:
            assert item.step is not None
            raise self.build.source.error(
                item.step,
                "the step of a slice must be a constant of at least 1",
                "write a loop: 'for i in range(...)' may have a constant negative step",
            )
        return step.number

    def _start(self, bound: Scalar | None, length: Scalar) -> Scalar:
        """The first index of a slice: not negative, but it may be beyond the last element."""
        if bound is None:
            return integer(0)
        if bound.known_int is not None and bound.known_int < 0:
            from_end = self.numbers.binary("+", length, bound)
            return self._once("start", bound, length, lambda: self.numbers.extent(from_end))
        if self.build.never_negative(bound.linear):
            return bound

        def wrapped() -> Scalar:
            return self.numbers.extent(self._from_end(bound, self.numbers.extent(length)))

        return self._once("start", bound, length, wrapped)

    def _length(self, start: Scalar, bound: Scalar | None, length: Scalar, step: int) -> Scalar:
        """How many elements a slice has from `start` on; negative for none."""
        if bound is None and start.number == 0 and step == 1:
            return length
        distance = self.numbers.binary("-", self._stop(start, bound, length), start)
        if step == 1:
            return distance
        rounded_up = self.numbers.binary("+", distance, integer(step - 1))
        return self.numbers.binary("//", rounded_up, integer(step))

    def _stop(self, start: Scalar, bound: Scalar | None, length: Scalar) -> Scalar:
        """The end of a slice: at most `length`, and not more than `start` where the slice is empty."""
        if bound is None:
            return length
        bound = self.numbers.length(bound)
        if bound.known_int is not None and bound.known_int < 0:
            # Below 0 it would be cut off at 0, where the slice is as empty.
            return self.numbers.binary("+", length, bound)
        if self._needs_no_cut(start, bound, length):
            return bound
        return self._once("stop", bound, length, lambda: self._cut(bound, length))

    def _needs_no_cut(self, start: Scalar, bound: Scalar, length: Scalar) -> bool:
        """Whether `bound` is at most `length`, and where it is negative, the slice is empty as it should be."""
        if not self.build.never_negative(length.linear - bound.linear):
            return False
        # An array without elements has only empty slices.
        if self.build.never_negative(bound.linear, length.linear - 1):
            return True
        # A negative bound counts from the end: at bound + length, which may be no more than start.
        return self.build.never_negative(start.linear - bound.linear - length.linear, -bound.linear - 1)

    def _cut(self, bound: Scalar, length: Scalar) -> Scalar:
        extent = self.numbers.extent(length)
        if not self.build.never_negative(bound.linear):
            bound = self.numbers.extent(self._from_end(bound, extent))
        return self.numbers.extreme(False, bound, extent)

    def _once(self, what: str, bound: Scalar, length: Scalar, make: Callable[[], Scalar]) -> Scalar:
        """What `make` builds for these operands, once: slices with the same bounds are seen to be equally long."""
        return self.build.once((what, bound.linear, length.linear), make)


def _is_ellipsis(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is Ellipsis

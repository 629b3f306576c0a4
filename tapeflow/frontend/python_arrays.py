"""Arrays: their elements, and the loops that an expression of whole arrays or slices stands for.

An expression of arrays is computed element by element in the loop that uses it, and needs no memory of its own, unless
it is given a name, or reads the array that it is assigned to at other places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, SSAValue

from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_numbers import Numbers
from tapeflow.frontend.python_types import BOOL, INT, ScalarType
from tapeflow.frontend.python_values import (
    Array,
    ArrayValue,
    At,
    Elements,
    Scalar,
    Span,
    View,
    integer,
    whole,
)

_COUNTERS = ("i", "j", "k", "l", "p", "q")


class Arrays:
    """Makes the IR of arrays.

    Args:
        numbers: makes the operations of numbers.
        taken: names of variables, which loops made here do not use.

    Attributes:
        written: the memory that elements were stored to.
    """

    def __init__(self, numbers: Numbers, taken: Callable[[str], bool]):
        self.numbers = numbers
        self.build = numbers.build
        self.written: set[SSAValue] = set()
        self._counters = [name for name in _COUNTERS if not taken(name)]
        self._depth = 0

    # Memory.

    def allocate(self, element: ScalarType, extents: Sequence[Scalar]) -> View:
        """A new local array of these extents, which are not negative.

        Raises:
            TapeflowError: one is.
        """
        shape = [DYNAMIC_INDEX if extent.known_int is None else int(extent.known_int) for extent in extents]
        sizes = [self.build.ssa(extent) for extent in extents if extent.number is None]
        if any(extent < 0 and extent != DYNAMIC_INDEX for extent in shape):
            raise self.build.refuse("an array of negative extent")
        op = memref.AllocaOp.get(element.memory_ir, shape=shape, dynamic_sizes=sizes)
        return whole(Array("", self.build.value(op), element, tuple(map(self._known_extent, extents))), fresh=True)

    def _known_extent(self, extent: Scalar) -> Scalar:
        """The extent of an array that was made with it: Python would have refused a negative one."""
        length = self.numbers.length(extent)
        if length is extent:
            self.build.learn(extent.linear)
        return length

    def load(self, view: View, indices: Sequence[Scalar] = ()) -> Scalar:
        """The element of `view` at `indices`."""
        value = self.build.value(memref.LoadOp.get(view.array.memory, self._subscripts(view, indices)))
        return self.numbers.from_memory(value, view.array.element, f"{view.array.name or 'an array'}[...]")

    def store(self, view: View, scalar: Scalar, indices: Sequence[Scalar] = ()) -> None:
        """Set the element of `view` at `indices`.

        Raises:
            TapeflowError: the array cannot hold the number as it is.
        """
        value = self.numbers.to_memory(self._fitting(scalar, view.array.element))
        self.build.add(memref.StoreOp.get(value, view.array.memory, self._subscripts(view, indices)))
        self.written.add(view.array.memory)

    def _subscripts(self, view: View, indices: Sequence[Scalar]) -> list[SSAValue]:
        rest = iter(indices)
        return [self.build.ssa(self._root_index(axis, rest)) for axis in view.axes]

    def _root_index(self, axis: At | Span, indices: Iterator[Scalar]) -> Scalar:
        return axis.index if isinstance(axis, At) else self.index_in(axis, next(indices))

    def index_in(self, span: Span, position: Scalar) -> Scalar:
        """The index of the dimension at `position` in `span`."""
        stepped = self.numbers.binary("*", position, integer(span.step))
        return self.numbers.binary("+", stepped, span.start)

    def _fitting(self, scalar: Scalar, element: ScalarType) -> Scalar:
        if scalar.type.kind == "float" and element.kind == "int":
            raise self.build.refuse(
                f"a float is stored in an array of {element}, which would cut off its fraction",
                "convert it: 'int(...)', or 'math.floor(...)' to round down",
            )
        if scalar.type.kind == "complex" and element.kind != "complex":
            raise self.build.refuse(
                f"a complex number is stored in an array of {element}", "store its part: '.real', '.imag' or 'abs(...)'"
            )
        if element.kind == "bool" and scalar.type.kind != "bool":
            raise self.build.refuse(f"{scalar.type.phrase} is stored in an array of bool", "compare it: '... != 0'")
        return self.numbers.convert(scalar, element)

    # Elements.

    def elements(self, value: ArrayValue) -> Elements:
        """The elements of an array or of a part of one."""
        if isinstance(value, Elements):
            return value
        return Elements(value.array.element, value.lengths, lambda indices: self.load(value, indices), (value,))

    def apply(
        self, operation: Callable[[Sequence[Scalar]], Scalar], operands: Sequence[Scalar | ArrayValue]
    ) -> Scalar | Elements:
        """`operation` of numbers; where some operands are arrays, of each of their elements, broadcast as NumPy does.

        Raises:
            TapeflowError: what `operation` raises, or that the arrays may differ in shape.
        """
        parts = [operand if isinstance(operand, Scalar) else self.elements(operand) for operand in operands]
        arrays = [part for part in parts if isinstance(part, Elements)]
        if not arrays:
            return operation([part for part in parts if isinstance(part, Scalar)])
        lengths = self._broadcast([array.lengths for array in arrays])
        place = self.build.place

        def element(indices: Sequence[Scalar]) -> Scalar:
            with self.build.at(place):
                return operation([p if isinstance(p, Scalar) else self._aligned(p, lengths, indices) for p in parts])

        stand_ins = [part if isinstance(part, Scalar) else self.stand_in(part.type) for part in parts]
        reads = tuple(read for array in arrays for read in array.reads)
        return Elements(self.build.type_of(lambda: operation(stand_ins)), lengths, element, reads)

    def stand_in(self, scalar: ScalarType) -> Scalar:
        """A number of the type `scalar` that is defined nowhere."""
        return self.numbers.fresh(Block(arg_types=[scalar.ir]).args[0], scalar, "an element")

    def _broadcast(self, shapes: Sequence[Sequence[Scalar]]) -> tuple[Scalar, ...]:
        """The shape that arrays of these shapes have together."""
        rank = max(len(shape) for shape in shapes)
        result: list[Scalar] = []
        for back in range(rank, 0, -1):
            lengths = [shape[-back] for shape in shapes if len(shape) >= back]
            longer = [length for length in lengths if length.number != 1] or lengths[:1]
            for other in longer[1:]:
                self.check_equal(longer[0], other)
            result.append(longer[0])
        return tuple(result)

    def check_equal(self, left: Scalar, right: Scalar) -> None:
        """Refuse two lengths that are not provably the same.

        Raises:
            TapeflowError: they are not.
        """
        if not self.build.always_equal(left.linear, right.linear):
            if left.number is not None and right.number is not None:
                raise self.build.refuse(f"arrays of lengths {left.number} and {right.number} are combined")
            raise self.build.refuse(
                f"arrays of lengths {left.linear} and {right.linear} are combined, which may differ",
                "declare both with the same extent, or write a loop over the one that is meant",
            )

    def _aligned(self, part: Elements, lengths: Sequence[Scalar], indices: Sequence[Scalar]) -> Scalar:
        """The element of `part` that goes to `indices` of an array of `lengths`."""
        ahead = len(lengths) - len(part.lengths)
        own = zip(part.lengths, lengths[ahead:], indices[ahead:], strict=True)
        return part.element([integer(0) if self._repeats(mine, whole) else index for mine, whole, index in own])

    @staticmethod
    def _repeats(mine: Scalar, whole: Scalar) -> bool:
        return mine.number == 1 and whole.number != 1

    # Loops.

    def each(self, lengths: Sequence[Scalar], body: Callable[[Sequence[Scalar]], None]) -> None:
        """Run `body` for all indices of an array of `lengths`, the last dimension fastest."""

        def go_on(inner: Sequence[Scalar], carried: Sequence[Scalar]) -> Sequence[Scalar]:
            body(inner)
            return carried

        self._nest(lengths, go_on, (), ())

    def reduce(
        self,
        lengths: Sequence[Scalar],
        start: Scalar,
        body: Callable[[Sequence[Scalar], Scalar], Scalar],
        name: str | None = None,
    ) -> Scalar:
        """What `body` makes of `start` and the indices of an array of `lengths`, one after the other."""
        return self._nest(lengths, lambda indices, carried: [body(indices, carried[0])], (), (start,), name)[0]

    def _nest(
        self,
        lengths: Sequence[Scalar],
        body: Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Scalar]],
        indices: Sequence[Scalar],
        carried: Sequence[Scalar],
        name: str | None = None,
    ) -> Sequence[Scalar]:
        if len(indices) == len(lengths):
            return body(indices, carried)
        length = lengths[len(indices)]
        types = [scalar.type for scalar in carried]

        def again(values: Sequence[SSAValue]) -> list[Scalar]:
            return [self.numbers.fresh(value, type_, "a sum") for value, type_ in zip(values, types, strict=True)]

        def iteration(index: SSAValue, entering: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position = Scalar(INT, index, unknown(counter, [Linear(0)], [length.linear - 1]))
            with self.build.assuming([length.linear - 1]):
                leaving = self._nest(lengths, body, (*indices, position), again(entering), name)
            return [self.build.ssa(scalar) for scalar in leaving]

        counter = self._counters[self._depth] if self._depth < len(self._counters) else f"i{self._depth}"
        self._depth += 1
        bounds = self.build.index(0), self.build.ssa(length), self.build.index(1)
        results = self.build.loop(bounds, counter, [(self.build.ssa(scalar), name) for scalar in carried], iteration)
        self._depth -= 1
        return again(results)

    # Whole arrays.

    def assign(self, view: View, value: Scalar | ArrayValue) -> None:
        """Set the elements of `view` to `value`, a number or an array that is broadcast to it.

        Raises:
            TapeflowError: the shapes may differ, or the array cannot hold the numbers.
        """
        if isinstance(value, Scalar):
            fitting = self._fitting(value, view.array.element)
            self.each(view.lengths, lambda indices: self.store(view, fitting, indices))
            return
        part = self.elements(value)
        self._check_fits(part, view)
        if any(_overlap(view, read, self.build.never_negative) for read in part.reads):
            part = self.elements(self._copied(part, view))
        self.each(view.lengths, lambda indices: self.store(view, self._aligned(part, view.lengths, indices), indices))

    def _check_fits(self, part: Elements, view: View) -> None:
        if len(part.lengths) > len(view.lengths):
            raise self.build.refuse(
                f"an array of {len(part.lengths)} dimensions is assigned to {len(view.lengths)}",
                "give the subscripts of both sides the same number of slices",
            )
        for mine, other in zip(reversed(part.lengths), reversed(view.lengths), strict=False):
            if mine.number != 1:
                self.check_equal(other, mine)
        self.build.type_of(lambda: self._fitting(self.stand_in(part.type), view.array.element))

    def materialize(self, value: ArrayValue) -> View:
        """A new local array with the elements of `value`."""
        part = self.elements(value)
        return self._filled(self.fresh(part.type, part.lengths), part)

    def _copied(self, part: Elements, target: View) -> View:
        """The elements of `part`, which go to `target`, in memory of their own."""
        extents = [
            extent for extent, axis in zip(target.array.extents, target.axes, strict=True) if isinstance(axis, Span)
        ]
        # There is room for any slice of that array: how long this one is may only be known here, its extents are known
        # on entry.
        room = extents[len(extents) - len(part.lengths) :]
        memory = self.fresh(part.type, room).array.memory
        return self._filled(whole(Array("", memory, part.type, part.lengths)), part)

    def _filled(self, view: View, part: Elements) -> View:
        self.each(part.lengths, lambda indices: self.store(view, part.element(indices), indices))
        return view

    def fresh(self, element: ScalarType, lengths: Sequence[Scalar]) -> View:
        """A new local array of these lengths, below 0 for none."""
        memory = self.allocate(element, [self.numbers.extent(length) for length in lengths]).array.memory
        # The lengths as they were are better known than the extents that memory needs.
        return whole(Array("", memory, element, tuple(lengths)), fresh=True)

    def choose(
        self, condition: ArrayValue, then: Scalar | ArrayValue, otherwise: Scalar | ArrayValue, to: ScalarType
    ) -> Elements:
        """The elements of `then` where those of `condition` are true, else those of `otherwise`; one is computed."""
        mask = self.elements(condition)
        arms = [arm if isinstance(arm, Scalar) else self.elements(arm) for arm in (then, otherwise)]
        arrays = [mask, *(arm for arm in arms if isinstance(arm, Elements))]
        lengths = self._broadcast([array.lengths for array in arrays])
        place = self.build.place

        def element(indices: Sequence[Scalar]) -> Scalar:
            first, second = (
                (lambda arm=arm: arm if isinstance(arm, Scalar) else self._aligned(arm, lengths, indices))
                for arm in arms
            )
            with self.build.at(place):
                chosen = self.numbers.convert(self._aligned(mask, lengths, indices), BOOL)
                return self.numbers.choose(chosen, first, second, lambda left, right: to)

        return Elements(to, lengths, element, tuple(read for array in arrays for read in array.reads))

    def size(self, lengths: Sequence[Scalar]) -> Scalar:
        """How many elements an array of `lengths` has."""
        result = integer(1)
        for length in lengths:
            result = self.numbers.binary("*", result, self.numbers.extent(length))
        return result


def _overlap(target: View, read: View, never_negative: Callable[[Linear], bool]) -> bool:
    """Whether an element of `target` may be read, as one of `read`, after it was set."""
    if target.array.memory is not read.array.memory:
        return False
    pairs = list(zip(target.axes, read.axes, strict=True))
    if all(_same_place(mine, other) for mine, other in pairs):
        # Each element is read where it is set.
        return False
    return not any(_apart(mine, other, never_negative) for mine, other in pairs)


def _same_place(mine: At | Span, other: At | Span) -> bool:
    if isinstance(mine, At) or isinstance(other, At):
        return isinstance(mine, At) and isinstance(other, At) and mine.index.form == other.index.form
    return (mine.start.form, mine.step, mine.length.form) == (other.start.form, other.step, other.length.form)


def _apart(mine: At | Span, other: At | Span, never_negative: Callable[[Linear], bool]) -> bool:
    """Whether the two have no index in common."""

    def ends_before(first: At | Span, second: At | Span) -> bool:
        start = second.index if isinstance(second, At) else second.start
        if isinstance(first, At):
            return never_negative(start.linear - first.index.linear - 1)
        # Stepping by one, the last index is start + length - 1; an empty span begins nowhere.
        return first.step == 1 and never_negative(start.linear - first.start.linear - first.length.linear)

    return ends_before(mine, other) or ends_before(other, mine)

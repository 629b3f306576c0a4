"""Pointers: each is an array and how far into it, so that it is always known which array an access touches.

A pointer that keeps its value is computed where it is declared; one that moves keeps its distance from the array's
beginning in memory of rank 0, and may point into one array only. A pointer into a row of an array of several
dimensions stays in that row, as C says; one to the very first element may run over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import memref

from tapeflow.analysis.array_extents import extents_of
from tapeflow.frontend import c_effects
from tapeflow.frontend.c_bindings import Array, MovingPointer, Place, Pointer, RecordArray, Slot
from tapeflow.frontend.c_builder import INDEX, Index, Value
from tapeflow.frontend.c_records import ElementType, element_type
from tapeflow.frontend.c_refusals import pointer_value, unsupported_type
from tapeflow.frontend.c_signatures import array_levels, is_array
from tapeflow.frontend.c_types import BOOL, LONG
from tapeflow.frontend.clang_tree import Node, SourceType

if TYPE_CHECKING:
    from tapeflow.frontend.c_expressions import Expressions

_ONE_ARRAY = "use one variable for each array, or an index into a single array"


def is_pointer(source_type: SourceType) -> bool:
    """Whether `source_type` is a pointer, or an array that becomes one where its value is used."""
    return source_type.kind == "POINTER" or is_array(source_type)


class Pointers:
    """Makes the IR of one function's pointers.

    Args:
        expressions: makes the expressions in them.
    """

    def __init__(self, expressions: Expressions):
        self._expressions = expressions
        self._build = expressions.build

    # Values.

    def value(self, node: Node) -> Pointer:
        """What the expression `node` points at.

        Raises:
            TapeflowError: when that is not certain, or no part of an array.
        """
        inner = node.stripped
        match inner.kind:
            case "DECL_REF_EXPR":
                return self._named(inner)
            case "ARRAY_SUBSCRIPT_EXPR":
                pointer, index = self._subscripted(inner)
                return self._row(pointer, index, inner)
            case "MEMBER_REF_EXPR":
                return self._expressions.records.member(inner)
            case "UNARY_OPERATOR" if inner.operator == "*":
                return self._row(self.value(inner.children[0]), 0, inner)
            case "UNARY_OPERATOR" if inner.operator == "&":
                return self._address(inner)
            case "BINARY_OPERATOR" if inner.operator in ("+", "-"):
                return self._displaced(inner)
            case "BINARY_OPERATOR" if inner.operator == ",":
                self._expressions.discard(inner.children[0])
                return self.value(inner.children[1])
            case "CSTYLE_CAST_EXPR":
                return self._cast(inner)
            case "CONDITIONAL_OPERATOR":
                raise inner.error(
                    "a choice between pointers is not supported: which array an access touches must be certain",
                    "choose between the values, or call with one array in each branch of an 'if'",
                )
            case _ if c_effects.is_assignment(inner):
                old, new = self.assign(inner)
                return old if inner.operator in ("x++", "x--") else new
            case "STRING_LITERAL":
                raise inner.error("strings are not supported", "keep to numbers and arrays of numbers")
            case _:
                raise pointer_value(inner)

    def element(self, node: Node) -> Place:
        """The place that `x[i]`, `A[i][j]`, `*p` or `s.x` names."""
        if node.kind == "MEMBER_REF_EXPR":
            return self.at(self._expressions.records.member(node), 0, node)
        return self.at(self.addressed(node), 0, node)

    def addressed(self, node: Node) -> Pointer:
        """Where `x[i]` or `*p` lies, which need not be a number."""
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            pointer, index = self._subscripted(node)
            return self.moved(pointer, index, node)
        return self.value(node.children[0])

    def at(self, pointer: Pointer, index: Index, node: Node) -> Place:
        """The place that is `index` elements behind what `pointer` points at."""
        array = pointer.array
        if isinstance(array, RecordArray):
            raise node.error(
                f"a value of type '{node.type.spelling}' is not supported here", "name a member, or copy the struct"
            )
        return self.place(array, self.subscripts(self.moved(pointer, index, node), node), node)

    def subscripts(self, pointer: Pointer, node: Node) -> tuple[Index, ...]:
        """All subscripts of the element that `pointer` points at."""
        array = pointer.array
        if pointer.flat:
            return tuple(self._subscripts(array, pointer.offset, node))
        if array.type.rank and len(pointer.row) + 1 != array.type.rank:
            raise node.error(
                f"a part of an array is used as a value: {len(pointer.row) + 1} of {array.type.rank} subscripts are "
                "given",
                "give all its subscripts",
            )
        return pointer.subscripts

    def place(self, array: Array, subscripts: Sequence[Index], node: Node) -> Place:
        """The element of `array` with these `subscripts`."""
        build, folding, element = self._build, array.type.folding, array.type.element
        for subscript, extent in zip(subscripts, array.type.extents, strict=True):
            if isinstance(subscript, int) and extent is not None and not 0 <= subscript < extent:
                raise node.error(
                    f"the subscript {subscript} is outside of the {extent} elements that this array is declared with",
                    "declare the array as long as it is, or mend the subscript",
                )
        if folding is not None:
            position: Index = 0
            for subscript, step in zip(subscripts[folding.kept :], folding.steps, strict=True):
                scaled = build.index_binary("*", subscript, step // element.bytes, True, node)
                position = self._sum(position, scaled, node)
            position = self._sum(position, folding.offset // element.bytes, node)
            subscripts = (*subscripts[: folding.kept], position)
        return Place(element, array.memory, [build.index_ssa(each, node) for each in subscripts])

    def _named(self, node: Node) -> Pointer:
        declaration = node.declaration
        binding = None if declaration is None else self._expressions.bindings.get(declaration)
        match binding:
            case Array() | RecordArray():
                return Pointer(binding)
            case Pointer():
                return binding
            case MovingPointer():
                return self._current(binding, node)
            case _:
                pass
        if declaration is not None and declaration.kind == "VAR_DECL" and declaration.is_global:
            raise node.error(
                f"the global variable '{node.spelling}' is not constant, which is not supported",
                "pass it as a parameter, or declare it 'static const' with a constant value",
            )
        raise pointer_value(node)

    def _subscripted(self, node: Node) -> tuple[Pointer, Index]:
        array = c_effects.pointer_operand(node)
        (subscript,) = (child for child in node.children if child is not array)
        pointer = self.value(array)
        index = self._expressions.index(subscript)
        if pointer.array.type.rank == 0 and not isinstance(index, int):
            # A subscript inside the bounds of a single variable can only be 0.
            index = 0
        return pointer, index

    def _row(self, pointer: Pointer, index: Index, node: Node) -> Pointer:
        """The pointer to the first element of the row that is `index` rows behind what `pointer` points at."""
        if pointer.flat or len(pointer.row) + 1 >= pointer.array.type.rank:
            raise pointer_value(node)
        return Pointer(pointer.array, (*pointer.row, self._sum(pointer.offset, index, node)))

    def _address(self, node: Node) -> Pointer:
        place = node.children[0].stripped
        if place.kind == "ARRAY_SUBSCRIPT_EXPR" or (place.kind == "UNARY_OPERATOR" and place.operator == "*"):
            return self.addressed(place)
        if place.kind == "MEMBER_REF_EXPR":
            return self._expressions.records.member(place)
        declaration = c_effects.variable(place)
        binding = None if declaration is None else self._expressions.bindings.get(declaration)
        if isinstance(binding, Slot) and binding.array is not None:
            return Pointer(binding.array)
        if place.type.kind == "RECORD":
            return self._expressions.records.place(place)
        raise node.error(
            f"the address of a '{place.type.spelling}' is not supported",
            "take the address of a variable or of an element: '&a', '&x[i]'",
        )

    def _displaced(self, node: Node) -> Pointer:
        left, right = node.children
        if is_pointer(right.type) and node.operator == "+":
            left, right = right, left
        if is_pointer(right.type) or not is_pointer(left.type):
            raise pointer_value(node)
        pointer = self.value(left)
        return self.moved(pointer, self._expressions.index(right), node, node.operator or "+")

    def _cast(self, node: Node) -> Pointer:
        operand = node.children[-1]
        if not is_pointer(operand.type) or node.type.kind != "POINTER":
            raise pointer_value(node)
        target, source = pointed_at(node.type, node), pointed_at(operand.type, node)
        if target is None or target != source or array_levels(node.type.element)[0]:
            raise node.error(
                f"the cast of a pointer to '{node.type.spelling}' is not supported",
                "declare the array with the type that its elements have",
            )
        return self.flattened(self.value(operand), node)

    def flattened(self, pointer: Pointer, node: Node) -> Pointer:
        """`pointer` as one that counts single elements of its array."""
        array = pointer.array
        if pointer.flat or array.type.rank <= 1 or self._is_row_of_member(pointer):
            return pointer
        if array.type.outer:
            raise node.error(
                "a pointer that runs over all of a member of several dimensions is not supported",
                "give all its subscripts",
            )
        position: Index = 0
        subscripts = [*pointer.row, pointer.offset]
        subscripts += [0] * (array.type.rank - len(subscripts))
        for dimension, subscript in enumerate(subscripts):
            if position != 0:
                extent = self.extent(array, dimension, node)
                position = self._build.index_binary("*", position, extent, True, node)
            position = self._sum(position, subscript, node)
        return Pointer(array, (), position, flat=True)

    def _is_row_of_member(self, pointer: Pointer) -> bool:
        """Whether the elements that `pointer` runs over already are all that it may: one dimension of a member."""
        return pointer.array.type.outer > 0 and len(pointer.row) + 1 == pointer.array.type.rank

    def moved(self, pointer: Pointer, by: Index, node: Node, operator: str = "+") -> Pointer:
        """What is `by` elements behind, or before, what `pointer` points at."""
        if isinstance(by, int) and by == 0:
            return pointer
        if pointer.array.type.rank == 0:
            raise node.error(
                "a pointer to a single variable is moved away from it", "declare an array, or leave the subscript out"
            )
        offset = self._build.index_binary(operator, pointer.offset, by, True, node)
        return Pointer(pointer.array, pointer.row, offset, pointer.flat)

    def _sum(self, left: Index, right: Index, node: Node) -> Index:
        return self._build.index_binary("+", left, right, True, node)

    def extent(self, array: Array | RecordArray, dimension: int, node: Node) -> Index:
        """How long `array` is in a dimension."""
        known = array.type.extents[dimension]
        if known is not None:
            return known
        if isinstance(array.memory.owner, memref.AllocaOp):
            return tuple(extents_of(array.memory.owner))[dimension]
        number = self._build.index_ssa(dimension, node)
        return self._build.compute(memref.DimOp(array.memory, number), node)

    def _subscripts(self, array: Array | RecordArray, position: Index, node: Node) -> Sequence[Index]:
        """The subscripts of the element at a position, counted over all dimensions."""
        build, reversed_subscripts = self._build, list[Index]()
        for dimension in reversed(range(1, array.type.rank)):
            extent = self.extent(array, dimension, node)
            reversed_subscripts.append(build.index_binary("%", position, extent, True, node))
            position = build.index_binary("/", position, extent, True, node)
        return [position, *reversed(reversed_subscripts)]

    # Comparisons.

    def compare(self, operator: str, left: Node, right: Node, node: Node) -> Value:
        """`left operator right` of two pointers, as a `bool`."""
        first, second = self._offsets(left, right, node)
        return Value(BOOL, self._build.compare_indices(operator, first, second, True, node))

    def difference(self, left: Node, right: Node, node: Node) -> Value:
        """`left - right` of two pointers."""
        first, second = self._offsets(left, right, node)
        return self._build.from_index(self._build.index_binary("-", first, second, True, node), LONG, node)

    def _offsets(self, left: Node, right: Node, node: Node) -> tuple[Index, Index]:
        for each in (left, right):
            if not is_pointer(each.type) or (
                each.stripped.type.kind == "POINTER" and each.stripped.type.element.kind == "VOID"
            ):
                raise node.error(
                    "a pointer is compared with something else, which is not supported: no array is absent",
                    "pass a flag that says whether to use the array",
                )
        first, second = self.value(left), self.value(right)
        if first.array != second.array:
            raise node.error(
                "pointers into different arrays are compared, which C leaves undefined",
                "compare pointers into one array, or indices",
            )
        if first.flat != second.flat or len(first.row) != len(second.row):
            first, second = self.flattened(first, node), self.flattened(second, node)
        return first.offset, second.offset

    # Variables.

    def declare(self, node: Node) -> None:
        """A variable of the function that is a pointer."""
        if pointed_at(node.type, node) is None:
            raise unsupported_type(node, f"'{node.spelling}'")
        initializer = node.initializer
        moves = c_effects.moves(node)
        if initializer is None and not moves:
            return
        if initializer is not None:
            self._expressions.check_order(initializer)
        if not moves:
            assert initializer is not None
            self._expressions.bindings[node] = self.stored(self.value(initializer), node)
            return
        pointer = None if initializer is None else self.value(initializer)
        self._expressions.bindings[node] = moving = self._moving(node)
        if pointer is not None:
            self._store(moving, pointer, node, node)

    def stored(self, pointer: Pointer, node: Node) -> Pointer:
        """`pointer` as a variable or parameter holds it: one to the very first element runs over the whole array."""
        at_first = pointer.row and all(isinstance(each, int) and each == 0 for each in pointer.row)
        if not at_first or pointer.array.type.outer or len(pointer.row) + 1 != pointer.array.type.rank:
            return pointer
        return self.flattened(pointer, node)

    def make_moving(self, declaration: Node, pointer: Pointer) -> None:
        """Let a parameter that points at `pointer` move."""
        self._expressions.bindings[declaration] = moving = self._moving(declaration)
        self._store(moving, pointer, declaration, declaration)

    def _moving(self, node: Node) -> MovingPointer:
        alloca = memref.AllocaOp.get(INDEX, shape=[])
        return MovingPointer(self._build.compute(alloca, node, node.spelling))

    def _current(self, moving: MovingPointer, node: Node) -> Pointer:
        if moving.array is None:
            raise node.error(f"'{node.spelling}' is used before it points at anything", "give it a value first")
        row, offset = [
            [self._build.compute(memref.LoadOp.get(slot, []), node) for slot in slots]
            for slots in (moving.row, [moving.offset])
        ]
        return Pointer(moving.array, tuple(row), offset[0] if moving.array.type.rank else 0, moving.flat)

    def _store(self, moving: MovingPointer, pointer: Pointer, declaration: Node, node: Node) -> None:
        build, pointer = self._build, self.stored(pointer, node)
        if moving.array is None:
            moving.array, moving.flat = pointer.array, pointer.flat
            for _ in pointer.row:
                alloca = memref.AllocaOp.get(INDEX, shape=[])
                moving.row.append(build.after(moving.offset, alloca, declaration, declaration.spelling))
        if moving.array != pointer.array:
            raise node.error(
                f"'{declaration.spelling}' may point into more than one array, which is not supported: which array an "
                "access touches must be certain",
                _ONE_ARRAY,
            )
        if moving.flat:
            pointer = self.flattened(pointer, node)
        elif pointer.flat or len(pointer.row) != len(moving.row):
            raise node.error(
                f"'{declaration.spelling}' may point at a row of an array and at all of it, which is not supported",
                "use a variable for each",
            )
        for slot, index in zip((*moving.row, moving.offset), (*pointer.row, pointer.offset), strict=True):
            build.add(memref.StoreOp.get(build.index_ssa(index, node), slot, []), node, declaration.spelling)

    def assign(self, node: Node) -> tuple[Pointer, Pointer]:
        """Make the assignment or step of a pointer; what it pointed at before (for steps), and what it does then."""
        target = node.children[0].stripped
        declaration = c_effects.variable(target)
        binding = None if declaration is None else self._expressions.bindings.get(declaration)
        if declaration is None or not isinstance(binding, MovingPointer):
            raise node.error(
                "a pointer is stored in memory, which is not supported: which array an access touches must be certain",
                "keep an index instead",
            )
        if node.kind == "BINARY_OPERATOR":
            new = old = self.value(node.children[1])
        else:
            old = self._current(binding, target)
            by: Index = 1 if node.kind == "UNARY_OPERATOR" else self._expressions.index(node.children[1])
            new = self.moved(old, by, node, "-" if "-" in (node.operator or "") else "+")
        self._store(binding, new, declaration, node)
        return old, new


def pointed_at(source_type: SourceType, node: Node) -> ElementType | None:
    """The numbers or structs that a pointer or array leads to, None if it does not lead to these by one pointer.

    Raises:
        TapeflowError: it leads to structs that the frontend does not take, at `node`.
    """
    _, innermost = array_levels(source_type.element if source_type.kind == "POINTER" else source_type)
    return element_type(innermost, node, f"'{node.spelling}'" if node.spelling else "this")

"""Structs in expressions: members, whole structs as values, copies, and memory for those that a function declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_arrays import initialize, loop_nest
from tapeflow.frontend.c_bindings import Array, Pointer, RecordArray
from tapeflow.frontend.c_builder import Index, Value
from tapeflow.frontend.c_records import Record, RecordArrayType, element_type
from tapeflow.frontend.c_refusals import unsupported
from tapeflow.frontend.clang_tree import Node

if TYPE_CHECKING:
    from tapeflow.frontend.c_expressions import Expressions


MakeNumber: TypeAlias = Callable[[tuple[str, ...], Array, Sequence[Index], Sequence[Index]], None]


class Records:
    """Makes the IR of one function's structs.

    Args:
        expressions: makes the expressions in them.
    """

    def __init__(self, expressions: Expressions):
        self._expressions = expressions
        self._build = expressions.build

    @property
    def _pointers(self):
        return self._expressions.pointers

    # Places.

    def member(self, node: Node) -> Pointer:
        """Where the member lies that `s.x` or `p->x` names, an array's first element.

        Raises:
            TapeflowError: when it is not certain which struct is meant.
        """
        (base,) = (child for child in node.children if child.kind not in ("TYPE_REF", "MEMBER_REF"))
        is_arrow = base.type.kind == "POINTER" or base.stripped.type.kind == "POINTER"
        struct = self._pointers.value(base) if is_arrow else self.place(base)
        return self.member_of(struct, node.spelling, node)

    def member_of(self, struct: Pointer, name: str, node: Node) -> Pointer:
        """Where the member `name` of the struct that `struct` points at lies, an array's first element."""
        array = struct.array
        assert isinstance(array, RecordArray)
        member = array.member(name)
        subscripts = self._pointers.subscripts(struct, node)
        if array.type.record.field(name).extents:
            return Pointer(member, subscripts)
        return Pointer(member, subscripts[:-1], subscripts[-1]) if subscripts else Pointer(member)

    def place(self, node: Node) -> Pointer:
        """Where the struct lies that the expression `node` gives; one that a function returns has memory of its own.

        Raises:
            TapeflowError: when the frontend does not take it.
        """
        inner = node.stripped
        match inner.kind:
            case "DECL_REF_EXPR":
                return self._named(inner)
            case "MEMBER_REF_EXPR":
                return self.member(inner)
            case "ARRAY_SUBSCRIPT_EXPR":
                return self._pointers.addressed(inner)
            case "UNARY_OPERATOR" if inner.operator == "*":
                return self._pointers.addressed(inner)
            case "BINARY_OPERATOR" if inner.operator == "=":
                return self.assign(inner)
            case "BINARY_OPERATOR" if inner.operator == ",":
                self._expressions.discard(inner.children[0])
                return self.place(inner.children[1])
            case "CALL_EXPR":
                return self._expressions.call_for_struct(inner)
            case "COMPOUND_LITERAL_EXPR":
                return self._literal(inner)
            case "CONDITIONAL_OPERATOR":
                return self._choice(inner)
            case _:
                raise unsupported(inner)

    def _named(self, node: Node) -> Pointer:
        declaration = node.declaration
        match None if declaration is None else self._expressions.bindings.get(declaration):
            case RecordArray() as struct:
                return Pointer(struct)
            case Pointer() as struct:
                return struct
            case _:
                pass
        if declaration is not None and declaration.is_global:
            raise node.error(
                f"the global variable '{node.spelling}' is not constant, which is not supported",
                "pass it as a parameter, or declare it 'static const' with a constant value",
            )
        raise unsupported(node)

    def _literal(self, node: Node) -> Pointer:
        struct = self.temporary(self._record(node), node)
        initialize(struct, node.children[-1], self._expressions)
        return Pointer(struct)

    def _choice(self, node: Node) -> Pointer:
        """`condition ? a : b` of structs: a copy of the one that is chosen."""
        condition, then, otherwise = node.children
        truth = self._expressions.condition(condition)
        if truth.number is not None:
            return self.place(then if truth.number else otherwise)
        struct = Pointer(self.temporary(self._record(node), node))

        def arm(chosen: Node):
            def make() -> Sequence[SSAValue]:
                self.copy(struct, self.place(chosen), chosen)
                return []

            return make

        self._build.branch(truth, arm(then), arm(otherwise), [], node)
        return struct

    def _record(self, node: Node) -> Record:
        record = element_type(node.type, node, "this")
        if not isinstance(record, Record):
            raise unsupported(node)
        return record

    # Memory.

    def temporary(self, record: Record, node: Node, name: str | None = None) -> RecordArray:
        """Memory for one struct, each member by itself."""
        return self.allocated(RecordArrayType(record, ()), (), node, name)

    def allocated(
        self, array_type: RecordArrayType, dynamic: Sequence[SSAValue], node: Node, name: str | None
    ) -> RecordArray:
        """Memory for structs, each member by itself.

        Args:
            array_type: without folding.
            dynamic: its extents that are only known at run time.
            node: that needs it.
            name: of the variable, if it is one.
        """
        memories: list[SSAValue] = []
        for leaf, memory in zip(array_type.record.leaves, array_type.memories, strict=True):
            alloca = memref.AllocaOp.get(memory.element_type, shape=memory.get_shape(), dynamic_sizes=dynamic)
            memories.append(self._build.compute(alloca, node, member_name(name or node.spelling, leaf.path)))
        return RecordArray(array_type, tuple(memories))

    # Copies.

    def assign(self, node: Node) -> Pointer:
        """Make `s = e` of structs; where that lies."""
        target = node.children[0].stripped
        declaration = c_effects.variable(target)
        if declaration is not None and declaration.is_global:
            raise target.error(
                f"the global variable '{target.spelling}' is assigned, which is not supported",
                "pass an array parameter for what the function is to change",
            )
        source = self.place(node.children[1])
        struct = self.place(target)
        self.copy(struct, source, node)
        return struct

    def copied(self, source: Pointer, node: Node, name: str) -> RecordArray:
        """A copy, in memory of its own, of the struct that `source` points at."""
        array = source.array
        assert isinstance(array, RecordArray)
        struct = self.temporary(array.type.record, node, name)
        self.copy(Pointer(struct), source, node)
        return struct

    def copy(self, target: Pointer, source: Pointer, node: Node) -> None:
        """Copy the struct that `source` points at to where `target` points, number by number."""
        first, second = target.array, source.array
        assert isinstance(first, RecordArray) and isinstance(second, RecordArray)
        if first.type.record != second.type.record:
            raise unsupported(node)
        to, at = (self._pointers.subscripts(each, node) for each in (target, source))

        def make(path: tuple[str, ...], array: Array, subscripts: Sequence[Index], inner: Sequence[Index]) -> None:
            original = self._pointers.place(second.numbers(path), [*at, *inner], node)
            value = self._expressions.load(original, node)
            self._expressions.assignments.store(self._pointers.place(array, subscripts, node), value, node)

        self.for_each_number(first, to, make, node)

    def clear(self, struct: Pointer, node: Node) -> None:
        """Set all numbers of the struct that `struct` points at to zero."""

        def make(_: tuple[str, ...], array: Array, subscripts: Sequence[Index], __: Sequence[Index]) -> None:
            zero = Value(array.type.element, 0 if array.type.element.is_integer else 0.0)
            self._expressions.assignments.store(self._pointers.place(array, subscripts, node), zero, node)

        assert isinstance(struct.array, RecordArray)
        self.for_each_number(struct.array, self._pointers.subscripts(struct, node), make, node)

    def for_each_number(self, struct: RecordArray, at: Sequence[Index], make: MakeNumber, node: Node) -> None:
        """Call `make` for all numbers of a struct, inside loops over those that are arrays.

        Args:
            struct: with others.
            at: its subscripts.
            make: takes the path of members, the array of the leaf, its subscripts, and those of them inside the struct.
            node: that asks for it.
        """
        for leaf in struct.type.record.leaves:
            array = struct.numbers(leaf.path)

            def body(inner: Sequence[SSAValue], path: tuple[str, ...] = leaf.path, array: Array = array) -> None:
                make(path, array, [*at, *inner], inner)

            loop_nest(self._build, leaf.extents, body, node)


def member_name(variable: str, path: Sequence[str]) -> str:
    """What a member of a variable is called in the IR."""
    return "_".join((variable, *path))

"""Statements: C in, loops, branches and stores out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_arrays import clear_or_copy, declare_array, is_constant_table
from tapeflow.frontend.c_bindings import Array, Binding, Fixed, Place, Pointer, RecordArray, Slot
from tapeflow.frontend.c_builder import IRBuilder, Value
from tapeflow.frontend.c_expressions import Expressions
from tapeflow.frontend.c_flow import Exit, all_complete, completes, exits
from tapeflow.frontend.c_jumps import Jumps
from tapeflow.frontend.c_refusals import unsupported, unsupported_type
from tapeflow.frontend.c_repetitions import Loops
from tapeflow.frontend.c_signatures import is_table
from tapeflow.frontend.c_switch import Section, switch_sections
from tapeflow.frontend.c_types import BOOL, ArrayType, Scalar, promoted, scalar_of
from tapeflow.frontend.clang_tree import Node


@dataclass
class Statements:
    """Makes the IR of one function's statements.

    Args:
        build: where the operations go.
        expressions: makes the expressions in them.
        assigned: the variables that are assigned somewhere; the others keep their first value.
        counters: the variables that live in the loops which count with them, and need no memory.
        result: the memory of what the function returns, where it has more than one `return`.
        returned: the memory of the struct that the function returns.
    """

    build: IRBuilder
    expressions: Expressions
    assigned: set[Node]
    counters: set[Node]
    result: Slot | None = None
    returned: RecordArray | None = None

    def __post_init__(self):
        self.jumps = Jumps(self.build)
        self._loops = Loops(self)

    @property
    def _bindings(self) -> dict[Node, Binding]:
        return self.expressions.bindings

    def run(self, statements: Sequence[Node]) -> None:
        """Make the IR of `statements`, one after the other.

        Raises:
            TapeflowError: at the first part of them that the frontend does not take.
        """
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if not exits(statement):
                self.statement(statement)
                if not completes(statement):
                    return
                continue
            match statement.kind:
                case "COMPOUND_STMT":
                    self.run([*statement.children, *rest])
                case "IF_STMT":
                    self._if(statement, rest)
                case "RETURN_STMT" | "BREAK_STMT" | "CONTINUE_STMT":
                    self._leave(statement)
                case _:
                    self.statement(statement)
                    if completes(statement):
                        self.unless_left(exits(statement), rest, statement)
            return

    def statement(self, node: Node) -> None:
        """Make the IR of the statement `node`, which ends where it ends, or leaves by a jump.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        match node.kind:
            case "COMPOUND_STMT":
                self.run(node.children)
            case "DECL_STMT":
                for child in node.children:
                    self.statement(child)
            case "NULL_STMT" | "STATIC_ASSERT":
                pass
            case "TYPEDEF_DECL" | "ENUM_DECL" | "STRUCT_DECL" | "UNION_DECL" | "FUNCTION_DECL":
                pass
            case "VAR_DECL":
                self.declaration(node)
            case "IF_STMT":
                self._if(node, ())
            case "SWITCH_STMT":
                self._switch(node)
            case "FOR_STMT" | "WHILE_STMT" | "DO_STMT":
                self._loops.loop(node)
            case "CASE_STMT" | "DEFAULT_STMT":
                raise unsupported(node)
            case _:
                self.expression(node)

    # Declarations.

    def declaration(self, node: Node) -> None:
        """A variable that the function declares."""
        if node.storage_class in ("STATIC", "EXTERN") and not is_constant_table(node):
            what = "static variable" if node.storage_class == "STATIC" else "global variable"
            raise node.error(
                f"the {what} '{node.spelling}' can change between calls, which is not supported",
                "pass it as a parameter, or declare it 'static const' with a constant value",
            )
        if node.type.is_volatile:
            raise node.error(f"'{node.spelling}' is volatile, which is not supported", "leave 'volatile' out")
        if is_table(node.type):
            self._bindings[node] = declare_array(node, self.expressions)
        elif (scalar := scalar_of(node.type)) is not None:
            self._declare_scalar(node, scalar)
        elif node.type.kind == "POINTER":
            self.expressions.pointers.declare(node)
        else:
            raise unsupported_type(node, f"'{node.spelling}'")

    def _declare_scalar(self, node: Node, scalar: Scalar) -> None:
        initializer = node.initializer
        if node in self.counters:
            if initializer is not None and c_effects.has_effects(initializer):
                self.expressions.value(initializer)
            return
        if initializer is not None:
            self.expressions.check_order(initializer)
        if node not in self.assigned and not c_effects.is_addressed(node) and initializer is not None:
            self._bindings[node] = self._fixed(node, initializer, scalar)
            return
        last = self.build.block.last_op
        value = None if initializer is None else self.expressions.value_as(initializer, scalar)
        if value is not None:
            self.build.name(value, node.spelling, last)
        self._bindings[node] = slot = self.slot(node, scalar)
        if value is not None:
            self.store(slot, value, node, node.spelling)

    def _fixed(self, node: Node, initializer: Node, scalar: Scalar) -> Fixed:
        """The binding of a variable that keeps its first value."""
        last = self.build.block.last_op
        nonnegative = scalar.is_integer and self.expressions.is_nonnegative(initializer)
        if self.expressions.is_native(initializer):
            index = self.expressions.index(initializer)
            self.build.name(Value(scalar, index), node.spelling, last)
            return Fixed(scalar, index=index, native=True, nonnegative=nonnegative)
        value = self.expressions.value_as(initializer, scalar)
        self.build.name(value, node.spelling, last)
        return Fixed(scalar, value=value, nonnegative=nonnegative)

    def slot(self, node: Node, scalar: Scalar) -> Slot:
        """Memory for the variable that `node` declares."""
        addressed = c_effects.is_addressed(node)
        alloca = memref.AllocaOp.get(scalar.ir, shape=[1] if addressed else [])
        memory = self.build.compute(alloca, node, node.spelling)
        return Slot(scalar, memory, Array(ArrayType(scalar, (1,)), memory) if addressed else None)

    def store(self, slot: Slot, value: Value, node: Node, name: str | None = None) -> None:
        """Store `value` in the variable of `slot`."""
        indices = [] if slot.array is None else [self.build.index_ssa(0, node)]
        self.expressions.assignments.store(Place(slot.type, slot.memory, indices), value, node, name)

    # Expressions as statements.

    def expression(self, node: Node) -> None:
        """An expression whose value is not used."""
        inner = node.stripped
        if inner.kind == "BINARY_OPERATOR" and inner.operator == ",":
            for child in inner.children:
                self.expression(child)
            return
        self.expressions.check_order(inner)
        if inner.kind != "CALL_EXPR" or not clear_or_copy(inner, self.expressions):
            self.expressions.discard(inner)

    # Branches.

    def _branch(self, truth: Value, then: Sequence[Node], otherwise: Sequence[Node], node: Node) -> None:
        """An `scf.if` of two sequences of statements."""

        def arm(statements: Sequence[Node]):
            def make() -> Sequence[SSAValue]:
                self.run(statements)
                return []

            return make

        self.build.branch(truth, arm(then), arm(otherwise) if otherwise else None, [], node)

    def _if(self, node: Node, rest: Sequence[Node]) -> None:
        """An `if`, and the `rest` of the statements after it where it may be left by a jump."""
        condition, then, *otherwise = node.children
        truth = self.expressions.condition(condition)
        if truth.number is not None:
            self.run([*([then] if truth.number else otherwise), *rest])
            return
        goes_on = completes(then), all_complete(otherwise)
        if all(goes_on) and rest:
            self._branch(truth, [then], otherwise, node)
            self.unless_left(exits(node), rest, node)
        else:
            # What follows stands in the arm that goes on to it.
            self._branch(
                truth,
                [then, *rest] if goes_on[0] else [then],
                [*otherwise, *rest] if goes_on[1] else otherwise,
                node,
            )

    def unless_left(self, left_by: frozenset[Exit], rest: Sequence[Node], node: Node) -> None:
        """The statements `rest`, after the statement `node`, unless it was left by one of the jumps `left_by`."""
        if rest:
            self._branch(self.jumps.stays(left_by, node), rest, [], node)

    def _switch(self, node: Node) -> None:
        parts = switch_sections(node)
        for declaration in parts.declarations:
            self.statement(declaration)
        operand = node.children[0]
        self.expressions.check_order(operand)
        value = self.expressions.value(operand)
        value = self.build.convert(value, promoted(value.type), operand)
        cases = [section for section in parts.sections if not section.is_default]
        default = next((section for section in parts.sections if section.is_default), None)
        with self.jumps.inside({Exit.BREAK}, node, "inside"):
            self._cases(value, cases, default, node)

    def _cases(self, value: Value, cases: Sequence[Section], default: Section | None, node: Node) -> None:
        """The first of `cases` that has the value, else `default`."""
        if not cases:
            if default is not None:
                self._section(default)
            return
        first, *others = cases
        truth = self._is_one_of(value, first)

        def then() -> Sequence[SSAValue]:
            self._section(first)
            return []

        def otherwise() -> Sequence[SSAValue]:
            self._cases(value, others, default, node)
            return []

        goes_on = others or (default is not None and default.statements)
        self.build.branch(truth, then, otherwise if goes_on else None, [], first.label)

    def _section(self, section: Section) -> None:
        """The statements at a label, and before them the variables that others declare for them."""
        for variable in section.declared:
            scalar = scalar_of(variable.type)
            if variable in self.counters:
                continue
            if is_table(variable.type):
                self._bindings[variable] = declare_array(variable, self.expressions)
            elif scalar is not None:
                self._bindings[variable] = self.slot(variable, scalar)
            else:
                raise variable.error(
                    f"'{variable.spelling}' is declared at one label of a 'switch' and used at another, which is not "
                    "supported for pointers and structs",
                    "declare it before the 'switch'",
                )
        self.run(section.statements)

    def _is_one_of(self, value: Value, section: Section) -> Value:
        truth: Value | None = None
        for label in section.values:
            wanted = self.expressions.value_as(label, value.type)
            equal = Value(BOOL, self.build.compare("==", value, wanted, label))
            truth = equal if truth is None else self.build.binary("|", truth, equal, label)
        assert truth is not None  # a section has labels, and these are not `default`
        return truth

    # Jumps.

    def return_struct(self, value: Node) -> None:
        """Put the struct `value` where the function's caller wants it."""
        assert self.returned is not None
        self.expressions.records.copy(Pointer(self.returned), self.expressions.records.place(value), value)

    def _leave(self, node: Node) -> None:
        """A `break`, `continue` or `return`."""
        (exit,) = exits(node)
        if exit is Exit.RETURN and node.children:
            value = node.children[0]
            self.expressions.check_order(value)
            if self.returned is not None:
                self.return_struct(value)
            elif self.result is None:
                # clang lets `return g();` stand in a function that returns nothing, if g returns nothing.
                self.expressions.discard(value)
            else:
                self.store(self.result, self.expressions.value_as(value, self.result.type), node)
        self.jumps.leave(exit, node)

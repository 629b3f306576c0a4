"""Statements: C in, loops, branches and stores out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, SSAValue

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_arrays import clear_or_copy, declare_array, is_constant_table
from tapeflow.frontend.c_builder import INDEX, Index, IRBuilder, Value, suggest_name
from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_expressions import Binding, Expressions, Fixed, Place, Slot
from tapeflow.frontend.c_loops import CountedLoop, counted_loop
from tapeflow.frontend.c_refusals import pointer_value, unsupported, unsupported_type
from tapeflow.frontend.c_signatures import is_array
from tapeflow.frontend.c_types import Scalar, common, promoted, scalar_of
from tapeflow.frontend.clang_tree import Node


@dataclass
class Statements:
    """Makes the IR of one function's statements.

    Args:
        build: where the operations go.
        expressions: makes the expressions in them.
        assigned: the variables that are assigned somewhere; the others keep their first value.
        counters: the variables that live in the loops which count with them, and need no memory.
    """

    build: IRBuilder
    expressions: Expressions
    assigned: frozenset[Node]
    counters: frozenset[Node]

    @property
    def _bindings(self) -> dict[Node, Binding]:
        return self.expressions.bindings

    def statement(self, node: Node) -> None:
        """Make the IR of the statement `node`.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        match node.kind:
            case "COMPOUND_STMT" | "DECL_STMT":
                for child in node.children:
                    self.statement(child)
            case "NULL_STMT" | "STATIC_ASSERT":
                pass
            case "TYPEDEF_DECL" | "ENUM_DECL" | "STRUCT_DECL" | "UNION_DECL" | "FUNCTION_DECL":
                pass
            case "VAR_DECL":
                self.declaration(node)
            case "IF_STMT":
                self._if(node)
            case "FOR_STMT":
                self._for(counted_loop(node), node)
            case _:
                self._expression(node)

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
        if is_array(node.type):
            self._bindings[node] = declare_array(node, self.expressions)
        elif (scalar := scalar_of(node.type)) is not None:
            self._declare_scalar(node, scalar)
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
        if node not in self.assigned and initializer is not None:
            self._bindings[node] = self._fixed(node, initializer, scalar)
            return
        last = self.build.block.last_op
        value = None if initializer is None else self._assigned_value(initializer, scalar)
        if value is not None:
            self.build.name(value, node.spelling, last)
        self._bindings[node] = slot = self.slot(node, scalar)
        if value is not None:
            self.store(Place(scalar, slot.memory), value, node, node.spelling)

    def _fixed(self, node: Node, initializer: Node, scalar: Scalar) -> Fixed:
        """The binding of a variable that keeps its first value."""
        last = self.build.block.last_op
        nonnegative = scalar.is_integer and self.expressions.is_nonnegative(initializer)
        if self.expressions.is_native(initializer):
            index = self.expressions.index(initializer)
            self.build.name(Value(scalar, index), node.spelling, last)
            return Fixed(scalar, index=index, native=True, nonnegative=nonnegative)
        value = self._assigned_value(initializer, scalar)
        self.build.name(value, node.spelling, last)
        return Fixed(scalar, value=value, nonnegative=nonnegative)

    def slot(self, node: Node, scalar: Scalar) -> Slot:
        """Memory for the variable that `node` declares."""
        alloca = memref.AllocaOp.get(scalar.ir, shape=[])
        return Slot(scalar, self.build.compute(alloca, node, node.spelling))

    # Expressions as statements.

    def _expression(self, node: Node) -> None:
        """An expression whose value is not used."""
        inner = node.stripped
        if inner.kind == "BINARY_OPERATOR" and inner.operator == ",":
            for child in inner.children:
                self._expression(child)
        elif c_effects.is_assignment(inner):
            self.expressions.check_order(inner)
            self._assign(inner)
        elif inner.kind == "CALL_EXPR":
            self.expressions.check_order(inner)
            if not clear_or_copy(inner, self.expressions):
                self.expressions.call(inner)
        elif inner.kind == "CSTYLE_CAST_EXPR" and inner.type.kind == "VOID":
            self._expression(inner.children[-1])
        elif inner.type.kind == "INVALID":
            raise unsupported(inner)
        elif (change := next(c_effects.effects(inner), None)) is not None:
            raise unsupported(change)

    def _assigned_value(self, node: Node, scalar: Scalar) -> Value:
        """The value of the right side of an assignment, converted to `scalar`; it may be an assignment itself."""
        chained = c_effects.is_assignment(node.stripped)
        value = self._chained(node) if chained else self.expressions.value(node)
        return self.build.convert(value, scalar, node)

    def _chained(self, node: Node) -> Value:
        """The value of an assignment that is the right side of another."""
        if node.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR"):
            value = self._chained(node.children[0])
            scalar = scalar_of(node.type)
            return value if scalar is None else self.build.convert(value, scalar, node)
        if node.kind == "UNARY_OPERATOR":
            raise unsupported(node)
        return self._assign(node)

    def _assign(self, node: Node) -> Value:
        """Make the assignment or step `node`; the value that it assigns."""
        target = node.children[0]
        scalar = scalar_of(target.type)
        if scalar is None:
            raise pointer_value(target)
        name = c_effects.root(target)
        spelling = None if name is None or c_effects.variable(target) is None else name.spelling
        if node.kind == "BINARY_OPERATOR":
            self._check_chain(target, node.children[1])
            place = self._place(target)
            last = self.build.block.last_op
            value = self._assigned_value(node.children[1], scalar)
        else:
            place = self._place(target)
            last = self.build.block.last_op
            value = self._updated(node, place, scalar)
        if spelling is not None:
            self.build.name(value, spelling, last)
        self.store(place, value, node, spelling)
        return value

    def _place(self, target: Node) -> Place:
        inner = target.stripped
        declaration = c_effects.variable(inner)
        if declaration is not None and declaration.is_global:
            raise inner.error(
                f"the global variable '{inner.spelling}' is assigned, which is not supported",
                "pass an array parameter for what the function is to change",
            )
        return self.expressions.place(inner)

    def _check_chain(self, target: Node, value: Node) -> None:
        """Refuse `a[i] = i = e`: C leaves open which value of `i` the left side uses."""
        if not c_effects.is_assignment(value.stripped):
            return
        changed = {change.variable for change in c_effects.changes(value)}
        if c_effects.variable(target) is None and changed & (c_effects.mentioned(target) - {c_effects.root(target)}):
            raise target.error(
                "this place depends on a variable that the same statement assigns: C leaves open which value is meant",
                "write two statements",
            )

    def _updated(self, node: Node, place: Place, scalar: Scalar) -> Value:
        """What `x op= e`, `x++` or `x--` assigns to x."""
        operator = node.operator
        assert operator is not None
        if node.kind == "UNARY_OPERATOR":
            computed_as = promoted(scalar)
            operator, right = "+" if "+" in operator else "-", None
        else:
            right = node.children[1]
            right_type = scalar_of(right.type)
            if right_type is None:
                raise pointer_value(right)
            operator = operator.removesuffix("=")
            computed_as = promoted(scalar) if operator in ("<<", ">>") else common(scalar, right_type)
        old = self.build.convert(self.expressions.load(place, node), computed_as, node)
        one = Value(computed_as, 1.0 if computed_as.is_float else 1)
        added = one if right is None else self.expressions.value_as(right, computed_as)
        result = self.build.binary(operator, old, added, node)
        assert result is not None  # clang refuses the operators that a type does not have
        return self.build.convert(result, scalar, node)

    def store(self, place: Place, value: Value, node: Node, name: str | None = None) -> None:
        """Store `value` in `place`."""
        self.build.add(memref.StoreOp.get(self.build.ssa(value, node), place.memory, place.indices), node, name)

    # Branches.

    def _if(self, node: Node) -> None:
        condition, then, *otherwise = node.children
        truth = self.expressions.condition(condition)
        if truth.number is not None:
            for chosen in [then] if truth.number else otherwise:
                self.statement(chosen)
            return

        def arm(statement: Node):
            def make() -> Sequence[SSAValue]:
                self.statement(statement)
                return []

            return make

        self.build.branch(truth, arm(then), arm(otherwise[0]) if otherwise else None, [], node)

    # Loops.

    def _for(self, loop: CountedLoop, node: Node) -> None:
        for before in loop.before:
            self.statement(before)
        _check_signs(loop, self.expressions)
        iterations = self._iterations(loop)
        outer = self._bindings.get(loop.counter)
        self._repeat(loop, iterations, node)
        if outer is None:
            del self._bindings[loop.counter]
            return
        self._bindings[loop.counter] = outer
        if isinstance(outer, Slot):
            final = self.build.from_index(iterations.final(self.build, node), loop.counter_type, node)
            self.store(Place(outer.type, outer.memory), final, node, loop.counter.spelling)

    def _iterations(self, loop: CountedLoop) -> Iterations:
        build, index = self.build, self.expressions.index
        if loop.start is None:
            start = self._held(loop.counter)
        else:
            self.expressions.check_order(loop.start)
            start = index(loop.start)
        start = build.index_binary("+", start, loop.start_offset, True, loop.start or loop.bound)
        bound = index(loop.bound)
        step: Index = loop.step if isinstance(loop.step, int) else index(loop.step)
        if isinstance(loop.step, Node):
            # C may skip the loop whatever the step is; scf.for must have a positive one even then.
            step = build.index_maximum(step, 1, loop.step)
        extra = int(loop.inclusive)
        if loop.descending:
            span = build.index_binary("-", start, bound, True, loop.bound)
            end = build.index_binary("+", span, extra, True, loop.bound)
        else:
            end = build.index_binary("+", bound, extra, True, loop.bound)
        return Iterations(start, end, step, loop.descending)

    def _held(self, counter: Node) -> Index:
        """What the counter of a loop without a first value holds when the loop begins."""
        binding = self._bindings[counter]
        assert isinstance(binding, Slot)
        return self.build.index_of(self.expressions.load(Place(binding.type, binding.memory), counter), counter)

    def _repeat(self, loop: CountedLoop, iterations: Iterations, node: Node) -> None:
        """The `scf.for` that runs the body, with the counter bound to its value in each iteration."""
        build, counter = self.build, loop.counter
        name = counter.spelling
        block = Block(arg_types=[INDEX])
        (variable,) = block.args
        variable.location = counter.named_location(name)
        suggest_name(variable, f"{name}_down" if loop.descending else name)
        first = 0 if loop.descending else iterations.start
        lower, upper, step = (build.index_ssa(index, node) for index in (first, iterations.end, iterations.step))
        with build.inside(block, node):
            value: Index = variable
            if loop.descending:
                start = build.index_ssa(iterations.start, counter)
                value = build.compute(arith.SubiOp(start, variable), counter, name)
            self._bindings[counter] = Fixed(
                loop.counter_type, index=value, native=True, nonnegative=_counts_nonnegative(loop, self.expressions)
            )
            self.statement(loop.body)
            for after in loop.after_each:
                self._expression(after)
            build.add(scf.YieldOp(), node)
        build.add(scf.ForOp(lower, upper, step, [], block), node)


@dataclass(frozen=True)
class Iterations:
    """What an `scf.for` runs over: from `start` up to `end`; or, descending, the distances 0 to `end` below `start`.

    Attributes:
        start: the counter's first value.
        end: the first value, or distance, that is too great.
        step: between values; positive.
        descending: whether the counter goes down.
    """

    start: Index
    end: Index
    step: Index
    descending: bool

    def final(self, build: IRBuilder, node: Node) -> Index:
        """The counter's value after the loop."""

        def compute(operator: str, left: Index, right: Index) -> Index:
            return build.index_binary(operator, left, right, True, node)

        if self.step == 1 and not self.descending:
            return build.index_maximum(self.start, self.end, node)
        distance = self.end if self.descending else compute("-", self.end, self.start)
        distance = build.index_maximum(distance, 0, node)
        if self.step != 1:
            ahead = compute("+", distance, compute("-", self.step, 1))
            distance = compute("*", compute("/", ahead, self.step), self.step)
        return compute("-" if self.descending else "+", self.start, distance)


def _check_signs(loop: CountedLoop, expressions: Expressions) -> None:
    """Refuse comparisons that C makes on unsigned numbers, where the counter may be negative or never passes zero."""
    if loop.compared_as.signed:
        return
    name = loop.counter.spelling
    if loop.counter_type.signed:
        starts_nonnegative = loop.start is not None and expressions.is_nonnegative(loop.start)
        if loop.descending or not starts_nonnegative:
            raise loop.bound.error(
                f"the signed counter '{name}' is compared with an unsigned bound, and may be negative",
                f"convert the bound to the type of '{name}', or declare '{name}' as size_t",
            )
    elif loop.descending and loop.inclusive and not loop.start_offset and integer(loop.bound) == 0:
        raise loop.bound.error(
            f"the unsigned counter '{name}' is always >= 0: the loop does not end",
            "count down with an int or ptrdiff_t",
        )
    elif loop.descending and loop.step != 1:
        bound = integer(loop.bound)
        least = None if bound is None else bound + (not loop.inclusive)
        if least is None or not isinstance(loop.step, int) or least < loop.step:
            raise loop.bound.error(
                f"the unsigned counter '{name}' may step below zero, where it wraps",
                "count down with an int or ptrdiff_t",
            )


def _counts_nonnegative(loop: CountedLoop, expressions: Expressions) -> bool:
    if not loop.counter_type.signed:
        return True
    lowest = loop.bound if loop.descending else loop.start
    return lowest is not None and expressions.is_nonnegative(lowest)

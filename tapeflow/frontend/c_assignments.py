"""Assignments and steps: `=`, `+=`, `++` ..., as statements and inside other expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import memref

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_bindings import Place
from tapeflow.frontend.c_builder import Value
from tapeflow.frontend.c_complex import operand_type, operate
from tapeflow.frontend.c_refusals import pointer_value
from tapeflow.frontend.c_types import Scalar, common, promoted, scalar_of
from tapeflow.frontend.clang_tree import Node

if TYPE_CHECKING:
    from tapeflow.frontend.c_expressions import Expressions


class Assignments:
    """Makes the IR of one function's assignments.

    Args:
        expressions: makes the expressions in them.
    """

    def __init__(self, expressions: Expressions):
        self._expressions = expressions
        self._build = expressions.build

    def value(self, node: Node) -> Value:
        """Make the assignment or step `node`; its value as an expression: before the step for `x++` and `x--`."""
        old, new = self.make(node)
        return old if node.operator in ("x++", "x--") and old is not None else new

    def make(self, node: Node) -> tuple[Value | None, Value]:
        """Make the assignment or step `node`.

        Returns:
            What the place held before (None for `=`, which does not look), and what it holds then.

        Raises:
            TapeflowError: when the frontend does not take the place or the value.
        """
        target = node.children[0]
        scalar = scalar_of(target.type)
        if scalar is None:
            raise pointer_value(target)
        name = c_effects.root(target)
        spelling = None if name is None or c_effects.variable(target) is None else name.spelling
        build, old = self._build, None
        if node.kind == "BINARY_OPERATOR":
            self._check_chain(target, node.children[1])
            place = self._place(target)
            last = build.block.last_op
            new = self._expressions.value_as(node.children[1], scalar)
        else:
            place = self._place(target)
            last = build.block.last_op
            old, new = self._updated(node, place, scalar)
        if spelling is not None:
            build.name(new, spelling, last)
        self.store(place, new, node, spelling)
        return old, new

    def store(self, place: Place, value: Value, node: Node, name: str | None = None) -> None:
        """Store `value` in `place`."""
        build = self._build
        build.add(memref.StoreOp.get(build.ssa(value, node), place.memory, place.indices), node, name)

    def _place(self, target: Node) -> Place:
        inner = target.stripped
        declaration = c_effects.variable(inner)
        if declaration is not None and declaration.is_global:
            raise inner.error(
                f"the global variable '{inner.spelling}' is assigned, which is not supported",
                "pass an array parameter for what the function is to change",
            )
        return self._expressions.place(inner)

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

    def _updated(self, node: Node, place: Place, scalar: Scalar) -> tuple[Value, Value]:
        """What is in x before `x op= e`, `x++` or `x--`, and what that assigns."""
        build, operator = self._build, node.operator
        assert operator is not None
        if node.kind == "UNARY_OPERATOR":
            computed_as = promoted(scalar)
            operator, right_type = "+" if "+" in operator else "-", None
        else:
            right = node.children[1]
            right_type = scalar_of(right.type)
            if right_type is None:
                raise pointer_value(right)
            operator = operator.removesuffix("=")
            computed_as = promoted(scalar) if operator in ("<<", ">>") else common(scalar, right_type)
        before = self._expressions.load(place, node)
        old = build.convert(before, operand_type(scalar, computed_as), node)
        if right_type is None:
            added = Value(computed_as.part, 1 if computed_as.is_integer else 1.0)
        else:
            added = self._expressions.value_as(node.children[1], operand_type(right_type, computed_as))
        result = operate(build, operator, old, added, node)
        assert result is not None  # clang refuses the operators that a type does not have
        return before, build.convert(result, scalar, node)

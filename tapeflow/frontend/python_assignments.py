"""Assignments: to variables, to elements and slices of arrays, to several targets at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tapeflow.frontend.python_annotations import scalar_annotation
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_refusals import unsupported
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_values import Elements, Reference, Scalar, Tuple, Value, View, described


class Assignments:
    """Makes the IR of assignments.

    Args:
        expressions: makes that of expressions.
    """

    def __init__(self, expressions: Expressions):
        self.expressions = expressions
        self.scope = expressions.scope
        self.build = expressions.build
        self.arrays = expressions.arrays
        self.source = expressions.build.source

    def assign(self, statement: ast.Assign) -> None:
        """`a = b = value`."""
        value = statement.value
        if isinstance(value, ast.Tuple | ast.List) and any(
            isinstance(target, ast.Tuple | ast.List) for target in statement.targets
        ):
            self._assign_each(statement, [self._number_of_several(item) for item in value.elts])
            return
        made = self.value(value)
        if isinstance(made, Elements) and len(statement.targets) > 1:
            made = self.arrays.materialize(made)
        for target in statement.targets:
            self._assign_to(target, made)

    def _assign_each(self, statement: ast.Assign, numbers: Sequence[Scalar]) -> None:
        for target in statement.targets:
            if not isinstance(target, ast.Tuple | ast.List):
                raise self.source.error(target, "a variable cannot be a tuple", "give each number a name")
            self._unpack(target, numbers)

    def _number_of_several(self, node: ast.expr) -> Scalar:
        value = self.expressions.value(node)
        if not isinstance(value, Scalar):
            raise self.source.error(
                node, f"{described(value)} among several values is not supported", "assign it in a statement of its own"
            )
        return value

    def value(self, node: ast.expr) -> Value:
        """The value of the whole right side of a statement, which may be a call that changes arrays."""
        self.expressions.outermost = node
        value = self.expressions.value(node)
        if isinstance(value, Reference):
            raise self.expressions.not_a_number(node, value)
        return value

    def _assign_to(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                with self.build.at(target):
                    if isinstance(value, Elements):
                        value = self.arrays.materialize(value)
                    self.scope.assign(name, value, target)
            case ast.Subscript():
                self._assign_elements(target, value)
            case ast.Tuple() | ast.List():
                if not isinstance(value, Tuple):
                    raise self.source.error(
                        target, f"{described(value)} cannot be unpacked", "assign its elements one by one"
                    )
                self._unpack(target, value.items)
            case ast.Starred():
                raise unsupported(self.source, target)
            case _:
                raise self.source.error(
                    target, f"{quoted(target)} cannot be assigned to", "keep to numbers and arrays of numbers"
                )

    def _unpack(self, target: ast.Tuple | ast.List, numbers: Sequence[Scalar]) -> None:
        if len(target.elts) != len(numbers):
            raise self.source.error(target, f"{len(numbers)} values are unpacked into {len(target.elts)} variables")
        for part, number in zip(target.elts, numbers, strict=True):
            self._assign_to(part, number)

    def _assign_elements(self, target: ast.Subscript, value: Value) -> None:
        if not isinstance(value, Scalar | View | Elements):
            raise self.expressions.not_a_number(target, value)
        part = self.expressions.part(target)
        with self.build.at(target):
            if part.lengths or not isinstance(value, Scalar):
                self.arrays.assign(part, value)
            else:
                self.arrays.store(part, value)

    def annotated(self, statement: ast.AnnAssign) -> None:
        """`a: float = value`."""
        if statement.value is None:
            return
        value = self.value(statement.value)
        declared = scalar_annotation(self.source, statement.annotation)
        if declared is not None and not (isinstance(value, Scalar) and value.type.is_same(declared)):
            raise self.source.error(
                statement.value,
                f"{quoted(statement.target)} is declared {declared}, but its value is {described(value)}",
                f"convert the value: '{declared}(...)'" + (", or write 0.0 for 0" if declared.kind == "float" else ""),
            )
        self._assign_to(statement.target, value)

    def augmented(self, statement: ast.AugAssign) -> None:
        """`a += value`."""
        match statement.target:
            case ast.Name() as name:
                current = self.scope.read(ast.copy_location(ast.Name(name.id, ast.Load()), name))
                assert isinstance(current, Scalar | View)  # it is assigned to here, so it is a variable
                if isinstance(current, View):
                    self.arrays.assign(current, self._updated(statement, current))
                else:
                    self._assign_to(name, self._updated(statement, current))
            case ast.Subscript() as subscript:
                part = self.expressions.part(subscript)
                if part.lengths:
                    self.arrays.assign(part, self._updated(statement, part))
                else:
                    updated = self._updated(statement, self.arrays.load(part))
                    assert isinstance(updated, Scalar)
                    self.arrays.store(part, updated)
            case target:
                raise self.source.error(target, f"{quoted(target)} cannot be assigned to")

    def _updated(self, statement: ast.AugAssign, current: Scalar | View) -> Scalar | View | Elements:
        self.expressions.outermost = statement.value
        value = self.expressions.binary(statement.op, current, self.expressions.operand(statement.value))
        if isinstance(current, Scalar) and not isinstance(value, Scalar):
            raise self.build.refuse("an array is combined with a number and assigned to it", "reduce it with numpy.sum")
        return value

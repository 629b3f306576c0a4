"""Statements: Python's syntax tree in, operations out. Variables become SSA values as they are assigned.

A loop carries the variables that it sets and that are read later on; a branch yields those that both its arms leave
set. A variable that is set in some ways only cannot be read after.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from tapeflow.analysis.source_names import set_result_names
from tapeflow.frontend.python_assignments import Assignments
from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_flow import Needs, Statements, assigned, is_none, only_grows
from tapeflow.frontend.python_functions import zero_of
from tapeflow.frontend.python_jumps import LeavingFor, Unreturned
from tapeflow.frontend.python_origins import carried_origins
from tapeflow.frontend.python_ranges import Range, Ranges
from tapeflow.frontend.python_refusals import unsupported
from tapeflow.frontend.python_returns import RETURN
from tapeflow.frontend.python_scope import Binding
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_types import Origin, ScalarType, joined
from tapeflow.frontend.python_values import (
    Scalar,
    Tuple,
    View,
    described,
)


class StatementsOfFunction:
    """Makes the IR of one function's statements.

    Args:
        expressions: makes that of expressions.
        needs: which variables are read after each statement.
        returned: the types of what the function says that it returns, as far as it does.
    """

    def __init__(self, expressions: Expressions, needs: Needs, returned: Sequence[ScalarType] = ()):
        self.expressions = expressions
        self.scope = expressions.scope
        self.build = expressions.build
        self.numbers = expressions.numbers
        self.arrays = expressions.arrays
        self.source = expressions.build.source
        self.assignments = Assignments(expressions)
        self.ranges = Ranges(expressions)
        self._needs = needs
        self._returned = returned

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Append the operations of `statements`, which are `structured`, to the current block.

        Raises:
            TapeflowError: at the first statement that the frontend does not take.
        """
        for statement in statements:
            with self.build.at(statement):
                self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign():
                self.assignments.assign(statement)
            case ast.AnnAssign():
                self.assignments.annotated(statement)
            case ast.AugAssign():
                self.assignments.augmented(statement)
            case ast.For():
                self._for(statement)
            case ast.While():
                self._while(statement)
            case ast.If():
                self._if(statement)
            case ast.Return():
                self._return(statement)
            case ast.Expr():
                self._expression(statement)
            case Unreturned():
                self._unreturned(statement)
            case ast.Pass():
                pass
            case _:
                raise unsupported(self.source, statement)

    def _expression(self, statement: ast.Expr) -> None:
        match statement.value:
            case ast.Constant(value=str()):
                # A docstring, or a note.
                pass
            case ast.Call() as call:
                self.expressions.outermost = call
                with self.build.at(call):
                    self.expressions.calls.value(call)
            case ast.Yield() | ast.YieldFrom() | ast.Await() as other:
                raise unsupported(self.source, other)
            case other:
                raise self.source.error(other, f"{quoted(other)} does nothing", "assign it, or leave it out")

    def _unreturned(self, statement: Unreturned) -> None:
        """What is returned is not known yet."""
        if not statement.begins:
            for name in statement.names:
                self.scope.bindings.pop(name, None)
            return
        for name, type_ in zip(statement.names, self._returned, strict=False):
            self.scope.assign(name, zero_of(type_), statement)

    def _return(self, statement: ast.Return) -> None:
        if statement.value is None or is_none(statement.value):
            return
        value = self.assignments.value(statement.value) if not isinstance(statement.value, ast.Tuple) else Tuple(())
        if not isinstance(value, Scalar):
            hint = "take the array as a parameter and write into it"
            if isinstance(value, Tuple):
                hint = "return its numbers, 'return a, b', or write them into array parameters"
            raise self.source.error(
                statement.value, f"a function that returns {described(value)} is not supported", hint
            )
        self.scope.assign(RETURN, value, statement)

    # Branches.

    def _if(self, statement: ast.If) -> None:
        condition = self.expressions.condition(statement.test)
        if condition.number is not None:
            self.run(statement.body if condition.number else statement.orelse)
            return
        before = dict(self.scope.bindings)
        then, after_then = self._arm(statement.body, condition.if_true)
        self.scope.bindings = dict(before)
        otherwise, after_else = self._arm(statement.orelse, condition.if_false)
        self.scope.bindings = before
        changed = assigned(statement.body, statement.orelse)
        yielded = [n for n in changed if self._is_yielded(n, statement, after_then, after_else)]
        pairs = [(_number(after_then[name]), _number(after_else[name])) for name in yielded]
        with self.build.at(statement):
            results = self.build.branch(
                self.build.ssa(condition),
                (then, [self.build.ssa(first) for first, _ in pairs]),
                (otherwise, [self.build.ssa(second) for _, second in pairs]),
                yielded,
            )
        for name, (first, second), result in zip(yielded, pairs, results, strict=True):
            common = joined(first.type, second.type)
            assert common is not None  # a variable keeps its type
            form = self.numbers.either(condition, first, second)
            self.scope.bindings[name] = Scalar(common, result, form)
        for name in changed:
            if name not in yielded:
                self._lose_after_branch(name, statement, after_then, after_else)

    def _arm(self, statements: Statements, facts: Sequence[Linear]) -> tuple[Block, dict[str, Binding]]:
        block = Block()
        with self.build.inside(block), self.build.assuming(facts):
            self.run(statements)
        return block, self.scope.bindings

    def _is_yielded(
        self, name: str, statement: ast.If, then: dict[str, Binding], otherwise: dict[str, Binding]
    ) -> bool:
        in_both = isinstance(then.get(name), Scalar) and isinstance(otherwise.get(name), Scalar)
        return in_both and name in self._needs.after[statement]

    def _lose_after_branch(
        self, name: str, statement: ast.If, then: dict[str, Binding], otherwise: dict[str, Binding]
    ) -> None:
        if isinstance(self.scope.bindings.get(name), View):
            # Its elements were changed.
            return
        if isinstance(then.get(name) or otherwise.get(name), View):
            self._lose_array(name, statement)
            return
        self.scope.lose(
            name,
            f"'{name}' may be unassigned here: not every way through the 'if' of line {statement.lineno} assigns it",
            "assign it before the 'if', or in all branches",
        )

    def _lose_array(self, name: str, statement: ast.stmt) -> None:
        self.scope.lose(
            name,
            f"the array '{name}' is made inside the block that begins in line {statement.lineno}, and only known there",
            "make it before the block",
        )

    # Loops.

    def _for(self, statement: ast.For) -> None:
        counted = self.ranges.of(statement)
        name = self._counter(statement)
        carried = self._carried(statement, frozenset((name,)))
        initial = self._initial(statement, carried)
        grows = {name: only_grows(name, statement.body) for name in carried}
        facts = self.ranges.facts(counted)
        if isinstance(statement, LeavingFor):
            self._for_until(statement, counted, initial, grows)
            return

        def body(index: SSAValue, entering: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._enter(initial, entering, grows)
            with self.build.at(statement.target):
                self.scope.assign(name, self.ranges.counter(counted, index, name), statement.target)
            with self.build.assuming(facts):
                self.run(statement.body)
            return self._entering(initial)

        with self.build.at(statement):
            before = dict(self.scope.bindings)
            values = [(self.build.ssa(initial[name]), name) for name in carried]
            results = self.build.loop(
                self.ranges.bounds(counted), name, values, body, f"{name}_down" if counted.step < 0 else None
            )
        self._leave(statement, before, initial, results, grows)
        self.scope.lose(
            name,
            f"'{name}' is read after the loop of line {statement.lineno} that counts with it",
            "compute what it would be from the loop's bounds",
        )

    def _for_until(
        self, statement: LeavingFor, counted: Range, initial: dict[str, Scalar], grows: dict[str, bool]
    ) -> None:
        """A counted loop that a flag leaves: an `scf.while` with the counter, or how far it has gone down, carried."""
        build, name = self.build, self._counter(statement)
        with build.at(statement):
            first, last, step = self.ranges.bounds(counted)
            before = dict(self.scope.bindings)
            values = [first, *(build.ssa(initial[each]) for each in initial)]
            called = [name if counted.step > 0 else f"{name}_down", *initial]
            arguments = [(value.type, each) for value, each in zip(values, called, strict=True)]
            test, body = build.block_of(arguments), build.block_of(arguments)
            with build.inside(test):
                self._enter(initial, test.args[1:], grows)
                left = build.ssa(_number(self.scope.bindings[statement.left]))
                stays = build.value(arith.XOrIOp(left, build.constant(True, i1)))
                within = build.value(arith.CmpiOp(test.args[0], last, "slt"))
                build.add(scf.ConditionOp(build.value(arith.AndIOp(stays, within)), *test.args))
            with build.inside(body):
                self._enter(initial, body.args[1:], grows)
                with build.at(statement.target):
                    self.scope.assign(name, self.ranges.counter(counted, body.args[0], name), statement.target)
                with build.assuming(self.ranges.facts(counted)):
                    self.run(statement.body)
                following = build.value(arith.AddiOp(body.args[0], step))
                build.add(scf.YieldOp(following, *self._entering(initial)))
            loop = scf.WhileOp(values, [value.type for value in values], Region(test), Region(body))
            results = build.add(loop).results
            set_result_names(loop, called)
        self._leave(statement, before, initial, results[1:], grows)
        self.scope.lose(
            name,
            f"'{name}' is read after the loop of line {statement.lineno} that counts with it",
            f"assign it to another variable before the jump: 'k = {name}'",
        )

    def _counter(self, statement: ast.For) -> str:
        if isinstance(statement.target, ast.Name):
            return statement.target.id
        raise self.source.error(
            statement.target, "a loop counts with one variable", "write 'for i in range(...)', and unpack in the body"
        )

    def _while(self, statement: ast.While) -> None:
        carried = self._carried(statement, frozenset())
        initial = self._initial(statement, carried)
        grows = {name: only_grows(name, statement.body) for name in carried}
        before = dict(self.scope.bindings)
        values = [self.build.ssa(scalar) for scalar in initial.values()]
        arguments = [(value.type, name) for value, name in zip(values, carried, strict=True)]
        test, body = self.build.block_of(arguments), self.build.block_of(arguments)
        with self.build.inside(test):
            self._enter(initial, test.args, grows)
            condition = self.expressions.condition(statement.test)
            if condition.number:
                raise self.build.source.error(
                    statement.test, "this loop does not end", "give 'while' the condition to go on with"
                )
            self.build.add(scf.ConditionOp(self.build.ssa(condition), *test.args))
        with self.build.inside(body), self.build.assuming(condition.if_true):
            for name, argument in zip(carried, body.args, strict=True):
                # The same numbers as in the test, so what is known of them holds.
                tested = _number(self.scope.bindings[name])
                self.scope.bindings[name] = Scalar(tested.type, argument, tested.form)
            self.run(statement.body)
            self.build.add(scf.YieldOp(*self._entering(initial)))
        loop = scf.WhileOp(values, [value.type for value in values], Region(test), Region(body))
        results = self.build.add(loop).results
        set_result_names(loop, list(carried))
        self._leave(statement, before, initial, results, grows)

    def _carried(self, loop: ast.For | ast.While, counted: frozenset[str]) -> list[str]:
        """The variables that go from one iteration to the next, or out of the loop."""
        needed = self._needs.at_head[loop]
        return [
            name
            for name in assigned(loop.body)
            if name in needed and name not in counted and isinstance(self.scope.bindings.get(name), Scalar)
        ]

    def _initial(self, loop: ast.For | ast.While, carried: Sequence[str]) -> dict[str, Scalar]:
        """What the carried variables are before a loop, of the type that they have in each of its iterations."""
        numbers = {name: _number(self.scope.bindings[name]) for name in carried}
        origins = carried_origins(carried, loop, self.scope.bindings, self.source)
        wide = {name for name, scalar in numbers.items() if scalar.type.bits == 64}
        return {
            name: replace(scalar, type=replace(scalar.type, origin=origins[name])) if name in wide else scalar
            for name, scalar in numbers.items()
        }

    def _entering(self, initial: dict[str, Scalar]) -> list[SSAValue]:
        """What the carried variables are at the end of an iteration, each of the type that it has at the start."""
        values: list[SSAValue] = []
        for name, scalar in initial.items():
            now = _number(self.scope.bindings[name])
            if scalar.type.origin not in (now.type.origin, Origin.EITHER):
                kind, whose = scalar.type.kind, scalar.type.origin.value
                raise self.build.refuse(
                    f"'{name}' is {whose}'s {kind} before an iteration of this loop, and may be another's after it",
                    f"convert what it is assigned: '{kind}(...)', or '{scalar.type.in_numpy}(...)'",
                )
            values.append(self.build.ssa(now))
        return values

    def _enter(self, initial: dict[str, Scalar], entering: Sequence[SSAValue], grows: dict[str, bool]) -> None:
        """Let the carried variables stand for what enters an iteration, or leaves the loop."""
        for (name, scalar), value in zip(initial.items(), entering, strict=True):
            form = None
            if scalar.type.kind == "int":
                form = unknown(name, [scalar.linear] if grows[name] else [])
            self.scope.bindings[name] = Scalar(scalar.type, value, form)

    def _leave(
        self,
        loop: ast.For | ast.While,
        before: dict[str, Binding],
        initial: dict[str, Scalar],
        results: Sequence[SSAValue],
        grows: dict[str, bool],
    ) -> None:
        """Let variables stand for what they are after a loop: what it carried, or what they were before it."""
        within, self.scope.bindings = self.scope.bindings, before
        word = "for" if isinstance(loop, ast.For) else "while"
        for name in assigned(loop.body):
            if isinstance(before.get(name), View):
                # Its elements were changed.
                continue
            if isinstance(within.get(name), View):
                self._lose_array(name, loop)
                continue
            self.scope.lose(
                name,
                f"'{name}' may be unassigned here: only the '{word}' loop of line {loop.lineno} assigns it, which may "
                "run no iteration",
                "assign it before the loop",
            )
        self._enter(initial, results, grows)


def _number(binding: Binding) -> Scalar:
    assert isinstance(binding, Scalar)
    return binding

"""Counted loops: what `range(...)` runs over, and what is known of the variable that counts."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_expressions import Expressions
from tapeflow.frontend.python_source import quoted
from tapeflow.frontend.python_types import INT
from tapeflow.frontend.python_values import Reference, Scalar, described, integer


@dataclass(frozen=True)
class Range:
    """What `range(...)` counts.

    Attributes:
        start: the first number.
        stop: the first number beyond.
        step: not 0.
    """

    start: Scalar
    stop: Scalar
    step: int


class Ranges:
    """Makes the IR of `range(...)`.

    Args:
        expressions: makes that of its arguments.
    """

    def __init__(self, expressions: Expressions):
        self.expressions = expressions
        self.build = expressions.build
        self.numbers = expressions.numbers
        self.source = expressions.build.source

    def of(self, statement: ast.For) -> Range:
        """What the loop `statement` counts.

        Raises:
            TapeflowError: it runs over something else, or its step is not a constant.
        """
        iterated = statement.iter
        with self.build.at(iterated):
            if not isinstance(iterated, ast.Call) or self.expressions.value(iterated.func) != Reference(range):
                raise self._not_a_range(iterated)
            if iterated.keywords or not 1 <= len(iterated.args) <= 3 or _has_star(iterated):
                raise self.build.refuse("'range' takes 1 to 3 arguments here", "write 'range(start, stop, step)'")
            numbers = [self._bound(argument) for argument in iterated.args]
        start, stop = (integer(0), numbers[0]) if len(numbers) == 1 else numbers[:2]
        step = numbers[2].number if len(numbers) == 3 else 1
        if not isinstance(step, int):
            raise self.source.error(
                iterated.args[2],
                "the step of a loop must be a constant",
                "count with a step of 1, and compute the variable in the body",
            )
        if step == 0:
            raise self.source.error(iterated.args[2], "the step of a loop is 0: the loop would not end")
        if start.known_int is not None and start.known_int >= 0 and step > 0:
            # An extent that is 0 or an array's length below 0: both end the loop at once.
            stop = self.numbers.length(stop)
        return Range(start, stop, step)

    def _not_a_range(self, iterated: ast.expr) -> Exception:
        hint = "count: 'for i in range(len(x))', and read 'x[i]' in the body"
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
            what = f"'{iterated.func.id}(...)'"
            if iterated.func.id == "reversed":
                hint = "count down: 'range(n - 1, -1, -1)'"
        else:
            what = quoted(iterated)
        return self.source.error(iterated, f"a loop over {what} is not supported: only over range(...)", hint)

    def _bound(self, node: ast.expr) -> Scalar:
        number = self.expressions.scalar(node)
        if number.type.kind != "int":
            raise self.source.error(node, f"{described(number)} as an argument of 'range'", "convert it: 'int(...)'")
        return self.numbers.convert(number, INT)

    def bounds(self, counted: Range) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Those of the `scf.for`: a descending one runs over the distances from the start."""
        first, last = counted.start, counted.stop
        if counted.step < 0:
            first, last = integer(0), self.numbers.binary("-", counted.start, counted.stop)
        return self.build.ssa(first), self.build.ssa(last), self.build.index(abs(counted.step))

    def counter(self, counted: Range, index: SSAValue, name: str) -> Scalar:
        """The loop's variable in one iteration."""
        if counted.step > 0:
            return Scalar(INT, index, unknown(name, [counted.start.linear], [counted.stop.linear - 1]))
        value = self.build.value(arith.SubiOp(self.build.ssa(counted.start), index), name)
        return Scalar(INT, value, unknown(name, [counted.stop.linear + 1], [counted.start.linear]))

    @staticmethod
    def facts(counted: Range) -> list[Linear]:
        """What is at least 0 in an iteration, for there is one."""
        distance = counted.stop.linear - counted.start.linear
        return [(distance if counted.step > 0 else -distance) - 1]


def _has_star(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args)

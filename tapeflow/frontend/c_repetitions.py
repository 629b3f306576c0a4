"""Loops: C in, `scf.for` where the iterations are counted, `scf.while` elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue

from tapeflow.frontend import c_effects
from tapeflow.frontend.c_bindings import Binding, Fixed, Place, Slot
from tapeflow.frontend.c_builder import INDEX, Index, IRBuilder, Value, suggest_name
from tapeflow.frontend.c_constants import integer, number
from tapeflow.frontend.c_expressions import Expressions
from tapeflow.frontend.c_flow import Exit, completes, exits, is_always_true
from tapeflow.frontend.c_jumps import Flag
from tapeflow.frontend.c_loops import CountedLoop, counted_loop, for_parts, listed
from tapeflow.frontend.c_types import BOOL
from tapeflow.frontend.clang_tree import Node

if TYPE_CHECKING:
    from tapeflow.frontend.c_statements import Statements

_TRUE = Value(BOOL, 1)


class Loops:
    """Makes the IR of one function's loops.

    Args:
        statements: makes the statements in them.
    """

    def __init__(self, statements: Statements):
        self._statements = statements
        self._expressions = statements.expressions
        self._build = statements.build
        self._jumps = statements.jumps

    @property
    def _bindings(self) -> dict[Node, Binding]:
        return self._expressions.bindings

    def loop(self, node: Node) -> None:
        """Make the loop `node`.

        Raises:
            TapeflowError: when it never ends, or at the first part of it that the frontend does not take.
        """
        match node.kind:
            case "WHILE_STMT":
                condition, body = node.children
                self._while(node, condition, body, ())
            case "DO_STMT":
                self._do(node)
            case _:
                self._for(node)

    # Loops with a condition.

    def _while(self, node: Node, condition: Node | None, body: Node, steps: Sequence[Node]) -> None:
        """Repeat `body`, and `steps` after it, while `condition` holds."""
        left_by = exits(body) - {Exit.CONTINUE}
        if condition is None or is_always_true(condition):
            condition = None
            if not left_by:
                raise node.error("this loop does not end", "give it a condition, or leave it with 'break' or 'return'")
        elif number(condition) is not None:
            # Evaluated once, and false.
            return
        before, after = Block(), Block()
        with self._jumps.inside({Exit.BREAK}, node, "running") as running:
            with self._build.inside(before, node):
                goes_on = self._jumps.still_inside(running, node) if left_by else _TRUE
                if condition is not None:
                    goes_on = self._expressions.also(goes_on, condition)
                self._build.add(scf.ConditionOp(self._build.ssa(goes_on, node)), node)
            with self._build.inside(after, node):
                self._iteration(body, node)
                if steps and (completes(body) or Exit.CONTINUE in exits(body)):
                    self._step(steps, running if left_by and _matters_later(steps, node) else None, node)
                self._build.add(scf.YieldOp(), node)
            self._build.add(scf.WhileOp([], [], Region(before), Region(after)), node)

    def _iteration(self, body: Node, node: Node) -> None:
        """The body of a loop, which `continue` leaves."""
        if Exit.CONTINUE in exits(body):
            with self._jumps.inside({Exit.CONTINUE}, node, "iterating"):
                self._statements.run([body])
        else:
            self._statements.run([body])

    def _step(self, steps: Sequence[Node], running: Flag | None, node: Node) -> None:
        """What comes after the body of a `for`, but not after a jump that ends the loop."""

        def make() -> Sequence[SSAValue]:
            for step in steps:
                self._statements.expression(step)
            return []

        if running is None:
            make()
        else:
            self._build.branch(self._jumps.still_inside(running, node), make, None, [], node)

    def _do(self, node: Node) -> None:
        body, condition = node.children
        if number(condition) is not None and not is_always_true(condition):
            with self._jumps.inside({Exit.BREAK, Exit.CONTINUE}, node, "inside"):
                self._statements.run([body])
            return
        left_by = exits(body) - {Exit.CONTINUE}
        if is_always_true(condition) and not left_by:
            raise node.error("this loop does not end", "give it a condition, or leave it with 'break' or 'return'")
        before, after = Block(), Block()
        with self._jumps.inside({Exit.BREAK}, node, "running") as running:
            with self._build.inside(before, node):
                goes_on = self._jumps.still_inside(running, node)
                self._build.add(scf.ConditionOp(self._build.ssa(goes_on, node)), node)
            with self._build.inside(after, node):
                self._iteration(body, node)
                if not is_always_true(condition) and (completes(body) or Exit.CONTINUE in exits(body)):
                    goes_on = self._jumps.still_inside(running, node) if left_by else _TRUE
                    self._jumps.keep_inside(running, self._expressions.also(goes_on, condition), node)
                self._build.add(scf.YieldOp(), node)
            self._build.add(scf.WhileOp([], [], Region(before), Region(after)), node)

    def _for(self, node: Node) -> None:
        counted = counted_loop(node)
        if counted is None:
            self._uncounted_for(node)
            return
        for before in counted.before:
            self._statements.statement(before)
        if not _signs_agree(counted, self._expressions):
            self._uncounted_for(node, counted)
            return
        self._counted(counted, node)

    def _uncounted_for(self, node: Node, counted: CountedLoop | None = None) -> None:
        """A `for` as a `while`; of a loop that seemed `counted`, what runs before it was made already."""
        parts = for_parts(node)
        if counted is None:
            if parts.start is not None:
                self._statements.statement(parts.start)
        else:
            self._begin(counted)
        self._while(node, parts.condition, parts.body, listed(parts.step))

    def _begin(self, loop: CountedLoop) -> None:
        """Give memory to a counter that seemed to need none, and its first value to it."""
        counter = loop.counter
        self._statements.counters.discard(counter)
        self._statements.assigned.add(counter)
        if not isinstance(slot := self._bindings.get(counter), Slot):
            self._bindings[counter] = slot = self._statements.slot(counter, loop.counter_type)
        if loop.start is not None:
            self._expressions.check_order(loop.start)
            value = self._expressions.value_as(loop.start, loop.counter_type)
            self._statements.store(slot, value, loop.start, counter.spelling)

    # Counted loops.

    def _counted(self, loop: CountedLoop, node: Node) -> None:
        iterations = self._iterations(loop)
        outer = self._bindings.get(loop.counter)
        if exits(loop.body) - {Exit.CONTINUE}:
            final = self._repeat_while(loop, iterations, node)
        else:
            self._repeat(loop, iterations, node)
            final = None
        if outer is None:
            del self._bindings[loop.counter]
            return
        self._bindings[loop.counter] = outer
        if isinstance(outer, Slot):
            last = iterations.final(self._build, node) if final is None else final
            value = self._build.from_index(last, loop.counter_type, node)
            self._statements.store(outer, value, node, loop.counter.spelling)

    def _iterations(self, loop: CountedLoop) -> Iterations:
        build, index = self._build, self._expressions.index
        if loop.start is None:
            start = self._held(loop.counter)
        else:
            self._expressions.check_order(loop.start)
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
        return self._build.index_of(self._expressions.load(Place(binding.type, binding.memory), counter), counter)

    def _repeat(self, loop: CountedLoop, iterations: Iterations, node: Node) -> None:
        """The `scf.for` that runs the body, with the counter bound to its value in each iteration."""
        block, variable = self._body_block(loop)
        first = 0 if loop.descending else iterations.start
        lower, upper, step = (self._build.index_ssa(index, node) for index in (first, iterations.end, iterations.step))
        with self._build.inside(block, node):
            self._bind_counter(loop, iterations, variable)
            self._iteration(loop.body, node)
            for after in loop.after_each:
                self._statements.expression(after)
            self._build.add(scf.YieldOp(), node)
        self._build.add(scf.ForOp(lower, upper, step, [], block), node)

    def _repeat_while(self, loop: CountedLoop, iterations: Iterations, node: Node) -> Index:
        """The `scf.while` that runs the body, which a jump may leave; the counter's value after it."""
        build = self._build
        (before, at), (after, variable) = self._body_block(loop), self._body_block(loop)
        first = build.index_ssa(0 if loop.descending else iterations.start, node)
        end = build.index_ssa(iterations.end, node)
        with self._jumps.inside({Exit.BREAK}, node, "running") as running:
            with build.inside(before, node):
                within = Value(BOOL, build.compare_indices("<", at, end, True, node))
                goes_on = build.binary("&", self._jumps.still_inside(running, node), within, node)
                assert goes_on is not None
                build.add(scf.ConditionOp(build.ssa(goes_on, node), at), node)
            with build.inside(after, node):
                self._bind_counter(loop, iterations, variable)
                self._iteration(loop.body, node)
                if loop.after_each and (completes(loop.body) or Exit.CONTINUE in exits(loop.body)):
                    self._step(loop.after_each, running if _matters_later(loop.after_each, node) else None, node)
                following = build.index_ssa(build.index_binary("+", variable, iterations.step, True, node), node)
                if loop.counter not in self._statements.counters:
                    stays = build.ssa(self._jumps.still_inside(running, node), node)
                    following = build.compute(arith.SelectOp(stays, following, variable), node)
                build.add(scf.YieldOp(following), node)
            repeated = scf.WhileOp([first], [INDEX], Region(before), Region(after))
            last = build.compute(repeated, node, f"{loop.counter.spelling}_last")
        return build.index_binary("-", iterations.start, last, True, node) if loop.descending else last

    def _body_block(self, loop: CountedLoop) -> tuple[Block, SSAValue]:
        """A block with the variable of the loop, which is the counter or how far it has gone down."""
        name = loop.counter.spelling
        block = Block(arg_types=[INDEX])
        (variable,) = block.args
        variable.location = loop.counter.named_location(name)
        suggest_name(variable, f"{name}_down" if loop.descending else name)
        return block, variable

    def _bind_counter(self, loop: CountedLoop, iterations: Iterations, variable: SSAValue) -> None:
        """Let the counter stand for its value in an iteration."""
        value, counter = variable, loop.counter
        if loop.descending:
            start = self._build.index_ssa(iterations.start, counter)
            value = self._build.compute(arith.SubiOp(start, variable), counter, counter.spelling)
        nonnegative = _counts_nonnegative(loop, self._expressions)
        self._bindings[counter] = Fixed(loop.counter_type, index=value, native=True, nonnegative=nonnegative)


def _matters_later(steps: Sequence[Node], loop: Node) -> bool:
    """Whether what the third part of a `for` does may be seen after the loop."""
    start = for_parts(loop).start
    own = frozenset(start.children) if start is not None and start.kind == "DECL_STMT" else frozenset[Node]()
    return any(
        any(part.kind == "CALL_EXPR" for part in step.walk())
        or any(change.variable not in own for change in c_effects.changes(step))
        for step in steps
    )


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


def _signs_agree(loop: CountedLoop, expressions: Expressions) -> bool:
    """Whether the loop runs the same iterations on signed numbers.

    C compares on unsigned numbers if one of the two is unsigned; then the counter must not be negative, nor wrap.
    """
    if loop.compared_as.signed:
        return True
    if loop.counter_type.signed:
        return not loop.descending and loop.start is not None and expressions.is_nonnegative(loop.start)
    if loop.descending and loop.inclusive and not loop.start_offset and integer(loop.bound) == 0:
        return False
    if loop.descending and loop.step != 1:
        bound = integer(loop.bound)
        least = None if bound is None else bound + (not loop.inclusive)
        return least is not None and isinstance(loop.step, int) and least >= loop.step
    return True


def _counts_nonnegative(loop: CountedLoop, expressions: Expressions) -> bool:
    if not loop.counter_type.signed:
        return True
    lowest = loop.bound if loop.descending else loop.start
    return lowest is not None and expressions.is_nonnegative(lowest)

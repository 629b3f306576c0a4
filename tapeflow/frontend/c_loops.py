"""Counted loops: what a `for` statement counts, from where, to where and in what steps.

A loop is counted when all of that is known once it is entered: `scf.for` needs it, and the reverse sweep then runs the
iterations backwards without remembering how many there were. All other loops are repeated while their condition holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_effects import changes, depends_on, is_addressed, is_assignment, mentioned, variable
from tapeflow.frontend.c_types import BOOL, Scalar, scalar_of
from tapeflow.frontend.clang_tree import Node

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_STEP_OF = {"x++": 1, "++x": 1, "x--": -1, "--x": -1}


@dataclass(frozen=True)
class CountedLoop:
    """A `for` statement taken apart.

    Attributes:
        counter: the variable that it counts with.
        start: the counter's first value; None where it is what the counter holds already.
        start_offset: what to add to `start`: -1 where the condition steps before the body (`i-- > 0`).
        bound: what the counter is compared with; its value on entry is its value throughout.
        inclusive: whether the counter may equal the bound.
        descending: whether it counts down.
        step: how far each iteration moves it: a positive number, or an expression taken to be positive.
        compared_as: the type in which the counter and the bound are compared.
        before: statements that run once, before anything else.
        after_each: statements that run after each iteration.
        body: the statement that is repeated.
    """

    counter: Node
    start: Node | None
    start_offset: int
    bound: Node
    inclusive: bool
    descending: bool
    step: int | Node
    compared_as: Scalar
    before: tuple[Node, ...]
    after_each: tuple[Node, ...]
    body: Node

    @property
    def counter_type(self) -> Scalar:
        """The counter's type, an integer type."""
        scalar = scalar_of(self.counter.type)
        assert scalar is not None
        return scalar


@dataclass(frozen=True)
class ForParts:
    """The four parts of a `for`, absent ones None."""

    start: Node | None
    condition: Node | None
    step: Node | None
    body: Node


@dataclass(frozen=True)
class _Condition:
    """`counter operator bound`, in that order; `pre_step` is what the condition itself adds to the counter."""

    counter: Node
    operand: Node
    operator: str
    bound: Node
    pre_step: int = 0
    steps_after_comparing: bool = False


def counted_loop(loop: Node) -> CountedLoop | None:
    """Take the `for` statement `loop` apart; None when it is not a counted loop.

    Raises:
        TapeflowError: when the parts of the `for` cannot be told apart.
    """
    parts = for_parts(loop)
    condition = _condition(parts)
    if condition is None:
        return None
    counter = condition.counter
    counter_type, compared_as = scalar_of(counter.type), scalar_of(condition.operand.type)
    if counter_type is None or not counter_type.is_integer or counter_type is BOOL or counter.is_global:
        return None
    if is_addressed(counter):
        # Its value may be looked at through a pointer.
        return None
    if compared_as is None or not compared_as.is_integer:
        return None
    first, step = _start(parts.start, counter), _step(parts, condition)
    if first is None or step is None:
        return None
    start, before = first
    size, after_each = step
    descends = condition.operator in (">", ">=")
    result = CountedLoop(
        counter=counter,
        start=start,
        start_offset=condition.pre_step,
        bound=condition.bound,
        # `i-- > b` lets the body see i >= b.
        inclusive=condition.operator in ("<=", ">=") or condition.steps_after_comparing,
        descending=size < 0 if condition.operator == "!=" and isinstance(size, int) else descends,
        step=abs(size) if isinstance(size, int) else size,
        compared_as=compared_as,
        before=before,
        after_each=after_each,
        body=parts.body,
    )
    return result if _keeps_count(result) else None


def for_parts(loop: Node) -> ForParts:
    """The parts of a `for` statement.

    Raises:
        TapeflowError: when they cannot be told apart.
    """
    children = loop.children
    if len(children) == 4:
        return ForParts(*children)
    # libclang leaves out what is absent; the text tells which.
    present = _present_parts(loop)
    if present is None or sum(present) != len(children) - 1:
        raise loop.error(
            "this 'for' leaves out a part and is written by a macro: its parts cannot be told apart",
            "write out all three parts of the 'for'",
        )
    rest = iter(children)
    start, condition, step = (next(rest) if there else None for there in present)
    return ForParts(start, condition, step, children[-1])


def _present_parts(loop: Node) -> tuple[bool, bool, bool] | None:
    """Which of start, condition and step the text of a `for` has; None if it does not begin like one."""
    tokens = list(loop.tokens)
    if tokens[:2] != ["for", "("]:
        return None
    lengths, depth = [0], 1
    for token in tokens[2:]:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token, 0)
        if depth == 0:
            break
        if token == ";" and depth == 1:
            lengths.append(0)
        else:
            lengths[-1] += 1
    return (lengths[0] > 0, lengths[1] > 0, lengths[2] > 0) if len(lengths) == 3 else None


def _condition(parts: ForParts) -> _Condition | None:
    """The comparison that ends the loop, turned so that the counter is on the left; None if it is no such thing."""
    condition = None if parts.condition is None else parts.condition.stripped
    if condition is None or condition.kind != "BINARY_OPERATOR" or condition.operator not in _MIRRORED:
        return None
    left, right = condition.children
    stepped = _stepped_in(parts.step)
    operator = condition.operator
    for operand, other, turned in ((left, right, operator), (right, left, _MIRRORED[operator])):
        if parts.step is None and (idiom := _stepping_operand(operand, other, turned)) is not None:
            return idiom
        named = variable(operand)
        if named is not None and named in stepped:
            return _Condition(named, operand, turned, other)
    return None


def _stepping_operand(operand: Node, bound: Node, operator: str) -> _Condition | None:
    """The condition `i-- > b` or `--i >= b`, which counts down by itself."""
    inner = operand.stripped
    if inner.kind != "UNARY_OPERATOR" or inner.operator not in ("x--", "--x") or operator not in (">", ">="):
        return None
    counter = variable(inner.children[0])
    after = inner.operator == "x--"
    # `i-- >= b` would let the body see b - 1: nobody means that, and an unsigned counter would wrap.
    if counter is None or (after and operator == ">="):
        return None
    return _Condition(counter, operand, operator, bound, pre_step=-1, steps_after_comparing=after)


def listed(node: Node | None) -> tuple[Node, ...]:
    """The expressions of a list with commas, in order."""
    if node is None or node.kind == "NULL_STMT":
        return ()
    inner = node.stripped
    if inner.kind == "BINARY_OPERATOR" and inner.operator == ",":
        left, right = inner.children
        return (*listed(left), *listed(right))
    return (inner,)


def _stepped_in(step: Node | None) -> frozenset[Node]:
    """The variables that the step changes."""
    return frozenset(
        named
        for part in listed(step)
        if is_assignment(part) and (named := variable(part.children[0])) is not None
    )  # fmt: skip


def _start(start: Node | None, counter: Node) -> tuple[Node | None, tuple[Node, ...]] | None:
    """The expression for the counter's first value, and what else the first part of the `for` does."""
    if start is None:
        return None, ()
    if start.kind == "DECL_STMT":
        if counter not in start.children:
            return None, (start,)
        others = tuple(child for child in start.children if child is not counter)
        if counter.initializer is None or not _all_independent(others, counter, counter.initializer):
            return None
        return counter.initializer, others
    parts = listed(start)
    assigning = [part for part in parts if _assigns(part, counter)]
    others = tuple(part for part in parts if part not in assigning)
    if not assigning:
        return None, others
    first = assigning[-1].children[1]
    return (first, others) if _all_independent((*others, *assigning[:-1]), counter, first) else None


def _assigns(part: Node, counter: Node) -> bool:
    return part.kind == "BINARY_OPERATOR" and part.operator == "=" and variable(part.children[0]) is counter


def _all_independent(others: Sequence[Node], counter: Node, start: Node) -> bool:
    """Whether none of `others`, next to the counter's first value `start` in a `for`, cares for their order."""
    used = mentioned(start)
    return not any(
        counter in mentioned(other) or used & {change.variable for change in changes(other)} for other in others
    )


def _step(parts: ForParts, condition: _Condition) -> tuple[int | Node, tuple[Node, ...]] | None:
    """How far each iteration moves the counter, and what else happens after each iteration."""
    if condition.pre_step:
        return 1, ()
    steps = [part for part in listed(parts.step) if _steps(part, condition.counter)]
    others = tuple(part for part in listed(parts.step) if part not in steps)
    if len(steps) > 1 or any(condition.counter in mentioned(other) for other in others):
        return None
    size = _step_size(steps[0], condition)
    return None if size is None else (size, others)


def _steps(part: Node, counter: Node) -> bool:
    return is_assignment(part) and variable(part.children[0]) is counter


def _step_size(counting: Node, condition: _Condition) -> int | Node | None:
    """How far `counting` moves the counter towards the bound; None if it is not known to move it there."""
    sign, amount = _added(counting, condition.counter)
    if sign is None or amount is None:
        return None
    known = amount if isinstance(amount, int) else integer(amount)
    down = condition.operator in (">", ">=")
    if known is not None:
        step = sign * known
        towards = abs(step) == 1 if condition.operator == "!=" else step != 0 and (step < 0) == down
        return step if towards else None
    if condition.operator == "!=" or (sign < 0) != down:
        return None
    assert isinstance(amount, Node)
    scalar = scalar_of(amount.type)
    return None if scalar is None or not scalar.is_integer else amount


def _added(counting: Node, counter: Node) -> tuple[int | None, int | Node | None]:
    """The sign and the amount of what `counting` adds to `counter`; None where it does something else."""
    operator = counting.operator or ""
    if operator in _STEP_OF:
        return _STEP_OF[operator], 1
    if operator in ("+=", "-="):
        return (1 if operator == "+=" else -1), counting.children[1]
    if operator == "=":
        value = counting.children[1].stripped
        if value.kind == "BINARY_OPERATOR" and value.operator in ("+", "-"):
            left, right = value.children
            if variable(left) is counter:
                return (1 if value.operator == "+" else -1), right
            if variable(right) is counter and value.operator == "+":
                return 1, left
    return None, None


def _keeps_count(loop: CountedLoop) -> bool:
    """Whether counter, bound and step are left alone while the loop runs."""
    repeated: Sequence[Node] = (loop.body, *loop.after_each)
    changed = [change for part in repeated for change in changes(part)]
    if any(change.variable is loop.counter for change in changed):
        return False
    fixed = [part for part in (loop.bound, loop.step) if isinstance(part, Node)]
    return not any(
        loop.counter in mentioned(part) or next(changes(part), None) is not None or depends_on(part, changed)
        for part in fixed
    )


def counters_used_after(function_body: Node) -> frozenset[Node]:
    """The loop counters that are read or written outside the loops which count with them.

    All others live in the loops alone, and need no memory.
    """
    used: set[Node] = set()

    def visit(node: Node, active: frozenset[Node]) -> None:
        pending = [node]
        while pending:
            part = pending.pop()
            named = variable(part) if part.kind == "DECL_REF_EXPR" else None
            if named is not None and named not in active:
                used.add(named)
            counted = counted_loop(part) if part.kind == "FOR_STMT" else None
            if counted is not None:
                visit_loop(counted, active)
            else:
                pending.extend(part.children)

    def visit_loop(loop: CountedLoop, active: frozenset[Node]) -> None:
        for part in (*loop.before, *([loop.start] if loop.start is not None else [])):
            visit(part, active)
        if loop.start is None:
            used.add(loop.counter)
        if isinstance(loop.step, Node):
            visit(loop.step, active)
        visit(loop.bound, active)
        for part in (loop.body, *loop.after_each):
            visit(part, active | {loop.counter})

    visit(function_body, frozenset())
    return frozenset(used)


def counters(function_body: Node) -> frozenset[Node]:
    """The variables that count some loop of the function."""
    loops = (counted_loop(node) for node in function_body.walk() if node.kind == "FOR_STMT")
    return frozenset(loop.counter for loop in loops if loop is not None)

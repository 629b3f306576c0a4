"""Counted loops: what a `for` statement counts, from where, to where and in what steps.

A loop is counted when all of that is known once it is entered. `scf.for` needs it, and so does the reverse sweep, which
runs the iterations backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapeflow.frontend.c_constants import integer
from tapeflow.frontend.c_effects import changes, is_assignment, mentioned, variable
from tapeflow.frontend.c_types import BOOL, Scalar, scalar_of
from tapeflow.frontend.clang_tree import Node

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_UNKNOWN_COUNT = "the number of iterations is not known on entry"
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
class _Parts:
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


def counted_loop(loop: Node) -> CountedLoop:
    """Take the `for` statement `loop` apart.

    Raises:
        TapeflowError: when it is not a counted loop, pointing at what keeps it from being one.
    """
    parts = _parts(loop)
    if parts.condition is None:
        raise loop.error(
            f"this 'for' has no condition: {_UNKNOWN_COUNT}",
            "write it as 'for (int i = start; i < bound; i++)'",
        )
    condition = _condition(parts)
    counter = condition.counter
    counter_type = scalar_of(counter.type)
    if counter_type is None or not counter_type.is_integer or counter_type is BOOL:
        raise parts.condition.error(
            f"'{counter.spelling}' of type '{counter.type.spelling}' counts a loop, which is not supported",
            "count with an int, and compute other values from it in the body",
        )
    if counter.is_global:
        raise parts.condition.error(f"the global variable '{counter.spelling}' counts a loop", "use a local variable")
    compared_as = scalar_of(condition.operand.type)
    if compared_as is None or not compared_as.is_integer:
        raise condition.bound.error(
            f"the bound of '{counter.spelling}' is not an integer", "round it to an integer before the loop"
        )
    start, before = _start(parts.start, counter)
    step, after_each = _step(parts, condition)
    descends = condition.operator in (">", ">=")
    result = CountedLoop(
        counter=counter,
        start=start,
        start_offset=condition.pre_step,
        bound=condition.bound,
        # `i-- > b` lets the body see i >= b.
        inclusive=condition.operator in ("<=", ">=") or condition.steps_after_comparing,
        descending=step < 0 if condition.operator == "!=" and isinstance(step, int) else descends,
        step=abs(step) if isinstance(step, int) else step,
        compared_as=compared_as,
        before=before,
        after_each=after_each,
        body=parts.body,
    )
    _check_unchanged(result)
    return result


def _parts(loop: Node) -> _Parts:
    children = loop.children
    if len(children) == 4:
        return _Parts(*children)
    # libclang leaves out what is absent; the text tells which.
    present = _present_parts(loop)
    if present is None or sum(present) != len(children) - 1:
        raise loop.error(
            "this 'for' leaves out a part and is written by a macro: its parts cannot be told apart",
            "write out all three parts of the 'for'",
        )
    rest = iter(children)
    start, condition, step = (next(rest) if there else None for there in present)
    return _Parts(start, condition, step, children[-1])


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


def _condition(parts: _Parts) -> _Condition:
    """The comparison that ends the loop, turned so that the counter is on the left."""
    assert parts.condition is not None
    condition = parts.condition.stripped
    hint = "compare the counter with a bound: 'i < n', 'i >= 0' ..."
    if condition.kind != "BINARY_OPERATOR" or condition.operator not in _MIRRORED:
        if condition.operator in ("&&", "||"):
            raise condition.error(
                f"the condition of this 'for' is more than one comparison: {_UNKNOWN_COUNT}",
                "compute the least bound before the loop, and test what remains with 'if' in the body",
            )
        raise condition.error(
            f"the condition of this 'for' does not compare a counter with a bound: {_UNKNOWN_COUNT}",
            hint,
        )
    left, right = condition.children
    stepped = _stepped_in(parts.step)
    operator = condition.operator
    for operand, other, turned in ((left, right, operator), (right, left, _MIRRORED[operator])):
        if parts.step is None and (idiom := _stepping_operand(operand, other, turned)) is not None:
            return idiom
        named = variable(operand)
        if named is not None and named in stepped:
            return _Condition(named, operand, turned, other)
    if parts.step is None:
        raise condition.error(f"this 'for' has no step: {_UNKNOWN_COUNT}", hint)
    raise condition.error(
        f"neither side of the condition is the variable that the 'for' steps: {_UNKNOWN_COUNT}",
        hint,
    )


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


def _listed(node: Node | None) -> tuple[Node, ...]:
    """The expressions of a list with commas, in order."""
    if node is None or node.kind == "NULL_STMT":
        return ()
    inner = node.stripped
    if inner.kind == "BINARY_OPERATOR" and inner.operator == ",":
        left, right = inner.children
        return (*_listed(left), *_listed(right))
    return (inner,)


def _stepped_in(step: Node | None) -> frozenset[Node]:
    """The variables that the step changes."""
    return frozenset(
        named
        for part in _listed(step)
        if is_assignment(part) and (named := variable(part.children[0])) is not None
    )  # fmt: skip


def _start(start: Node | None, counter: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """The expression for the counter's first value, and what else the first part of the `for` does."""
    if start is None:
        return None, ()
    if start.kind == "DECL_STMT":
        if counter in start.children:
            others = tuple(child for child in start.children if child is not counter)
            if counter.initializer is None:
                raise start.error(f"the counter '{counter.spelling}' has no first value", "give it one: 'int i = 0'")
            for other in others:
                _check_independent(other, counter, counter.initializer)
            return counter.initializer, others
        return None, (start,)
    assigning = [part for part in _listed(start) if _assigns(part, counter)]
    others = tuple(part for part in _listed(start) if part not in assigning)
    if not assigning:
        return None, others
    first = assigning[-1].children[1]
    for other in (*others, *assigning[:-1]):
        _check_independent(other, counter, first)
    return first, others


def _assigns(part: Node, counter: Node) -> bool:
    return part.kind == "BINARY_OPERATOR" and part.operator == "=" and variable(part.children[0]) is counter


def _check_independent(other: Node, counter: Node, start: Node) -> None:
    """Refuse `other`, next to the counter's first value `start` in a `for`, if their order matters."""
    changed = {change.variable for change in changes(other)}
    if counter in mentioned(other) or changed & mentioned(start):
        raise other.error(
            f"the first part of this 'for' uses its counter '{counter.spelling}', or what it is computed from, again",
            "put this before the loop, as a statement of its own",
        )


def _step(parts: _Parts, condition: _Condition) -> tuple[int | Node, tuple[Node, ...]]:
    """How far each iteration moves the counter, and what else happens after each iteration."""
    if condition.pre_step:
        return 1, ()
    steps = [part for part in _listed(parts.step) if _steps(part, condition.counter)]
    others = tuple(part for part in _listed(parts.step) if part not in steps)
    counting = steps[0]
    if len(steps) > 1:
        raise steps[1].error(f"the 'for' steps its counter '{condition.counter.spelling}' twice", "step it once")
    for other in others:
        if condition.counter in mentioned(other):
            raise other.error(
                f"the step of this 'for' uses its counter '{condition.counter.spelling}' in another expression",
                "move this to the end of the body",
            )
    return _step_size(counting, condition), others


def _steps(part: Node, counter: Node) -> bool:
    return is_assignment(part) and variable(part.children[0]) is counter


def _step_size(counting: Node, condition: _Condition) -> int | Node:
    """How far `counting` moves the counter towards the bound."""
    name = condition.counter.spelling
    sign, amount = _added(counting, condition.counter)
    if sign is None or amount is None:
        raise counting.error(
            f"the step of '{name}' is not an addition: {_UNKNOWN_COUNT}",
            "step with 'i++', 'i += c', 'i--' or 'i -= c'; compute other sequences in the body",
        )
    known = amount if isinstance(amount, int) else integer(amount)
    down = condition.operator in (">", ">=")
    if known is not None:
        return _known_step(sign * known, condition, counting)
    if condition.operator == "!=" or (sign < 0) != down:
        raise counting.error(
            f"the direction of the step of '{name}' is not known",
            "compare with '<' where the step is added and with '>' where it is subtracted",
        )
    assert isinstance(amount, Node)
    scalar = scalar_of(amount.type)
    if scalar is None or not scalar.is_integer:
        raise counting.error(f"the step of '{name}' is not an integer", "count with an integer")
    return amount


def _known_step(step: int, condition: _Condition, counting: Node) -> int:
    name = condition.counter.spelling
    if step == 0:
        raise counting.error(f"the step of '{name}' is zero: the loop does not end", "step by at least one")
    if condition.operator == "!=":
        if abs(step) != 1:
            raise counting.error(
                f"'{name}' is compared with '!=' and steps by {abs(step)}: it may step over the bound",
                "compare with '<' or '>'",
            )
    elif (step < 0) != (condition.operator in (">", ">=")):
        raise counting.error(
            f"'{name}' steps away from its bound", "step the counter towards the bound that the condition names"
        )
    return step


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


def _check_unchanged(loop: CountedLoop) -> None:
    """Refuse a loop whose counter, bound or step changes while it runs."""
    repeated: Sequence[Node] = (loop.body, *loop.after_each)
    changed = [change for part in repeated for change in changes(part)]
    for change in changed:
        if change.variable is loop.counter:
            raise change.by.error(
                f"'{loop.counter.spelling}' is changed inside the loop that counts with it",
                "count with one variable and compute the other from it",
            )
    for part, what in ((loop.bound, "bound"), (loop.step, "step")):
        if isinstance(part, int):
            continue
        if loop.counter in mentioned(part):
            raise part.error(
                f"the {what} of this loop depends on its counter '{loop.counter.spelling}'",
                "compute it before the loop, in a variable of its own",
            )
        if (effect := next(changes(part), None)) is not None:
            raise effect.by.error(f"the {what} of this loop changes something each time it is evaluated", "move it out")
        reads = mentioned(part)
        for change in changed:
            if change.variable in reads:
                raise change.by.error(
                    f"'{change.variable.spelling}' is part of the loop's {what} and is changed in the loop",
                    f"copy the {what} to a variable before the loop, if the loop should not follow the change",
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
            if part.kind == "FOR_STMT":
                visit_loop(counted_loop(part), active)
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
    return frozenset(counted_loop(node).counter for node in function_body.walk() if node.kind == "FOR_STMT")

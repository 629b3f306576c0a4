"""The control flow of a Python function: jumps made into branches, and which variables are needed where.

Questions about the syntax tree only: nothing here makes IR.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tapeflow.frontend.python_jumps import Guarded, Kept, LeavingFor, Unreturned, guarded, without_exits
from tapeflow.frontend.python_returns import RETURN, without_tuples
from tapeflow.frontend.python_source import Source

Statements: TypeAlias = list[ast.stmt]


def structured(source: Source) -> Statements:
    """The body of a function without jumps: a branch that leaves with `return` or `continue` has nothing after it.

    What follows `if c: return a` goes into its `else`; so each `return` ends the last statement of the function, and
    each `continue` ended its loop's body, and is gone. What leaves a loop is a flag first (see `python_jumps`).

    Raises:
        TapeflowError: at a jump that cannot be moved this way.
    """
    return _structured(source, without_tuples(source), ast.Return)


def _structured(source: Source, statements: Sequence[ast.stmt], leave: type[ast.stmt]) -> Statements:
    """`statements` without jumps, where `leave` is the kind of jump that leaves what they are the end of."""
    result: Statements = []
    for position, statement in enumerate(statements):
        match statement:
            case Kept():
                result.append(statement)
            case ast.Return():
                return [*result, statement]
            case ast.Continue():
                return result
            case Guarded():
                result.append(_branch(source, statement, statement.body, statement.orelse, leave))
            case ast.If():
                rest = statements[position + 1 :]
                if next(_jumps((statement,)), None) is None:
                    result.append(_branch(source, statement, statement.body, statement.orelse, leave))
                    continue
                return [*result, *_leaving_branch(source, statement, rest, leave)]
            case ast.For() | ast.While():
                if (parts := without_exits(source, statement, leave is not ast.Return)) is not None:
                    return [*result, *_structured(source, [*parts, *statements[position + 1 :]], leave)]
                result.append(_loop(source, statement))
            case _:
                result.append(statement)
    return result


def _leaving_branch(source: Source, statement: ast.If, rest: Sequence[ast.stmt], leave: type[ast.stmt]) -> Statements:
    """An `if` that some of its arms leave by a jump, and the `rest` after it, with which the other arm goes on.

    Where both arms may go on, a flag says whether `rest` is skipped.
    """
    goes_on = [_goes_on(arm) for arm in (statement.body, statement.orelse)]
    if all(goes_on) and rest:
        return _structured(source, guarded(source, statement, rest, leave is not ast.Return), leave)
    then = [*statement.body, *rest] if goes_on[0] else statement.body
    otherwise = [*statement.orelse, *rest] if goes_on[1] else statement.orelse
    return [_branch(source, statement, then, otherwise, leave)]


def _branch(
    source: Source, statement: ast.If, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt], leave: type[ast.stmt]
) -> ast.If:
    branch = ast.If(statement.test, _structured(source, then, leave), _structured(source, otherwise, leave))
    return ast.copy_location(branch, statement)


def _loop(source: Source, loop: ast.For | ast.While) -> ast.For | ast.While:
    body = _structured(source, loop.body, ast.Continue)
    if isinstance(loop, LeavingFor):
        return loop.with_body(body)
    if isinstance(loop, ast.For):
        return ast.copy_location(ast.For(loop.target, loop.iter, body, [], loop.type_comment), loop)
    return ast.copy_location(ast.While(loop.test, body, []), loop)


def _jumps(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The jumps in `statements` that leave them; a `continue` in a loop among them does not."""
    for statement in statements:
        match statement:
            case Kept():
                pass
            case ast.Return() | ast.Continue():
                yield statement
            case ast.If():
                yield from _jumps(statement.body)
                yield from _jumps(statement.orelse)
            case _:
                pass


def _goes_on(statements: Sequence[ast.stmt]) -> bool:
    """Whether what follows `statements` may run after them."""
    match statements[-1] if statements else None:
        case Kept():
            return True
        case ast.Return() | ast.Continue():
            return False
        case ast.If() as branch:
            return _goes_on(branch.body) or _goes_on(branch.orelse)
        case _:
            return True


def stored(target: ast.expr) -> Iterator[str]:
    """The variables that assigning to `target` sets; an array whose elements are assigned to is none."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from stored(part)
        case _:
            pass


def _assigned_here(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from stored(target)
        case ast.AugAssign(target=target) | ast.For(target=target):
            yield from stored(target)
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield from stored(target)
        case ast.Return(value=ast.expr() as value) if not is_none(value):
            yield RETURN
        case Unreturned(names=names):
            yield from names
        case _:
            pass


def is_none(node: ast.expr) -> bool:
    """Whether `node` is written `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def _within(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """`statements` and those nested in them."""
    for statement in statements:
        yield statement
        match statement:
            case ast.If() | ast.For() | ast.While():
                yield from _within(statement.body)
                yield from _within(statement.orelse)
            case _:
                pass


def assigned(*blocks: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The variables that the statements of `blocks` set, in the order in which they are first set."""
    names = (name for block in blocks for statement in _within(block) for name in _assigned_here(statement))
    return tuple(dict.fromkeys(names))


def assigned_values(statements: Sequence[ast.stmt]) -> dict[str, list[ast.expr | None]]:
    """What each variable is assigned in `statements`, `a + b` where that is `a += b`; None for what has no text.

    Of several values that have no text of their own each is a subscript of what is unpacked.
    """
    found: dict[str, list[ast.expr | None]] = {}
    for statement in _within(statements):
        pairs: Iterable[tuple[str, ast.expr | None]]
        match statement:
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=operand):
                read = ast.copy_location(ast.Name(name, ast.Load()), target)
                pairs = [(name, ast.copy_location(ast.BinOp(read, op, operand), statement))]
            case ast.Assign(targets=targets, value=value):
                pairs = (pair for target in targets for pair in _unpacked(target, value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pairs = [(name, value)]
            case ast.For(target=ast.Name(id=name)):
                # Counters are Python's ints.
                pairs = [(name, ast.copy_location(ast.Constant(0), statement))]
            case _:
                pairs = ((name, None) for name in _assigned_here(statement))
        for name, value in pairs:
            found.setdefault(name, []).append(value)
    return found


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The variables that assigning `value` to `target` sets, each with what it is set to."""
    match target:
        case ast.Name(id=name):
            yield name, value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for position, part in enumerate(parts):
                at = ast.copy_location(ast.Constant(position), value)
                indexed = ast.copy_location(ast.Subscript(value, at), value)
                yield from _unpacked(part, values[position] if position < len(values) else indexed)
        case _:
            pass


def returned_values(body: Sequence[ast.stmt]) -> Iterator[ast.expr | None]:
    """What a function of this body, as it is written, returns; None for a value that a flag says the presence of."""
    for statement in body:
        match statement:
            case ast.Return(value=ast.expr() as value) if not is_none(value):
                yield value
            case ast.If(body=then, orelse=otherwise) if not (_goes_on(then) and _goes_on(otherwise)):
                yield from returned_values([*then, *otherwise])
            case _ if any(isinstance(inner, ast.Return) for inner in _within([statement])):
                yield None
            case _:
                pass


def local(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The variables of a function, parameters aside: what its body sets or only annotates."""
    annotated = (statement.target for statement in _within(statements) if isinstance(statement, ast.AnnAssign))
    return frozenset(assigned(statements)).union(*map(stored, annotated))


def only_grows(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether all that `body` does to the int `name` is to add constants to it that are not negative."""
    return all(
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.op, ast.Add)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, int)
        and statement.value.value >= 0
        for statement in _within(body)
        if name in _assigned_here(statement)
    )


def _read(node: ast.AST) -> frozenset[str]:
    named = (part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
    return frozenset(name.id for name in named)


@dataclass
class Needs:
    """Which variables are still read.

    Attributes:
        after: after each branch or loop, by its statement.
        at_head: at the start of each iteration of a loop, and after it.
    """

    after: dict[ast.stmt, frozenset[str]] = field(default_factory=dict[ast.stmt, frozenset[str]])
    at_head: dict[ast.stmt, frozenset[str]] = field(default_factory=dict[ast.stmt, frozenset[str]])
    _read_first: dict[ast.stmt, frozenset[str]] = field(default_factory=dict[ast.stmt, frozenset[str]])

    def before(self, statements: Sequence[ast.stmt], after: frozenset[str], record: bool = True) -> frozenset[str]:
        """The variables that are read from the start of `statements` on, given those that are read after them."""
        for statement in reversed(statements):
            if record and isinstance(statement, ast.If | ast.For | ast.While):
                self.after[statement] = after
            after = self._before_one(statement, after, record)
        return after

    def _before_one(self, statement: ast.stmt, after: frozenset[str], record: bool) -> frozenset[str]:
        match statement:
            case ast.If():
                then, otherwise = (self.before(arm, after, record) for arm in (statement.body, statement.orelse))
                return _read(statement.test) | then | otherwise
            case ast.For():
                counted = frozenset(stored(statement.target))
                flags = frozenset((statement.left,)) if isinstance(statement, LeavingFor) else frozenset[str]()
                return _read(statement.iter) | self._at_head(statement, after | flags, counted, record)
            case ast.While():
                return self._at_head(statement, after | _read(statement.test), frozenset(), record)
            case ast.AugAssign():
                return after | _read(statement) | frozenset(stored(statement.target))
            case _:
                return (after - frozenset(_assigned_here(statement))) | _read(statement)

    def _at_head(
        self, loop: ast.For | ast.While, after: frozenset[str], counted: frozenset[str], record: bool
    ) -> frozenset[str]:
        if loop not in self._read_first:
            self._read_first[loop] = self.before(loop.body, frozenset(), record=False) - counted
        head = after | self._read_first[loop]
        if record:
            self.at_head[loop] = head
            self.before(loop.body, head)
        return head


def needs(statements: Sequence[ast.stmt], returned: Sequence[str]) -> Needs:
    """Which variables are still read where, in the `structured` body of a function, whose end reads `returned`."""
    found = Needs()
    found.before(statements, frozenset(returned))
    return found

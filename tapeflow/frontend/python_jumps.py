"""Loops that a jump leaves: `break` and `return` become flags that the loop looks at before each iteration.

```python
for i in range(n):              broken = False
    if x[i] > 1.0:              for i in range(n) while not broken:
        break                       if x[i] > 1.0: broken = True; continue
    s += x[i]                       s += x[i]
else:                           if not broken:
    s = 0.0                         s = 0.0
```
A `return` keeps its value, sets the flag of every loop that it leaves, and is made behind the outermost of them.
Questions about the syntax tree only: nothing here makes IR.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tapeflow.frontend.python_returns import RETURN, returned_names
from tapeflow.frontend.python_source import Source

_RETURNED = "return.left"


class Kept(ast.Return):
    """A `return` in a loop: the value is kept until the loop is left."""


class Unreturned(ast.Pass):
    """The value that a function returns is not known yet: before a loop that may `return`, and after one that did not.

    Attributes:
        names: what the values are called.
        begins: whether a loop follows, which needs a value of the right type to begin with.
    """

    names: Sequence[str]
    begins: bool


class Guarded(ast.If):
    """An `if` that jumps may leave, with what follows it guarded by a flag that they set."""


class LeavingFor(ast.For):
    """A `for` that a flag leaves.

    Attributes:
        left: the variable that is the flag; the loop goes on as long as it is false.
    """

    left: str

    def with_body(self, body: list[ast.stmt]) -> LeavingFor:
        """The same loop with another body."""
        made = ast.copy_location(LeavingFor(self.target, self.iter, body, [], self.type_comment), self)
        made.left = self.left
        return made


def without_exits(source: Source, loop: ast.For | ast.While, is_inside: bool) -> list[ast.stmt] | None:
    """`loop` with flags instead of `break`, of `return` inside it, and of its `else`; None if it has none of these.

    Args:
        source: of the function.
        loop: that may be left.
        is_inside: whether it is inside another loop.

    Raises:
        TapeflowError: a value is returned, and the function does not declare its type.
    """
    breaks, returns = any(_breaks(loop.body)), list(_returns(loop.body))
    if not breaks and not returns:
        return [_copied(loop, loop.body), *loop.orelse] if loop.orelse else None
    left = f"break.{loop.lineno}" if breaks else _RETURNED
    result: list[ast.stmt] = []
    if breaks:
        result.append(_set(left, False, loop))
    if returns and not is_inside:
        result.append(_set(_RETURNED, False, loop))
        if any(each.value is not None for each in returns):
            _check_declared(source, returns)
            result.append(_unreturned(source, source.tree.returns or loop, True))
    flags = tuple(dict.fromkeys((left, *((_RETURNED,) if returns else ()))))
    body = _without_jumps(source, loop.body, left, flags)
    if isinstance(loop, ast.For):
        leaving = LeavingFor(loop.target, loop.iter, body, [], loop.type_comment)
        leaving.left = left
    else:
        goes_on = ast.UnaryOp(ast.Not(), ast.Name(left, ast.Load()))
        leaving = ast.While(ast.BoolOp(ast.And(), [goes_on, loop.test]), body, [])
        _place((leaving.test, goes_on, goes_on.operand), loop.test)
    result.append(ast.copy_location(leaving, loop))
    if returns:
        # What only 'return' leaves has returned, if it is left at all.
        behind = _returned(source, loop, returns, is_inside or (not breaks and _goes_on_forever(loop)))
        result.append(behind)
        if not breaks:
            behind.orelse.extend(loop.orelse)
    if breaks and loop.orelse:
        skipped = ast.UnaryOp(ast.Not(), ast.Name(left, ast.Load()))
        branch = ast.If(skipped, loop.orelse, [])
        _place((branch, skipped, skipped.operand), loop.orelse[0])
        result.append(branch)
    return result


def _goes_on_forever(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


def _check_declared(source: Source, returns: Sequence[ast.Return]) -> None:
    declared = source.tree.returns
    if declared is None:
        raise source.error(
            next(each for each in returns if each.value is not None),
            "this 'return' leaves a loop, or a branch that may also go on, of a function that does not declare what it "
            "returns, which is not supported",
            f"declare it: 'def {source.name}(...) -> float:'",
        )


def _returned(
    source: Source, left: ast.stmt, returns: Sequence[ast.Return], is_inside: bool, flag_name: str = _RETURNED
) -> ast.If:
    """`if returned: return value`, behind a loop or branch that these leave."""
    has_value = any(each.value is not None for each in returns)
    value = ast.Name(RETURN, ast.Load()) if has_value else None
    made, flag = ast.Return(value), ast.Name(flag_name, ast.Load())
    otherwise: list[ast.stmt] = [] if is_inside or not has_value else [_unreturned(source, left, False)]
    branch = ast.If(flag, [made], otherwise)
    _place((branch, flag), left)
    _place((made, *((value,) if value else ())), returns[0])
    return branch


def _unreturned(source: Source, node: ast.expr | ast.stmt, begins: bool) -> Unreturned:
    made = Unreturned()
    made.names = returned_names(source)
    made.begins = begins
    return ast.copy_location(made, node)


def _set(name: str, value: bool, node: ast.stmt) -> ast.stmt:
    target, constant = ast.Name(name, ast.Store()), ast.Constant(value)
    made = ast.Assign([target], constant)
    _place((made, target, constant), node)
    return made


def _place(made: Sequence[ast.AST], node: ast.AST) -> None:
    for each in made:
        ast.copy_location(each, node)


def _copied(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
    if isinstance(loop, ast.For):
        return ast.copy_location(ast.For(loop.target, loop.iter, body, [], loop.type_comment), loop)
    return ast.copy_location(ast.While(loop.test, body, []), loop)


def _without_jumps(source: Source, statements: Sequence[ast.stmt], left: str, flags: Sequence[str]) -> list[ast.stmt]:
    """`statements` of a loop with flags set where `break` and `return` were, those in loops among them included.

    Args:
        source: of the function.
        statements: the body of the loop, or part of it.
        left: the flag that `break` sets.
        flags: those that `return` sets.
    """
    result: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case ast.Break():
                result += [_set(left, True, statement), _skip(statement)]
            case ast.Return():
                result += [*_kept(statement), *(_set(flag, True, statement) for flag in flags)]
                result.append(_skip(statement))
            case ast.If():
                arms = (_without_jumps(source, arm, left, flags) for arm in (statement.body, statement.orelse))
                result.append(ast.copy_location(ast.If(statement.test, *arms), statement))
            case ast.For() | ast.While():
                for part in without_exits(source, statement, True) or [statement]:
                    is_loop = isinstance(part, ast.For | ast.While)
                    result += [part] if is_loop else _without_jumps(source, [part], left, flags)
            case _:
                result.append(statement)
    return result


def _kept(statement: ast.Return) -> list[ast.stmt]:
    value = statement.value
    if value is None or (isinstance(value, ast.Name) and value.id == RETURN):
        # There is none, or it is kept already.
        return []
    return [ast.copy_location(Kept(value), statement)]


def _skip(node: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Continue(), node)


def guarded(source: Source, branch: ast.If, rest: Sequence[ast.stmt], is_inside: bool) -> list[ast.stmt]:
    """`branch`, which jumps may leave, and the `rest` after it, which a flag skips that they set.

    Args:
        source: of the function.
        branch: that may leave by `continue`, or by `return` outside of loops.
        rest: what follows.
        is_inside: whether these are in a loop.

    Raises:
        TapeflowError: a value is returned, and the function does not declare its type.
    """
    flag = f"skip.{branch.lineno}.{branch.col_offset}"
    arms = [_flagged(source, arm, flag) for arm in (branch.body, branch.orelse)]
    made = ast.copy_location(Guarded(branch.test, *arms), branch)
    if is_inside:
        skipped = ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load()))
        after = ast.If(skipped, list(rest), [])
        _place((after, skipped, skipped.operand), rest[0])
        return [_set(flag, False, branch), made, after]
    returns = list(_returns((branch,)))
    has_value = any(each.value is not None for each in returns)
    if has_value:
        _check_declared(source, returns)
    after = _returned(source, branch, returns, False, flag)
    after.orelse += rest
    return [
        _set(flag, False, branch),
        *([_unreturned(source, source.tree.returns or branch, True)] if has_value else []),
        made,
        after,
    ]


def _flagged(source: Source, statements: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """`statements` outside of loops with `flag` set where `continue` and `return` are, in loops among them too."""
    result: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case Kept():
                result.append(statement)
            case ast.Continue():
                result += [_set(flag, True, statement), statement]
            case ast.Return():
                result += [*_kept(statement), _set(flag, True, statement), _skip(statement)]
            case ast.If():
                arms = [_flagged(source, arm, flag) for arm in (statement.body, statement.orelse)]
                result.append(ast.copy_location(type(statement)(statement.test, *arms), statement))
            case ast.For() | ast.While() if any(_returns((statement,))):
                # The value that is kept has something to begin with: that is set before the branch.
                result.append(_set(_RETURNED, False, statement))
                result += _flagged(source, without_exits(source, statement, True) or (), flag)
            case _:
                result.append(statement)
    return result


def _breaks(statements: Sequence[ast.stmt]) -> Iterator[bool]:
    """True for each `break` that leaves the loop whose body `statements` are."""
    for statement in statements:
        match statement:
            case ast.Break():
                yield True
            case ast.If():
                yield from _breaks((*statement.body, *statement.orelse))
            case ast.For() | ast.While():
                yield from _breaks(statement.orelse)
            case _:
                pass


def _returns(statements: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Each `return` in `statements`, in loops among them too."""
    for statement in statements:
        match statement:
            case Kept():
                pass
            case ast.Return():
                yield statement
            case ast.If() | ast.For() | ast.While():
                yield from _returns((*statement.body, *statement.orelse))
            case _:
                pass

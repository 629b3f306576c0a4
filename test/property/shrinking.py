"""Makes a failing program smaller: drops, unwraps and simplifies parts of the tree while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from syntax import Const, Expr, For, If, Leave, Logic, Program, Return, Scalar, Stmt, Switch, Walk, While


def smaller(tree: Any) -> Iterator[Any]:
    """Trees with one part dropped, replaced by a part of itself, or made smaller; bold steps first."""
    match tree:
        case tuple() if all(isinstance(part, Stmt) for part in tree):
            yield from smaller_blocks(tree)
        case tuple():
            for k, part in enumerate(tree):
                for less in smaller(part):
                    yield (*tree[:k], less, *tree[k + 1 :])
        case Expr() | Logic():
            yield from smaller_expressions(tree)
            yield from smaller_fields(tree)
        case _ if is_dataclass(tree):
            yield from smaller_fields(tree)
        case _:
            pass


def smaller_fields(tree: Any) -> Iterator[Any]:
    """The same node with one of its fields smaller."""
    for field in fields(tree):
        for less in smaller(getattr(tree, field.name)):
            yield replace(tree, **{field.name: less})


def smaller_blocks(block: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    """Blocks with one statement dropped, unwrapped or made smaller."""
    for k, statement in enumerate(block):
        before, after = block[:k], block[k + 1 :]
        yield before + after
        match statement:
            case If(then=then, otherwise=otherwise):
                yield before + then + after
                yield before + otherwise + after
            case For(body=body) | While(body=body) | Walk(body=body):
                yield before + body + after
            case Switch(cases=cases, default=default):
                for case in (*cases, default):
                    yield before + case + after
                if len(cases) > 1:
                    yield (*before, replace(statement, cases=cases[:-1]), *after)
            case _:
                pass
    for k, statement in enumerate(block):
        for less in smaller(statement):
            yield (*block[:k], less, *block[k + 1 :])


def smaller_expressions(expr: Any) -> Iterator[Any]:
    """A float or a condition replaced by one of its own parts of the same kind, or by a constant."""
    kind = Expr if isinstance(expr, Expr) else type(expr).__mro__[1]
    for field in fields(expr):
        part = getattr(expr, field.name)
        for inner in part if isinstance(part, tuple) else (part,):
            if isinstance(inner, kind) and (kind is not Expr or inner.type == expr.type):
                yield inner
    if isinstance(expr, Expr) and not isinstance(expr, Const | Scalar):
        yield Const(0.5, expr.type)


def size(program: Program) -> int:
    """How long a program is."""
    parts = program.functions, program.body, program.value, program.structs, program.left_out
    return len(repr(parts)) + program.members


def shrink(program: Program, fails: Callable[[list[Program]], list[bool]], seconds: float = 60.0) -> Program:
    """A smaller program that still fails, found greedily, several candidates at a time.

    Args:
        program: that fails.
        fails: says for each of some programs whether it does; one that does not even compile does not.
        seconds: after which it is small enough.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        candidates = unique(
            [c for c in (replace(program, **part) for part in parts(program)) if size(c) < size(program) and valid(c)]
        )
        for start in range(0, len(candidates), 16):
            some = candidates[start : start + 16]
            failing = [c for c, bad in zip(some, fails(some), strict=True) if bad]
            if failing or time.monotonic() > end:
                break
        else:
            return program
        if failing:
            program = min(failing, key=size)
    return program


def parts(program: Program) -> Iterator[dict[str, Any]]:
    """What can be smaller in a program."""
    for name in program.wrt:
        if len(program.wrt) > 1:
            yield {"wrt": tuple(other for other in program.wrt if other != name)}
    if program.members:
        yield {"members": 0}
    if program.left_out:
        yield {"left_out": ()}
    for k in range(len(program.structs)):
        # Without one that is used there is no program, which does not fail in the same way.
        yield {"structs": (*program.structs[:k], *program.structs[k + 1 :])}
    for attribute in ("body", "value", "functions"):
        for less in smaller(getattr(program, attribute)):
            yield {attribute: less}


def unique(programs: list[Program]) -> list[Program]:
    """Each once."""
    return list(dict.fromkeys(programs))


def valid(program: Program) -> bool:
    """Whether every `break` and `continue` is in a loop, and no block ends in a statement that cannot be reached."""
    return _valid(program.body, in_loop=False)


def _valid(block: tuple[Stmt, ...], in_loop: bool) -> bool:
    for k, statement in enumerate(block):
        match statement:
            case Leave():
                if not in_loop or k + 1 < len(block):
                    return False
            case Return():
                if k + 1 < len(block):
                    return False
            case For(body=body) | While(body=body) | Walk(body=body):
                if not _valid(body, in_loop=True):
                    return False
            case If(then=then, otherwise=otherwise):
                if not (_valid(then, in_loop) and _valid(otherwise, in_loop)):
                    return False
            case Switch(cases=cases, default=default):
                # `break` inside a switch leaves the switch; `continue` the loop.
                if not all(_valid(case, in_loop) for case in (*cases, default)):
                    return False
            case _:
                pass
    return True

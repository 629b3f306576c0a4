"""Makes a failing program smaller: drops statements, unwraps loops and branches, while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from programs import For, If, Program, Stmt


def smaller_blocks(block: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    """Blocks with one statement dropped, unwrapped or itself made smaller."""
    for position, statement in enumerate(block):
        before, after = block[:position], block[position + 1 :]
        yield before + after
        match statement:
            case For(body=body):
                for inner in smaller_blocks(body):
                    yield (*before, replace(statement, body=inner), *after)
            case If(then=then, otherwise=otherwise):
                yield before + then + after
                yield before + otherwise + after
                for inner in smaller_blocks(then):
                    yield (*before, replace(statement, then=inner), *after)
                for inner in smaller_blocks(otherwise):
                    yield (*before, replace(statement, otherwise=inner), *after)
            case _:
                pass


def shrink(program: Program, fails: Callable[[Program], bool], tries: int = 400) -> Program:
    """A smaller program that still fails, found greedily; a candidate that does not even compile is no candidate."""
    while tries > 0:
        for block in smaller_blocks(program.body):
            tries -= 1
            candidate = Program(block, program.value)
            if fails(candidate):
                program = candidate
                break
            if tries <= 0:
                break
        else:
            return program
    return program

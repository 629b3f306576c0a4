"""Jumps made into flags: `break`, `continue` and early `return`.

Each statement that a jump may leave has a flag in memory, an i1 of rank 0, which says whether control is still inside
it; a jump clears the flags of all that it leaves, and what a jump may skip stands under `scf.if` of a flag. Where the
code after a jump can stand in the other arm of the branch that jumps, no flag is read, and none remains.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tapeflow.frontend.c_builder import IRBuilder, Value
from tapeflow.frontend.c_flow import Exit
from tapeflow.frontend.c_types import BOOL
from tapeflow.frontend.clang_tree import Node


@dataclass
class Flag:
    """Whether control is still inside a statement.

    Attributes:
        exits: the jumps that leave the statement, and none further out.
        memory: of rank 0; true while control is inside.
        made: the operations that make it and write it, to go where nothing reads it.
        is_read: whether something does.
    """

    exits: frozenset[Exit]
    memory: SSAValue
    made: list[Operation] = field(default_factory=list[Operation])
    is_read: bool = False


class Jumps:
    """The flags of the statements around the current one, outermost first.

    Args:
        build: where the operations go.
    """

    def __init__(self, build: IRBuilder):
        self._build = build
        self._around: list[Flag] = []

    @contextmanager
    def inside(self, exits: Iterable[Exit], node: Node, name: str) -> Generator[Flag]:
        """Be inside the statement `node`, which `exits` leave, for a while; its flag is called `name`."""
        alloca = memref.AllocaOp.get(i1, shape=[])
        flag = Flag(frozenset(exits), self._build.compute(alloca, node, name), [alloca])
        self._set(flag, True, node)
        self._around.append(flag)
        try:
            yield flag
        finally:
            self._around.pop()
        if not flag.is_read:
            for op in reversed(flag.made):
                op.detach()
                op.erase()

    def leave(self, exit: Exit, node: Node) -> None:
        """Make the jump `node`."""
        depth = self._depth(exit)
        for flag in self._around[depth:]:
            self._set(flag, False, node)

    def stays(self, exits: Iterable[Exit], node: Node) -> Value:
        """Whether none of the jumps `exits` was made."""
        return self.still_inside(self._around[max(map(self._depth, exits))], node)

    def still_inside(self, flag: Flag, node: Node) -> Value:
        """Whether control is inside the statement of `flag`."""
        flag.is_read = True
        return Value(BOOL, self._build.compute(memref.LoadOp.get(flag.memory, []), node))

    def keep_inside(self, flag: Flag, condition: Value, node: Node) -> None:
        """Stay inside the statement of `flag` only if `condition` holds."""
        store = memref.StoreOp.get(self._build.ssa(condition, node), flag.memory, [])
        flag.made.append(self._build.add(store, node))

    def _depth(self, exit: Exit) -> int:
        return next(depth for depth in reversed(range(len(self._around))) if exit in self._around[depth].exits)

    def _set(self, flag: Flag, inside: bool, node: Node) -> None:
        self.keep_inside(flag, Value(BOOL, int(inside)), node)

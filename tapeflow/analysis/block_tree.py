"""The tree of blocks of a structured function: which block encloses which, and where in it a value can be had.

Structured control flow only: each block is its parent's through one `scf.for`, `scf.while` or `scf.if`, up to the
function's top block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from xdsl.dialects import func, scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue


def defining_block(value: SSAValue) -> Block:
    """The block that `value` belongs to."""
    match value:
        case BlockArgument(block=block):
            return block
        case OpResult(op=Operation(parent=Block() as block)):
            return block
        case _:
            raise ValueError(f"{value} is in no block")


def enclosing(block: Block) -> Iterator[Block]:
    """`block` and the blocks around it, innermost first, up to the top block of its function."""
    current: Block | None = block
    while current is not None:
        yield current
        parent = current.parent_op()
        current = None if parent is None or isinstance(parent, func.FuncOp) else parent.parent_block()


_Kind = TypeVar("_Kind", bound=Operation)


def innermost(op: Operation, *kinds: type[_Kind]) -> _Kind | None:
    """The innermost operation around `op`, not itself, that is of one of `kinds`."""
    around = op.parent_op()
    while around is not None and not isinstance(around, kinds):
        around = around.parent_op()
    return around


def is_top_block(block: Block) -> bool:
    """Whether `block` is a function's top block."""
    return isinstance(block.parent_op(), func.FuncOp)


def enclosing_loops(block: Block) -> tuple[scf.ForOp | scf.WhileOp, ...]:
    """The loops around what runs in `block`, outermost first."""
    parents = (inner.parent_op() for inner in enclosing(block))
    return tuple(reversed([parent for parent in parents if isinstance(parent, scf.ForOp | scf.WhileOp)]))


def is_guarded(block: Block) -> bool:
    """Whether a branch decides if `block` runs."""
    return any(isinstance(inner.parent_op(), scf.IfOp) for inner in enclosing(block))


def innermost_common(blocks: Iterable[Block]) -> Block:
    """The innermost block that contains all of `blocks`, which are of one function; at least one."""
    chosen = iter(blocks)
    common = next(chosen)
    path = list(enclosing(common))
    for block in chosen:
        around = set(enclosing(block))
        path = path[next(depth for depth, it in enumerate(path) if it in around) :]
    return path[0]


def home_of(definition: Block, needs: Iterable[Block]) -> Block:
    """Where a value defined in `definition` is best kept for the blocks that need it, all inside `definition`.

    The innermost block that contains all needs and lies in no loop that the definition is outside of: out of loops,
    into branches.
    """
    home = innermost_common(needs)
    for block in enclosing(home):
        if block is definition:
            return home
        if isinstance(block.parent_op(), scf.ForOp | scf.WhileOp):
            outer = block.parent_block()
            assert outer is not None
            home = outer
    raise ValueError("a value is needed outside of the block that defines it")

"""Which block of the reverse sweep mirrors which block of the forward sweep, as tapes tell it.

A tape is pushed in a block and popped in its mirror, so the loops and branches around the two mirror one another too,
from the inside to the function's top block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block

from tapeflow.analysis.block_tree import enclosing
from tapeflow.analysis.tape_blocks import TapedValue
from tapeflow.analysis.trip_counts import TripCounts


def _kind(block: Block) -> object:
    """What a block is to its parent: a loop's body, or which arm of a branch."""
    parent, region = block.parent_op(), block.parent
    if isinstance(parent, scf.IfOp) and region is not None:
        return parent.get_region_index(region)
    # The body of a while is mirrored by that of a counted loop.
    return scf.ForOp if isinstance(parent, scf.WhileOp) else type(parent)


def _run_equally_often(block: Block, other: Block, counts: TripCounts) -> bool:
    """Whether nothing says that the loops of two bodies have different trip counts."""
    loops = block.parent_op(), other.parent_op()
    bounds = [counts.loop(loop) for loop in loops if isinstance(loop, scf.ForOp)]
    known = [loop for loop in bounds if loop is not None]
    if len(known) < 2:
        return True
    primal, mirrored = (loop.upper - loop.lower for loop in known)
    if known[0].step.constant != 1 or any(it.loop is not None for it in primal.variables | mirrored.variables):
        # A quotient, or in terms of variables of the two sweeps: cannot be compared.
        return True
    return primal == mirrored


def mirrored_blocks(taped: Iterable[TapedValue], counts: TripCounts) -> dict[Block, Block]:
    """The mirror of each block that pushes one of `taped`, and of the blocks around it.

    A block whose mirror is not clear, because loops or branches around were changed on one side only, is left out.
    """
    mirrors: dict[Block, Block] = {}
    unclear: set[Block] = set()
    for value in taped:
        pushing, popping = (list(enclosing(block)) if block is not None else [] for block in value.blocks[1:])
        if not _alike(pushing, popping, counts):
            unclear.update(pushing)
            continue
        for primal, mirror in zip(pushing, popping, strict=True):
            if mirrors.setdefault(primal, mirror) is not mirror:
                unclear.add(primal)
    return {primal: mirror for primal, mirror in mirrors.items() if unclear.isdisjoint(enclosing(primal))}


def _alike(pushing: Sequence[Block], popping: Sequence[Block], counts: TripCounts) -> bool:
    return (
        len(pushing) == len(popping)
        and bool(pushing)
        and pushing[-1] is popping[-1]
        and all(
            _kind(primal) == _kind(mirror) and _run_equally_often(primal, mirror, counts)
            for primal, mirror in zip(pushing, popping, strict=True)
        )
    )

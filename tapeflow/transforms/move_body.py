"""Move what a block does to another place, as lowerings do with the body of what they replace."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from tapeflow.transforms.located_builder import LocatedBuilder


def move_body(block: Block, arguments: Sequence[SSAValue], build: LocatedBuilder) -> tuple[SSAValue, ...]:
    """Move the ops of `block` to where `build` inserts, with `arguments` for the block's; the block goes.

    Returns:
        What its terminator hands on; the terminator goes too, with its regions. None if it has no terminator.
    """
    last = block.last_op
    Rewriter.inline_block(block, build.insertion_point, arguments)
    if last is None or not last.has_trait(IsTerminator):
        return ()
    handed_on = tuple(last.operands)
    Rewriter.erase_op(last)
    return handed_on

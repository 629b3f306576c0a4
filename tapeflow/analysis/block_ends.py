"""Where a block begins and ends, for ops that belong to all of it."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, is_side_effect_free


def is_index_arithmetic(op: Operation) -> bool:
    """Whether `op` only computes indices, as a mirrored loop does first to find the iteration that it undoes."""
    return bool(op.results) and all(isinstance(it.type, IndexType) for it in op.results) and is_side_effect_free(op)


def start_of(block: Block) -> InsertPoint:
    """Before all that `block` computes, behind the indices that it computes first."""
    return InsertPoint(block, next((op for op in block.ops if not is_index_arithmetic(op)), None))


def end_of(block: Block) -> InsertPoint:
    """Behind all that `block` computes, before its terminator."""
    last = block.last_op
    if last is not None and last.has_trait(IsTerminator):
        return InsertPoint.before(last)
    return InsertPoint.at_end(block)

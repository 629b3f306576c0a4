"""Lower `scf.parallel` to a nest of `scf.for` in the order of its dimensions, which carries the reductions.

MLIR leaves the order of the iterations, and of the reductions, open: any is right. The combiner of a reduction may be
any region; it gets what there is so far and the value of this iteration, in that order. A remark says that the loop is
now sequential.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.move_body import move_body
from tapeflow.transforms.parallel_nest import Combine, Dimension, replace_by_nest


def lower_parallel(function: func.FuncOp) -> None:
    """Replace every `scf.parallel` of `function`, also nested ones."""
    for op in [op for op in function.body.walk() if isinstance(op, scf.ParallelOp)]:
        _lower(op)


def _lower(op: scf.ParallelOp) -> None:
    reduce = op.body.block.last_op
    assert isinstance(reduce, scf.ReduceOp)
    combines = [_moving(region.detach_block(0)) for region in reduce.reductions]
    bounds = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    dimensions = [Dimension(*bound) for bound in bounds]
    replace_by_nest(op, dimensions, op.initVals, combines, LocatedBuilder(InsertPoint.before(op), place=place_of(op)))
    Rewriter.erase_op(op)


def _moving(combiner: Block) -> Combine:
    """What moves the body of a reduction to where it combines."""

    def combine(so_far: SSAValue, value: SSAValue, build: LocatedBuilder) -> SSAValue:
        (one,) = move_body(combiner, (so_far, value), build)
        return one

    return combine

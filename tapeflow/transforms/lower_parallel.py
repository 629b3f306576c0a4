"""Lower `scf.parallel` to a nest of `scf.for` in the order of its dimensions, which carries the reductions.

MLIR leaves the order of the iterations, and of the reductions, open: any is right. The combiner of a reduction may be
any region; it gets what there is so far and the value of this iteration, in that order. A remark says that the loop is
now sequential.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.source_names import source_name
from tapeflow.errors import remark
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.move_body import move_body


def lower_parallel(function: func.FuncOp) -> None:
    """Replace every `scf.parallel` of `function`, also nested ones."""
    for op in [op for op in function.body.walk() if isinstance(op, scf.ParallelOp)]:
        _lower(op)


def _lower(op: scf.ParallelOp) -> None:
    remark("'scf.parallel' is differentiated in sequence, in the order of its dimensions", op.location)
    inner = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    reductions = [(result.type, source_name(result)) for result in op.res]
    carried: Sequence[SSAValue] = op.initVals
    loops: list[scf.ForOp] = []
    bounds = zip(op.body.block.args, op.lowerBound, op.upperBound, op.step, strict=True)
    for variable, lower, upper, step in bounds:
        body = inner.block([(IndexType(), source_name(variable)), *reductions])
        loop = inner.insert(scf.ForOp(lower, upper, step, carried, Region(body)))
        if loops:
            inner.insert(scf.YieldOp(*loop.results))
        loops.append(loop)
        carried = body.args[1:]
        inner = inner.into(body)
    combined = _fill(op, [loop.body.block.args[0] for loop in loops], carried, inner)
    if loops:
        inner.insert(scf.YieldOp(*combined))
        loops[0].location = op.location
        combined = loops[0].results
    for before, after in zip(op.results, combined, strict=True):
        after.name_hint = after.name_hint or before.name_hint
        before.replace_all_uses_with(after)
    Rewriter.erase_op(op)


def _fill(
    op: scf.ParallelOp, variables: Sequence[SSAValue], carried: Sequence[SSAValue], inner: LocatedBuilder
) -> Sequence[SSAValue]:
    """Move the body of `op` into the innermost loop; returns what is `carried`, combined with what the body reduces."""
    reduce = op.body.block.last_op
    assert isinstance(reduce, scf.ReduceOp)
    combiners = [region.detach_block(0) for region in reduce.reductions]
    values = move_body(op.body.detach_block(0), variables, inner)
    combined: list[SSAValue] = []
    for combiner, so_far, value in zip(combiners, carried, values, strict=True):
        (one,) = move_body(combiner, (so_far, value), inner)
        combined.append(one)
    return combined

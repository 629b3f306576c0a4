"""Lower `scf.execute_region`: what its one block does is done in place. One with several blocks is left."""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.move_body import move_body


def lower_execute_region(function: func.FuncOp) -> None:
    """Replace every `scf.execute_region` of `function` that has one block, also nested ones."""
    for op in [op for op in function.body.walk() if isinstance(op, scf.ExecuteRegionOp)]:
        if len(op.region.blocks) == 1:
            _lower(op)


def _lower(op: scf.ExecuteRegionOp) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    for result, value in zip(op.results, move_body(op.region.detach_block(0), (), build), strict=True):
        if source_name(value) is None and (name := source_name(result)) is not None:
            set_source_name(value, name)
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)

"""Lower `memref.copy` to a nest of loops, element by element: its adjoint moves the shadow back.

`memref.realloc` becomes an array of the new size and a copy of what both have; nothing reads the old one after it.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.source_names import source_name
from tapeflow.dialects.memref_more import ReallocOp
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import extent, loop_nest


def lower_copies(function: func.FuncOp) -> None:
    """Replace every `memref.copy` and `realloc` of `function`; as in MLIR, what is copied does not overlap."""
    for op in [op for op in function.body.walk() if isinstance(op, ReallocOp)]:
        _lower_realloc(op)
    for op in [op for op in function.body.walk() if isinstance(op, memref.CopyOp)]:
        build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
        rank = cast(MemRefType[Attribute], op.source.type).get_num_dims()
        inner, variables = loop_nest([extent(op.source, each, build) for each in range(rank)], build)
        element = inner.value(memref.LoadOp.get(op.source, variables))
        inner.insert(memref.StoreOp.get(element, op.destination, variables))
        Rewriter.erase_op(op)


def _lower_realloc(op: ReallocOp) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    type_ = op.result.type
    sizes = [] if op.size is None else [op.size]
    array = build.value(memref.AllocOp(sizes, [], type_, op.alignment), source_name(op.result))
    both = build.value(arith.MinSIOp(extent(op.source, 0, build), extent(array, 0, build)))
    inner, variables = loop_nest([both], build)
    inner.insert(memref.StoreOp.get(inner.value(memref.LoadOp.get(op.source, variables)), array, variables))
    op.result.replace_all_uses_with(array)
    Rewriter.erase_op(op)

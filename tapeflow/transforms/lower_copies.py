"""Lower `memref.copy` to a nest of loops, element by element: its adjoint moves the shadow back."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import extent, loop_nest


def lower_copies(function: func.FuncOp) -> None:
    """Replace every `memref.copy` of `function`; as in MLIR, source and destination do not overlap."""
    for op in [op for op in function.body.walk() if isinstance(op, memref.CopyOp)]:
        build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
        rank = cast(MemRefType[Attribute], op.source.type).get_num_dims()
        inner, variables = loop_nest([extent(op.source, each, build) for each in range(rank)], build)
        element = inner.value(memref.LoadOp.get(op.source, variables))
        inner.insert(memref.StoreOp.get(element, op.destination, variables))
        Rewriter.erase_op(op)

"""Nests of counted loops over the elements of arrays, which whole-array operations are lowered to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.transforms.located_builder import LocatedBuilder

_VARIABLES = "ijklmn"


def index_constant(value: int, build: LocatedBuilder) -> SSAValue:
    """A number of type `index`."""
    return build.value(arith.ConstantOp(IntegerAttr(value, IndexType())))


def extent(array: SSAValue, dimension: int, build: LocatedBuilder) -> SSAValue:
    """How many elements `array` has along `dimension`, as an `index` value."""
    size = cast(MemRefType[Attribute], array.type).get_shape()[dimension]
    position = index_constant(dimension if size == DYNAMIC_INDEX else size, build)
    return build.value(memref.DimOp(array, position)) if size == DYNAMIC_INDEX else position


def loop_nest(extents: Sequence[SSAValue], build: LocatedBuilder) -> tuple[LocatedBuilder, list[SSAValue]]:
    """A nest of loops that count from 0 to each of `extents`, the first one outermost.

    Returns:
        A builder inside of the innermost body (`build` itself without extents), and the loops' variables.
    """
    variables: list[SSAValue] = []
    if extents:
        zero, one = index_constant(0, build), index_constant(1, build)
        for depth, size in enumerate(extents):
            name = _VARIABLES[depth] if depth < len(_VARIABLES) else f"i{depth}"
            body = build.block([(IndexType(), name)])
            build.insert(scf.ForOp(zero, size, one, [], Region(body)))
            variables.append(body.args[0])
            build = build.into(body)
            end = build.insert(scf.YieldOp())
            build.insertion_point = InsertPoint.before(end)
    return build, variables

"""Arithmetic on sizes and subscripts that are constant where that is known: it inserts only what is not."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tapeflow.analysis.views import Size
from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.loop_nest import index_constant


def as_value(size: Size, build: LocatedBuilder) -> SSAValue:
    """`size` as a value of type `index`."""
    return index_constant(size, build) if isinstance(size, int) else size


def plus(left: Size, right: Size, build: LocatedBuilder) -> Size:
    """`left + right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    return left if right == 0 else build.value(arith.AddiOp(as_value(left, build), as_value(right, build)))


def times(left: Size, right: Size, build: LocatedBuilder) -> Size:
    """`left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    return left if right == 1 else build.value(arith.MuliOp(as_value(left, build), as_value(right, build)))

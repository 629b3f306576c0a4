"""Arrays of zeros: the shadow or tangent array of something that has none, for a function that wants one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.simplify import Constants


@dataclass(frozen=True)
class ZeroArray:
    """A local array of zeros.

    Attributes:
        value: the array, of the type that was asked for.
        allocation: of it, without the layout.
        fill: the op that stores the zeros.
    """

    value: SSAValue
    allocation: memref.AllocaOp
    fill: Operation


def zeros_like(build: LocatedBuilder, constants: Constants, array: SSAValue, name: str | None) -> ZeroArray:
    """A local array of zeros, of floats, with the extents and the type of `array`."""
    type_ = cast(MemRefType[Attribute], array.type)
    shape = type_.get_shape()
    extents = [
        build.value(memref.DimOp(array, constants.index(dimension)))
        if extent == DYNAMIC_INDEX
        else constants.index(extent)
        for dimension, extent in enumerate(shape)
    ]
    sizes = [size for size, extent in zip(extents, shape, strict=True) if extent == DYNAMIC_INDEX]
    allocation = memref.AllocaOp.get(type_.element_type, shape=shape, dynamic_sizes=sizes)
    zeros = build.value(allocation, name)
    fill = fill_with_zeros(build, constants, zeros, extents)
    typed = zeros if zeros.type == type_ else build.value(memref.CastOp.get(zeros, type_))
    return ZeroArray(typed, allocation, fill)


def fill_with_zeros(build: LocatedBuilder, constants: Constants, array: SSAValue, extents: list[SSAValue]) -> Operation:
    """Store 0 to each element of `array`, of floats, which has these extents; returns the one op that does."""
    outermost: Operation | None = None
    variables: list[SSAValue] = []
    for extent in extents:
        body = build.block([(IndexType(), "k")])
        zero, one = constants.index(0), constants.index(1)
        loop = build.insert(scf.ForOp(zero, extent, one, [], Region(body)))
        outermost = outermost or loop
        variables.append(body.args[0])
        build = build.into(body)
        body.add_op(end := scf.YieldOp())
        end.location = build.place
        build.insertion_point = InsertPoint.before(end)
    zero = constants.float(0.0, cast(MemRefType[Attribute], array.type).element_type)
    store = build.insert(memref.StoreOp.get(zero, array, variables))
    return outermost or store

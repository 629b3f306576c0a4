"""Which integers are the extent of an array, by what the function's parameters say of it.

An array parameter that is declared as `double t[n]` has `tapeflow.extents = ["n"]`: its dimension is the parameter `n`,
and that of every other array that is declared so. `extent_key` is equal for integers that are equal for this reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IndexType, IntegerType, StringAttr
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.parameters import attributes_of


def extents_of(array: memref.AllocaOp) -> Iterator[SSAValue | int]:
    """How many elements a local array has in each dimension."""
    sizes = iter(array.dynamic_sizes)
    for extent in array.memref.type.get_shape():
        yield next(sizes) if extent == DYNAMIC_INDEX else extent


def extent_key(extent: SSAValue | int) -> int | str | SSAValue:
    """What `extent` is: a constant, what the source calls or computes it by, or the value itself."""
    if isinstance(extent, int):
        return extent
    constant = constant_integer(extent)
    if constant is not None:
        return constant
    spelled = _declared(extent.op) if isinstance(extent, OpResult) and isinstance(extent.op, memref.DimOp) else None
    if spelled:
        return int(spelled) if spelled.isdecimal() else spelled
    return _parameter(extent) or extent


def _declared(dim: memref.DimOp) -> str | None:
    """The extent as declared, empty if it is not, of an array that is a parameter."""
    dimension, declared = constant_integer(dim.index), _attribute(dim.source, "tapeflow.extents")
    if not isinstance(declared, ArrayAttr) or dimension is None:
        return None
    extents = cast(ArrayAttr[StringAttr], declared).data
    return extents[dimension].data if 0 <= dimension < len(extents) else None


def _parameter(value: SSAValue) -> str | None:
    """The name of the integer parameter that `value` is."""
    while isinstance(value, OpResult) and isinstance(value.op, arith.IndexCastOp | arith.ExtSIOp):
        value = value.op.input
    name = _attribute(value, "tapeflow.name")
    return name.data if isinstance(name, StringAttr) and isinstance(value.type, IndexType | IntegerType) else None


def _attribute(value: SSAValue, name: str) -> object:
    """An attribute of a function's argument; None if it has none, or is none."""
    return attributes_of(value).get(name) if isinstance(value, BlockArgument) else None

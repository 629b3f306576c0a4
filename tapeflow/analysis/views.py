"""Views: which element of its source an element of a view is, as far as that can be said without the IR's values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

Size = int | SSAValue


def shape_of(array: SSAValue) -> Sequence[int]:
    """The extents of an array, with `DYNAMIC_INDEX` for those that its type does not say."""
    return cast(MemRefType[Attribute], array.type).get_shape()


def kept_dimensions(op: memref.SubviewOp) -> tuple[bool, ...]:
    """For each dimension of the source of a subview whether its result has it.

    A result of a smaller rank leaves out dimensions of the constant size 1. Which of several in a row does not matter:
    they have one index.
    """
    remaining = list(shape_of(op.result))
    sizes = [int(size) for size in op.static_sizes.get_values()]
    kept: list[bool] = []
    for position, size in enumerate(sizes):
        to_spare = len(sizes) - position > len(remaining)
        drops = to_spare and size == 1 and not (remaining and remaining[0] == 1)
        kept.append(not drops)
        if not drops:
            remaining = remaining[1:]
    return tuple(kept)


def mixed(op: Operation, name: str, dynamic: Sequence[SSAValue]) -> list[Size]:
    """The numbers of the list `static_<name>` of `op`, with the values of `dynamic` where they are not constant."""
    static = cast(DenseArrayBase[Any], op.properties[f"static_{name}"]).get_values()
    values = iter(dynamic)
    return [next(values) if number == DYNAMIC_INDEX else int(number) for number in static]


def groups_of(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    """The dimensions of the larger shape that each dimension of the smaller one stands for."""
    return [[number.value.data for number in group] for group in op.reassociation]


def chain(array: SSAValue, kinds: tuple[type[Operation], ...]) -> Iterator[Operation]:
    """The views of `kinds` that `array` is the last of, from it to its root."""
    while isinstance(op := array.owner, kinds):
        yield op
        array = op.operands[0]


def is_root(array: SSAValue) -> bool:
    """Whether `array` is memory of its own: an argument of a function, an allocation or a table."""
    if isinstance(array, BlockArgument):
        return isinstance(array.block.parent_op(), func.FuncOp)
    return isinstance(array.owner, memref.AllocOp | memref.AllocaOp | memref.GetGlobalOp)

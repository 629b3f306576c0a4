"""The meaning of `memref`: arrays are NumPy arrays, views are NumPy views, and every access is checked.

Fresh memory is poison (see `values.poison_array`). Layouts of memref types are not looked at: a value is a view that
knows its strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, MemRefType, UnitAttr
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.values import Array, array_of_attribute, check_shape, poison, poison_array


def check_indices(array: Array, indices: Sequence[int]) -> None:
    """Refuse indices outside `array`.

    Raises:
        InterpretationError: naming the indices and the shape.
    """
    for index, extent in zip(indices, array.shape, strict=True):
        if not 0 <= index < extent:
            raise InterpretationError(f"index {list(indices)} is out of bounds for shape {list(array.shape)}")


def load(array: Array, indices: Sequence[int]) -> Any:
    """The element of `array` at `indices`, as a Python scalar."""
    check_indices(array, indices)
    return array.item(*indices)


def store(array: Array, indices: Sequence[int], value: Any) -> None:
    """Set the element of `array` at `indices`."""
    check_indices(array, indices)
    array[tuple(indices)] = value


def _sizes(memref_type: MemRefType[Attribute], dynamic: Sequence[int]) -> tuple[int, ...]:
    """The shape of a fresh array: static extents, and the dynamic ones in order."""
    rest = iter(dynamic)
    shape = tuple(next(rest) if extent == DYNAMIC_INDEX else extent for extent in memref_type.get_shape())
    if any(extent < 0 for extent in shape):
        raise InterpretationError(f"an array cannot have shape {list(shape)}")
    return shape


def _mixed(static: Attribute, dynamic: Iterator[int]) -> list[int]:
    """A list of static numbers whose dynamic places are filled in order."""
    numbers = cast(DenseArrayBase[Any], static).get_values()
    return [next(dynamic) if number == DYNAMIC_INDEX else number for number in numbers]


def subview(array: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """The elements `offset + k * stride`, `0 <= k < size`, of each dimension of `array`, as a view.

    Raises:
        InterpretationError: when one of them is out of bounds.
    """
    for offset, size, stride, extent in zip(offsets, sizes, strides, array.shape, strict=True):
        last = offset + max(size - 1, 0) * stride
        if size < 0 or stride < 1 or (size and not 0 <= offset <= last < extent):
            view = f"offsets {list(offsets)}, sizes {list(sizes)}, strides {list(strides)}"
            raise InterpretationError(f"{view} are out of bounds for shape {list(array.shape)}")
    return array[tuple(slice(o, o + n * step, step) for o, n, step in zip(offsets, sizes, strides, strict=True))]


def reduce_rank(view: Array, shape: Sequence[int]) -> Array:
    """Drop as many dimensions of extent one from `view` as it takes to fit a memref's shape."""
    kept: list[int | slice] = []
    remaining = list(shape)
    for position, extent in enumerate(view.shape):
        to_spare = view.ndim - position > len(remaining)
        if to_spare and extent == 1 and not (remaining and remaining[0] == 1):
            kept.append(0)
        else:
            kept.append(slice(None))
            remaining = remaining[1:]
    return view[tuple(kept)]


@register_impls
class MemrefFunctions(Functions):
    """`memref` on arrays of scalars."""

    @impl(memref.AllocOp)
    def run_alloc(self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues) -> PythonValues:
        """A fresh poisoned array."""
        return self._allocate(op, args)

    @impl(memref.AllocaOp)
    def run_alloca(self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues) -> PythonValues:
        """A fresh poisoned array."""
        return self._allocate(op, args)

    def _allocate(self, op: Operation, args: PythonValues) -> PythonValues:
        memref_type = cast(MemRefType[Attribute], op.results[0].type)
        return (poison_array(_sizes(memref_type, args), memref_type.element_type),)

    @impl(memref.DeallocOp)
    def run_dealloc(self, interpreter: Interpreter, op: memref.DeallocOp, args: PythonValues) -> PythonValues:
        """Poison what is freed, so that a later use shows."""
        poison(args[0])
        return ()

    @impl(memref.LoadOp)
    def run_load(self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues) -> PythonValues:
        """An element."""
        return (load(args[0], args[1:]),)

    @impl(memref.StoreOp)
    def run_store(self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues) -> PythonValues:
        """Set an element."""
        store(args[1], args[2:], args[0])
        return ()

    @impl(memref.DimOp)
    def run_dim(self, interpreter: Interpreter, op: memref.DimOp, args: PythonValues) -> PythonValues:
        """An extent."""
        array, dimension = args
        if not 0 <= dimension < array.ndim:
            raise InterpretationError(f"dimension {dimension} of an array of rank {array.ndim}")
        return (array.shape[dimension],)

    @impl(memref.RankOp)
    def run_rank(self, interpreter: Interpreter, op: memref.RankOp, args: PythonValues) -> PythonValues:
        """How many dimensions there are."""
        return (args[0].ndim,)

    @impl(memref.CastOp)
    def run_cast(self, interpreter: Interpreter, op: memref.CastOp, args: PythonValues) -> PythonValues:
        """The same array, which must have the shape of the new type."""
        check_shape(args[0], op.results[0].type, "the array")
        return args

    @impl(memref.MemorySpaceCastOp)
    def run_space_cast(
        self, interpreter: Interpreter, op: memref.MemorySpaceCastOp, args: PythonValues
    ) -> PythonValues:
        """The same array."""
        return args

    @impl(memref.CopyOp)
    def run_copy(self, interpreter: Interpreter, op: memref.CopyOp, args: PythonValues) -> PythonValues:
        """Copy all elements."""
        source, target = args
        if source.shape != target.shape:
            raise InterpretationError(f"a copy from shape {list(source.shape)} to shape {list(target.shape)}")
        np.copyto(target, source)
        return ()

    @impl(memref.SubviewOp)
    def run_subview(self, interpreter: Interpreter, op: memref.SubviewOp, args: PythonValues) -> PythonValues:
        """A view of a part."""
        dynamic = iter(args[1:])
        offsets, sizes, strides = (
            _mixed(op.properties[name], dynamic) for name in ("static_offsets", "static_sizes", "static_strides")
        )
        view = subview(args[0], offsets, sizes, strides)
        return (reduce_rank(view, cast(MemRefType[Attribute], op.results[0].type).get_shape()),)

    @impl(memref.AllocaScopeOp)
    def run_scope(self, interpreter: Interpreter, op: memref.AllocaScopeOp, args: PythonValues) -> PythonValues:
        """Its body; the arrays in it are freed by Python."""
        return interpreter.run_ssacfg_region(op.regions[0], ())

    @impl_terminator(memref.AllocaScopeReturnOp)
    def run_scope_return(
        self, interpreter: Interpreter, op: memref.AllocaScopeReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        """Leave a scope with its results."""
        return ReturnedValues(args), ()

    @impl(memref.GetGlobalOp)
    def run_get_global(self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues) -> PythonValues:
        """The array of a global: one for the life of the interpreter."""
        target = SymbolTable.lookup_symbol(op, op.name_)
        if not isinstance(target, memref.GlobalOp):
            raise InterpretationError(f"there is no global {op.name_}")
        return (interpreter.get_data(MemrefFunctions, target.sym_name.data, lambda: _global_array(target)),)


def _global_array(op: memref.GlobalOp) -> Array:
    memref_type = cast(MemRefType[Attribute], op.properties["type"])
    if isinstance(op.initial_value, UnitAttr):
        return poison_array(memref_type.get_shape(), memref_type.element_type)
    return array_of_attribute(op.initial_value)

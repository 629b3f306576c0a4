"""Values at run time: how each type is held, rounded, wrapped and read from what a caller passes.

| type          | held as                        |
|---------------|--------------------------------|
| f64, f32      | `float`, rounded to the type   |
| i1            | `bool`                         |
| other iN      | `int`, in the signed range     |
| index         | `int`, 64 bits wide            |
| memref        | `numpy.ndarray`, never copied  |
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

INDEX_WIDTH = 64

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def width_of(scalar: Attribute) -> int:
    """The bits of an integer or index type."""
    if isinstance(scalar, IntegerType):
        return cast(IntegerType, scalar).width.data
    if isinstance(scalar, IndexType):
        return INDEX_WIDTH
    raise InterpretationError(f"{scalar} is not an integer type")


def wrap(value: int, scalar: Attribute) -> int:
    """Reduce `value` to the signed range of an integer type; `bool` for i1."""
    width = width_of(scalar)
    if width == 1:
        return bool(value & 1)
    half = 1 << (width - 1)
    if -half <= value < half:
        return value
    return ((value + half) & ((1 << width) - 1)) - half


def signed(value: int, scalar: Attribute) -> int:
    """Read the bits of `value` as a signed number; only i1 differs from how it is held."""
    return -value if value is True else value


def unsigned(value: int, scalar: Attribute) -> int:
    """Read the bits of `value` as an unsigned number."""
    return int(value) & ((1 << width_of(scalar)) - 1)


def round_to(value: float, scalar: Attribute) -> float:
    """Round `value` to a float type, to nearest even, overflowing to infinity."""
    if isinstance(scalar, Float64Type):
        return value
    if isinstance(scalar, Float32Type):
        return ctypes.c_float(value).value
    raise InterpretationError(f"{scalar} is not a float type that the interpreter has: it has f32 and f64")


def element_type(memref: Attribute) -> Attribute:
    """The element type of a memref type."""
    return cast(MemRefType[Attribute], memref).element_type


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """The NumPy dtype that holds elements of a scalar type."""
    match element:
        case Float64Type():
            return np.dtype(np.float64)
        case Float32Type():
            return np.dtype(np.float32)
        case IndexType():
            return np.dtype(np.int64)
        case IntegerType() if element.width.data == 1:
            return np.dtype(np.bool_)
        case IntegerType() if element.width.data in (8, 16, 32, 64):
            return np.dtype(f"int{element.width.data}")
        case _:
            raise InterpretationError(f"arrays of {element} have no NumPy dtype")


def poison_array(shape: tuple[int, ...], element: Attribute) -> Array:
    """Fresh memory whose content nobody may rely on: NaN for floats, the least value for integers, false for i1."""
    dtype = dtype_of(element)
    array = np.empty(shape, dtype)
    poison(array)
    return array


def poison(array: Array) -> None:
    """Overwrite `array` with values that nobody may rely on."""
    kind = array.dtype.kind
    if kind == "f":
        array.fill(np.nan)
    elif kind == "i":
        array.fill(np.iinfo(array.dtype).min)
    else:
        array.fill(False)


def value_of_attribute(attribute: Attribute) -> int | float:
    """The scalar that an integer or float attribute stands for."""
    match attribute:
        case IntegerAttr():
            return wrap(attribute.value.data, attribute.type)
        case FloatAttr():
            return round_to(attribute.value.data, attribute.type)
        case _:
            raise InterpretationError(f"{attribute} is not a scalar constant")


def array_of_attribute(attribute: Attribute) -> Array:
    """A fresh array with the elements of a dense attribute."""
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        raise InterpretationError(f"{attribute} is not a dense constant")
    dense = cast(DenseIntOrFPElementsAttr[Any], attribute)
    element = cast(Attribute, dense.get_element_type())
    return np.array(dense.get_values(), dtype=dtype_of(element)).reshape(dense.get_shape())


def check_shape(array: Array, memref: Attribute, what: str) -> None:
    """Refuse an array whose rank or static extents differ from a memref type's.

    Raises:
        InterpretationError: naming both shapes.
    """
    shape = cast(MemRefType[Attribute], memref).get_shape()
    if len(shape) != array.ndim or any(
        want not in (DYNAMIC_INDEX, got) for want, got in zip(shape, array.shape, strict=True)
    ):
        raise InterpretationError(f"{what} has shape {array.shape}, but its type is {memref}")


def argument(value: Any, of_type: Attribute, what: str) -> Any:
    """Read what a caller passes for a parameter: Python or NumPy scalars, and arrays, which are used in place.

    Args:
        value: the caller's value; one of another dialect's type, such as a tape, is taken as it is.
        of_type: the parameter's type.
        what: names the parameter in an error.

    Raises:
        InterpretationError: on a wrong kind, dtype or shape.
    """
    match of_type:
        case MemRefType():
            return _array_argument(value, cast(Attribute, of_type), what)
        case Float64Type() | Float32Type() | IntegerType() | IndexType():
            scalar: Any = cast(Any, value).item() if isinstance(value, np.generic) else value
            return _scalar_argument(scalar, of_type, what)
        case _:
            return value


def _array_argument(value: Any, memref: Attribute, what: str) -> Array:
    if not isinstance(value, np.ndarray):
        raise InterpretationError(f"{what} is {value!r}, but its type {memref} takes a NumPy array")
    array = cast(Array, value)
    dtype = dtype_of(element_type(memref))
    if array.dtype != dtype:
        raise InterpretationError(f"{what} has dtype {array.dtype}, but its type {memref} takes {dtype}")
    check_shape(array, memref, what)
    return array


def _scalar_argument(value: Any, scalar: Float64Type | Float32Type | IntegerType | IndexType, what: str) -> Any:
    if isinstance(scalar, Float64Type | Float32Type) and isinstance(value, int | float):
        return round_to(float(value), scalar)
    if isinstance(scalar, IntegerType | IndexType) and isinstance(value, int):
        width = width_of(scalar)
        least, greatest = (0, 1) if width == 1 else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
        if least <= value <= greatest:
            return wrap(value, scalar)
    raise InterpretationError(f"{what} is {value!r}, which does not fit its type {scalar}")

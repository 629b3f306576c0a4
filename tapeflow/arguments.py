"""Parameters of a kernel as its source declares them, and the checks that NumPy arguments must pass to be used."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    IndexType,
    IntegerType,
    LocationAttr,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument

from tapeflow.analysis.complex_pairs import complex_part
from tapeflow.analysis.parameters import attributes_of, parameter_name
from tapeflow.dialects.ad import has_derivative
from tapeflow.errors import ArgumentError, TapeflowError
from tapeflow.extents import extent_value
from tapeflow.records import record_type, structured_names, unpacked

Array = NDArray[Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: as in the source.
        type: of the scalar, or of the array's elements.
        extents: of an array, one a dimension: a number, the name of the parameter that holds it or an expression with
            such names, or None where the source does not say; None for a scalar.
        location: in the source.
        source: the name of the parameter in the source; another where that is structs of several types of numbers.
        record: the NumPy type of the structs whose numbers these are; None for all others.
    """

    name: str
    type: Attribute
    extents: tuple[int | str | None, ...] | None
    location: LocationAttr
    source: str
    record: np.dtype[Any] | None = None

    @property
    def is_array(self) -> bool:
        """Whether the parameter is an array."""
        return self.extents is not None

    @property
    def is_float(self) -> bool:
        """Whether it is, or has, floating-point numbers, real or complex: what can be differentiated."""
        return has_derivative(self.type)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the scalar or of the elements."""
        return numpy_type(self.type, self.location)

    def __str__(self) -> str:
        shape = "".join(f"[{'' if extent is None else extent}]" for extent in self.extents or ())
        return f"{self.dtype} {self.name}{shape}"


def numpy_type(scalar: Attribute, location: LocationAttr | None = None) -> np.dtype[Any]:
    """The NumPy type of a scalar type of the IR, which stands at `location`.

    Raises:
        TapeflowError: C has no such type.
    """
    match scalar:
        case IndexType():
            return np.dtype(np.int64)
        case IntegerType() if scalar.width.data == 1:
            return np.dtype(np.bool_)
        case IntegerType() if scalar.width.data in (8, 16, 32, 64):
            return np.dtype(f"int{scalar.width.data}")
        case _ if isinstance(scalar, AnyFloat) and scalar.bitwidth in (32, 64):
            return np.dtype(f"float{scalar.bitwidth}")
        case ComplexType() if (part := complex_part(scalar)) is not None and part.bitwidth in (32, 64):
            return np.dtype(f"complex{2 * part.bitwidth}")
        case _:
            raise TapeflowError(
                f"parameters of type {scalar} are not supported",
                location=location,
                hint="use f32, f64, complex numbers of these, or an integer type",
            )


def parameters_of(function: func.FuncOp) -> tuple[Parameter, ...]:
    """The parameters of `function` in order; those without a name in the source are called arg0, arg1, ..."""
    return tuple(map(_parameter, function.args))


def _parameter(argument: BlockArgument) -> Parameter:
    attributes, name = attributes_of(argument), parameter_name(argument)
    argument_type: Attribute = argument.type
    if not isinstance(argument_type, MemRefType):
        return Parameter(name, argument_type, None, argument.location, name)
    memref = cast(MemRefType[Attribute], argument_type)
    extents: list[int | str | None] = [None if extent < 0 else extent for extent in memref.get_shape()]
    if isinstance(spelled := attributes.get("tapeflow.extents"), ArrayAttr):
        for dimension, extent in enumerate(cast(ArrayAttr[StringAttr], spelled)):
            if extent.data:
                extents[dimension] = int(extent.data) if extent.data.isdecimal() else extent.data
    described = attributes.get("tapeflow.record")
    if not isinstance(described, DictionaryAttr):
        return Parameter(name, memref.element_type, tuple(extents), argument.location, name)
    source = cast(StringAttr, described.data["name"]).data
    return Parameter(name, memref.element_type, tuple(extents), argument.location, source, record_type(described))


@dataclass(frozen=True)
class BoundArray:
    """An array argument that passed its checks.

    Attributes:
        given: the caller's array.
        used: the same elements, C-contiguous and aligned: `given` itself where it is that already.
        written: whether the kernel writes it.
        structured: whether the caller gave structs, of which these are the numbers of one type.
    """

    given: Array
    used: Array
    written: bool
    structured: bool = False

    def write_back(self) -> None:
        """Give the caller what the kernel wrote, where it worked on a copy."""
        if self.written and self.used is not self.given:
            self.given[...] = self.used


Bound = BoundArray | int | float | complex | bool


def bind(
    parameters: Sequence[Parameter], written: Sequence[bool], arguments: Sequence[Any], function: str
) -> list[Bound]:
    """Check `arguments` against `parameters` and return them in the form that C takes.

    Args:
        parameters: in source order.
        written: for each parameter, whether the kernel writes that array.
        arguments: Python numbers and NumPy arrays.
        function: the kernel's name, for messages.

    Raises:
        ArgumentError: the number of arguments, a type, a shape, overlap, or a read-only array that is written.
    """
    structured = structured_names(parameters, arguments)
    arguments = unpacked(parameters, arguments)
    if len(arguments) != len(parameters):
        signature = ", ".join(str(parameter) for parameter in parameters)
        raise ArgumentError(f"{function}({signature}) takes {len(parameters)} arguments, got {len(arguments)}")
    bound = [
        _bind_array(parameter, writes, argument, parameter.source in structured)
        if parameter.is_array
        else bind_scalar(parameter, argument)
        for parameter, writes, argument in zip(parameters, written, arguments, strict=True)
    ]
    values = {parameter.name: value for parameter, value in zip(parameters, bound, strict=True)}
    for parameter, value in zip(parameters, bound, strict=True):
        if isinstance(value, BoundArray):
            _check_shape(parameter, value.given, values)
    _check_overlap([(p, v.given) for p, v in zip(parameters, bound, strict=True) if isinstance(v, BoundArray)])
    return bound


def bind_scalar(parameter: Parameter, argument: Any) -> int | float | complex | bool:
    """`argument` as the Python number that `parameter` takes.

    Raises:
        ArgumentError: it is of another kind, or out of the parameter's range.
    """

    def refuse(reason: str) -> ArgumentError:
        return ArgumentError(f"{parameter.name}: {reason}", location=parameter.location)

    dtype = parameter.dtype
    if dtype.kind == "f":
        if isinstance(argument, (str, bytes)) or np.ndim(argument) or np.iscomplexobj(argument):
            raise refuse(f"expected a number ({dtype}), got {_described(argument)}")
        try:
            return float(argument)
        except (TypeError, ValueError):
            raise refuse(f"expected a number ({dtype}), got {_described(argument)}") from None
        except OverflowError:
            raise refuse(f"the integer is too large for {dtype}") from None
    if dtype.kind == "c":
        if isinstance(argument, (str, bytes)) or np.ndim(argument):
            raise refuse(f"expected a number ({dtype}), got {_described(argument)}")
        try:
            return complex(argument)
        except (TypeError, ValueError):
            raise refuse(f"expected a number ({dtype}), got {_described(argument)}") from None
        except OverflowError:
            raise refuse(f"the integer is too large for {dtype}") from None
    if dtype.kind == "b":
        if not isinstance(argument, (bool, np.bool_)):
            raise refuse(f"expected True or False, got {_described(argument)}")
        return bool(cast(Any, argument))
    try:
        integer = operator.index(argument)
    except TypeError:
        raise refuse(f"expected an integer ({dtype}), got {_described(argument)}") from None
    limits = np.iinfo(dtype)
    if not limits.min <= integer <= limits.max:
        raise refuse(f"{integer} does not fit {dtype}")
    return integer


def check_array(parameter: Parameter, argument: Any, role: str, batch: int | None = None) -> Array:
    """`argument`, if it is an array of the elements and the number of dimensions of `parameter`.

    Args:
        parameter: whose elements and dimensions it must have.
        argument: what the caller gave.
        role: what to call it in messages.
        batch: how many such arrays it must hold along one more dimension, the first; None for the array itself.

    Raises:
        ArgumentError: it is not.
    """
    dtype, rank = parameter.dtype, len(parameter.extents or ()) + (batch is not None)
    if not isinstance(argument, np.ndarray):
        raise ArgumentError(
            f"{role}: expected a NumPy array of {dtype} with {rank} dimension{'s' * (rank != 1)}, "
            f"got {_described(argument)}",
            location=parameter.location,
        )
    array = cast(Array, argument)
    if isinstance(argument, np.ma.MaskedArray):
        raise ArgumentError(
            f"{role}: expected a plain array, got a masked one, whose mask would be ignored",
            location=parameter.location,
            hint="fill it with .filled(value)",
        )
    if array.dtype != dtype:
        raise ArgumentError(
            f"{role}: expected elements of {dtype}, got {array.dtype}",
            location=parameter.location,
            hint=f"convert it with .astype(numpy.{dtype})",
        )
    if array.ndim != rank:
        members = "" if batch is None else f", the first for the {batch} members of the batch"
        raise ArgumentError(
            f"{role}: expected {rank} dimension{'s' * (rank != 1)}{members}, got shape {array.shape}",
            location=parameter.location,
        )
    return array


def check_derivative(
    parameter: Parameter, given: Any, role: str, shape: tuple[int, ...], batch: int | None = None
) -> Array:
    """`given`, if it is an array that a derivative of an array argument may be: a cotangent, a tangent, a gradient.

    Args:
        parameter: the array argument.
        given: what the caller gave.
        role: what to call it in messages.
        shape: of the argument.
        batch: how many derivatives `given` must hold, along one more dimension, the first; None for one alone.

    Raises:
        ArgumentError: it is not.
    """
    array = check_array(parameter, given, role, batch)
    if batch is None and array.shape != shape:
        raise ArgumentError(
            f"{role}: expected the shape of {parameter.name}, {shape}, got {array.shape}", location=parameter.location
        )
    if batch is not None and array.shape != (batch, *shape):
        raise ArgumentError(
            f"{role}: expected {batch} of the shape of {parameter.name}, {(batch, *shape)}, got {array.shape}",
            location=parameter.location,
        )
    return array


def check_numbers(given: Any, role: str, dtype: np.dtype[Any], batch: int) -> Array:
    """`given` as an array of the derivatives of a number, one for each member of a batch.

    Args:
        given: what the caller gave: a sequence of numbers, or an array with one dimension.
        role: what to call it in messages.
        dtype: of the number.
        batch: how many.

    Raises:
        ArgumentError: it is something else.
    """
    expected = f"{role}: expected {batch} number{'s' * (batch != 1)} ({dtype}), one a member of the batch"
    try:
        numbers = np.asarray(given)
    except ValueError:
        raise ArgumentError(f"{expected}, got {_described(given)}") from None
    if numbers.dtype.kind not in ("fiuc" if dtype.kind == "c" else "fiu") or numbers.shape != (batch,):
        raise ArgumentError(f"{expected}, got {_described(given)}")
    return np.array(numbers, dtype)


def contiguous(array: Array) -> Array:
    """`array`, or a copy of it where its elements do not lie side by side, aligned, in C order."""
    return np.require(array, requirements=["C", "A"])


def _bind_array(parameter: Parameter, written: bool, argument: Any, structured: bool) -> BoundArray:
    array = check_array(parameter, argument, parameter.name)
    if written and not array.flags.writeable:
        raise ArgumentError(
            f"{parameter.name}: the kernel writes this array, but it is read-only",
            location=parameter.location,
            hint=f"pass a copy: {parameter.name}.copy()",
        )
    if written and overlaps_itself(array):
        raise ArgumentError(
            f"{parameter.name}: the kernel writes this array, but several of its elements share memory",
            location=parameter.location,
            hint=f"pass a copy: {parameter.name}.copy()",
        )
    return BoundArray(array, contiguous(array), written, structured)


def overlaps_itself(array: Array) -> bool:
    """Whether two elements of `array` may share memory, as after broadcasting or in a sliding window."""
    if array.size == 0:
        return False
    span = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * (extent - 1) + span
    return False


def _check_shape(parameter: Parameter, array: Array, values: Mapping[str, Bound]) -> None:
    """Compare the shape of `array` with the declared extents, which are known now that the integers are."""
    assert parameter.extents is not None
    expected: list[int] = []
    for extent, actual in zip(parameter.extents, array.shape, strict=True):
        value = extent_value(extent, values) if isinstance(extent, str) else extent
        # An extent below 0 is an empty array to the loops over it.
        expected.append(max(value, 0) if isinstance(value, int) else actual)
    if tuple(expected) != array.shape:
        declared = ", ".join("any" if extent is None else str(extent) for extent in parameter.extents)
        comma = "," * (len(expected) == 1)
        raise ArgumentError(
            f"{parameter.name}: expected shape ({declared}{comma}) = {tuple(expected)}, got {array.shape}",
            location=parameter.location,
        )


def _check_overlap(arrays: Sequence[tuple[Parameter, Array]]) -> None:
    for index, (parameter, array) in enumerate(arrays):
        for earlier, other in arrays[:index]:
            # Numbers of two types in the same structs are not the same memory.
            of_one = parameter.record is not None and parameter.source == earlier.source
            if not of_one and shares_memory(array, other):
                raise ArgumentError(
                    f"{earlier.name} and {parameter.name} share memory: a kernel's arrays must not overlap",
                    location=parameter.location,
                    hint=f"pass a copy of one of them: {parameter.name}.copy()",
                )


def shares_memory(a: Array, b: Array) -> bool:
    """Whether `a` and `b` overlap; arrays too intricate to tell count as overlapping."""
    try:
        # The stubs know only the two special values of max_work.
        return np.shares_memory(a, b, max_work=cast(Any, 1_000_000))
    except np.exceptions.TooHardError:
        return True


def _described(argument: Any) -> str:
    """What the caller gave, in a few words."""
    if isinstance(argument, np.ndarray):
        array = cast(Array, argument)
        return f"an array of {array.dtype} and shape {array.shape}"
    if isinstance(argument, (bool, int, float, complex, str)):
        return f"{type(argument).__name__} {argument!r}"
    return type(argument).__name__

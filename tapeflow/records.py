"""Structs on the Python surface: NumPy's structured arrays, seen as the arrays of numbers that a kernel takes.

A parameter of structs in C is one parameter of the kernel for each type of number in the struct: the same memory, seen
as an array of that type whose last dimension is one struct. A caller gives one structured array, and gets gradients
of the same kind; where all members have one type, a plain array of numbers will do too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr

from tapeflow.errors import ArgumentError

if TYPE_CHECKING:
    from tapeflow.arguments import Parameter

Array = NDArray[Any]


def record_type(described: DictionaryAttr) -> np.dtype[Any]:
    """The NumPy type of a struct, from the attribute that a frontend describes it with."""
    members = cast(ArrayAttr[DictionaryAttr], described.data["members"]).data
    return np.dtype(
        {
            "names": [_text(member.data["name"]) for member in members],
            "formats": [_member_format(member) for member in members],
            "offsets": [_number(member.data["offset"]) for member in members],
            "itemsize": _number(described.data["bytes"]),
        }
    )


def _member_format(member: DictionaryAttr) -> Any:
    element = np.dtype(_text(member.data["format"])) if "format" in member.data else record_type(member)
    shape = member.data.get("shape")
    return element if shape is None else (element, tuple(map(_number, cast(ArrayAttr[Any], shape))))


def _text(attribute: Any) -> str:
    return cast(StringAttr, attribute).data


def _number(attribute: Any) -> int:
    return cast(IntegerAttr[Any], attribute).value.data


def unpacked(parameters: Sequence[Parameter], arguments: Sequence[Any]) -> list[Any]:
    """`arguments`, one a parameter in C, as one for each of the kernel's `parameters`.

    Raises:
        ArgumentError: a structured array does not have the layout of the struct, or its parts are not side by side.
    """
    groups = _by_source(parameters)
    if len(arguments) != len(groups):
        return list(arguments)
    return [
        argument if parameter.record is None else _seen_as(parameter, argument, parameter.source, len(group) > 1)
        for group, argument in zip(groups, arguments, strict=True)
        for parameter in group
    ]


def separated(parameters: Sequence[Parameter], arguments: Sequence[Any]) -> list[Any]:
    """As `unpacked`, but the numbers of each type are a copy in which members of other types are zero."""
    structured = structured_names(parameters, arguments)
    result = unpacked(parameters, arguments)
    for position, parameter in enumerate(parameters):
        if parameter.record is not None and parameter.source in structured:
            structs = np.ascontiguousarray(result[position]).view(parameter.record)
            own = np.zeros(structs.shape, parameter.record)
            _copy_members(own, structs, parameter.dtype)
            result[position] = own.view(parameter.dtype)
    return result


def structured_names(parameters: Sequence[Parameter], arguments: Sequence[Any]) -> frozenset[str]:
    """The parameters in C for which `arguments`, one for each, are structured arrays."""
    groups = _by_source(parameters)
    if len(arguments) != len(groups):
        return frozenset()
    return frozenset(
        group[0].source for group, argument in zip(groups, arguments, strict=True) if is_structured(argument)
    )


def _by_source(parameters: Sequence[Parameter]) -> list[list[Parameter]]:
    return [list(group) for _, group in groupby(parameters, key=lambda parameter: parameter.source)]


def unpacked_names(
    parameters: Sequence[Parameter], given: Mapping[str, Any], role: str, batch: int | None = None
) -> dict[str, Any]:
    """`given`, by names of parameters in C, by names of the kernel's `parameters`; structs for their floats only.

    Of a batch the arrays have one dimension more, the first.

    Raises:
        ArgumentError: as `unpacked`, or they have no names; `role` is what to call them in messages.
    """
    by_name = cast(object, given)  # whatever the caller has
    if not isinstance(by_name, Mapping):
        raise ArgumentError(f"{role}: expected a dictionary by name, not {type(given).__name__}")
    result = dict(given)
    for parameter in parameters:
        if parameter.record is None or parameter.source not in given:
            continue
        argument = given[parameter.source]
        if parameter.name != parameter.source:
            result.pop(parameter.source, None)
        if parameter.is_float:
            several = parameter.name != parameter.source
            result[parameter.name] = _seen_as(parameter, argument, f"{role}['{parameter.source}']", several, batch)
    return result


def is_structured(argument: Any) -> bool:
    """Whether `argument` holds structs."""
    return isinstance(argument, (np.ndarray, np.void)) and cast(Array, argument).dtype.names is not None


def _seen_as(parameter: Parameter, argument: Any, role: str, must_be: bool, batch: int | None = None) -> Any:
    """The numbers of the type of `parameter` in a structured array; `argument` itself if it is no such array."""
    assert parameter.record is not None

    def refuse(reason: str, hint: str | None) -> ArgumentError:
        return ArgumentError(f"{role}: {reason}", location=parameter.location, hint=hint)

    if not is_structured(argument):
        if must_be:
            hint = f"make one with numpy.zeros(shape, kernel.dtype('{parameter.source}'))"
            raise refuse("expected a structured array: the members of the struct have several types", hint)
        return argument
    array: Array = np.asarray(argument)
    if not _same_layout(array.dtype, parameter.record):
        hint = f"make one with numpy.zeros(shape, kernel.dtype('{parameter.source}'))"
        raise refuse(f"expected structs of {parameter.record}, got {array.dtype}", hint)
    rank = len(parameter.extents or ()) - 1 + (batch is not None)
    if array.ndim != rank:
        members = "" if batch is None else f", the first for the {batch} members of the batch"
        raise refuse(f"expected {rank} dimension{'s' * (rank != 1)} of structs{members}, got shape {array.shape}", None)
    numbers: Array = np.empty(0)
    if array.flags.c_contiguous:
        numbers = array.reshape((*array.shape, 1)).view(parameter.dtype)
    if not array.flags.c_contiguous or not numbers.flags.aligned:
        raise refuse("the structs do not lie side by side in memory", "pass a copy: numpy.ascontiguousarray(...)")
    return numbers


def _same_layout(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether two types have the same members in the same places; unsigned numbers may be given as signed ones."""
    if given.names is None or wanted.names is None:
        kinds = {given.kind, wanted.kind}
        same = given.kind == wanted.kind or kinds == {"i", "u"}
        return same and given.names == wanted.names and given.itemsize == wanted.itemsize and given.isnative
    if given.names != wanted.names or given.itemsize != wanted.itemsize:
        return False
    for name in wanted.names:
        (one, *at), (other, *there) = (_member(dtype, name) for dtype in (given, wanted))
        if at != there or not _same_layout(one, other):
            return False
    return True


def _member(dtype: np.dtype[Any], name: str) -> tuple[np.dtype[Any], int, tuple[int, ...]]:
    """The type of a member's elements, its offset and its shape."""
    # The stubs know only fields with literal names.
    fields: Mapping[str, Any] = cast(Any, dtype.fields)
    member, offset = fields[name][:2]
    return member.base, offset, member.shape


def packed(parameters: Sequence[Parameter], values: Mapping[str, Any], structured: frozenset[str]) -> dict[str, Any]:
    """`values`, arrays by names of the kernel's `parameters`, by names in C: structured arrays for the `structured`.

    Members without a value are zero.
    """
    result: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name not in values:
            continue
        value = values[parameter.name]
        if parameter.record is None or parameter.source not in structured:
            result[parameter.name] = value
            continue
        structs = np.ascontiguousarray(value).view(parameter.record).reshape(value.shape[:-1])
        target = result.setdefault(parameter.source, np.zeros(structs.shape, parameter.record))
        _copy_members(target, structs, parameter.dtype)
    return result


def _copy_members(target: Array, source: Array, dtype: np.dtype[Any]) -> None:
    """Copy the members that are numbers of one type."""
    for name in target.dtype.names or ():
        inner = target[name]
        if inner.dtype.names is not None:
            _copy_members(inner, source[name], dtype)
        elif inner.dtype == dtype:
            target[name] = source[name]

"""Arguments for a kernel where the user has none at hand: named numbers and files, random numbers for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tapeflow.arguments import Array, Parameter
from tapeflow.errors import TapeflowError
from tapeflow.extents import extent_value, names_in

MOST_BYTES_DRAWN = 1 << 30
"""Of all arrays that are drawn for one kernel: gradients, copies and the tape come on top."""


def read_archive(path: Path) -> dict[str, Any]:
    """The arrays and numbers of an `.npz` file, by name.

    Raises:
        TapeflowError: the file is not such an archive.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays: dict[str, Array] = {name: archive[name] for name in archive.files}
    except Exception as error:  # of zip, zlib, tokenize, ...: NumPy passes on what its parts raise on damaged files
        raise TapeflowError(f"{path}: not an .npz archive of arrays ({error})") from error
    return {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}


def parse_assignment(text: str) -> tuple[str, int | float | complex | bool]:
    """`n=100` as a name and a number; `z=1+2j` is a complex one.

    Raises:
        ValueError: it has another form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"'{text}' is not of the form name=number")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, int(value, 0)
    except ValueError:
        try:
            number = complex(value)
            return name, number if "j" in value.lower() else number.real
        except ValueError:
            raise ValueError(f"'{text}': '{value}' is not a number") from None


def complete_arguments(
    parameters: Sequence[Parameter],
    given: Mapping[str, Any],
    *,
    seed: int = 0,
    interval: tuple[float, float] = (-1.0, 1.0),
) -> list[Any]:
    """Arguments for `parameters`, in order: those that are `given`, and random ones for the other floats.

    Args:
        parameters: of the kernel.
        given: numbers and arrays by name; a number given for an array of unknown length is that length.
        seed: of the generator.
        interval: that random numbers are drawn from, uniformly.

    Raises:
        TapeflowError: a name is unknown, an argument is missing that cannot be drawn, or the arrays would be too large.
    """
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            raise TapeflowError(f"the kernel has no parameter '{name}'", hint=f"its parameters: {', '.join(names)}")
    for parameter in parameters:
        _check_given(parameter, given)
    _check_size(parameters, given)
    rng = np.random.default_rng(seed)
    return [_argument(parameter, given, rng, interval) for parameter in parameters]


def _check_given(parameter: Parameter, given: Mapping[str, Any]) -> None:
    """Refuse an argument that is missing and cannot be drawn."""
    value = given.get(parameter.name)
    if parameter.is_float or (value is not None and (not parameter.is_array or np.ndim(value))):
        return
    example = f"an array {parameter.name} in an .npz file" if parameter.is_array else f"--arg {parameter.name}=..."
    raise TapeflowError(
        f"{parameter}: a value is needed, integers are not drawn at random",
        location=parameter.location,
        hint=f"give {example}",
    )


def _check_size(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> None:
    """Refuse to draw more than `MOST_BYTES_DRAWN`, before the system ends us for it."""
    total = 0
    for parameter in parameters:
        if not _is_drawn(parameter, given) or not parameter.is_array:
            continue
        total += prod(_shape(parameter, given)) * parameter.dtype.itemsize
        if total > MOST_BYTES_DRAWN:
            raise TapeflowError(
                f"{parameter}: arrays of {total:,} bytes would be drawn at random, at most {MOST_BYTES_DRAWN:,} are",
                location=parameter.location,
                hint=f"give smaller extents, or an array {parameter.name} in an .npz file",
            )


def _is_drawn(parameter: Parameter, given: Mapping[str, Any]) -> bool:
    """Whether no value is given that is more than the length of an array."""
    value = given.get(parameter.name)
    return parameter.is_float and (value is None or (parameter.is_array and not np.ndim(value)))


def _shape(parameter: Parameter, given: Mapping[str, Any]) -> list[int]:
    return [_extent(parameter, extent, given) for extent in parameter.extents or ()]


def _argument(
    parameter: Parameter, given: Mapping[str, Any], rng: np.random.Generator, interval: tuple[float, float]
) -> Any:
    value = given.get(parameter.name)
    if value is not None and (not parameter.is_array or np.ndim(value)):
        return value
    shape = _shape(parameter, given)
    drawn = rng.uniform(*interval, shape)
    if parameter.dtype.kind == "c":
        drawn = drawn + 1j * rng.uniform(*interval, shape)
    return np.asarray(drawn).item() if parameter.extents is None else np.asarray(drawn, parameter.dtype)


def _extent(parameter: Parameter, extent: int | str | None, given: Mapping[str, Any]) -> int:
    if isinstance(extent, int):
        return extent
    names = (parameter.name,) if extent is None else names_in(extent)
    for name in names:
        _check_length(parameter, name, given.get(name))
    value = given[parameter.name] if extent is None else extent_value(extent, given)
    if value is None:
        raise TapeflowError(f"{parameter}: its extent has no value", location=parameter.location)
    return max(value, 0)


def _check_length(parameter: Parameter, name: str, length: Any) -> None:
    """Refuse a missing part of an extent, or one that is no integer."""
    if length is None:
        raise TapeflowError(
            f"{parameter}: its extent is not known",
            location=parameter.location,
            hint=f"give --arg {name}=..." + (", its length" if name == parameter.name else ""),
        )
    if isinstance(length, bool) or not isinstance(length, int):
        raise TapeflowError(f"{parameter}: an extent is an integer, not {length!r}", location=parameter.location)

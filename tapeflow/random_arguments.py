"""Arguments for a kernel where the user has none at hand: named numbers and files, random numbers for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tapeflow.arguments import Array, Parameter
from tapeflow.errors import TapeflowError


def read_archive(path: Path) -> dict[str, Any]:
    """The arrays and numbers of an `.npz` file, by name.

    Raises:
        TapeflowError: the file is not such an archive.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays: dict[str, Array] = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, AttributeError) as error:
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
        TapeflowError: a name is unknown, or an argument is missing that cannot be drawn.
    """
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            raise TapeflowError(f"the kernel has no parameter '{name}'", hint=f"its parameters: {', '.join(names)}")
    rng = np.random.default_rng(seed)
    return [_argument(parameter, given, rng, interval) for parameter in parameters]


def _argument(
    parameter: Parameter, given: Mapping[str, Any], rng: np.random.Generator, interval: tuple[float, float]
) -> Any:
    value = given.get(parameter.name)
    if value is not None and (not parameter.is_array or np.ndim(value)):
        return value
    if not parameter.is_float:
        example = f"{parameter.name}=..." if not parameter.is_array else f"an array {parameter.name} in an .npz file"
        raise TapeflowError(
            f"{parameter}: a value is needed, integers are not drawn at random",
            location=parameter.location,
            hint=f"give {example}",
        )
    shape = [_extent(parameter, extent, given) for extent in parameter.extents or ()]
    drawn = rng.uniform(*interval, shape)
    if parameter.dtype.kind == "c":
        drawn = drawn + 1j * rng.uniform(*interval, shape)
    return np.asarray(drawn).item() if parameter.extents is None else np.asarray(drawn, parameter.dtype)


def _extent(parameter: Parameter, extent: int | str | None, given: Mapping[str, Any]) -> int:
    if isinstance(extent, int):
        return extent
    length = given.get(parameter.name if extent is None else extent)
    if length is None:
        name = parameter.name if extent is None else extent
        raise TapeflowError(
            f"{parameter}: its extent is not known", location=parameter.location, hint=f"give {name}=..."
        )
    if isinstance(length, bool) or not isinstance(length, int):
        raise TapeflowError(f"{parameter}: an extent is an integer, not {length!r}", location=parameter.location)
    return max(length, 0)

"""Where the members of a batch are: users have them along the first axis, generated code along the last.

The derivatives of one element lie side by side, in one line of the cache, where a compiler finds vectors. Those of a
complex element are pairs: generated code has the parts along the axis before the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

from tapeflow.arguments import Array
from tapeflow.complex_numbers import as_reals, real_type


def taken(array: Array, batch: int | None) -> Array:
    """A fresh array that generated code takes, of one as users have it: of a batch the first axis is the members."""
    return np.array(array if batch is None else np.moveaxis(as_reals(array), 0, -1), order="C")


def seen(array: Array, dtype: np.dtype[Any], batch: int | None) -> Array:
    """What users see of an array of generated code, of numbers of `dtype`: the same memory, unless it is complex."""
    if batch is None:
        return array
    first = np.moveaxis(array, -1, 0)
    return np.ascontiguousarray(first).view(dtype)[..., 0] if dtype.kind == "c" else first


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], batch: int | None) -> Array:
    """Derivatives of zero for an argument of `shape`, as generated code takes them."""
    if batch is None:
        return np.zeros(shape, dtype)
    parts = (2,) if dtype.kind == "c" else ()
    return np.zeros((*shape, *parts, batch), real_type(dtype))


def taken_numbers(derivatives: Iterable[Any]) -> Iterator[Any]:
    """What generated code takes of `derivatives` of scalars: the arrays of a batch, of complex numbers one a part."""
    for each in derivatives:
        if isinstance(each, np.ndarray) and each.ndim == 2:
            yield from cast(Array, each)
        else:
            yield each

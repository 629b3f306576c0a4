"""Where the members of a batch are: users have them along the first axis, generated code along the last.

The derivatives of one element lie side by side, in one line of the cache, where a compiler finds vectors.
"""

from __future__ import annotations

import numpy as np

from tapeflow.arguments import Array


def members_last(array: Array) -> Array:
    """A fresh array that generated code takes, of one whose first axis is the members."""
    return np.array(np.moveaxis(array, 0, -1), order="C")


def members_first(array: Array) -> Array:
    """What users see of an array of generated code: the same memory."""
    return np.moveaxis(array, -1, 0)


def zeros(shape: tuple[int, ...], dtype: np.dtype[np.generic], batch: int | None) -> Array:
    """Derivatives of zero for an argument of `shape`, as generated code takes them."""
    return np.zeros(shape if batch is None else (*shape, batch), dtype)

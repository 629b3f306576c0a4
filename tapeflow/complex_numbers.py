"""Complex numbers on the Python surface, which generated code has as pairs of floats, and sums of products over both.

The inner product of two complex numbers, as pairs, is `Re(conj(a) b)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute

from tapeflow.analysis.complex_pairs import is_complex

Array = NDArray[Any]


def real_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the parts of numbers of a floating-point type, real or complex."""
    return np.real(np.empty(0, dtype)).dtype


def wide_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in double precision of real or complex numbers of `dtype`."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def as_reals(numbers: Any) -> Array:
    """Numbers as an array of floats: complex ones as pairs along a last axis, as they lie in memory."""
    array: Array = np.asarray(numbers)
    return np.stack((np.real(array), np.imag(array)), -1) if np.iscomplexobj(array) else array


def whole_numbers(outcome: Sequence[Any], types: Sequence[Attribute]) -> list[Any]:
    """The numbers of `types` that `outcome`, results of a function in C, are the parts of."""
    parts = iter(outcome)
    return [complex(next(parts), next(parts)) if is_complex(type_) else next(parts) for type_ in types]


def products(numbers: Any, weights: Any) -> Array:
    """The terms of the inner product of `numbers` and `weights`, in double precision, in one dimension."""
    wide = np.result_type(wide_type(np.asarray(numbers).dtype), wide_type(np.asarray(weights).dtype))
    ours, theirs = (as_reals(np.asarray(each, wide)) for each in (numbers, weights))
    return np.ravel(ours * theirs)


def random_numbers(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    """Normally distributed numbers of `dtype`, real or complex."""
    drawn = rng.standard_normal(shape)
    if dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(shape)
    return np.asarray(drawn, dtype)

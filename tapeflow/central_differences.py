"""The derivative of a function of one real number by central differences, as exactly as its precision allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_STEPS = {np.dtype(np.float64): range(5, 29, 2), np.dtype(np.float32): range(2, 12, 1)}
"""Binary exponents of the steps tried, relative to the size of the argument."""


def derivative(objective: Callable[[float], float], scale: float, dtype: np.dtype[Any]) -> tuple[float, float]:
    """The derivative of `objective` at 0 by extrapolated central differences, and the step it was had with.

    Of ever smaller steps, truncation spoils the first and rounding the last, so the estimate is taken where two in
    sequence agree best.

    Args:
        objective: to differentiate.
        scale: what the steps are relative to, the magnitude of what moves with the argument.
        dtype: of the floats that `objective` computes with.
    """
    estimates = list(_estimates(objective, scale, _STEPS[dtype]))
    pairs = [(abs(b[0] - a[0]), b) for a, b in itertools.pairwise(estimates)]
    finite = [pair for pair in pairs if math.isfinite(pair[0])]
    return min(finite)[1] if finite else estimates[-1]


def _estimates(objective: Callable[[float], float], scale: float, exponents: range) -> Iterator[tuple[float, float]]:
    ratio = 4.0**exponents.step
    wide: float | None = None
    for exponent in exponents:
        step = 2.0**-exponent
        narrow = _central(objective, step * scale)
        if wide is not None:
            # Richardson: the errors in the square of the step cancel.
            yield (ratio * narrow - wide) / (ratio - 1), step
        wide = narrow


def _central(objective: Callable[[float], float], step: float) -> float:
    return (objective(step) - objective(-step)) / (2 * step)


def magnitude(numbers: Any) -> float:
    """A typical magnitude of `numbers`, real or complex; 1 where they are all 0."""
    elements = np.abs(np.asarray(numbers)).astype(np.float64)
    return float(np.sqrt(np.mean(elements**2))) or 1.0 if elements.size else 1.0

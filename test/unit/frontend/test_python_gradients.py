"""Python kernels go all the road: their gradients are those of the same kernels in C, and of differences."""

# ruff: noqa: F821
# The names in f64[n] are those of parameters.

from __future__ import annotations

import math

import numpy as np
import pytest
import python_suite

import tapeflow
from bench.suite import SUITE
from tapeflow.frontend.python import f64, i64, kernel

rng = np.random.default_rng(0)


@pytest.mark.parametrize("name", SUITE)
def test_gradients_are_those_of_the_kernel_in_c(name: str):
    suite_kernel = SUITE[name]
    from_c = tapeflow.gradient(tapeflow.load(suite_kernel.source, suite_kernel.function), list(suite_kernel.wrt))
    from_python = tapeflow.gradient(tapeflow.load(getattr(python_suite, name)), list(suite_kernel.wrt))
    expected, actual = (grad(*suite_kernel.arguments("mini").values()) for grad in (from_c, from_python))
    assert actual.value == pytest.approx(expected.value, rel=1e-13)
    for wrt in suite_kernel.wrt:
        np.testing.assert_allclose(actual.gradients[wrt], expected.gradients[wrt], rtol=1e-12, atol=1e-14)


@kernel
def gathered(n: int, k: int, data: f64[k], row: i64[k], column: i64[k], x: f64[n], y: f64[n]):
    """A sparse matrix in coordinates, times a vector."""
    y[:] = 0.0
    for at in range(k):
        y[row[at]] += data[at] * x[column[at]]


@kernel
def open_length(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[len(x) - 1 - i]
    return s / len(x)


def soft(x: float, eps: float = 1e-3) -> float:
    return math.sqrt(x * x + eps)


def scale(x, factor):
    for i in range(len(x)):
        x[i] = math.sin(x[i]) * factor


@kernel
def with_functions(n: int, x: f64[n], a: float) -> float:
    scale(x, a)
    t = x * a
    scale(t, 2.0)
    return soft(a) + np.sum(t) if n > 1 else soft(x[0])


@kernel
def guarded(n: int, x: f64[n]) -> float:
    if n == 0:
        return 0.0
    s = 0.0
    for i in range(n - 1, -1, -1):
        if x[i] < 0:
            continue
        s += np.where(x[i] > 0.5, 1.0 / x[i], x[i] ** 3)
    return max(s, x[0])


@pytest.mark.parametrize(
    ("function", "wrt", "arguments"),
    [
        (
            gathered,
            ["data", "x"],
            (4, 6, rng.normal(size=6), np.array([0, 1, -1, 3, 3, 2]), np.array([3, 1, 0, -2, 2, 1]),
             rng.normal(size=4), np.zeros(4)),
        ),
        (open_length, ["x"], (rng.normal(size=7),)),
        (with_functions, ["x", "a"], (5, rng.normal(size=5), 0.7)),
        (guarded, ["x"], (6, rng.normal(size=6))),
        (guarded, ["x"], (0, np.zeros(0))),
    ],
)  # fmt: skip
def test_gradients_are_those_of_differences(function, wrt, arguments):
    report = tapeflow.check(tapeflow.gradient(tapeflow.load(function), wrt), arguments)
    assert report.passed, report

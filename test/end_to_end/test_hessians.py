"""Hessians from batches of products with vectors: symmetric, and differences of gradients; the primal runs once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow

SOURCE = r"""
#include <math.h>

/* A while loop whose trip count depends on the data, with an in-place update and an early exit. */
double relaxed(int n, const double x[n], double work[n])
{
    double s = 1.0, left = 4.0;
    int k = 0;
    for (int i = 0; i < n; i++)
        work[i] = 0.5 * x[i];
    while (left > 0.1 && k < 20) {
        for (int i = 0; i < n; i++) {
            work[i] = work[i] * x[i] + 0.3 * sin(work[i] / s);
            s += work[i] * work[i];
        }
        left *= 0.6;
        k++;
        if (k == 7)
            break;
    }
    return log(s);
}

/* Functions of the library, and of math. */
double special(int n, const double x[n])
{
    double s = 0.0;
    for (int i = 1; i < n; i++)
        s += hypot(x[i], x[i - 1]) * erf(x[i]) + lgamma(1.0 + x[i] * x[i]) * erfc(x[i - 1])
             + pow(1.5 + sin(x[i]), x[i - 1]) + fmod(3.0 + x[i], 1.7) * tgamma(2.0 + x[i - 1]) + fdim(x[i], x[i - 1])
             + cbrt(2.0 + x[i]) * atan2(x[i], 2.0 + x[i - 1]);
    return s * s;
}

/* In float, with a branch. */
float single(int n, const float x[n])
{
    float p = 1.0f, s = 0.0f;
    for (int i = 0; i < n; i++) {
        p = x[i] > 0.0f ? p * (1.0f + x[i] * x[i]) : p + expf(x[i]) * x[i];
        s += tanhf(p * x[i]) + hypotf(p, x[i]);
    }
    return s * s;
}

double counted(int n, double runs[1], const double x[n])
{
    double s = 0.0;
    runs[0] += 1.0;
    for (int i = 0; i < n; i++)
        s += x[i] * sin(x[i]);
    return s;
}
"""

RNG = np.random.default_rng(8)
N = 5
STREAMED = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = Path(tmp_path_factory.mktemp("hessians")) / "hessians.c"
    path.write_text(SOURCE, encoding="utf-8")
    return path


KERNELS = {
    "relaxed": (np.float64, STREAMED, 1e-12, 1e-6),
    "special": (np.float64, tapeflow.Options(), 1e-12, 1e-6),
    "single": (np.float32, tapeflow.Options(layout="aos"), 1e-4, 0.03),
}
"""The type, how the tape is kept, and the relative errors of symmetry and of the differences."""


@pytest.mark.parametrize("name", KERNELS)
def test_hessian_is_symmetric_and_the_difference_of_gradients(path, name):
    dtype, options, symmetric, tolerance = KERNELS[name]
    kernel = tapeflow.load(path, name)
    x = (0.3 + 0.2 * RNG.normal(size=N)).astype(dtype)
    rest: list[Any] = [np.zeros(N)] if name == "relaxed" else []
    hvp = tapeflow.hvp(kernel, wrt=["x"], options=options, batch=N)
    found = hvp(N, x, *rest, vectors={"x": np.eye(N, dtype=dtype)})
    hessian = found.products["x"].astype(np.float64)
    size = np.abs(hessian).max()
    assert np.abs(hessian - hessian.T).max() <= symmetric * size
    grad = tapeflow.gradient(kernel, wrt=["x"])
    np.testing.assert_array_equal(found.gradients["x"], grad(N, x, *rest).gradients["x"])
    h = 1e-5 if dtype is np.float64 else 4e-3
    for k in range(N):
        ahead, behind = (x + (sign * h * np.eye(N)[k]).astype(dtype) for sign in (1, -1))
        sides = [grad(N, it, *rest).gradients["x"].astype(np.float64) for it in (ahead, behind)]
        step = float(ahead[k]) - float(behind[k])
        np.testing.assert_allclose(hessian[k], (sides[0] - sides[1]) / step, rtol=0, atol=tolerance * size)


def test_value_gradients_and_products_come_from_one_run_of_the_primal(path):
    kernel, x, runs = tapeflow.load(path, "counted"), RNG.normal(size=N), np.zeros(1)
    value, gradients = tapeflow.value_and_gradient(kernel, wrt=["x"])(N, runs, x)
    assert (value, runs[0]) == (pytest.approx(x @ np.sin(x), rel=1e-14), 1.0)
    np.testing.assert_allclose(gradients["x"], np.sin(x) + x * np.cos(x), rtol=1e-12)
    tapeflow.value_and_gradient(kernel, wrt=["x"], batch=3)(N, runs, x, seeds={"return": [1, 2, 3]})
    tapeflow.jvp(kernel, wrt=["x"], batch=3)(N, runs, x, tangents={"x": np.ones((3, N))})
    tapeflow.hvp(kernel, wrt=["x"], batch=3)(N, runs, x, vectors={"x": np.ones((3, N))})
    assert runs[0] == 4.0


def test_the_functions_of_the_primal_are_computed_as_often_in_a_batch(path):
    kernel = tapeflow.load(path, "counted")
    one, many = (tapeflow.gradient(kernel, wrt=["x"], batch=batch).c_source for batch in (None, 8))
    assert [text.count("sin(") for text in (one, many)] == [2, 2], "in the primal, and again instead of a tape"
    assert [text.count("cos(") for text in (one, many)] == [1, 1]

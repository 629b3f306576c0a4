"""Single and double precision in one kernel, in C and in Python: sums that are widened before, behind or never."""

# ruff: noqa: F821 # The names in f64[n] are those of parameters.

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow import f32, f64, kernel

pytestmark = pytest.mark.optimized

SOURCE = """
#include <math.h>
void sums(int n, const float x[n], const double w[n], double out[4])
{
    double wide = 0, late = 0;
    float narrow = 0, rounded = 0;
    for (int i = 0; i < n; i++) {
        wide += (double)x[i] * x[i];
        late += x[i] * x[i];
        narrow += w[i] * x[i];
        rounded += sinf((float)w[i]);
    }
    out[0] = wide;
    out[1] = sin(late);
    out[2] = narrow;
    out[3] = (double)rounded * rounded;
}
"""


@kernel
def sums(n: int, x: f32[n], w: f64[n], out: f64[4]):
    wide, late = np.float64(0.0), np.float64(0.0)
    narrow, rounded = np.float32(0.0), np.float32(0.0)
    for i in range(n):
        wide += np.float64(x[i]) * x[i]
        late += np.float64(x[i] * x[i])
        narrow = np.float32(narrow + w[i] * x[i])
        rounded += np.sin(np.float32(w[i]))
    out[0] = wide
    out[1] = np.sin(late)
    out[2] = narrow
    out[3] = np.float64(rounded) * rounded


def loaded(language: str, folder: Path) -> tapeflow.Kernel:
    if language == "python":
        return tapeflow.load(sums)
    path = folder / "sums.c"
    path.write_text(SOURCE)
    return tapeflow.load(path)


@pytest.mark.parametrize("language", ["c", "python"])
def test_sums_of_singles_and_doubles(language: str, tmp_path: Path):
    rng = np.random.default_rng(11)
    x, w = rng.normal(size=50).astype(np.float32), rng.normal(size=50)
    out, expected, seed = np.zeros(4), np.zeros(4), np.array([0.3, -1.1, 0.7, 0.9])
    gradient = tapeflow.gradient(loaded(language, tmp_path), wrt=["x", "w"])
    found = gradient(50, x, w, out, seeds={"out": seed}).gradients
    sums(50, x, w, expected)
    # In the order and with the roundings of the source; NumPy's float32 sine may differ in the last bit.
    np.testing.assert_array_equal(out[:3], expected[:3])
    np.testing.assert_allclose(out[3], expected[3], rtol=1e-6)
    late = np.sum((x * x).astype(np.float64))
    of_x = seed[0] * 2.0 * x + seed[1] * np.cos(late) * 2.0 * x + seed[2] * w
    of_w = seed[2] * x + seed[3] * 2.0 * np.sum(np.sin(w)) * np.cos(w)
    assert (found["x"].dtype, found["w"].dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(found["x"], of_x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["w"], of_w, rtol=1e-6, atol=1e-6)
    report = tapeflow.check(gradient, [50, x, w, out])
    assert report.passed, str(report)
    assert {check.precision for check in report.checks} == {"float32"}

"""Elements, and sums of adjoints, kept in registers, where some of the loops that they are in run no iteration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tapeflow

SOURCE = """
double weighted(int m, int n, int k, const double *x, const double *y, const double *z, double *w) {
  double s = 0;
  for (int i = 0; i < m; i++) {
    s += x[0] * (i + 1);
    for (int j = 0; j < n; j++) { s += y[0] * (j + 1) + x[0] * z[0]; w[0] = w[0] * 2 + y[0]; }
    for (int j = 0; j < k; j++) s += z[0] * (j + 3);
  }
  return s;
}
"""


@pytest.fixture(scope="module")
def gradient(tmp_path_factory: pytest.TempPathFactory) -> tapeflow.Gradient:
    path: Path = tmp_path_factory.mktemp("sums") / "weighted.c"
    path.write_text(SOURCE)
    return tapeflow.gradient(tapeflow.load(path), wrt=["x", "y", "z", "w"])


@pytest.mark.parametrize("m", [0, 3])
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("k", [0, 2])
def test_each_element_has_the_sum_of_the_loops_that_ran(gradient: tapeflow.Gradient, m: int, n: int, k: int):
    """That one loop runs no iteration takes nothing from what others add, to the same element or to another."""
    x, y, z, w, seed = 0.5, 1.5, 2.5, 3.0, 0.25
    # An array that only a loop without iterations reads has no element.
    y_array = np.full(1 if m and n else 0, y)
    z_array = np.full(1 if m and (n or k) else 0, z)
    w_array = np.full(1 if m and n else 0, w)
    seeds = {"w": np.full(len(w_array), seed)}
    found = gradient(m, n, k, np.array([x]), y_array, z_array, w_array, seeds=seeds).gradients
    powers = 2.0 ** (m * n)
    assert list(w_array) == pytest.approx([powers * w + (powers - 1) * y] * len(w_array))
    assert list(found["w"]) == pytest.approx([seed * powers] * len(w_array))
    assert found["x"] == pytest.approx([m * (m + 1) / 2 + m * n * z])
    assert list(found["y"]) == pytest.approx([m * n * (n + 1) / 2 + (powers - 1) * seed] * len(y_array))
    assert list(found["z"]) == pytest.approx([m * n * x + m * sum(range(3, k + 3))] * len(z_array))

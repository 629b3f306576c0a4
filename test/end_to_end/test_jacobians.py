"""Jacobians in both modes, against `autograd` and differences."""

import re
from pathlib import Path

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import tapeflow

SOURCE = r"""
#include <math.h>

void mix(int n, int m, const double x[n], double a, double A[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = sin(a * x[i]) * x[j % n] + A[i][j] * A[i][j];
}

double update(int n, float w[n], double c)
{
    double s = 0.0;
    for (int i = 1; i < n; i++) {
        w[i] = w[i] * w[i - 1];
        s += c * w[i];
    }
    return s;
}

int count(int n, const double x[n]) { return x[0] > 0.0; }
"""

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = Path(tmp_path_factory.mktemp("jacobians")) / "jacobians.c"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def mix(x, a, initial):
    n, m = initial.shape
    return anp.sin(a * x)[:, None] * x[anp.arange(m) % n][None, :] + initial**2


@pytest.mark.parametrize(("mode", "runs"), [("forward", 3), ("reverse", 2), (None, 2)])
def test_jacobian_is_autograds(path, mode, runs):
    n, m, x, a, initial = 3, 2, RNG.normal(size=3), 0.7, RNG.normal(size=(3, 2))
    jacobian = tapeflow.jacobian(tapeflow.load(path, "mix"), wrt=["x", "a", "A"], batch=4, mode=mode)
    state = initial.copy()
    result = jacobian(n, m, x, a, state)
    np.testing.assert_allclose(state, mix(x, a, initial), rtol=1e-15)
    assert (result.value, result.mode, result.runs) == (None, mode or "reverse", runs)
    assert result.jacobian.keys() == {"A"}
    for k, name in enumerate(("x", "a", "A")):
        expected = autograd.jacobian(mix, k)(x, a, initial)
        assert result.jacobian["A"][name].shape == expected.shape
        np.testing.assert_allclose(result.jacobian["A"][name], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_numbers_and_state_of_both_types(path, mode):
    w, c = np.array([1.5, -0.5, 2.0], np.float32), 0.3
    jacobian = tapeflow.jacobian(tapeflow.load(path, "update"), wrt=["w", "c"], mode=mode)
    result = jacobian(3, w, c)
    np.testing.assert_array_equal(w, np.array([1.5, -0.75, -1.5], np.float32))
    assert result.value == pytest.approx(0.3 * -2.25)
    found = result.jacobian
    assert found["return"]["c"] == pytest.approx(-2.25) and isinstance(found["return"]["c"], float)
    np.testing.assert_allclose(found["return"]["w"], c * np.array([-0.5 - 1.0, 1.5 + 3.0, -0.75]), rtol=1e-6)
    np.testing.assert_allclose(found["w"]["w"], [[1, 0, 0], [-0.5, 1.5, 0], [-1.0, 3.0, -0.75]], rtol=1e-6)
    np.testing.assert_array_equal(found["w"]["c"], np.zeros(3))
    assert (found["w"]["w"].dtype, found["return"]["w"].dtype) == (np.float32, np.float64)
    empty = jacobian(0, np.zeros(0, np.float32), c)
    assert empty.jacobian["w"]["w"].shape == (0, 0) and empty.jacobian["return"]["c"] == 0.0


def test_what_has_no_jacobian_is_refused(path):
    with pytest.raises(tapeflow.TapeflowError, match=re.escape("count has no output to differentiate")):
        tapeflow.jacobian(tapeflow.load(path, "count"), wrt=["x"])
    kernel = tapeflow.load(path, "mix")
    with pytest.raises(tapeflow.TapeflowError, match=re.escape("mode='backward' is no mode")):
        tapeflow.jacobian(kernel, wrt=["x"], mode="backward")
    with pytest.raises(tapeflow.TapeflowError, match="batch=0"):
        tapeflow.jacobian(kernel, wrt=["x"], batch=0)
    with pytest.raises(tapeflow.ArgumentError, match="x: expected elements of float64"):
        tapeflow.jacobian(kernel, wrt=["x"])(3, 2, np.zeros(3, int), 1.0, np.zeros((3, 2)))

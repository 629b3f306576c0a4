"""How exact a derivative can be: the shortest type on the way from an argument to what is returned or written."""

import numpy as np
import pytest

import tapeflow
from tapeflow.path_precision import path_precisions

SOURCE = """
void stored(int n, const double x[n], float y[n], const float w[n], double z[n])
{
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i] + 0.1 * x[(i + 1) % n];
        z[i] = z[i] * w[i];
    }
}
double weighted(int n, const double x[n], const float w[n])
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * w[i];
    return s;
}
double through(int n, double x, double y)
{
    float t[3];
    for (int i = 0; i < 3; i++)
        t[i] = x * i;
    return t[n % 3] * y + (float)n;
}
static double power(int n, double x) { return n ? power(n - 1, x) * (float)x : 1.0; }
double called(int n, double x, double y) { return power(n, x) + y; }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("precision") / "k.c"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("function", "wrt", "expected"),
    [
        ("stored", "x", "y (k.c:2:45), which depends on it, is of float32"),
        ("stored", "z", ""),
        ("stored", "w", "w is of float32"),
        # What is constant under differentiation has no part in how exact the derivative is.
        ("weighted", "x", ""),
        ("through", "x", "t (k.c:18:11), which depends on it, is of float32"),
        ("through", "y", ""),
        ("called", "x", "power, which is called on the way, computes in float32"),
        ("called", "y", ""),
    ],
)
def test_the_shortest_type_behind_an_argument(path, function, wrt, expected):
    gradient = tapeflow.gradient(tapeflow.load(path, function), wrt=[wrt])
    found = path_precisions(gradient.compiled)[wrt]
    assert found.because.replace(f"{path.parent}/", "") == expected
    assert found.dtype == (np.float32 if expected else np.float64)


def test_a_check_goes_by_it_and_says_so(path):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=9).astype(t) for t in (np.float64, np.float32, np.float32, np.float64)]
    gradient = tapeflow.gradient(tapeflow.load(path, "stored"), wrt=["x", "z"])
    report = tapeflow.check(gradient, [9, *arrays])
    assert report.passed
    assert [check.precision for check in report.checks] == ["float32"] * 2 + ["float64"] * 2
    *_, last = str(report).splitlines()
    assert last.startswith("tolerances for x: 0.02, dot product 0.001: y (")

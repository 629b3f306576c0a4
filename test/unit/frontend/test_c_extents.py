"""Outermost extents that are expressions: what a call's arrays are checked against."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.arguments import parameters_of
from tapeflow.errors import ArgumentError
from tapeflow.extents import extent_value, names_in
from tapeflow.frontend.c import import_c
from tapeflow.random_arguments import complete_arguments

EXTENTS = [
    ("n + 1", "n + 1", lambda n, m: n + 1),
    ("n-(m-2)", "n - (m - 2)", lambda n, m: n - (m - 2)),
    ("(n + m) * 2", "(n + m) * 2", lambda n, m: (n + m) * 2),
    ("n * (m + WIDTH)", "n * (m + 3)", lambda n, m: n * (m + 3)),
    ("n / m / 2", "n / m / 2", lambda n, m: n // m // 2),
    ("n / (m / 2)", "n / (m / 2)", lambda n, m: n // (m // 2)),
    ("((n))", "n", lambda n, m: n),
    ("n + -1", "n + (-1)", lambda n, m: n - 1),
    ("WIDTH * WIDTH", "9", lambda n, m: 9),
]


@pytest.mark.parametrize(("written", "spelled", "value"), EXTENTS, ids=[written for written, _, _ in EXTENTS])
def test_extents_are_computed_as_c_computes_them(written, spelled, value):
    text = f"#define WIDTH 3\ndouble f(int n, int m, const double x[{written}]) {{ return x[0]; }}"
    (function,) = import_c(text).ops
    extents = parameters_of(function)[2].extents
    assert extents == (int(spelled) if spelled.isdecimal() else spelled,)
    for n, m in ((4, 2), (9, 4), (0, 3)):
        assert extent_value(spelled, {"n": n, "m": m}) == value(n, m)


def test_division_is_towards_zero_and_never_by_zero():
    assert extent_value("n / m", {"n": -7, "m": 2}) == -3
    assert extent_value("n / m", {"n": -7, "m": -2}) == 3
    assert extent_value("n / m", {"n": 7, "m": 0}) is None
    assert extent_value("n + m", {"n": 7}) is None
    assert extent_value("lambda", {"lambda": 7}) == 7
    assert names_in("n * (m + n)") == ("n", "m")


KERNEL = """
double f(int n, int m, const double x[n + 1], double y[2 * m]) {
  double s = 0;
  for (int i = 0; i <= n; i++) s += x[i] * x[i];
  y[2 * m - 1] = s;
  return s;
}
"""


def test_arrays_are_checked_at_the_call_and_drawn(tmp_path: Path):
    path = tmp_path / "k.c"
    path.write_text(KERNEL)
    gradient = tapeflow.gradient(tapeflow.load(path), wrt=["x"])
    np.testing.assert_array_equal(gradient(2, 1, np.arange(3.0), np.zeros(2)).gradients["x"], [0, 2, 4])
    with pytest.raises(ArgumentError, match=r"k\.c:2:37: error: x: expected shape \(n \+ 1,\) = \(3,\), got \(2,\)"):
        gradient(2, 1, np.zeros(2), np.zeros(2))
    with pytest.raises(ArgumentError, match=r"y: expected shape \(2 \* m,\) = \(4,\), got \(3,\)"):
        gradient(2, 2, np.zeros(3), np.zeros(3))
    drawn = complete_arguments(gradient.parameters, {"n": 2, "m": 3})
    assert [array.shape for array in drawn[2:]] == [(3,), (6,)]

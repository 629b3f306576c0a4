"""What users of other differentiators report, each as a kernel here with the right value.

The reports are of Enzyme, Clad, Slang, Taichi, JAX and ADBench; each test names the trouble, none copies their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipelines import PIPELINES, REFERENCE, gradient_at

import tapeflow
from tapeflow.api import Gradient
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check

SIZES = (0, 1, 2, 7)


def compiled(folder: Path, text: str, wrt: Sequence[str], pipeline: str = REFERENCE) -> Gradient:
    source = folder / "kernel.c"
    source.write_text(text)
    return gradient_at(pipeline, tapeflow.load(source, "f"), tuple(wrt))


def assert_right(grad: Gradient, arguments: list[Any]) -> None:
    """The gradient is that of central differences, and a second call gives the same."""
    report = check(grad, arguments)
    assert report.passed, str(report)
    seeds = (
        None if grad.returns_float else {name: np.ones_like(arguments[grad.position(name)]) for name in grad.outputs}
    )
    first, second = (
        grad(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments), seeds=seeds) for _ in range(2)
    )
    for name, value in first.gradients.items():
        np.testing.assert_array_equal(value, second.gradients[name])


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.2, 0.9, shape)


INDEPENDENT = """
#include <math.h>
double f(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double v = sin(x[i]) * x[i];
    s += v * v;
  }
  return s;
}
"""


@pytest.mark.parametrize("n", SIZES)
def test_independent_iterations_tape_nothing(tmp_path: Path, n: int):
    grad = compiled(tmp_path, INDEPENDENT, ["x"])
    assert grad.tape_report().regions == ()
    assert_right(grad, [n, numbers(n)])


PAIRS = """
#include <math.h>
double f(int n, double x[n])
{
  double e = 0;
  for (int t = 0; t < n; t++) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) {
        double d = x[i] - x[j];
        e += d * d / (1 + d * d);
      }
    for (int i = 0; i < n; i++)
      x[i] = sin(x[i]);
  }
  return e;
}
"""


@pytest.mark.parametrize("n", SIZES)
def test_the_tape_of_pairwise_loops_is_a_formula(tmp_path: Path, n: int):
    """Memory of pairwise interactions is known in advance, from the bounds of the loops."""
    grad = compiled(tmp_path, PAIRS, ["x"])
    assert_right(grad, [n, numbers(n)])
    for region in grad.tape_report().regions:
        assert region.records is not None, "every count is a formula"
        assert region.bytes is not None


NESTED = """
#include <math.h>
double f(int n, const int row[n], double x[n])
{
  double s = 1;
  for (int i = 0; i < n; i++)
    for (int j = i; j < row[i]; j++)
      for (int k = j; k < n; k += i + 1)
        s = s * 0.5 + cos(s * x[k] * (i + 1) + j) / (k + 1);
  return s;
}
"""


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("n", SIZES)
def test_nested_run_time_loops_that_use_their_variables(tmp_path: Path, n: int, pipeline: str):
    row = np.array([(5 * i) % (n + 2) for i in range(n)], dtype=np.int32)
    assert_right(compiled(tmp_path, NESTED, ["x"], pipeline), [n, row, numbers(n)])


LARGE_INNER = """
#include <math.h>
double f(int n, int m, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double v = x[i];
    for (int k = 0; k < m; k++)
      v = sin(v) + 0.1 * v;
    s += v;
  }
  return s;
}
"""


def test_large_inner_loops(tmp_path: Path):
    n, m = 3, 200_000
    grad = compiled(tmp_path, LARGE_INNER, ["x"])
    x = numbers(n)
    found = grad(n, m, x).gradients["x"]
    for i in range(n):
        v, d = float(x[i]), 1.0
        for _ in range(m):
            d *= np.cos(v) + 0.1
            v = np.sin(v) + 0.1 * v
        assert found[i] == pytest.approx(d, rel=1e-9, abs=1e-300)
    (region,) = grad.tape_report().regions
    assert (region.record_bytes, region.bytes) == (8, 8 * n * m)


POINTER_SELECT = """
double f(int n, int which, const double table[n], const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    const double *from = which > i ? x : table;
    s += from[i] * from[i];
  }
  return s;
}
"""


def test_a_pointer_that_may_be_constant_or_active_is_right_or_refused(tmp_path: Path):
    n, which = 5, 3
    table, x = numbers(n), numbers(n) + 1
    try:
        grad = compiled(tmp_path, POINTER_SELECT, ["x"])
    except TapeflowError as error:
        assert error.position is not None and "kernel.c:" in error.position and error.hint
        return
    found = grad(n, which, table, x).gradients["x"]
    np.testing.assert_array_equal(found, np.where(np.arange(n) < which, 2 * x, 0))


UNTAKEN = """
#include <math.h>
double f(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += x[i] > 0 ? sqrt(x[i]) : 0;
    if (x[i] != 0)
      s += sin(x[i]) / x[i];
    else
      s += 1;
    double inverse = 1 / x[i], third = inverse / 3;
    s += x[i] != 0 ? third : 2 * x[i];
    s += x[i] >= 0 ? 1 / (1 + exp(-x[i])) : exp(x[i]) / (1 + exp(x[i]));
  }
  return s;
}
"""


def test_an_untaken_branch_that_would_divide_by_zero_stays_out(tmp_path: Path):
    x = np.array([0.0, 4.0, -1.0, -1000.0, 1000.0])
    found = compiled(tmp_path, UNTAKEN, ["x"])(5, x).gradients["x"]
    root = np.array([0.5 / np.sqrt(v) if v > 0 else 0.0 for v in x])
    slope = np.array([(np.cos(v) * v - np.sin(v)) / v**2 - 1 / (3 * v**2) if v else 2.0 for v in x])
    small = np.exp(-abs(x))
    np.testing.assert_allclose(found, root + slope + small / (1 + small) ** 2, rtol=1e-14)


LOGSUM = """
#include <math.h>
double f(int n, const double x[n])
{
  double top = x[0];
  for (int i = 1; i < n; i++)
    top = fmax(top, x[i]);
  double s = 0;
  for (int i = 0; i < n; i++)
    s += exp(x[i] - top);
  return top + log(s);
}
"""


def test_a_shifted_log_of_sums_is_finite_at_a_thousand(tmp_path: Path):
    x = np.array([1000.0, 999.0, -1000.0, 1000.5])
    found = compiled(tmp_path, LOGSUM, ["x"])(4, x).gradients["x"]
    weights = np.exp(x - x.max())
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-14)


ALIASES = """
double f(int n, double y[n], const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    y[i] = x[i] * x[i];
  for (int i = 0; i < n; i++)
    s += y[i] * x[i];
  return s;
}
"""


def test_parameters_do_not_overlap_so_what_is_only_read_is_not_taped(tmp_path: Path):
    grad = compiled(tmp_path, ALIASES, ["x"])
    assert grad.tape_report().regions == ()
    x = numbers(4)
    np.testing.assert_allclose(grad(4, np.zeros(4), x).gradients["x"], 3 * x**2, rtol=1e-14)
    with pytest.raises(TapeflowError, match="share memory"):
        grad(4, x, x)


def test_the_tape_is_one_reservation_however_long_the_loop(tmp_path: Path):
    """Not an allocation a value, nor one that grows: its size is known on entry."""
    grad = compiled(tmp_path, LARGE_INNER, ["x"])
    assert grad.c_source.count("tf_reserve") == 1
    assert "malloc" not in grad.c_source


UNKNOWN = """
double mystery(double x);
double f(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    s += mystery(x[i]);
  return s;
}
"""


def test_an_unknown_callee_is_named_with_its_place_and_a_way_out(tmp_path: Path):
    with pytest.raises(TapeflowError) as refused:
        compiled(tmp_path, UNKNOWN, ["x"])
    assert "mystery" in refused.value.message
    assert refused.value.position is not None and refused.value.position.endswith("kernel.c:7:10")
    assert refused.value.hint


UNTIL = """
#include <math.h>
double f(double x)
{
  double y = x, step = 1;
  int rounds = 0;
  while (fabs(step) > 1e-13) {
    step = (y * y - x) / (2 * y);
    y -= step;
    rounds++;
  }
  return y * rounds / rounds;
}
"""


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_while_loop_has_a_reverse(tmp_path: Path, pipeline: str):
    grad = compiled(tmp_path, UNTIL, ["x"], pipeline)
    for x in (1.0, 2.0, 700.0):
        assert grad(x).gradients["x"] == pytest.approx(0.5 / np.sqrt(x), rel=1e-12)

"""`#pragma tapeflow rule(...)`: derivatives that a C file gives, with a scale in them that shows that they are used."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.errors import TapeflowError

SOURCE = """
#include <math.h>
#pragma tapeflow rule(root, vjp=root_vjp, jvp=root_jvp)
static double root(double x, int n)
{
  double y = x;
  for (int i = 0; i < n; i++) y = 0.5 * (y + x / y);
  return y;
}
static double root_vjp(double x, int n, double y_b) { return SCALE * y_b / (2 * root(x, n)); }
static double root_jvp(double x, int n, double x_d, double *y_d)
{
  const double y = root(x, n);
  *y_d = SCALE * x_d / (2 * y);
  return y;
}
#pragma tapeflow rule(blend, vjp=blend_vjp)  // of two numbers and an array
static double blend(double a, double b, int n, const double w[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) s += w[i] * a * b;
  return s;
}
static void blend_vjp(double a, double b, int n, const double w[n], double s_b, double w_b[n], double *a_b, double *b_b)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += w[i];
    w_b[i] += SCALE * s_b * a * b;
  }
  *a_b = SCALE * s_b * s * b;
  *b_b = SCALE * s_b * s * a;
}
double f(int n, const double x[n], const double w[n], double c)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += root(x[i] * c, 40) * blend(x[i], c, n, w);
  return s;
}
"""
X, W = np.array([0.5, 1.7, 2.2]), np.array([0.3, 0.9, -0.4])


def kernel(folder: Path, scale: str, text: str = SOURCE) -> tapeflow.Kernel:
    path = folder / "rules.c"
    path.write_text(text.replace("SCALE", scale))
    return tapeflow.load(path, function="f")


def value(x: np.ndarray, w: np.ndarray, c: float) -> float:
    return float(np.sum(np.sqrt(x * c) * np.sum(w) * x * c))


def test_the_rules_are_used_in_both_modes(tmp_path: Path):
    right, twice = (tapeflow.gradient(kernel(tmp_path, scale), ["x", "w", "c"]) for scale in ("1.0", "2.0"))
    ways = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.7, -0.3]), 0.4
    ours, doubled = (it(3, X, W, 0.8).gradients for it in (right, twice))

    def moved(t: float) -> float:
        return value(X + t * ways[0], W + t * ways[1], 0.8 + t * ways[2])

    h = 1e-4
    slope = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    found = ours["x"] @ ways[0] + ours["w"] @ ways[1] + ours["c"] * ways[2]
    assert found == pytest.approx(slope, rel=1e-9)
    for name in ("x", "w", "c"):
        np.testing.assert_allclose(doubled[name], 2 * ours[name], rtol=1e-14)
    forward = tapeflow.jvp(kernel(tmp_path, "1.0"), ["x", "w", "c"])
    ahead = forward(3, X, W, 0.8, tangents={"x": ways[0], "w": ways[1], "c": ways[2]})
    assert ahead.tangents["return"] == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "vjp=blend_vjp",
            "vjp=blend_vip",
            r"rules.c:17:1: error: a rule names 'blend_vip', which this file does not",
        ),
        ("rule(blend, vjp=", "rule(blend vjp=", r"rules.c:17:1: error: this pragma is not known"),
        (
            "vjp(double x, int n, double y_b)",
            "vjp(double x, double y_b, int n)",
            r"rules.c:3:1: error: 'root_vjp' does not fit as the vjp of 'root'\n.*root_vjp\(double, int, double\)'",
        ),
    ],
)
def test_what_does_not_fit_is_refused_at_the_pragma(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(TapeflowError, match=message):
        kernel(tmp_path, "1.0", SOURCE.replace(old, new))


def test_a_plain_compiler_passes_over_the_pragma(tmp_path: Path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not there")
    path = tmp_path / "rules.c"
    path.write_text(SOURCE.replace("SCALE", "1.0"))
    subprocess.run(["gcc", "-std=c99", "-pedantic", "-Werror", "-fsyntax-only", str(path)], check=True)


TRIPLED = """
#pragma tapeflow rule(tripled, vjp=tripled_vjp, jvp=tripled_jvp)
static void tripled(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = 3 * x[i]; }
static void tripled_vjp(int n, const double *x, double *y, double *x_b, double *y_b)
{
  for (int i = 0; i < n; i++) x_b[i] += 3 * y_b[i];
  for (int i = 0; i < n; i++) y_b[i] = 0;  // and with it x_b[i], if both were one
  UNDO
}
static void tripled_jvp(int n, const double *x, double *y, double *x_d, double *y_d)
{
  for (int i = 0; i < n; i++) y[i] = 3 * x[i], y_d[i] = 3 * x_d[i];
}
double f(int n, double x[n], double y[n])
{
  tripled(n, x, Y);
  return Y[0] * Y[n - 1];
}
"""


def tripled(folder: Path, *, y: str, undo: str) -> tapeflow.Kernel:
    path = folder / "tripled.c"
    path.write_text(TRIPLED.replace("Y", y).replace("UNDO", undo))
    return tapeflow.load(path, function="f")


def test_one_array_for_two_of_a_rule_is_refused(tmp_path: Path):
    assert tapeflow.gradient(tripled(tmp_path, y="y", undo=""), wrt=["x"])(
        2, np.array([2.0, 5.0]), np.zeros(2)
    ).gradients["x"] == pytest.approx([45, 18])
    aliased = tripled(tmp_path, y="x", undo="")
    for derivative in (tapeflow.gradient, tapeflow.jvp):
        with pytest.raises(TapeflowError, match=r"tripled\.c:16:3: .*'tripled', which has a rule, is given one array"):
            derivative(aliased, wrt=["x"])


def test_a_vjp_that_writes_to_the_primal_is_refused(tmp_path: Path):
    undoing = tripled(tmp_path, y="y", undo="for (int i = 0; i < n; i++) y[i] = 0;")
    with pytest.raises(TapeflowError, match=r"tripled\.c:4:\d+: .*'tripled_vjp', may write to 'y' of the primal"):
        tapeflow.gradient(undoing, wrt=["x"])


UNREAD = """
#pragma tapeflow rule(first, vjp=first_vjp)
double first(double a, double b, const double *x) { return a + b + 3 * x[0]; }
double first_vjp(double a, double b, const double *x, double r_b, double *x_b, double *b_b)
{
  x_b[0] += 3 * r_b;
  *b_b = r_b;
  return r_b;
}
double f(int n, double x[n], const double y[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += first(y[i], s, x);
    x[0] = s * s;
  }
  return s;
}
"""


def test_an_array_that_a_vjp_is_only_handed_may_change_after_the_call(tmp_path: Path):
    options = tapeflow.Options(inline_limit=0)
    gradient = tapeflow.gradient(kernel(tmp_path, "1.0", UNREAD), ["x", "y"], options)
    report = tapeflow.check(gradient, [3, np.array([0.2, 0.0, 0.0]), np.array([0.1, 0.3, -0.2])], forward=False)
    assert report.passed, str(report)


ARRAYS = """
#include <math.h>
static double twice(double x) { return x * x; }
static void spread(int n, double seed, double b[n], const double x[n])
{
  for (int i = 0; i < n; i++) b[i] += 2.0 * twice(x[i]) / x[i] * seed;
}
#pragma tapeflow rule(norm, vjp=norm_vjp)
static double norm(int n, const double x[n])
{
  double s = 0.0;
  for (int i = 0; i < n; i++) s += twice(x[i]);
  return s;
}
static void norm_vjp(int n, const double x[n], double seed, double x_b[n]) { spread(n, seed, x_b, x); }
static double power(double x, int n) { return n <= 0 ? 1.0 : x * power(x, n - 1); }
#pragma tapeflow rule(cube, vjp=cube_vjp)
static double cube(double x) { return x * x * x; }
static double cube_vjp(double x, double seed) { return 3.0 * power(x * seed, 2) / seed; }

double after(int n, double x[n])
{
  double r = norm(n, x);
  x[0] = sin(r);
  return x[0] + r;
}
double loop(int n, double x[n])
{
  double r = 0;
  for (int k = 0; k < 3; k++) { r += norm(n, x); x[0] = sin(r); }
  return r;
}
double local(int n, double x[n])
{
  double r = 0;
  for (int k = 0; k < 3; k++) {
    double t[8];
    for (int i = 0; i < n; i++) t[i] = x[i] * k;
    r += norm(n, t);
  }
  return r;
}
static double kept(int n, const double x[n]) { return norm(n, x) * x[0]; }
double nested(int n, double x[n])
{
  double r = sin(kept(n, x));
  x[0] = r;
  return r;
}
static double descend(int k, int n, const double x[n])
{
  return k == 0 ? kept(n, x) : sin(norm(n, x)) * descend(k - 1, n, x) + x[0];
}
double handed_on(int n, const double x[n]) { return descend(3, n, x); }
double handed_on_locally(int n, const double x[n])
{
  double t[8];
  for (int i = 0; i < n; i++) t[i] = x[i];
  return descend(3, n, t);
}

double copied(int n, double x[n])
{
  double t[8];
  for (int i = 0; i < n; i++) t[i] = x[i];
  double r = sin(norm(n, t)) * cube(x[1]);
  x[0] = r;
  return x[0] + r;
}
"""
KEPT = tapeflow.Options(inline_limit=0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("after", "changes after this call\n  help: copy it before, and give the call the copy"),
        (
            "loop",
            "changes after this call, in the loop or branch that it is in\n  help: give the rule to a",
        ),
        ("local", "is local to a loop or branch, and gone by then\n  help: give the rule to a function that takes"),
        (
            "nested",
            "may change between the sweeps of the function that this call is in, which stays a call itself\n"
            "  help: hand on one that is given from outside and that nobody writes to; or give the rule to a",
        ),
        ("handed_on_locally", "may change between the sweeps of the function that this call is in"),
    ],
)
def test_an_array_that_a_rule_looks_at_too_late(tmp_path: Path, function: str, message: str):
    path = tmp_path / "rules.c"
    path.write_text(ARRAYS)
    with pytest.raises(TapeflowError) as caught:
        tapeflow.gradient(tapeflow.load(path, function=function), wrt=["x"], options=KEPT)
    assert message in str(caught.value)


def test_an_array_that_nobody_writes_to_is_handed_on_by_a_recursion(tmp_path: Path):
    path = tmp_path / "rules.c"
    path.write_text(ARRAYS)
    gradient = tapeflow.gradient(tapeflow.load(path, function="handed_on"), wrt=["x"], options=KEPT)
    x = np.array([0.3, 0.4])
    report = tapeflow.check(gradient, [2, x], forward=False)
    assert report.passed, report


def test_what_a_rule_calls_is_there_for_each_member_of_a_batch(tmp_path: Path):
    path = tmp_path / "rules.c"
    path.write_text(ARRAYS)
    gradient = tapeflow.gradient(tapeflow.load(path, function="copied"), wrt=["x"], options=KEPT, batch=2)
    x, seeds = np.array([0.3, 0.4]), np.array([1.0, -0.5])
    one = 2 * (2 * x * np.cos(x @ x) * x[1] ** 3 + np.array([0, 3 * x[1] ** 2]) * np.sin(x @ x))
    by_rule = gradient(2, x.copy(), seeds={"return": seeds}).gradients["x"]
    # spread is inlined; power, recursive and of numbers, is called for each member with its own seed.
    np.testing.assert_allclose(by_rule, np.outer(seeds, one), rtol=1e-14)


def test_a_function_with_a_rule_takes_no_structs(tmp_path: Path):
    (tmp_path / "f.c").write_text(
        """typedef struct { double a, b; } P;
        #pragma tapeflow rule(g, vjp=g_vjp)
        double g(int n, const P p[n]) { return p[0].a * p[0].b; }
        void g_vjp(int n, const P p[n], double r_b, P p_b[n]) { p_b[0].a += r_b * p[0].b; }
        double f(int n, const P p[n]) { return g(n, p) * 2; }
        """
    )
    with pytest.raises(tapeflow.TapeflowError, match=r"f.c:3:\d+: error: 'g' takes or returns a struct"):
        tapeflow.load(tmp_path / "f.c", function="f")

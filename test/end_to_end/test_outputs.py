"""Gradients of some outputs alone: those of all outputs with the other cotangents zero, without the work for these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tapeflow
from tapeflow.arguments import ArgumentError

KERNELS = """
#include <complex.h>
#include <math.h>
typedef struct { double at, speed; float mass; } Body;

double f(int n, int m, const double x[n][m], double *w, double y[n + 1][m], double u[n], int count[n]) {
  double loss = 0;
  for (int i = 0; i < n; i++) {
    count[i] = i;
    for (int j = 0; j < m; j++) {
      w[i * m + j] = sin(x[i][j]) * u[i];
      y[i][j] = exp(w[i * m + j]);
      loss += w[i * m + j] * w[i * m + j];
    }
    u[i] = u[i] * u[i];
  }
  return loss;
}

void g(int n, const double a[n], Body bodies[n], double _Complex z[n], double out[1]) {
  for (int i = 0; i < n; i++) {
    bodies[i].at = a[i] * a[i];
    bodies[i].speed = bodies[i].at * a[i] * bodies[i].mass;
    z[i] = a[i] * (bodies[i].speed + 2.0 * I);
    out[0] += creal(z[i] * z[i]);
  }
}

double h(int n, const double x[n], double u[n], double w[n]) {
  double sum = 0;
  for (int i = 0; i < n; i++) w[i] = x[i] * x[i];
  for (int i = 0; i < n; i++) {
    u[i] = u[i] * w[i] + w[n - 1 - (n - 1 - i)];
    sum += w[i];
  }
  return sum;
}

static void halve(int k, double t[8]) {
  if (k <= 0) return;
  t[k - 1] = t[k] * t[k] / 2;
  halve(k - 1, t);
}

double r(double x, double t[8]) {
  t[7] = x;
  halve(7, t);
  return t[0] + t[4];
}
"""
RNG = np.random.default_rng(5)
BODIES = np.array([(0, 0, 1.5), (0, 0, 0.5)], np.dtype([("at", "f8"), ("speed", "f8"), ("mass", "f4")], align=True))
ARGUMENTS: dict[str, list[Any]] = {
    "f": [2, 3, RNG.normal(size=(2, 3)), np.zeros(6), np.zeros((3, 3)), RNG.normal(size=2), np.zeros(2, np.int32)],
    "g": [2, RNG.normal(size=2), BODIES, np.zeros(2, np.complex128), np.zeros(1)],
    "r": [0.9, np.zeros(8)],
}
Load = Callable[[str], tapeflow.Kernel]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    source = tmp_path_factory.mktemp("outputs") / "k.c"
    source.write_text(KERNELS)
    return lambda name: tapeflow.load(source, name)


def copies(name: str) -> list[Any]:
    return [given.copy() if isinstance(given, np.ndarray) else given for given in ARGUMENTS[name]]


def assert_same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name in found:
        if isinstance(found[name], dict):
            assert_same(found[name], expected[name])
            continue
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "wrt", "outputs"),
    [
        ("f", ["x", "u"], ["return"]),
        ("f", ["x", "u"], ["y"]),
        ("g", ["a"], ["out"]),
        ("r", ["x"], ["return"]),
    ],
)
def test_other_cotangents_are_zero(load: Load, name: str, wrt: list[str], outputs: list[str]):
    kernel = load(name)
    some, every = tapeflow.gradient(kernel, wrt, outputs=outputs), tapeflow.gradient(kernel, wrt)
    arguments = ARGUMENTS[name]
    shapes = {parameter.name: np.shape(given) for parameter, given in zip(kernel.parameters, arguments, strict=False)}
    if name == "g":
        shapes["out"] = (1,)
    seeds = {output: RNG.normal(size=shapes[output]) for output in outputs if output != "return"}
    others = {"return": 0.0} if every.returns_float and "return" not in outputs else {}
    expected, found = every(*copies(name), seeds=seeds | others), some(*copies(name), seeds=seeds)
    assert found.value == expected.value
    assert_same(found.gradients, expected.gradients)
    taken = set(some.compiled.shadowed)
    assert taken <= {*wrt, *outputs}
    assert some.tape_report().bytes <= every.tape_report().bytes


def test_what_no_output_needs_is_not_there(load: Load):
    c = tapeflow.gradient(load("f"), ["x"], outputs=["return"]).c_source
    assert "y_b" not in c
    assert "w_b" not in c
    assert "count_b" not in c
    by_y = tapeflow.gradient(load("f"), ["u"], outputs=["y"])
    assert "loss_b" not in by_y.c_source
    assert "shadow: on entry zeros, on exit the cotangent of u's initial value" in " ".join(by_y.header.split())
    assert str(by_y.explain()).startswith("f_grad, of y, with respect to u\n")
    reasons = {array.name: array for array in by_y.explain().arrays}
    assert reasons["y"].active
    assert not reasons["x"].active


def test_batches_products_jacobians_and_checks(load: Load):
    kernel, x, u = load("h"), RNG.normal(size=2), RNG.normal(size=2)
    some = tapeflow.gradient(kernel, ["x"], outputs=["u"])
    assert tapeflow.check(some, [2, x, u, np.zeros(2)], directions=1).passed
    seeds = RNG.normal(size=(2, 2))
    batch = tapeflow.gradient(kernel, ["x"], outputs=["u"], batch=2)
    found = batch(2, x, u.copy(), np.zeros(2), seeds={"u": seeds}).gradients
    # w = x^2, u' = u w + w: du'/dx = 2 x (u + 1)
    assert_same(found, {"x": seeds * 2 * x * (u + 1)})
    products = tapeflow.hvp(kernel, ["x"], outputs=["u"])
    second = products(2, x, u.copy(), np.zeros(2), vectors={"x": x}, seeds={"u": seeds[0]}).products
    assert_same(second, {"x": seeds[0] * 2 * (u + 1) * x})
    for mode in ("forward", "reverse"):
        jacobian = tapeflow.jacobian(kernel, ["x"], mode=mode, batch=2, outputs=["u"])
        blocks = jacobian(2, x, u.copy(), np.zeros(2)).jacobian
        assert_same(blocks, {"u": {"x": np.diag(2 * x * (u + 1))}})


@pytest.mark.parametrize(
    ("name", "outputs", "message", "hint"),
    [
        ("f", ["z"], "outputs: f has no output 'z'", "its outputs are: return, w, y, u"),
        ("f", ["x"], "outputs: 'float64 x[n][m]' is no output of f, which does not write it", "its outputs are: "),
        ("f", ["count"], "outputs: 'int32 count[n]' has no derivative, its numbers are not floating-point", ""),
        ("f", ["y", "y"], "outputs: 'y' is there twice", ""),
        ("f", 5, "outputs is a list of names, not 5", ""),
        ("f", [], "outputs is empty: nothing of f is to be differentiated", "its outputs are: return, w, y, u"),
        ("g", ["return"], "outputs: g returns no floating-point number", "its outputs are: "),
    ],
)
def test_names_that_are_no_outputs_are_refused(load: Load, name: str, outputs: list[str], message: str, hint: str):
    with pytest.raises(tapeflow.TapeflowError) as caught:
        tapeflow.gradient(load(name), ["x" if name == "f" else "a"], outputs=outputs)
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)


def test_seeds_of_what_is_no_output_are_refused(load: Load):
    by_y = tapeflow.gradient(load("f"), ["x"], outputs=["y"])
    for name, seed in (("return", 1.0), ("u", np.ones(2))):
        with pytest.raises(
            ArgumentError, match=f"seeds: '{name}' is not among the outputs that f_grad is the gradient of"
        ):
            by_y(*copies("f"), seeds={name: seed})
    with pytest.raises(ArgumentError, match="seeds are needed"):
        by_y(*copies("f"))

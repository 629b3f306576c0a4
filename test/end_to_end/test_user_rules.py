"""`ad.rule`: the derivative that a user gives is used instead of one made from the body, at every stage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tapeflow

# A square root by Newton's iteration, of which the rule knows the derivative: `SCALE` / (2 root(x)).
SOURCE = """
ad.rule @root vjp @root_vjp
func.func private @root(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 0.5 : f64
  %r = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (f64) {
    %q = arith.divf %x, %y : f64
    %s = arith.addf %y, %q : f64
    %t = arith.mulf %s, %half : f64
    scf.yield %t : f64
  }
  func.return %r : f64
}
func.func private @root_vjp(%x: f64, %n: index, %r_b: f64) -> f64 {
  %r = func.call @root(%x, %n) : (f64, index) -> f64
  %scale = arith.constant SCALE : f64
  %two = arith.constant 2.0 : f64
  %d = arith.mulf %r, %two : f64
  %p = arith.divf %scale, %d : f64
  %x_b = arith.mulf %r_b, %p : f64
  func.return %x_b : f64
}
func.func @f(%n: index {tapeflow.name = "n"},
             %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %thirty = arith.constant 30 : index
  %start = arith.constant 1.0 : f64
  %s = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %w = arith.mulf %v, %a : f64
    %r = func.call @root(%w, %thirty) : (f64, index) -> f64
    %b = arith.addf %r, %v : f64
    scf.yield %b : f64
  }
  func.return %s : f64
}
"""


def primal(x: np.ndarray) -> float:
    s = 1.0
    for v in x:
        s = np.sqrt(v * s) + v
    return s


def gradient(tmp_path: Path, scale: str, options: tapeflow.Options) -> tuple[float, np.ndarray]:
    path = tmp_path / "f.mlir"
    path.write_text(SOURCE.replace("SCALE", scale))
    found = tapeflow.gradient(tapeflow.load(path, function="f"), wrt=["x"], options=options)(3, X)
    return found.value, found.gradients["x"]


X = np.array([0.7, 2.0, 5.5])


@pytest.mark.parametrize("options", [tapeflow.Options(), tapeflow.Options(layout="aos", spad_bytes=1024)], ids=str)
def test_a_right_rule_gives_the_derivative(tmp_path: Path, options: tapeflow.Options):
    value, found = gradient(tmp_path, "1.0", options)
    assert value == pytest.approx(primal(X), rel=1e-14)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-6
        assert found[k] == pytest.approx((primal(X + step) - primal(X - step)) / 2e-6, rel=1e-8)


def test_a_different_rule_is_really_used(tmp_path: Path):
    _, found = gradient(tmp_path, "0.0", tapeflow.Options())
    assert list(found) == [1.0 * (k == 2) for k in range(3)]


def test_forward_mode_looks_into_the_body_where_the_rule_says_nothing_of_it(tmp_path: Path):
    path = tmp_path / "rule.mlir"
    path.write_text(SOURCE.replace("SCALE", "1.0"))
    gradient = tapeflow.gradient(tapeflow.load(path, function="f"), wrt=["x"])
    assert tapeflow.check(gradient, [3, np.array([1.0, 2.0, 0.5])]).passed

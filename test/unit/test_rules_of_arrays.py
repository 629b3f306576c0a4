"""`ad.rule` for functions of arrays, in both modes, with and without bodies: interpreted, against differences."""

import numpy as np
import pytest
from differentiation import apply, call_gradient, check, copied, marks_of
from parsing import parse

from tapeflow.errors import TapeflowError
from tapeflow.interpreters import observe
from tapeflow.transforms.ad_differentiate import AdDifferentiatePass
from tapeflow.transforms.ad_prepare import AdPreparePass

# y = SCALE * a * x, elementwise; z is not touched, and not active in what calls it.
SCALED = """
func.func private @scaled(%n: index, %a: f64, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %w = arith.mulf %v, %a : f64
    memref.store %w, %y[%i] : memref<?xf64>
    %u = arith.addf %t, %w : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}
func.func private @scaled_vjp(%n: index, %a: f64, %x: memref<?xf64>, %y: memref<?xf64>, %s_b: f64,
                              %x_b: memref<?xf64>, %y_b: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %scale = arith.constant SCALE : f64
  %a_b = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %y_b_i = memref.load %y_b[%i] : memref<?xf64>
    %all = arith.addf %y_b_i, %s_b : f64
    memref.store %zero, %y_b[%i] : memref<?xf64>
    %v = memref.load %x[%i] : memref<?xf64>
    %share = arith.mulf %all, %v : f64
    %u = arith.addf %t, %share : f64
    %x_share = arith.mulf %all, %a : f64
    %x_scaled = arith.mulf %x_share, %scale : f64
    ad.accumulate %x_scaled into %x_b[%i] : memref<?xf64>
    scf.yield %u : f64
  }
  func.return %a_b : f64
}
func.func private @scaled_jvp(%n: index, %a: f64, %x: memref<?xf64>, %y: memref<?xf64>, %a_d: f64,
                              %x_d: memref<?xf64>, %y_d: memref<?xf64>) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %scale = arith.constant SCALE : f64
  %s = func.call @scaled(%n, %a, %x, %y) : (index, f64, memref<?xf64>, memref<?xf64>) -> f64
  %s_d = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %v_d = memref.load %x_d[%i] : memref<?xf64>
    %p = arith.mulf %v, %a_d : f64
    %q = arith.mulf %v_d, %a : f64
    %r = arith.mulf %q, %scale : f64
    %w_d = arith.addf %p, %r : f64
    memref.store %w_d, %y_d[%i] : memref<?xf64>
    %u = arith.addf %t, %w_d : f64
    scf.yield %u : f64
  }
  func.return %s, %s_d : f64, f64
}
"""
CALLER = """
func.func @f(%n: index, %a: f64, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %b = math.sin %a : f64
  %s = func.call @scaled(%n, %b, %x, %y) : (index, f64, memref<?xf64>, memref<?xf64>) -> f64
  %r = arith.mulf %s, %a : f64
  func.return %r : f64
}
"""
VJP = "ad.vjp @f_grad of @f (const, active, active, active) -> (active)\n"
JVP = "ad.jvp @f_jvp of @f (const, active, active, active) -> (active)\n"
BOTH = "ad.rule @scaled vjp @scaled_vjp jvp @scaled_jvp\n"
ARGUMENTS = [3, 0.7, np.array([0.5, 1.1, 0.8]), np.zeros(3)]


def text(rule: str = BOTH, scale: str = "1.0", requests: str = VJP, caller: str = CALLER) -> str:
    return rule + SCALED.replace("SCALE", scale) + caller + requests


def gradient_of_x(source: str) -> np.ndarray:
    module = apply(parse(source), AdPreparePass, AdDifferentiatePass)
    cotangents = [np.asarray(1.0), np.zeros(3), np.zeros(3)]
    return call_gradient(module, marks_of(parse(source)), copied(ARGUMENTS), cotangents).adjoints[1]


def test_arrays_come_with_their_shadows():
    check(text(), ARGUMENTS)


def test_what_is_not_active_gets_a_shadow_that_is_forgotten():
    check(text(requests=VJP.replace("(const, active, active,", "(const, active, const,")), ARGUMENTS)


def test_the_rule_is_really_used():
    right = gradient_of_x(text())
    np.testing.assert_allclose(gradient_of_x(text(scale="3.0")), 3.0 * right, rtol=1e-15)
    # The body is right, whatever the rule of the other mode says.
    np.testing.assert_allclose(gradient_of_x(text("ad.rule @scaled jvp @scaled_jvp\n", scale="3.0")), right, rtol=1e-15)


def tangent(source: str) -> float:
    module = apply(parse(source), AdPreparePass, AdDifferentiatePass)
    n, a, x, y = copied(ARGUMENTS)
    return observe(module, "f_jvp", [n, a, x, y, 0.3, np.array([0.1, -0.4, 0.9]), np.zeros(3)]).results[1]


def test_forward_mode_uses_its_rule_and_looks_into_the_body_without():
    _, a, x, _ = ARGUMENTS
    x_d = np.array([0.1, -0.4, 0.9])
    of_a = np.sum(x) * (np.cos(a) * a + np.sin(a)) * 0.3
    of_x = np.sum(x_d) * np.sin(a) * a
    assert tangent(text(requests=JVP)) == pytest.approx(of_a + of_x, rel=1e-14)
    assert tangent(text(requests=JVP, scale="3.0")) == pytest.approx(of_a + 3 * of_x, rel=1e-14)
    only_vjp = text("ad.rule @scaled vjp @scaled_vjp\n", requests=JVP, scale="3.0")
    assert tangent(only_vjp) == pytest.approx(of_a + of_x, rel=1e-14)


def test_the_derivative_of_a_rule_is_that_of_its_body():
    requests = (
        VJP + "ad.jvp @f_hvp of @f_grad (const, active, active, active, const, active, active) -> (const, active)\n"
    )
    x_d = np.array([0.1, -0.4, 0.9])
    for rule in (BOTH, "ad.rule @scaled vjp @scaled_vjp\n"):
        module = apply(parse(text(rule, requests=requests)), AdPreparePass, AdDifferentiatePass)
        n, a, x, y = copied(ARGUMENTS)
        x_b, x_b_d = np.zeros(3), np.zeros(3)
        found = observe(
            module, "f_hvp", [n, a, x, y, 1.0, x_b, np.zeros(3), 0.3, x_d, np.zeros(3), x_b_d, np.zeros(3)]
        ).results
        second = np.sum(x) * (2 * np.cos(a) - a * np.sin(a)) * 0.3 + np.sum(x_d) * (np.cos(a) * a + np.sin(a))
        assert found[-1] == pytest.approx(second, rel=1e-13)
        np.testing.assert_allclose(x_b_d, (np.cos(a) * a + np.sin(a)) * 0.3 * np.ones(3), rtol=1e-13)


def test_an_array_that_changes_after_the_call_is_refused():
    changed = CALLER.replace(
        "  func.return", "  %c0 = arith.constant 0 : index\n  memref.store %r, %x[%c0] : memref<?xf64>\n  func.return"
    )
    with pytest.raises(TapeflowError, match="the rule of 'scaled' looks at an array in the reverse sweep that changes"):
        apply(parse(text(caller=changed)), AdPreparePass, AdDifferentiatePass)


def test_a_mode_without_rule_or_body_is_refused():
    only_declared = "func.func private @scaled(index, f64, memref<?xf64>, memref<?xf64>) -> f64\n"
    vjp = SCALED.replace("SCALE", "1.0")
    source = (
        only_declared + vjp[vjp.index("func.func private @scaled_vjp") : vjp.index("func.func private @scaled_jvp")]
    )
    source = "ad.rule @scaled vjp @scaled_vjp\n" + source + CALLER
    with pytest.raises(TapeflowError, match=r"whose rule is not for forward mode(.|\n)*give it a jvp by ad.rule too"):
        apply(parse(source + JVP), AdPreparePass, AdDifferentiatePass)
    module = apply(parse(source + VJP), AdPreparePass, AdDifferentiatePass)
    assert "func.call @scaled(" in str(module) and "func.call @scaled_vjp" not in str(module)

"""What forward mode means: interpreted, held against reverse mode, differences, and orders of the two modes."""

from typing import Any

import numpy as np
import pytest
from differentiation import DIFFERENTIATE, apply, copied, marks_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing import parse
from random_ir import programs
from xdsl.dialects.builtin import ModuleOp

from tapeflow.interpreters import observe, run
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass
from tapeflow.transforms.tape_plan import TapePlanPass

RNG = np.random.default_rng(7)
X, Y = RNG.uniform(-1, 1, size=(2, 8))


def is_active(marks: tuple[bool, ...], arguments: list[Any], kind: type) -> list[Any]:
    return [it for it, mark in zip(arguments, marks, strict=True) if mark and isinstance(it, kind)]


def normal(like: Any, rng: np.random.Generator) -> Any:
    return rng.normal(size=like.shape).astype(like.dtype) if isinstance(like, np.ndarray) else float(rng.normal())


def with_jvp(text: str) -> str:
    """`text` and the forward-mode request with the marks of its reverse-mode request."""
    line = next(line for line in text.splitlines() if line.startswith("ad.vjp"))
    return f"{text}\n{line.replace('ad.vjp @f_grad', 'ad.jvp @f_jvp')}\n"


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=programs(), n=st.integers(0, 4), m=st.integers(0, 3), seed=st.integers(0, 9))
def test_forward_and_reverse_mode_are_transposes(text: str, n: int, m: int, seed: int):
    arguments = [n, m, X[: n + 3].copy(), Y[: n + 3].copy(), 0.437]
    module = apply(parse(with_jvp(text)), *DIFFERENTIATE)
    marks = marks_of(parse(text))
    rng = np.random.default_rng(seed)
    scalars, arrays = (is_active(marks.arguments, arguments, kind) for kind in (float, np.ndarray))
    scalar_tangents, array_tangents = ([normal(it, rng) for it in those] for those in (scalars, arrays))
    seeds = [float(rng.normal()) for mark in marks.results if mark]
    cotangents = [normal(it, rng) for it in arrays]

    moved = copied(array_tangents)
    forward_state, reverse_state = copied(arguments), copied(arguments)
    results = run(module, "f_jvp", [*forward_state, *scalar_tangents, *moved])
    shadows = copied(cotangents)
    adjoints = run(module, "f_grad", [*reverse_state, *seeds, *shadows])
    count = len(marks.results)
    np.testing.assert_array_equal(results[:count], adjoints[:count])
    for ours, theirs in zip(forward_state, reverse_state, strict=True):
        np.testing.assert_array_equal(ours, theirs)

    left = [*np.multiply(results[count:], seeds), *(d * w for d, w in zip(moved, cotangents, strict=True))]
    right = [
        *np.multiply(adjoints[count:], scalar_tangents),
        *(b * v for b, v in zip(shadows, array_tangents, strict=True)),
    ]
    terms = [np.ravel(it) for it in (*left, *right)]
    size = sum(float(np.sum(np.abs(it))) for it in terms)
    assert sum(map(np.sum, left)) == pytest.approx(sum(map(np.sum, right)), rel=1e-11, abs=1e-12 * max(1.0, size))


SECOND = """
ad.jvp @f_hvp of @f_grad (const, active, active, const, active) -> (const, active)
ad.vjp @f_grad of @f (const, active, active) -> (active)
ad.jvp @f_jvp of @f (const, active, active) -> (active)
ad.vjp @f_jvp_grad of @f_jvp (const, active, active, const, active) -> (const, active)
func.func @f(%n: index, %a: f64, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %y = math.sin %xi : f64
    %c = arith.cmpf ogt, %y, %a : f64
    %p = scf.if %c -> (f64) {
      %q = arith.mulf %y, %s_i : f64
      %e = math.exp %q : f64
      scf.yield %e : f64
    } else {
      %q = arith.divf %y, %a : f64
      memref.store %q, %x[%i] : memref<?xf64>
      scf.yield %xi : f64
    }
    %s_new = arith.mulf %p, %xi : f64
    %s_2 = arith.addf %s_i, %s_new : f64
    scf.yield %s_2 : f64
  }
  func.return %s : f64
}
"""


def gradient(module: ModuleOp, n: int, a: float, x: np.ndarray, seed: float, x_b: np.ndarray) -> np.ndarray:
    shadow = x_b.copy()
    _, a_b = run(module, "f_grad", [n, a, x.copy(), seed, shadow])
    return np.array([a_b, *shadow])


@pytest.mark.parametrize("passes", [(), (TapePlanPass,), (TapePlanPass, TapeFormRegionsPass)], ids=len)
def test_hessian_vector_products_by_either_order(passes: Any):
    module = apply(parse(SECOND), *DIFFERENTIATE, *passes)
    n, a, x = 5, 0.3, RNG.uniform(-1, 1, size=5)
    a_d, x_d, seed, x_b = 0.7, RNG.normal(size=5), 1.3, RNG.normal(size=5)

    shadow, product = x_b.copy(), np.zeros(5)
    done = observe(module, "f_hvp", [n, a, x.copy(), seed, shadow, a_d, x_d.copy(), product])
    assert not any(handle.records for handle in done.handles)
    _, a_b, a_b_d = done.results
    np.testing.assert_array_equal([a_b, *shadow], gradient(module, n, a, x, seed, x_b))

    h = 1e-5
    ahead, behind = (gradient(module, n, a + t * a_d, x + t * x_d, seed, x_b) for t in (h, -h))
    np.testing.assert_allclose([a_b_d, *product], (ahead - behind) / (2 * h), rtol=1e-7, atol=1e-7)

    # The gradient of <tangents of the outputs, cotangents>: the same products, since a Hessian is symmetric.
    shadows = [np.zeros(5), x_b.copy()]
    found = run(module, "f_jvp_grad", [n, a, x.copy(), a_d, x_d.copy(), seed, *shadows])
    np.testing.assert_allclose([found[2], *shadows[0]], [a_b_d, *product], rtol=1e-12, atol=1e-13)

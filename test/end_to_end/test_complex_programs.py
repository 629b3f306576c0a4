"""Programs on complex numbers in MLIR: every place that one can stand in, against Python and differences."""

from __future__ import annotations

import cmath
from pathlib import Path

import numpy as np
import pytest
from pipelines import PIPELINES, gradient_at

import tapeflow
from tapeflow.arguments import ArgumentError
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check

PROGRAM = """
memref.global "private" constant @table : memref<3xcomplex<f64>> = dense<[(1.0, 2.0), (0.5, -0.25), (-1.0, 0.125)]>

func.func @step(%z: complex<f64>, %x: memref<?x?xcomplex<f64>>, %i: index, %j: index) -> (complex<f64>, f64) {
  %v = memref.load %x[%i, %j] : memref<?x?xcomplex<f64>>
  %w = complex.mul %z, %v : complex<f64>
  memref.store %w, %x[%i, %j] : memref<?x?xcomplex<f64>>
  %size = complex.abs %w : complex<f64>
  return %w, %size : complex<f64>, f64
}

func.func @f(%n: index, %m: index, %z: complex<f64>, %x: memref<?x?xcomplex<f64>>, %y: memref<?xcomplex<f64>>)
    -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %half = arith.constant 0.5 : f64
  %four = arith.constant 4.0 : f64
  %unit = complex.constant [0.0, 1.0] : complex<f64>
  %local = memref.alloc(%m) : memref<?xcomplex<f64>>
  %table = memref.get_global @table : memref<3xcomplex<f64>>
  %cast = memref.cast %table : memref<3xcomplex<f64>> to memref<?xcomplex<f64>>
  %extent = memref.dim %x, %c1 : memref<?x?xcomplex<f64>>
  %sum, %total = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z, %t = %half) -> (complex<f64>, f64) {
    %row = memref.subview %x[%i, 0] [1, %extent] [1, 1]
      : memref<?x?xcomplex<f64>> to memref<?xcomplex<f64>, strided<[1], offset: ?>>
    memref.copy %row, %local : memref<?xcomplex<f64>, strided<[1], offset: ?>> to memref<?xcomplex<f64>>
    %inner:2 = scf.for %j = %c0 to %m step %c1 iter_args(%a = %s, %b = %t) -> (complex<f64>, f64) {
      %v = memref.load %local[%j] : memref<?xcomplex<f64>>
      %k = arith.remsi %j, %c3 : index
      %c = memref.load %cast[%k] : memref<?xcomplex<f64>>
      %cv = complex.mul %c, %v : complex<f64>
      %d = complex.add %cv, %a : complex<f64>
      %next, %size = func.call @step(%d, %x, %i, %j)
        : (complex<f64>, memref<?x?xcomplex<f64>>, index, index) -> (complex<f64>, f64)
      %large = arith.cmpf ogt, %size, %half : f64
      %damped = scf.if %large -> (complex<f64>) {
        %sc = complex.create %size, %half : complex<f64>
        %q = complex.div %next, %sc : complex<f64>
        scf.yield %q : complex<f64>
      } else {
        %e = complex.exp %next : complex<f64>
        scf.yield %e : complex<f64>
      }
      %u = arith.addf %b, %size : f64
      scf.yield %damped, %u : complex<f64>, f64
    }
    memref.store %inner#0, %y[%i] : memref<?xcomplex<f64>>
    scf.yield %inner#0, %inner#1 : complex<f64>, f64
  }
  %grown = scf.while (%g = %sum) : (complex<f64>) -> complex<f64> {
    %size = complex.abs %g : complex<f64>
    %small = arith.cmpf olt, %size, %four : f64
    scf.condition(%small) %g : complex<f64>
  } do {
  ^bb0(%g: complex<f64>):
    %more = complex.create %half, %half : complex<f64>
    %h = complex.sub %g, %more : complex<f64>
    %hh = complex.add %h, %g : complex<f64>
    %unit_h = complex.add %hh, %unit : complex<f64>
    scf.yield %unit_h : complex<f64>
  }
  %re = complex.re %grown : complex<f64>
  %im = complex.im %grown : complex<f64>
  %order = arith.cmpf ogt, %re, %im : f64
  %conj = complex.conj %grown : complex<f64>
  %chosen = arith.select %order, %grown, %conj : complex<f64>
  %real = complex.create %total, %half : complex<f64>
  %result = complex.mul %chosen, %real : complex<f64>
  return %result : complex<f64>
}
"""


def by_hand(n: int, m: int, z: complex, x: np.ndarray, y: np.ndarray) -> complex:
    table = [1 + 2j, 0.5 - 0.25j, -1 + 0.125j]
    s, t = z, 0.5
    for i in range(n):
        row = x[i].copy()
        for j in range(m):
            w = (table[j % 3] * row[j] + s) * x[i, j]
            x[i, j] = w
            s = w / (abs(w) + 0.5j) if abs(w) > 0.5 else cmath.exp(w)
            t += abs(w)
        y[i] = s
    while abs(s) < 4:
        s = s - (0.5 + 0.5j) + s + 1j
    return (s if s.real > s.imag else s.conjugate()) * (t + 0.5j)


def arguments(n: int, m: int) -> list:
    rng = np.random.default_rng(10 * n + m)

    def numbers(*shape: int) -> np.ndarray:
        return rng.uniform(-0.9, 0.9, shape) + 1j * rng.uniform(-0.9, 0.9, shape)

    return [n, m, complex(numbers()), numbers(n, m), numbers(n)]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tapeflow.Kernel:
    path: Path = tmp_path_factory.mktemp("complex") / "f.mlir"
    path.write_text(PROGRAM)
    return tapeflow.load(path, "f")


@pytest.fixture(scope="module")
def gradient(kernel) -> tapeflow.Gradient:
    return tapeflow.gradient(kernel, wrt=["z", "x", "y"])


SIZES = [(0, 0), (0, 2), (1, 1), (2, 3), (3, 4)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_value_and_gradient(gradient, size: tuple[int, int]):
    ours, theirs = arguments(*size), arguments(*size)
    assert gradient(*ours, seeds={"return": 1}).value == pytest.approx(by_hand(*theirs), rel=1e-14)
    for left, right in zip(ours[3:], theirs[3:], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-14)
    report = check(gradient, arguments(*size))
    assert report.passed, str(report)


def test_a_gradient_is_a_pair_of_partial_derivatives(gradient):
    n, m, z, x, y = arguments(2, 3)
    seed = 0.6 - 0.8j
    result = gradient(n, m, z, x.copy(), y.copy(), seeds={"return": seed})

    def weighted(at: complex) -> float:
        value = by_hand(n, m, at, x.copy(), y.copy())
        return seed.real * value.real + seed.imag * value.imag

    step = 1e-6
    by_x, by_y = ((weighted(z + step * way) - weighted(z - step * way)) / (2 * step) for way in (1, 1j))
    assert result.gradients["z"] == pytest.approx(complex(by_x, by_y), rel=1e-8)


@pytest.mark.parametrize("pipeline", [name for name in PIPELINES if name != "soa"])
def test_same_bits_at_every_stage(kernel, gradient, pipeline: str):
    wrt = ("z", "x", "y")
    expected = gradient(*arguments(2, 3), seeds={"return": 1j})
    found = gradient_at(pipeline, kernel, wrt)(*arguments(2, 3), seeds={"return": 1j})
    assert found.value == expected.value
    for name in wrt:
        np.testing.assert_array_equal(found.gradients[name], expected.gradients[name])


def test_second_derivatives_against_differences(kernel, gradient):
    n, m, z, x, y = arguments(2, 2)
    product = tapeflow.hvp(kernel, wrt=["z", "x"])
    along = {"z": 0.3 - 0.4j, "x": arguments(2, 2)[3][::-1].copy()}
    found = product(n, m, z, x.copy(), y.copy(), vectors=along, seeds={"return": 1j}).products
    step = 1e-6
    sides = [
        gradient(n, m, z + way * along["z"], x + way * along["x"], y.copy(), seeds={"return": 1j}).gradients
        for way in (step, -step)
    ]
    for name in along:
        difference = (sides[0][name] - sides[1][name]) / (2 * step)
        np.testing.assert_allclose(found[name], difference, rtol=1e-6, atol=1e-7)


def test_the_model_computes_the_same(tmp_path: Path):
    path = tmp_path / "f.mlir"
    path.write_text(
        "func.func @f(%n: index, %z: complex<f64>, %x: memref<?xcomplex<f64>>) -> complex<f64> {\n"
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        "  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (complex<f64>) {\n"
        "    %v = memref.load %x[%i] : memref<?xcomplex<f64>>\n"
        "    %b = complex.mul %a, %v : complex<f64>\n    scf.yield %b : complex<f64>\n  }\n"
        "  return %r : complex<f64>\n}\n"
    )
    gradient = tapeflow.gradient(tapeflow.load(path), wrt=["z", "x"])
    x = arguments(3, 3)[4]
    report = tapeflow.simulate(gradient, (3, 0.5 - 1j, x), hardware="cache-32k", seeds={"return": 1})
    assert report.cycles > 0
    product = gradient(3, 0.5 - 1j, x, seeds={"return": 1})
    assert product.gradients["z"] == pytest.approx(np.prod(x).conjugate(), rel=1e-14)


def test_explanation_and_source_name_the_parts(gradient):
    assert "part of a complex128" in str(gradient.explain())
    assert "z_re" in gradient.c_source


def test_a_complex_return_value_needs_a_seed(gradient):
    with pytest.raises(ArgumentError, match="returns a complex number, which has no gradient without a seed"):
        gradient(*arguments(1, 1))


def test_arguments_that_do_not_fit_are_refused(gradient):
    n, m, z, x, y = arguments(2, 3)
    with pytest.raises(ArgumentError, match="expected elements of complex128, got float64"):
        gradient(n, m, z, x.real.copy(), y, seeds={"return": 1})
    with pytest.raises(ArgumentError, match=r"z: expected a number \(complex128\), got str"):
        gradient(n, m, "1", x, y, seeds={"return": 1})
    # A real number is a complex one.
    assert gradient(n, m, 1, x, y, seeds={"return": 1}).value == pytest.approx(
        by_hand(*[n, m, 1.0], *arguments(2, 3)[3:])
    )


REFUSED = {
    "bits": ("%r = complex.bitcast %z : complex<f32> to i64", "'complex.bitcast' on complex numbers"),
    "map": (
        "%r = memref.alloc() : memref<2xcomplex<f32>, affine_map<(d0) -> (d0 * 2)>>",
        "the layout of memref<2xcomplex<f32>, affine_map<(d0) -> ((d0 * 2))>> is a map",
    ),
}


@pytest.mark.parametrize(("line", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(tmp_path: Path, line: str, message: str):
    path = tmp_path / "f.mlir"
    path.write_text(
        f'func.func @f(%z: complex<f32>) -> complex<f32> {{\n  {line} loc("f.mlir":2:3)\n  return %z : complex<f32>\n}}'
    )
    with pytest.raises(TapeflowError, match=r"f\.mlir:2:3") as caught:
        tapeflow.gradient(tapeflow.load(path), wrt=["z"])
    assert message in str(caught.value)
    assert caught.value.hint


def test_a_batch_of_complex_numbers_is_refused(kernel):
    with pytest.raises(TapeflowError, match="'f' has complex numbers: it has no derivative with a batch yet") as caught:
        tapeflow.gradient(kernel, wrt=["z"], batch=2)
    assert caught.value.position
    assert caught.value.hint

"""Features that were made apart, together: batches, complex numbers, structs, Hessian-vector products, Jacobians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check
from tapeflow.loading import Kernel

COMPLEX = """
func.func @f(%n: index, %z: complex<f64>, %a: f64, %x: memref<?xcomplex<f64>>, %y: memref<?x2xcomplex<f64>>)
    -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (complex<f64>) {
    %v = memref.load %x[%i] : memref<?xcomplex<f64>>
    %w = complex.mul %s, %v : complex<f64>
    %old = memref.load %y[%i, %c1] : memref<?x2xcomplex<f64>>
    %new = complex.mul %old, %w : complex<f64>
    memref.store %new, %y[%i, %c1] : memref<?x2xcomplex<f64>>
    %real = complex.create %a, %a : complex<f64>
    %e = complex.sin %w : complex<f64>
    %t = complex.add %e, %real : complex<f64>
    %u = complex.add %t, %new : complex<f64>
    scf.yield %u : complex<f64>
  }
  return %r : complex<f64>
}

func.func @power(%n: index, %z: complex<f64>, %x: memref<?xcomplex<f64>>) -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ends = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %ends -> (complex<f64>) {
    scf.yield %z : complex<f64>
  } else {
    %m = arith.subi %n, %c1 : index
    %v = memref.load %x[%m] : memref<?xcomplex<f64>>
    %w = complex.mul %z, %v : complex<f64>
    memref.store %w, %x[%m] : memref<?xcomplex<f64>>
    %p = func.call @power(%m, %w, %x) : (index, complex<f64>, memref<?xcomplex<f64>>) -> complex<f64>
    %q = complex.mul %p, %v : complex<f64>
    scf.yield %q : complex<f64>
  }
  return %r : complex<f64>
}

func.func @size(%z: complex<f32>, %x: memref<?xcomplex<f32>>) -> f32 {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xcomplex<f32>>
  %w = complex.mul %z, %v : complex<f32>
  %e = complex.exp %w : complex<f32>
  %r = complex.abs %e : complex<f32>
  return %r : f32
}
"""

STRUCTS = """
#include <math.h>
typedef struct {float a; double w[2]; int n;} M;
typedef struct {double x, y;} V;
double f(int n, const M *ps, V *out) {
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += ps[i].w[0] * sin(ps[i].w[1]) * ps[i].a * ps[i].n;
    out[i].x = s * ps[i].a;
    out[i].y *= s;
  }
  return s;
}
static double walk(int i, M *p) {
  if (i == 0) return p[0].w[0] * p[0].w[1];
  p[i - 1].w[0] += p[i].w[0] * p[i].w[1] * p[i].n;
  double rest = walk(i - 1, p);
  return rest * p[i].w[1];
}
double path(int n, M *p) { return walk(n - 1, p); }
"""

N, K = 3, 3
WRT = ["z", "a", "x", "y"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("combinations")
    (folder / "k.mlir").write_text(COMPLEX)
    (folder / "k.c").write_text(STRUCTS)
    return folder


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Kernel:
    return tapeflow.load(folder / "k.mlir", "f")


def numbers(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.2, 0.9, shape) + 1j * rng.uniform(-0.5, 0.5, shape)


def arguments() -> list[Any]:
    return [N, 0.5 + 0.25j, 0.75, numbers(N), numbers(N, 2, seed=1)]


def test_a_batch_of_complex_cotangents_is_each_of_them(kernel: Kernel) -> None:
    of_return, of_y = numbers(K, seed=2), numbers(K, N, 2, seed=3)
    batch, one = (tapeflow.gradient(kernel, WRT, batch=members) for members in (K, None))
    target = np.ones((K, N), np.complex128)
    result = batch(*arguments(), seeds={"return": of_return, "y": of_y}, accumulate={"x": target})
    np.testing.assert_array_equal(target, 1 + result.gradients["x"])
    for k in range(K):
        alone = one(*arguments(), seeds={"return": of_return[k], "y": of_y[k]})
        assert result.value == alone.value
        for name in WRT:
            np.testing.assert_array_equal(result.gradients[name][k], alone.gradients[name])
    assert "s_re_b, s_im_b       [3], seeds: the cotangents of the result" in batch.header
    report = check(batch, arguments())
    assert report.passed, report
    assert all(each.forward is not None for each in report.checks)


def test_a_batch_of_complex_tangents_and_vectors_is_each_of_them(kernel: Kernel) -> None:
    ways = {"z": numbers(K, seed=4), "a": np.arange(K), "y": numbers(K, N, 2, seed=5)}
    batch, one = (tapeflow.jvp(kernel, WRT, batch=members) for members in (K, None))
    along = batch(*arguments(), tangents=ways).tangents
    products, product = (tapeflow.hvp(kernel, WRT, batch=members) for members in (K, None))
    seeds = {"return": 1 - 2j}
    second = products(*arguments(), vectors=ways, seeds=seeds)
    for k in range(K):
        way = {"z": ways["z"][k], "a": float(ways["a"][k]), "y": ways["y"][k]}
        alone = one(*arguments(), tangents=way).tangents
        assert along["return"][k] == alone["return"]
        np.testing.assert_array_equal(along["y"][k], alone["y"])
        again = product(*arguments(), vectors=way, seeds=seeds)
        for name in WRT:
            np.testing.assert_array_equal(second.gradients[name], again.gradients[name])
            np.testing.assert_array_equal(second.products[name][k], again.products[name])


def test_products_with_the_hessian_are_differences_of_complex_gradients(kernel: Kernel) -> None:
    gradient, hvp = tapeflow.gradient(kernel, WRT), tapeflow.hvp(kernel, WRT)
    way, step = numbers(N, seed=6), 1e-5
    found = hvp(*arguments(), vectors={"x": way}, seeds={"return": 1j}).products

    def moved(sign: int) -> dict[str, Any]:
        n, z, a, x, y = arguments()
        return gradient(n, z, a, x + sign * step * way, y, seeds={"return": 1j}).gradients

    ahead, behind = moved(1), moved(-1)
    for name in WRT:
        np.testing.assert_allclose(found[name], (ahead[name] - behind[name]) / (2 * step), rtol=1e-7, atol=1e-8)


def test_recursive_functions_take_complex_numbers_and_structs_and_batches(folder: Path) -> None:
    power, path = tapeflow.load(folder / "k.mlir", "power"), tapeflow.load(folder / "k.c", "path")
    structs = np.ones(N, path.dtype("p"))
    structs["w"] += np.arange(2 * N).reshape(N, 2) / 8
    for kernel, wrt, given in ((power, ["z", "x"], [N, 0.5 + 0.25j, numbers(N)]), (path, ["p"], [N, structs])):
        report = check(tapeflow.gradient(kernel, wrt, batch=2), given)
        assert report.passed and all(each.forward is not None for each in report.checks), report


def test_a_batch_of_real_cotangents_of_single_precision_complex_arguments(folder: Path) -> None:
    kernel = tapeflow.load(folder / "k.mlir", "size")
    result = tapeflow.gradient(kernel, ["z", "x"], batch=2)(1j, np.ones(1, np.complex64), seeds={"return": [1, -2]})
    assert {each.dtype for each in result.gradients.values()} == {np.dtype(np.complex64)}
    # |exp(z)| = exp(x), whatever y is.
    np.testing.assert_allclose(result.gradients["z"], [1, -2], atol=1e-6)
    np.testing.assert_allclose(result.gradients["x"], [[-1j], [2j]], atol=1e-6)


def test_what_complex_seeds_of_a_batch_must_be(kernel: Kernel, folder: Path) -> None:
    gradient = tapeflow.gradient(kernel, WRT, batch=K)
    with pytest.raises(TapeflowError, match=r"returns a complex number, which has no gradient without a seed"):
        gradient(*arguments(), seeds={"y": np.zeros((K, N, 2), complex)})
    with pytest.raises(TapeflowError, match=r"expected 3 numbers \(complex128\), one a member of the batch"):
        gradient(*arguments(), seeds={"return": 1j})
    real = tapeflow.gradient(tapeflow.load(folder / "k.mlir", "size"), ["z"], batch=2)
    with pytest.raises(TapeflowError, match=r"expected 2 numbers \(float32\), one a member of the batch"):
        real(1j, np.ones(1, np.complex64), seeds={"return": [1j, 1]})


def test_jacobians_of_complex_numbers_are_refused(kernel: Kernel, folder: Path) -> None:
    with pytest.raises(
        TapeflowError, match=r"k\.mlir:\d+:\d+: error: f returns a complex number: Jacobians are of real"
    ):
        tapeflow.jacobian(kernel, ["a"])
    with pytest.raises(TapeflowError, match=r"k\.mlir:\d+:\d+: error: z is complex: Jacobians are of real numbers"):
        tapeflow.jacobian(tapeflow.load(folder / "k.mlir", "size"), ["z"])


def test_batches_of_structs_are_arrays_of_structs(folder: Path) -> None:
    kernel = tapeflow.load(folder / "k.c", "f")
    rng = np.random.default_rng(0)
    ps, out, seeds = (np.zeros(shape, kernel.dtype(name)) for shape, name in ((N, "ps"), (N, "out"), ((K, N), "out")))
    ps["a"], ps["w"], ps["n"] = rng.uniform(1, 2, N), rng.uniform(1, 2, (N, 2)), 2
    for each in (out, seeds):
        each["x"], each["y"] = rng.uniform(1, 2, each.shape), rng.uniform(1, 2, each.shape)
    batch, one = (tapeflow.gradient(kernel, ["ps", "out"], batch=members) for members in (K, None))
    result = batch(N, ps, out.copy(), seeds={"return": range(K), "out": seeds})
    assert "[][4][3], shadow" in batch.header and "[][4], the memory of M seen as double, shadow" in one.header
    tangents = tapeflow.jvp(kernel, ["out"], batch=K)(N, ps, out.copy(), tangents={"out": seeds}).tangents
    for k in range(K):
        alone = one(N, ps, out.copy(), seeds={"return": float(k), "out": seeds[k]})
        for name in ("ps", "out"):
            np.testing.assert_array_equal(result.gradients[name][k], alone.gradients[name])
    np.testing.assert_allclose(tangents["out"]["y"], seeds["y"] * result.gradients["out"]["y"][0] / seeds["y"][0])
    assert check(batch, (N, ps, out)).passed
    with pytest.raises(TapeflowError, match=r"out'\]: expected 2 dimensions of structs, the first for the 3 members"):
        batch(N, ps, out, seeds={"out": seeds[0]})


def test_jacobians_by_structs_are_by_their_numbers(folder: Path) -> None:
    kernel = tapeflow.load(folder / "k.c", "f")
    ps, out = (np.ones(N, kernel.dtype(name)) for name in ("ps", "out"))
    forward, reverse = (
        tapeflow.jacobian(kernel, ["ps"], mode=mode)(N, ps, out.copy()).jacobian for mode in ("forward", "reverse")
    )
    assert reverse["out"]["ps_double"].shape == (N, 2, N, 4)
    np.testing.assert_allclose(forward["out"]["ps_double"], reverse["out"]["ps_double"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(reverse["return"]["ps_double"][:, 1], np.sin(1))

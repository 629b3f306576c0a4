"""Complex numbers in Python kernels: what Python and NumPy compute, and gradients against differences of both parts."""

import cmath
from typing import Annotated

import numpy as np
import pytest
from numpy.typing import NDArray

import tapeflow
from tapeflow import c64, kernel
from tapeflow.gradient_check import check

Numbers = Annotated[NDArray[np.complex128], "n"]
Pairs = Annotated[NDArray[np.complex128], "n", 2]


@kernel
def filter_bank(n: int, z: complex, x: Numbers, y: Numbers) -> float:
    s = 0j
    for i in range(n):
        w = x[i] * z + (2.0 - 1j)
        if abs(w) > 1.5:
            w = w / (x[i] + 3)
        s += cmath.exp(w) + np.sqrt(w) * np.conj(x[i]) - w**3
        y[i] = np.sinh(w) + 1j * w.imag
    t = np.sum(x * y)
    return abs(s) + s.real - t.imag * 2


@kernel
def many(n: int, z: complex, w: complex, r: float, x: Pairs, a: Annotated[np.ndarray, "n"]) -> complex:
    u = np.zeros(n, dtype=np.complex128)
    v = np.empty(n, dtype=complex)
    k = 0
    while abs(z) < 4 and k < n:
        u[k] = z * r + k
        v[k] = -u[k] / w
        if z == w or x[k, 0] != x[k, 1]:
            z = z + np.abs(x[k, 1]) * (1 + 0.5j)
        k += 1
    p = w ** (-2) + z**w + 2.0**z + (cmath.log(w) if w.real > 0 else np.cosh(w))
    q = complex(r, 2).conjugate() * np.mean(x.conjugate()) + np.prod(v + 1) - np.tanh(z) * np.expm1(w) + np.log1p(z)
    big = x[0, 0].real + np.sum(x.real) + np.imag(w) + np.angle(z) + cmath.phase(w)
    for i in range(n):
        a[i] = a[i] * np.real(x[i, 0] * x[i, 1].conj()) + np.square(u[i]).imag
    return (p if big > 0 else q) + q * big + complex(r)


@kernel
def narrow(n: int, x: c64[5], y: c64[5]) -> float:
    s = 0j
    for i in range(n):
        y[i] = x[i].conjugate() * x[i] * x[i] * 0.5 + 1j
        s = s + complex(y[i])
    return abs(s)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def bank_arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    return [n, 0.3 - 0.2j, numbers(rng, n), np.zeros(n, complex)]


def many_arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    return [n, 0.3 - 0.2j, 0.7 + 0.4j, 0.6, numbers(rng, n, 2), rng.normal(size=n)]


CASES = {
    "filter_bank": (filter_bank, bank_arguments, ["z", "x"]),
    "many": (many, many_arguments, ["z", "w", "r", "x", "a"]),
}


@pytest.mark.parametrize(("function", "arguments", "wrt"), CASES.values(), ids=CASES)
def test_value_and_gradient(function, arguments, wrt):
    gradient = tapeflow.gradient(function, wrt=wrt)
    for n in (1, 4):
        ours, theirs = arguments(n), arguments(n)
        seeds = {"return": 1.0}
        assert gradient(*ours, seeds=seeds).value == pytest.approx(function(*theirs), rel=1e-13)
        for left, right in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-13)
        report = check(gradient, arguments(n))
        assert report.passed, str(report)


def test_complex64_stays_so():
    rng = np.random.default_rng(0)
    x = numbers(rng, 5).astype(np.complex64)
    ours, theirs = np.zeros(5, np.complex64), np.zeros(5, np.complex64)
    gradient = tapeflow.gradient(narrow, wrt=["x"])
    result = gradient(5, x, ours)
    assert result.value == pytest.approx(narrow(5, x, theirs), rel=1e-6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert result.gradients["x"].dtype == np.complex64
    report = check(gradient, [5, x, ours])
    assert report.passed, str(report)


def test_a_gradient_is_the_conjugate_of_what_jax_gives():
    @kernel
    def f(z: complex) -> float:
        return (cmath.exp(z) * (2 - 1j)).real

    # jax.grad of the same function there, JAX 0.10 in double precision: 4.493770382000227-0.2864045880933388j.
    found = tapeflow.gradient(f, wrt=["z"])(0.7 + 0.4j).gradients["z"]
    assert found == pytest.approx(4.493770382000227 + 0.2864045880933388j, rel=1e-14)


def test_a_seed_of_a_complex_value_is_conjugated_too():
    @kernel
    def f(z: complex) -> complex:
        return cmath.exp(z)

    # jax.vjp of exp with the cotangent s gives exp(z) s; ours is conj(exp(z)) s.
    found = tapeflow.gradient(f, wrt=["z"])(0.7 + 0.4j, seeds={"return": 0.6 - 0.8j}).gradients["z"]
    assert found == pytest.approx(cmath.exp(0.7 - 0.4j) * (0.6 - 0.8j), rel=1e-14)
    tangent = tapeflow.jvp(f, wrt=["z"])(0.7 + 0.4j, tangents={"z": 1j}).tangents["return"]
    assert tangent == pytest.approx(cmath.exp(0.7 + 0.4j) * 1j, rel=1e-14)

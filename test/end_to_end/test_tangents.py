"""Forward mode and Hessian-vector products from Python, against differences, `autograd`, and one another."""

from dataclasses import replace
from pathlib import Path

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.gradient_check import DirectionCheck

SOURCE = r"""
#include <math.h>

double logsum(int n, const double *x)
{
    double largest = x[0], s = 0.0;
    for (int i = 1; i < n; i++)
        largest = fmax(largest, x[i]);
    for (int i = 0; i < n; i++)
        s += exp(x[i] - largest);
    return largest + log(s);
}

double product(int n, double a, const double *x)
{
    double p = 1.0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0.0)
            p = sin(p * x[i]) + a * p;
        else
            p = p / (1.0 + x[i] * x[i]);
    return p;
}

void relax(int n, int steps, double c, double u[n], const float w[n])
{
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            u[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * w[i] * u[i];
}
"""

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tapeflow.Kernel]:
    path = Path(tmp_path_factory.mktemp("tangents")) / "tangents.c"
    path.write_text(SOURCE, encoding="utf-8")
    return {name: tapeflow.load(path, function=name) for name in ("logsum", "product", "relax")}


def logsum(x):
    return anp.log(anp.sum(anp.exp(x)))


def test_jvp_and_hvp_of_logsum_are_autograds(kernels):
    x, v = RNG.normal(size=7), RNG.normal(size=7)
    forward = tapeflow.jvp(kernels["logsum"], wrt=["x"])(7, x, tangents={"x": v})
    assert forward.value == pytest.approx(logsum(x), rel=1e-14)
    assert forward.tangents == {"return": pytest.approx(float(autograd.grad(logsum)(x) @ v), rel=1e-12)}
    second = tapeflow.hvp(kernels["logsum"], wrt=["x"])(7, x, vectors={"x": v})
    np.testing.assert_allclose(second.gradients["x"], autograd.grad(logsum)(x), rtol=1e-12)
    np.testing.assert_allclose(second.products["x"], autograd.hessian(logsum)(x) @ v, rtol=1e-10, atol=1e-14)


OPTIONS = [
    tapeflow.Options(),
    tapeflow.Options(layout="aos"),
    tapeflow.Options(layout="aos", spad_bytes=1024),
    tapeflow.Options(layout="aos", spad_bytes=1024, stream=True),
]


def test_second_derivatives_are_differences_of_the_gradient_whatever_the_tape_is(kernels):
    x, v, a, a_d, h = RNG.normal(size=40), RNG.normal(size=40), 0.3, 0.7, 1e-6
    grad = tapeflow.gradient(kernels["product"], wrt=["a", "x"])
    ahead, behind = (grad(40, a + t * a_d, x + t * v).gradients for t in (h, -h))
    found = [tapeflow.hvp(kernels["product"], ["a", "x"], it)(40, a, x, vectors={"x": v, "a": a_d}) for it in OPTIONS]
    size = np.abs(found[0].products["x"]).max()
    for name in ("a", "x"):
        difference = (np.asarray(ahead[name]) - behind[name]) / (2 * h)
        np.testing.assert_allclose(found[0].products[name], difference, rtol=1e-5, atol=1e-6 * size)
        for other in found[1:]:
            np.testing.assert_array_equal(other.products[name], found[0].products[name])
            np.testing.assert_array_equal(other.gradients[name], found[0].gradients[name])


def test_arrays_updated_in_place_have_tangents_and_are_transposes(kernels):
    n, steps, c = 9, 3, 0.2
    u, w = RNG.normal(size=n), RNG.normal(size=n).astype(np.float32)
    u_d, w_d, weight = RNG.normal(size=n), RNG.normal(size=n).astype(np.float32), RNG.normal(size=n)
    grad = tapeflow.gradient(kernels["relax"], wrt=["c", "u", "w"])
    jvp = tapeflow.jvp(kernels["relax"], wrt=["c", "u", "w"])
    ours, theirs, direction = u.copy(), u.copy(), u_d.copy()
    forward = jvp(n, steps, c, ours, w, tangents={"c": 0.5, "u": direction, "w": w_d})
    reverse = grad(n, steps, c, theirs, w, seeds={"u": weight}).gradients
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(direction, u_d)
    assert forward.value is None
    right = 0.5 * reverse["c"] + reverse["u"] @ u_d + float(np.sum(reverse["w"].astype(float) * w_d))
    assert forward.tangents["u"] @ weight == pytest.approx(right, rel=1e-6)


def test_second_derivatives_of_a_void_kernel_need_seeds(kernels):
    n, u, w, v, h = 6, RNG.normal(size=6), np.ones(6, np.float32), RNG.normal(size=6), 1e-6
    weight = RNG.normal(size=6)
    hvp, grad = tapeflow.hvp(kernels["relax"], wrt=["u"]), tapeflow.gradient(kernels["relax"], wrt=["u"])
    ahead, behind = (grad(n, 2, 0.2, u + t * v, w, seeds={"u": weight}).gradients["u"] for t in (h, -h))
    found = hvp(n, 2, 0.2, u.copy(), w, vectors={"u": v}, seeds={"u": weight})
    np.testing.assert_allclose(found.products["u"], (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)
    with pytest.raises(tapeflow.ArgumentError, match="seeds are needed"):
        hvp(n, 2, 0.2, u, w, vectors={"u": v})


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ({}, "no direction is given"),
        ({"n": 1.0}, "'n' is not in wrt"),
        ({"x": np.zeros(3)}, "expected the shape of x"),
        ({"x": np.zeros(4, np.float32)}, "expected elements of float64"),
        ({"a": "1"}, "tangents: a: expected a number"),
    ],
)
def test_tangents_that_do_not_fit_are_refused(kernels, tangents, message):
    with pytest.raises(tapeflow.ArgumentError, match=message):
        tapeflow.jvp(kernels["product"], wrt=["a", "x"])(4, 0.5, np.ones(4), tangents=tangents)


def test_value_and_gradient_is_one_call(kernels):
    x = RNG.normal(size=5)
    value, gradients = tapeflow.value_and_gradient(kernels["logsum"], wrt=["x"])(5, x)
    result = tapeflow.gradient(kernels["logsum"], wrt=["x"])(5, x)
    assert value == result.value
    np.testing.assert_array_equal(gradients["x"], result.gradients["x"])


def test_the_generated_c_is_there_to_read(kernels):
    jvp, hvp = tapeflow.jvp(kernels["product"], wrt=["x"]), tapeflow.hvp(kernels["product"], wrt=["x"])
    assert (jvp.name, hvp.name) == ("product_jvp", "product_hvp")
    assert "product_jvp(tf_tape *tf" in jvp.c_source and "TF_TAPE" not in jvp.c_source
    assert "tangent of x" in jvp.header and "shadow: on entry" in hvp.header
    assert "ad.jvp @product_hvp of @product_grad" in hvp.ir("import")


@pytest.mark.parametrize("name", ["worked_example", "mttkrp", "gravity", "jacobi"])
def test_second_derivatives_of_the_suite_are_differences_of_the_gradient(name):
    suite = SUITE[name]
    kernel, wrt, arguments, h = (
        tapeflow.load(suite.source, suite.function),
        list(suite.wrt),
        suite.arguments("mini"),
        2e-6,
    )
    vectors = {it: np.random.default_rng(5).standard_normal(np.shape(arguments[it])) for it in wrt}
    grad = tapeflow.gradient(kernel, wrt)

    def at(t):
        moved = suite.arguments("mini")
        return grad(*(moved | {it: moved[it] + t * vectors[it] for it in wrt}).values()).gradients

    ahead, behind = at(h), at(-h)
    found = tapeflow.hvp(kernel, wrt)(*suite.arguments("mini").values(), vectors=vectors)
    for it in wrt:
        size = np.abs(found.products[it]).max()
        assert size > 0.1
        np.testing.assert_allclose(found.products[it], (ahead[it] - behind[it]) / (2 * h), rtol=1e-6, atol=1e-8 * size)


def test_check_holds_forward_mode_against_differences_and_gradient(kernels):
    u, w, weight = RNG.normal(size=9), RNG.normal(size=9).astype(np.float32), RNG.normal(size=9)
    grad = tapeflow.gradient(kernels["relax"], wrt=["c", "u", "w"])
    # The array that is only read has a weight too.
    report = tapeflow.check(grad, [9, 3, 0.2, u, w], seeds={"u": weight, "w": weight.astype(np.float32)})
    assert report.passed
    assert all(check.dot_tolerance == (1e-3 if check.wrt == "w" else 1e-12) for check in report.checks)
    assert all(check.forward is not None for check in report.checks)
    grad = tapeflow.gradient(kernels["product"], wrt=["a", "x"])
    arguments = [9, 0.3, RNG.normal(size=9)]
    report = tapeflow.check(grad, arguments)
    assert report.passed
    assert all(check.dot_tolerance == 1e-12 for check in report.checks)
    assert all(check.forward is None for check in tapeflow.check(grad, arguments, forward=False).checks)


@pytest.mark.parametrize(
    ("changes", "failures"),
    [
        ({}, ()),
        ({"dot_error": 1e-11}, ("dot product above 1e-12",)),
        ({"forward_error": 1e-3}, ("forward mode above 1e-06",)),
        ({"error": np.nan, "dot_error": np.nan}, ("gradient above 1e-06", "dot product above 1e-12")),
    ],
)
def test_each_error_of_a_check_fails_it(changes, failures):
    check = DirectionCheck("x", 1.0, 1.0, 1e-3, 1e-9, 1e-6, 1.0, 1e-9, 1e-15)
    assert replace(check, **changes).failures == failures
    assert replace(check, **changes).passed == (not failures)

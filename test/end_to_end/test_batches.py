"""Several cotangents, tangents or vectors at once: each member is bit for bit what a call of its own gives."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow

pytestmark = pytest.mark.optimized

SOURCE = r"""
#include <math.h>

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

double relax(int n, int steps, double c, double u[n], const float w[n])
{
    double moved = 0.0;
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++) {
            double line[2] = {u[i - 1] + u[i + 1], 2.0 * u[i]};
            u[i] = u[i] + c * (line[0] - line[1]) * w[i] * u[i];
            moved += u[i] * u[i];
        }
    return moved;
}

void outer(int n, int m, const double x[n], const double *y, double A[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = exp(x[i] * y[j]);
}

float root(float a, float b)
{
    float x = a;
    while (fabsf(x * x * x - b) > 1e-4f * b)
        x = x - (x * x * x - b) / (3.0f * x * x);
    return x;
}
"""

RNG = np.random.default_rng(11)


def arguments(name: str) -> list[Any]:
    match name:
        case "product":
            return [7, 0.3, RNG.normal(size=7)]
        case "relax":
            return [6, 3, 0.1, RNG.normal(size=6), RNG.uniform(0.5, 1, size=6).astype(np.float32)]
        case "outer":
            return [2, 3, RNG.normal(size=2), RNG.normal(size=3), np.zeros((2, 3))]
        case _:
            return [1.3, 5.0]


KERNELS = {"product": ["a", "x"], "relax": ["c", "u", "w"], "outer": ["x", "y"], "root": ["a", "b"]}
MEMBERS = {"product": 4, "relax": 8, "outer": 1, "root": 5}
STREAMED = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)
OPTIONS = {"product": tapeflow.Options(), "relax": STREAMED, "outer": STREAMED, "root": tapeflow.Options(layout="aos")}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tapeflow.Kernel]:
    path = Path(tmp_path_factory.mktemp("batches")) / "batches.c"
    path.write_text(SOURCE, encoding="utf-8")
    return {name: tapeflow.load(path, function=name) for name in KERNELS}


def copies(values: list[Any]) -> list[Any]:
    return [it.copy() if isinstance(it, np.ndarray) else it for it in values]


def drawn(like: Any, members: int) -> np.ndarray:
    dtype = like.dtype if isinstance(like, np.ndarray) else np.float64
    return RNG.normal(size=(members, *np.shape(like))).astype(dtype)


def member(batch: dict[str, np.ndarray], k: int) -> dict[str, Any]:
    return {name: values[k] if values.ndim > 1 else float(values[k]) for name, values in batch.items()}


def equal(ours: dict[str, Any], theirs: dict[str, Any], k: int) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert np.asarray(ours[name]).dtype == (value.dtype if isinstance(value, np.ndarray) else ours[name].dtype)
        np.testing.assert_array_equal(ours[name][k], value, err_msg=name)


@pytest.mark.parametrize("name", KERNELS)
def test_each_member_is_a_call_of_its_own_and_the_modes_are_transposes(kernels, name):
    kernel, members, given = kernels[name], MEMBERS[name], arguments(name)
    many = tapeflow.gradient(kernel, wrt=KERNELS[name], options=OPTIONS[name], batch=members)
    one = tapeflow.gradient(kernel, wrt=KERNELS[name], options=OPTIONS[name])
    outputs = {it: given[many.position(it)] for it in many.outputs}
    seeds = {it: drawn(value, members) for it, value in outputs.items()}
    if many.returns_float:
        seeds["return"] = drawn(0.0, members)
    before = {it: values.copy() for it, values in seeds.items()}
    state = copies(given)
    result = many(*state, seeds=seeds)
    for k in range(members):
        alone = copies(given)
        expected = one(*alone, seeds=member(seeds, k))
        assert expected.value == result.value
        equal(result.gradients, expected.gradients, k)
        np.testing.assert_equal(alone, state)
    for it, values in before.items():
        np.testing.assert_array_equal(seeds[it], values)
    # The tape is that of one, and a second call gives the same.
    assert str(many.tape_report()).split("\n")[1:] == str(one.tape_report()).split("\n")[1:]
    again = many(*copies(given), seeds=seeds)
    for it, values in result.gradients.items():
        np.testing.assert_array_equal(values, again.gradients[it])

    forward = tapeflow.jvp(kernel, wrt=KERNELS[name], batch=members)
    one_forward = tapeflow.jvp(kernel, wrt=KERNELS[name])
    tangents = {it: drawn(given[many.position(it)], members) for it in KERNELS[name]}
    moved = forward(*copies(given), tangents=tangents)
    for k in range(members):
        expected = one_forward(*copies(given), tangents=member(tangents, k))
        assert expected.value == moved.value
        equal(moved.tangents, expected.tangents, k)
        left = [np.sum(np.multiply(seeds[it][k], value[k], dtype=float)) for it, value in moved.tangents.items()]
        right = [np.sum(np.multiply(tangents[it][k], result.gradients[it][k], dtype=float)) for it in tangents]
        assert sum(left) == pytest.approx(sum(right), rel=1e-4 if name in ("root", "relax") else 1e-12)


def test_hessian_vector_products_along_several_vectors(kernels):
    given = arguments("relax")
    several = tapeflow.hvp(kernels["relax"], wrt=["c", "u"], batch=3)
    one = tapeflow.hvp(kernels["relax"], wrt=["c", "u"])
    vectors, seeds = {"c": drawn(0.0, 3), "u": drawn(given[3], 3)}, {"u": RNG.normal(size=6)}
    result = several(*copies(given), vectors=vectors, seeds=seeds)
    for k in range(3):
        expected = one(*copies(given), vectors=member(vectors, k), seeds=seeds)
        assert (result.value, result.gradients["c"]) == (expected.value, expected.gradients["c"])
        np.testing.assert_array_equal(result.gradients["u"], expected.gradients["u"])
        equal(result.products, expected.products, k)


def test_simulate_runs_a_batch(kernels):
    given, seeds = arguments("product"), {"return": np.ones(4)}
    many = tapeflow.gradient(kernels["product"], wrt=["x"], options=OPTIONS["relax"], batch=4)
    one = tapeflow.gradient(kernels["product"], wrt=["x"], options=OPTIONS["relax"])
    together = tapeflow.simulate(many, given, hardware="stream-1k", seeds=seeds)
    alone = tapeflow.simulate(one, given, hardware="stream-1k")
    assert 1.0 < together.cycles / alone.cycles < 4.0


def test_check_compares_each_member_and_finds_a_wrong_one(kernels, monkeypatch):
    many = tapeflow.gradient(kernels["relax"], wrt=["c", "u"], options=STREAMED, batch=8)
    report = tapeflow.check(many, arguments("relax"), directions=1, tolerance=1e-5)
    assert report.passed
    assert [(it.wrt, it.member) for it in report.checks] == [(name, k) for name in ("c", "u") for k in range(8)]
    assert len({it.gradient for it in report.checks}) == 16
    assert "u (7)" in str(report)

    right = many.collect

    def wrong(call: Any, outcome: Any) -> Any:
        result = right(call, outcome)
        result.gradients["u"][5] *= 1.001
        return result

    monkeypatch.setattr(many, "collect", wrong)
    report = tapeflow.check(many, arguments("relax"), directions=1, tolerance=1e-5)
    assert [(it.wrt, it.member) for it in report.checks if not it.passed] == [("u", 5)]


def test_what_is_missing_is_zero_and_gradients_are_accumulated(kernels):
    many = tapeflow.gradient(kernels["relax"], wrt=["u"], options=STREAMED, batch=8)
    given, target = arguments("relax"), np.ones((8, 6))
    result = many(*copies(given), seeds={"return": range(8)}, accumulate={"u": target})
    np.testing.assert_array_equal(target, 1.0 + result.gradients["u"])
    np.testing.assert_array_equal(result.gradients["u"][0], 0.0)
    assert result.gradients["u"][1:].all(axis=0)[1:5].all()
    forward = tapeflow.jvp(kernels["product"], wrt=["a", "x"], batch=2)
    assert forward(*arguments("product"), tangents={"a": [0.0, 1.0]}).tangents["return"][0] == 0.0


NUMBERS = "seeds['return']: expected 4 numbers (float64), one a member of the batch, got "
REFUSED = {
    "seeds are needed: 4 cotangents of an output of product\n  help: these have cotangents: return": None,
    f"{NUMBERS}float 1.0": {"return": 1.0},
    f"{NUMBERS}an array of float64 and shape (3,)": {"return": np.zeros(3)},
    f"{NUMBERS}an array of complex128": {"return": np.zeros(4, complex)},
    f"{NUMBERS}list": {"return": [1, [2, 3], 4, 5]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_seeds_that_are_no_batch_are_refused(kernels, message):
    grad = tapeflow.gradient(kernels["product"], wrt=["x"], batch=4)
    with pytest.raises(tapeflow.ArgumentError, match=re.escape(message)):
        grad(*arguments("product"), seeds=REFUSED[message])


def test_arrays_that_are_no_batch_are_refused(kernels):
    many = tapeflow.gradient(kernels["outer"], wrt=["x"], batch=4)
    given = arguments("outer")
    with pytest.raises(tapeflow.ArgumentError, match=r"seeds\['A'\]: expected 3 dimensions, the first for the 4"):
        many(*given, seeds={"A": np.zeros((2, 3))})
    with pytest.raises(tapeflow.ArgumentError, match=r"expected 4 of the shape of A, \(4, 2, 3\), got \(3, 2, 3\)"):
        many(*given, seeds={"A": np.zeros((3, 2, 3))})
    with pytest.raises(tapeflow.ArgumentError, match=r"accumulate\['x'\]: expected 4 of the shape of x, \(4, 2\), got"):
        many(*given, seeds={"A": np.zeros((4, 2, 3))}, accumulate={"x": np.zeros((2, 2))})
    forward = tapeflow.jvp(kernels["product"], wrt=["a", "x"], batch=2)
    with pytest.raises(tapeflow.ArgumentError, match=r"tangents\['x'\]: expected 2 of the shape of x, \(2, 7\), got"):
        forward(*arguments("product"), tangents={"x": np.zeros((3, 7))})
    with pytest.raises(tapeflow.ArgumentError, match=r"tangents\['a'\]: expected 2 numbers \(float64\)"):
        forward(*arguments("product"), tangents={"a": 1.0})


@pytest.mark.parametrize("batch", [0, 1000, 2.0, True])
def test_a_batch_of_no_or_too_many_members_is_refused(kernels, batch):
    with pytest.raises(tapeflow.TapeflowError, match=rf"batch={batch}: a batch has 1 to 64 members"):
        tapeflow.gradient(kernels["product"], wrt=["x"], batch=batch)

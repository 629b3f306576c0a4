"""Affine programs as real mlir-opt prints them, in the pretty and in the generic form: values and gradients."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from pipelines import PIPELINES, gradient_at

import tapeflow
from tapeflow.errors import TapeflowRemark
from tapeflow.gradient_check import check

FORMS = [Path(__file__).parent / "mlir" / f"affine_{form}.mlir" for form in ("pretty", "generic")]


def by_hand(n: int, A: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:  # noqa: N803 # as in the MLIR
    """What the program computes, written from MLIR's description of affine."""
    s = 0.0
    for i in range(n):
        for j in range(max(0, i - 2), min(n, i + 3), 2):
            A[i, j] *= x[(i + j) // 2]
        k = (2 * i - n) % 3
        m = min(max(k - 1, 0), n - 1)
        v = y[m] * y[m] if i - 1 >= 0 and n - i - 2 >= 0 else 0.0
        if i - 1 >= 0 and n - i - 2 >= 0:
            y[n - i - 1] = v
        s += v
    for i in range(n):
        for j in range(0, min(n, 10), 2):
            A[i, j] *= A[i, j]
    return s + A[:n, :n].sum()


def arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    return [n, rng.uniform(0.5, 1.5, (n, n)), rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n)]


@pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")
@pytest.mark.parametrize("source", FORMS, ids=lambda path: path.stem)
class TestMlirOptText:
    @pytest.mark.parametrize("n", [0, 1, 2, 5, 13])
    def test_value_and_gradient(self, source: Path, n: int):
        grad = tapeflow.gradient(tapeflow.load(source), wrt=["arg1", "arg2", "arg3"])
        ours, theirs = arguments(n), arguments(n)
        assert grad(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-14)
        for left, right in zip(ours[1:], theirs[1:], strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-14)
        report = check(grad, arguments(n))
        assert report.passed, str(report)

    @pytest.mark.parametrize("pipeline", PIPELINES)
    def test_same_bits_at_every_stage(self, source: Path, pipeline: str):
        wrt = ("arg1", "arg2", "arg3")
        expected = tapeflow.gradient(tapeflow.load(FORMS[0]), wrt=list(wrt))(*arguments(7))
        found = gradient_at(pipeline, tapeflow.load(source), wrt)(*arguments(7))
        assert found.value == expected.value
        for name in wrt:
            np.testing.assert_array_equal(found.gradients[name], expected.gradients[name])


def test_parallel_loops_are_remarked_on():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TapeflowRemark)
        tapeflow.gradient(tapeflow.load(FORMS[0]), wrt=["arg1"])
    assert any("'affine.parallel' is differentiated in sequence" in str(it.message) for it in caught)

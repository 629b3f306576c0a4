"""Gradients are right: against differences, against autograd, and the same bits wherever the pipeline ends."""

from __future__ import annotations

import functools
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from cases import CASES, Case
from pipelines import PIPELINES, REFERENCE, gradient_at

import tapeflow
from bench.peers import PROGRAMS
from bench.primal import compile_primal
from bench.suite import SUITE, Kernel
from tapeflow.api import Gradient, Result
from tapeflow.gradient_check import check

pytestmark = pytest.mark.optimized


@functools.cache
def loaded(source):
    return tapeflow.load(source)


@functools.cache
def gradient(source, wrt: tuple[str, ...], pipeline: str) -> Gradient:
    return gradient_at(pipeline, loaded(source), wrt)


def copies(arguments: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def cotangents(grad: Gradient, arguments: list[Any]) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    names = {name: grad.parameters[grad.position(name)].dtype for name in grad.outputs}
    return {name: rng.standard_normal(arguments[grad.position(name)].shape).astype(t) for name, t in names.items()}


def run(grad: Gradient, arguments: list[Any]) -> tuple[Result, list[Any]]:
    """The result, and the arguments as the call left them."""
    left = copies(arguments)
    return grad(*left, seeds=cotangents(grad, arguments)), left


def assert_same_bits(ours: tuple[Result, list[Any]], theirs: tuple[Result, list[Any]]) -> None:
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ours[0].value, theirs[0].value) if ours[0].value is not None else None
    for name, value in ours[0].gradients.items():
        np.testing.assert_array_equal(value, theirs[0].gradients[name])


def assert_equals_autograd(kernel: Kernel, size: str) -> None:
    grad = gradient(kernel.source, kernel.wrt, REFERENCE)
    arguments = kernel.arguments(size)

    def value(*moved: Any) -> float:
        return kernel.reference(anp, *(arguments | dict(zip(kernel.wrt, moved, strict=True))).values())

    expected = autograd.grad(value, argnum=list(range(len(kernel.wrt))))(*(arguments[name] for name in kernel.wrt))
    result = grad(*copies(list(arguments.values())))
    assert result.value == pytest.approx(kernel.reference(np, *arguments.values()), rel=1e-12)
    for name, reference in zip(kernel.wrt, expected, strict=True):
        assert np.linalg.norm(result.gradients[name] - reference) <= 1e-12 * np.linalg.norm(reference)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - SUITE.keys()))
def test_programs_of_peers_equal_autograd(name: str):
    assert_equals_autograd(PROGRAMS[name], "mini")


@pytest.mark.parametrize("size", ["mini", "paper"])
@pytest.mark.parametrize("kernel", SUITE.values(), ids=SUITE)
class TestSuite:
    def test_equals_differences(self, kernel: Kernel, size: str):
        grad = gradient(kernel.source, kernel.wrt, REFERENCE)
        report = check(grad, list(kernel.arguments(size).values()), directions=1)
        assert report.passed, str(report)

    def test_equals_autograd(self, kernel: Kernel, size: str):
        assert_equals_autograd(kernel, size)

    @pytest.mark.parametrize("pipeline", PIPELINES)
    def test_has_the_same_bits_at_every_stage_and_call(self, kernel: Kernel, size: str, pipeline: str):
        arguments = list(kernel.arguments(size).values())
        grad = gradient(kernel.source, kernel.wrt, pipeline)
        expected = run(gradient(kernel.source, kernel.wrt, REFERENCE), arguments)
        assert_same_bits(run(grad, arguments), expected)
        assert_same_bits(run(grad, arguments), expected)

    def test_runs_the_kernel_itself(self, kernel: Kernel, size: str):
        arguments = list(kernel.arguments(size).values())
        result, left = run(gradient(kernel.source, kernel.wrt, REFERENCE), arguments)
        expected = copies(arguments)
        assert result.value == pytest.approx(compile_primal(kernel)(*expected), rel=1e-15)
        for ours, theirs in zip(left, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


AWKWARD = [pytest.param(case, extent, id=f"{case.name}-{extent}") for case in CASES.values() for extent in case.extents]


@pytest.mark.parametrize(("case", "extent"), AWKWARD)
class TestAwkwardLoops:
    def test_equals_differences(self, case: Case, extent: int):
        arguments = case.arguments(np.random.default_rng(extent), extent)
        report = check(gradient(case.source, case.wrt, REFERENCE), arguments)
        assert report.passed, str(report)

    @pytest.mark.parametrize("pipeline", PIPELINES)
    def test_has_the_same_bits_at_every_stage_and_call(self, case: Case, extent: int, pipeline: str):
        arguments = case.arguments(np.random.default_rng(extent), extent)
        grad = gradient(case.source, case.wrt, pipeline)
        expected = run(gradient(case.source, case.wrt, REFERENCE), arguments)
        assert_same_bits(run(grad, arguments), expected)
        assert_same_bits(run(grad, arguments), expected)

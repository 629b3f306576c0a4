"""Gradients through `while`, on every pipeline, against formulas and central differences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow
from tapeflow import Options

KERNELS = Path(__file__).parent / "kernels" / "whiles.c"
PIPELINES = (
    Options(),
    Options(layout="aos"),
    Options(layout="aos", spad_bytes=512),
    Options(layout="aos", spad_bytes=512, stream=True),
)
CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "newton": ("a", (2.0, 1e-12)),
    "newton, no iteration": ("a", (1.0, 1e-12)),
    "collatz": ("x", (27, 0.3, np.array([0.9, 1.1, 0.8, 1.05, 0.97]))),
    "collatz, of weights": ("w", (27, 0.3, np.array([0.9, 1.1, 0.8, 1.05, 0.97]))),
    "adaptive": ("x", (1.0, 2.0, 1e-3)),
    "nest": ("x", (3, np.array([2.0, 0.5, 1.2]), 0.3)),
    "nest, nothing runs": ("x", (0, np.array([2.0]), 0.3)),
    "repeated": ("x", (1.3,)),
    "repeated, once": ("x", (99.0,)),
}


def fresh(arguments: tuple[Any, ...]) -> list[Any]:
    return [it.copy() if isinstance(it, np.ndarray) else it for it in arguments]


@pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")
@pytest.mark.parametrize("case", CASES)
def test_gradient_through_while(case: str):
    wrt, arguments = CASES[case]
    kernel = tapeflow.load(KERNELS, function=case.partition(",")[0])
    gradients = [tapeflow.gradient(kernel, wrt=[wrt], options=options) for options in PIPELINES]
    results = [gradient(*fresh(arguments)) for gradient in gradients]
    expected = results[0].gradients[wrt]
    for gradient, result in zip(gradients, results, strict=True):
        assert np.array_equal(result.gradients[wrt], expected)
        assert np.array_equal(gradient(*fresh(arguments)).gradients[wrt], expected)
    position = [parameter.name for parameter in kernel.parameters].index(wrt)
    base = np.array(arguments[position], float)
    for place in np.ndindex(base.shape):
        values: list[float] = []
        for step in (1e-6, -1e-6):
            moved = base.copy()
            moved[place] += step
            changed = fresh(arguments)
            changed[position] = moved if moved.shape else float(moved)
            values.append(gradients[0](*changed).value)
        # A test that flips between the two points would make the difference meaningless: none does here.
        if case != "newton, no iteration":
            assert np.asarray(expected)[place] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-8)


def test_newton_has_the_derivative_of_the_square_root():
    gradient = tapeflow.gradient(tapeflow.load(KERNELS, function="newton"), wrt=["a"])
    assert gradient(2.0, 1e-14).gradients["a"] == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)
    assert gradient(1.0, 1e-14).gradients["a"] == 1.0


@pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")
@pytest.mark.parametrize("case", CASES)
def test_forward_mode_and_second_derivatives_through_while(case: str):
    wrt, arguments = CASES[case]
    kernel = tapeflow.load(KERNELS, function=case.partition(",")[0])
    position = [parameter.name for parameter in kernel.parameters].index(wrt)
    direction: Any = np.random.default_rng(4).standard_normal(np.shape(arguments[position]))
    direction = direction if direction.shape else float(direction)
    gradient = tapeflow.gradient(kernel, wrt=[wrt])

    def at(t: float) -> tapeflow.Result:
        moved = fresh(arguments)
        moved[position] = moved[position] + t * direction
        return gradient(*moved)

    tangent = tapeflow.jvp(kernel, wrt=[wrt])(*fresh(arguments), tangents={wrt: direction}).tangents["return"]
    here, ahead, behind = at(0.0).gradients[wrt], at(1e-6), at(-1e-6)
    assert tangent == pytest.approx(float(np.sum(here * direction)), rel=1e-12)
    if case != "newton, no iteration":
        assert tangent == pytest.approx((ahead.value - behind.value) / 2e-6, rel=1e-5, abs=1e-8)
    second = (np.asarray(ahead.gradients[wrt]) - behind.gradients[wrt]) / 2e-6
    for options in PIPELINES:
        found = tapeflow.hvp(kernel, [wrt], options)(*fresh(arguments), vectors={wrt: direction})
        assert np.array_equal(found.gradients[wrt], here)
        np.testing.assert_allclose(found.products[wrt], second, rtol=1e-5, atol=1e-8)


def test_the_second_derivative_of_newtons_root_is_the_formulas():
    hvp = tapeflow.hvp(tapeflow.load(KERNELS, function="newton"), wrt=["a"])
    assert hvp(2.0, 1e-14, vectors={"a": 1.0}).products["a"] == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-10)


def test_a_report_names_the_loop_whose_iterations_no_formula_counts():
    grad = tapeflow.gradient(tapeflow.load(KERNELS, function="nest"), wrt=["x"])
    lines = KERNELS.read_text().splitlines()
    growing = [region for region in grad.tape_report().regions if region.records is None]
    assert growing
    for region in growing:
        assert region.loop is not None
        line = int(region.loop.split(":")[-2])
        assert "while" in lines[line - 1]
        assert f"iterations of {region.loop}" in str(grad.tape_report())

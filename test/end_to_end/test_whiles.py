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

# ruff: noqa: N803, N806, E741 # names as in the MLIR
"""The named operations of `linalg` as real mlir-opt prints them, in the pretty and in the generic form."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check

FORMS = [Path(__file__).parent / "mlir" / f"linalg_{form}.mlir" for form in ("pretty", "generic")]
erf = np.vectorize(math.erf, otypes=[float])


def contractions(A, B, x, y, z, s):
    y += A @ x
    x += y @ A
    B += A.T @ A
    z += B @ x
    s += x @ z
    return float(s)


def batches(A, B, C, T, D, s):
    C += A @ B
    T += C @ B.transpose(0, 2, 1)
    D += (T @ B).sum(axis=0)
    s += (D**2).sum()
    return float(s)


def convolutions(a, k, o, I, K, O, s):
    o += np.correlate(a, k, "valid")
    I[:] = o
    windows = np.lib.stride_tricks.sliding_window_view(I, K.shape)
    O += (windows * K).sum(axis=(2, 3))
    O **= 2
    s += O.sum()
    return float(s)


def elements(x, y, z, c):
    z[:] = abs(x - x ** np.tanh(x / y))
    x[:] = erf(x**-0.5)
    y[:] = 1 / -y
    z[:] = x * y + np.sin(z)
    c *= z.prod(axis=0)
    return float(c[0])


PROGRAMS: dict[Callable, list[tuple[int, ...]]] = {
    contractions: [(4, 3), (3, 3), (3,), (4,), (3,), ()],
    batches: [(2, 3, 4), (2, 4, 2), (2, 3, 2), (2, 3, 4), (3, 2), ()],
    convolutions: [(9,), (3,), (7,), (5, 7), (2, 3), (4, 5), ()],
    elements: [(3, 2), (3, 2), (3, 2), (2,)],
}
"""Each with the shapes of its arguments, no two sizes of different dimensions alike where it can be."""


def arguments(by_hand: Callable) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.asarray(rng.uniform(0.6, 1.4, shape)) for shape in PROGRAMS[by_hand]]


@pytest.mark.parametrize("source", FORMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("by_hand", PROGRAMS, ids=lambda it: it.__name__)
def test_value_and_gradient(by_hand: Callable, source: Path):
    kernel = tapeflow.load(source, function=by_hand.__name__)
    grad = tapeflow.gradient(kernel, wrt=[parameter.name for parameter in kernel.parameters])
    ours, theirs = arguments(by_hand), arguments(by_hand)
    assert grad(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-13)
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-13)
    report = check(grad, arguments(by_hand))
    assert report.passed, str(report)


@pytest.mark.parametrize("by_hand", PROGRAMS, ids=lambda it: it.__name__)
def test_forms_agree_bit_for_bit(by_hand: Callable):
    results = []
    for source in FORMS:
        kernel = tapeflow.load(source, function=by_hand.__name__)
        # The generic form numbers arguments through the file.
        wrt = [parameter.name for parameter in kernel.parameters]
        found = tapeflow.gradient(kernel, wrt=wrt)(*arguments(by_hand))
        results.append([found.value, *(found.gradients[name] for name in wrt)])
    for pretty, generic in zip(*results, strict=True):
        np.testing.assert_array_equal(pretty, generic)


VECTOR = "memref<?xf64>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("linalg.dot ins(%x, %x, %x : V, V, V) outs(%x : V)", "'linalg.dot' does not verify: expected 2 inputs and 1"),
        ("linalg.dot ins(%x, %f : V, memref<?xf32>) outs(%s : memref<f64>)", "different element types"),
        ("linalg.negf ins(%i : memref<?xi64>) outs(%i : memref<?xi64>)", "'linalg.negf' does not verify: it is for"),
        ("linalg.reduce { arith.addf } ins(%x : V) outs(%s : memref<f64>) dimensions = [1]", "dimensions below 1"),
        ("linalg.map { arith.nosuch } ins(%x : V) outs(%x : V)", "there is no operation 'arith.nosuch'"),
        ("linalg.dot ins(%x, %x : V, V) outs(%x : V)", "of rank 1 to match the result count"),
        ('"linalg.dot"(%x, %x, %s) : (V, V, memref<f64>) -> ()', "expected a region of one block"),
        ('"linalg.map"(%x, %x) ({}) : (V, V) -> ()', "expected a region of one block"),
    ],
)
def test_what_is_refused(text: str, reason: str, tmp_path: Path):
    path = tmp_path / "program.mlir"
    body = text.replace("V", VECTOR)
    path.write_text(
        "func.func @f(%x: memref<?xf64>, %f: memref<?xf32>, %i: memref<?xi64>, %s: memref<f64>) {\n"
        f"  {body}\n  return\n}}\n"
    )
    with pytest.raises(TapeflowError, match=reason) as caught:
        tapeflow.load(path)
    assert "program.mlir" in str(caught.value)

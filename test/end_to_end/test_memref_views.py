"""Views of arrays of rank 0 to 5 as real mlir-opt prints them, against views of NumPy and differences."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.errors import TapeflowError
from tapeflow.frontend.mlir import import_mlir
from tapeflow.gradient_check import check

FORMS = [Path(__file__).parent / "mlir" / f"memref_{form}.mlir" for form in ("pretty", "generic")]
TABLE = np.array([[1.0, 2.0, 0.5], [-1.0, 0.25, 4.0]])


def by_hand(n: int, a, b, s, o, five) -> float:  # as in the MLIR
    """What the program computes, with NumPy's views."""
    e = a.reshape(24).reshape(8, 3)
    r = np.lib.stride_tricks.as_strided(a.reshape(24)[2:], (3, 2), (6 * 8, 2 * 8))
    part = e[1::2, :]
    row = s[1:2, :, 1]
    flat = b.T.copy().reshape(-1)
    total = sum(math.sin(flat[i] * e[i % 3, i % 3] * TABLE.T[i % 3, 1]) for i in range(flat.size))
    y = r[2, 1] * row[0, 2]
    part[3, 1] = y
    b[0, 1] += y
    b.T[0, 0] *= b[0, 1]
    o[()] = b[0, 0]
    return (total + o[()]) * (s.ndim + part.shape[n]) + five.reshape(2, 4)[1, 2] * a[3, 3]


def arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    shapes = [(4, 6), (3, 2), (2, 3, 4), (), (2, 1, 2, 1, 2)]
    return [n, *(np.asarray(rng.uniform(0.5, 1.5, shape)) for shape in shapes)]


def test_both_forms_are_one_program():
    pretty, generic = map(import_mlir, FORMS)
    assert pretty.is_structurally_equivalent(generic)


def test_value_and_gradient():
    gradient = tapeflow.gradient(tapeflow.load(FORMS[0], function="f"), wrt=[f"arg{k}" for k in range(1, 6)])
    for n in (0, 1):
        ours, theirs = arguments(n), arguments(n)
        assert gradient(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-14)
        for left, right in zip(ours[1:], theirs[1:], strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-14)
        report = check(gradient, arguments(n))
        assert report.passed, str(report)


def test_updates_of_arrays_that_grow():
    gradient = tapeflow.gradient(tapeflow.load(FORMS[0], function="grown"), wrt=["arg1", "arg2"])
    x, y = np.array([0.5, 1.5, 0.25]), np.linspace(0.5, 1.5, 6)
    z, w = [*x, 2.0], [*y]
    for i in range(6):
        z[i % 4] *= w[i]
        w[i // 4] = z[i % 4]
    # Element 11 of an array of 4 by 3 by 4 is (0, 2, 3).
    assert gradient(3, x.copy(), y.copy()).value == pytest.approx(z[3] * z[2] + w[0], rel=1e-14)
    report = check(gradient, [3, x, y])
    assert report.passed, str(report)


def test_which_dimension_a_subview_leaves_out(tmp_path: Path):
    # The first of size 1 is kept, the last goes: result[0, j] is x[0, j, 2].
    path = tmp_path / "f.mlir"
    path.write_text(
        "func.func @f(%x: memref<3x4x5xf64>) -> f64 {\n"
        "  %c0 = arith.constant 0 : index\n  %c3 = arith.constant 3 : index\n"
        "  %v = memref.subview %x[1, 0, 2] [1, 4, 1] [1, 1, 1]\n"
        "    : memref<3x4x5xf64> to memref<1x4xf64, strided<[20, 5], offset: 22>>\n"
        "  %e = memref.load %v[%c0, %c3] : memref<1x4xf64, strided<[20, 5], offset: 22>>\n"
        "  return %e : f64\n}\n"
    )
    gradient = tapeflow.gradient(tapeflow.load(path), wrt=["x"])
    x = np.arange(60.0).reshape(3, 4, 5)
    result = gradient(x)
    assert result.value == x[1, 3, 2]
    assert np.argwhere(result.gradients["x"]).tolist() == [[1, 3, 2]]


VIEW = "%v = memref.collapse_shape %x [[0, 1]] : memref<2x2xf64> into memref<4xf64>"
REFUSED = {
    "a selected view": (
        f"{VIEW}\n  %w = arith.select %b, %v, %y : memref<4xf64>\n  %r = memref.load %w[%i] : memref<4xf64>",
        "3:3",
        "a view that 'memref.collapse_shape' makes is handed on by 'arith.select'",
    ),
    "an array with a layout": (
        "%v = memref.reinterpret_cast %s to offset: [0], sizes: [2], strides: [1]\n"
        "    : memref<4xf64, strided<[2]>> to memref<2xf64, strided<[1]>>\n"
        "  %r = memref.load %v[%i] : memref<2xf64, strided<[1]>>",
        "3:3",
        "of which it is not known where its elements lie",
    ),
    "a dimension that is not there": (
        f"{VIEW}\n  %d = memref.dim %v, %two : memref<4xf64>\n  %r = memref.load %y[%d] : memref<4xf64>",
        "4:3",
        "'memref.dim' asks for dimension 2 of memref<4xf64>, which has 1",
    ),
    "bytes": (
        "%z = memref.alloca() : memref<64xi8>\n  %v = memref.view %z[%i][] : memref<64xi8> to memref<4xf64>\n"
        "  %r = memref.load %v[%i] : memref<4xf64>",
        "4:3",
        "'memref.view' cannot be differentiated yet",
    ),
    "strided metadata": (
        "%base, %o, %n, %t = memref.extract_strided_metadata %y : memref<4xf64> -> memref<f64>, index, index, index\n"
        "  %r = memref.load %y[%n] : memref<4xf64>",
        "3:3",
        "'memref.extract_strided_metadata' cannot be differentiated yet",
    ),
}


@pytest.mark.parametrize(("lines", "place", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(tmp_path: Path, lines: str, place: str, message: str):
    path = tmp_path / "f.mlir"
    path.write_text(
        "func.func @f(%i: index, %b: i1, %x: memref<2x2xf64>, %y: memref<4xf64>, "
        "%s: memref<4xf64, strided<[2]>>) -> f64 {\n"
        f"  %two = arith.constant 2 : index\n  {lines}\n  return %r : f64\n}}\n"
    )
    with pytest.raises(TapeflowError) as caught:
        tapeflow.gradient(tapeflow.load(path), wrt=["x", "y"])
    assert message in str(caught.value)
    assert caught.value.position == f"{path}:{place}"
    assert caught.value.hint

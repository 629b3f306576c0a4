"""Parts of arrays given to functions that stay calls, in MLIR: against NumPy's views, differences and dot products."""

import math
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.gradient_check import check

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.TapeflowRemark")

SOURCE = Path(__file__).parent / "mlir" / "call_views.mlir"
WRT = ["x", "A", "c", "s"]
OPTIONS = {
    "inlined": tapeflow.Options(),
    "streams": tapeflow.Options(inline_limit=0, layout="aos", spad_bytes=1024, stream=True, recompute="cheap"),
}


def tree(v) -> float:
    half = len(v) // 2
    return math.sin(v[0]) if len(v) <= 1 else tree(v[:half]) * tree(v[half:])


def sparse(v) -> float:
    return v[0] ** 2 if len(v) <= 2 else sparse(v[1 : 1 + 2 * (len(v) // 2) : 2]) * v[0] + v[0] ** 2


def ping(n: int, w, s: float) -> float:
    if n <= 1:
        return s
    w[0] = p = math.sin(w[0] * w[1])
    return pong(n - 1, w[1:], p) + p


def pong(n: int, w, s: float) -> float:
    w[0] += s
    return ping(n, w, w[0])


def corners(b, corner: float) -> float:
    return corner if min(b.shape) <= 1 else corners(b[1:, 1:], b[1, 1]) * b[-1, 0] + corner


def by_hand(n: int, m: int, x, a, c, s: float) -> float:  # as in the MLIR
    """What the program computes, with NumPy's views; it writes to `a`."""
    values = tree(x) * tree(c[2, 1]), sparse(a[:, 3]), sparse(c[:, n - 1, 1])
    before = s
    for row in a:
        before = ping(4, row[1:], before)
    local = np.array([x[k % n] * before for k in range(8)])
    pieces = pong(5, local[2:7], s) * local[3]
    blocks = corners(a[:, 1:], x[n - 1]) * (x[:-1] @ x[1:])
    return values[0] + values[1] + values[2] * before + pieces + blocks + tree(c[1, 2]) * c[1, -1, 2]


def arguments() -> list:
    rng = np.random.default_rng(1)
    n, m = 6, 5
    return [n, m, *(rng.uniform(0.5, 1.5, shape) for shape in ((n,), (m, 5), (3, n, 4))), 0.3]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_value_and_gradient(options: tapeflow.Options):
    gradient = tapeflow.gradient(tapeflow.load(SOURCE, function="f"), WRT, options)
    ours, theirs = arguments(), arguments()
    assert gradient(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-14)
    np.testing.assert_allclose(ours[3], theirs[3], rtol=1e-14)
    # Both modes, against differences, and the product of the two.
    report = check(gradient, arguments())
    assert report.passed, str(report)


def test_batches():
    """Jacobians by both modes, three rows or columns at once; a part of them against differences."""
    kernel, a = tapeflow.load(SOURCE, function="g"), arguments()[3]
    back, ahead = (tapeflow.jacobian(kernel, ["A"], batch=3, mode=mode) for mode in ("reverse", "forward"))
    rows, columns = back(5, a.copy()).jacobian, ahead(5, a.copy()).jacobian
    for output, row in rows.items():
        np.testing.assert_allclose(row["A"], columns[output]["A"], rtol=1e-11, atol=1e-13)
    up, down, step = a.copy(), a.copy(), 1e-5
    up[2, 1] += step
    down[2, 1] -= step
    slope = (back(5, up).value - back(5, down).value) / (2 * step)
    assert rows["return"]["A"][2, 1] == pytest.approx(slope, rel=1e-8)
    np.testing.assert_allclose(rows["A"]["A"][..., 2, 1], (up - down) / (2 * step), rtol=1e-7, atol=1e-9)

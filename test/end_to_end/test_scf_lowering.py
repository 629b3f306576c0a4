"""`scf.parallel`, `scf.index_switch` and `scf.execute_region`: values by hand, gradients by differences."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from pipelines import PIPELINES, gradient_at

import tapeflow
from tapeflow.errors import TapeflowRemark
from tapeflow.gradient_check import check

PARALLEL = """
func.func @f(%n: index, %m: index, %x: memref<?x?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %start = arith.constant 0.25 : f64
  %one = arith.constant 1.0 : f64
  %s, %p = scf.parallel (%i, %j) = (%c0, %c1) to (%n, %m) step (%c1, %c2) init (%start, %one) -> (f64, f64) {
    %v = memref.load %x[%i, %j] : memref<?x?xf64>
    %t = scf.parallel (%k) = (%c0) to (%j) step (%c1) init (%v) -> f64 {
      %w = memref.load %y[%k] : memref<?xf64>
      scf.reduce(%w : f64) {
      ^bb0(%a: f64, %b: f64):
        %c = arith.addf %a, %b : f64
        scf.reduce.return %c : f64
      }
    }
    %sq = arith.mulf %t, %v : f64
    memref.store %sq, %x[%i, %j] : memref<?x?xf64>
    scf.reduce(%t, %sq : f64, f64) {
    ^bb0(%a: f64, %b: f64):
      %c = arith.maximumf %a, %b : f64
      scf.reduce.return %c : f64
    }, {
    ^bb0(%a: f64, %b: f64):
      %c = math.sin %b : f64
      %cc = arith.mulf %c, %a : f64
      %d = arith.addf %a, %cc : f64
      scf.reduce.return %d : f64
    }
  }
  %r = arith.mulf %s, %p : f64
  return %r : f64
}
"""


def parallel_by_hand(n: int, m: int, x: np.ndarray, y: np.ndarray) -> float:
    largest, product = 0.25, 1.0
    for i in range(n):
        for j in range(1, m, 2):
            t = x[i, j] + sum(y[k] for k in range(j))
            x[i, j] *= t
            largest = max(largest, t)
            product += math.sin(x[i, j]) * product
    return largest * product


SWITCH = """
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %start = arith.constant 1.5 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %start) -> (f64) {
    %k = arith.remsi %i, %c5 : index
    %low = arith.subi %k, %c2 : index
    %v = memref.load %x[%i] : memref<?xf64>
    %f, %g = scf.index_switch %low -> f64, f64
    case 2 {
      %b = math.sin %v : f64
      scf.yield %b, %v : f64, f64
    }
    case -1 {
      %w = scf.index_switch %i -> f64
      case 6 {
        scf.yield %a : f64
      }
      default {
        %e = arith.mulf %v, %v : f64
        scf.yield %e : f64
      }
      scf.yield %w, %a : f64, f64
    }
    case 0 {
      scf.yield %a, %a : f64, f64
    }
    default {
      %e = math.exp %v : f64
      memref.store %e, %y[%i] : memref<?xf64>
      scf.yield %v, %e : f64, f64
    }
    scf.index_switch %i
    case 3 {
      memref.store %f, %y[%c0] : memref<?xf64>
      scf.yield
    }
    default {
      scf.yield
    }
    %r = scf.execute_region -> (f64) {
      %local = memref.alloca() : memref<f64>
      memref.store %f, %local[] : memref<f64>
      %h = memref.load %local[] : memref<f64>
      %o = memref.load %y[%i] : memref<?xf64>
      %p = arith.mulf %h, %g : f64
      %q = arith.addf %p, %o : f64
      scf.yield %q : f64
    }
    scf.execute_region {
      memref.store %r, %x[%i] : memref<?xf64>
      scf.yield
    }
    %next = math.tanh %r : f64
    scf.yield %next : f64
  }
  return %s : f64
}
"""


def switch_by_hand(n: int, x: np.ndarray, y: np.ndarray) -> float:
    s = 1.5
    for i in range(n):
        v = x[i]
        match i % 5 - 2:
            case 2:
                f, g = math.sin(v), v
            case -1:
                f, g = s if i == 6 else v * v, s
            case 0:
                f, g = s, s
            case _:
                y[i] = math.exp(v)
                f, g = v, y[i]
        if i == 3:
            y[0] = f
        x[i] = f * g + y[i]
        s = math.tanh(x[i])
    return s


def parallel_arguments(n: int, m: int) -> list:
    rng = np.random.default_rng(10 * n + m)
    return [n, m, rng.uniform(0.2, 0.9, (n, m)), rng.uniform(-0.2, 0.2, m)]


def switch_arguments(n: int) -> list:
    rng = np.random.default_rng(n)
    return [n, rng.uniform(-0.5, 0.5, n), rng.uniform(-0.5, 0.5, n)]


CASES = {
    **{f"parallel {size}": (PARALLEL, parallel_by_hand, parallel_arguments, size)
       for size in [(0, 0), (0, 4), (3, 0), (1, 1), (1, 2), (3, 5), (4, 8)]},
    **{f"switch {n}": (SWITCH, switch_by_hand, switch_arguments, (n,)) for n in [0, 1, 2, 3, 5, 7, 12]},
}  # fmt: skip


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "f.mlir"
    path.write_text(request.param)
    return path


@pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")
@pytest.mark.parametrize(("source", "by_hand", "arguments", "size"), CASES.values(), ids=CASES, indirect=["source"])
def test_value_and_gradient(source: Path, by_hand, arguments, size):
    grad = tapeflow.gradient(tapeflow.load(source), wrt=["x", "y"])
    ours, theirs = arguments(*size), arguments(*size)
    assert grad(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-14)
    for left, right in zip(ours[-2:], theirs[-2:], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-14)
    report = check(grad, arguments(*size))
    assert report.passed, str(report)


@pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(
    ("source", "arguments", "size"),
    [(PARALLEL, parallel_arguments, (3, 5)), (SWITCH, switch_arguments, (12,))],
    ids=["parallel", "switch"],
    indirect=["source"],
)
def test_same_bits_at_every_stage(source: Path, arguments, size, pipeline: str):
    wrt = ("x", "y")
    expected = tapeflow.gradient(tapeflow.load(source), wrt=list(wrt))(*arguments(*size))
    found = gradient_at(pipeline, tapeflow.load(source), wrt)(*arguments(*size))
    assert found.value == expected.value
    for name in wrt:
        np.testing.assert_array_equal(found.gradients[name], expected.gradients[name])


@pytest.mark.parametrize("source", [PARALLEL], indirect=True)
def test_parallel_loops_are_remarked_on(source: Path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TapeflowRemark)
        tapeflow.gradient(tapeflow.load(source), wrt=["x"])
    said = [str(it.message) for it in caught if "'scf.parallel' is differentiated in sequence" in str(it.message)]
    assert len(said) == 2

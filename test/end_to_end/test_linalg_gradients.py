"""Gradients of `linalg` programs, in text that mlir-opt-19 reads, against `autograd` and NumPy."""

from __future__ import annotations

from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad as autograd_of

import tapeflow
from tapeflow.frontend.mlir import import_mlir
from tapeflow.interpreters import run

pytestmark = pytest.mark.optimized

LAYER = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
module {
  "memref.global"() <{
    constant, initial_value = dense<[[0.5, -1.0], [0.25, 2.0], [-0.75, 1.5]]> : tensor<3x2xf64>,
    sym_name = "w", sym_visibility = "private", type = memref<3x2xf64>
  }> : () -> ()
  func.func @layer(%arg0: memref<4x3xf64>, %arg1: f64) -> f64 {
    %0 = memref.get_global @w : memref<3x2xf64>
    %cst = arith.constant 0.000000e+00 : f64
    %alloc = memref.alloc() : memref<4x2xf64>
    %alloc_0 = memref.alloc() : memref<4x2xf64>
    %alloc_1 = memref.alloc() : memref<f64>
    linalg.fill ins(%arg1 : f64) outs(%alloc : memref<4x2xf64>)
    linalg.matmul ins(%arg0, %0 : memref<4x3xf64>, memref<3x2xf64>) outs(%alloc : memref<4x2xf64>)
    "memref.copy"(%alloc, %alloc_0) : (memref<4x2xf64>, memref<4x2xf64>) -> ()
    linalg.mul ins(%alloc, %alloc_0 : memref<4x2xf64>, memref<4x2xf64>) outs(%alloc : memref<4x2xf64>)
    linalg.fill ins(%cst : f64) outs(%alloc_1 : memref<f64>)
    linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]}
        ins(%alloc : memref<4x2xf64>) outs(%alloc_1 : memref<f64>) {
    ^bb0(%in: f64, %out: f64):
      %2 = math.sin %in : f64
      %3 = arith.addf %2, %out : f64
      linalg.yield %3 : f64
    }
    %1 = memref.load %alloc_1[] : memref<f64>
    return %1 : f64
  }
}
"""
WEIGHTS = np.array([[0.5, -1.0], [0.25, 2.0], [-0.75, 1.5]])

CONVOLUTION = """
module {
  func.func @smooth(%arg0: memref<1x9x9x2xf64>, %arg1: memref<3x3x2x4xf64>, %arg2: memref<1x4x4x4xf64>) {
    linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%arg0, %arg1 : memref<1x9x9x2xf64>, memref<3x3x2x4xf64>)
      outs(%arg2 : memref<1x4x4x4xf64>)
    return
  }
}
"""


def loaded(tmp_path: Path, text: str) -> tapeflow.Kernel:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return tapeflow.load(path)


POINT, BIAS = np.random.default_rng(1).standard_normal((4, 3)), 0.3


def layer(x: np.ndarray, bias: float) -> float:
    return anp.sum(anp.sin((anp.dot(x, WEIGHTS) + bias) ** 2))


def test_a_layer(tmp_path: Path) -> None:
    gradient = tapeflow.gradient(loaded(tmp_path, LAYER), wrt=["arg0", "arg1"])
    by_x = np.zeros_like(POINT)
    value, by_bias = run(import_mlir(gradient.ir("regions")), "layer_grad", (POINT, BIAS, 1.0, by_x))
    assert value == pytest.approx(layer(POINT, BIAS), rel=1e-13)
    np.testing.assert_allclose(by_x, autograd_of(layer, 0)(POINT, BIAS), rtol=1e-10)
    assert by_bias == pytest.approx(autograd_of(layer, 1)(POINT, BIAS), rel=1e-10)


# gcc 12.2 -O3 makes a wrong adjoint of arg1 where it may vectorise the sum that it is: see test_sums.py.
def test_a_layer_compiled(tmp_path: Path) -> None:
    result = tapeflow.gradient(loaded(tmp_path, LAYER), wrt=["arg0", "arg1"])(POINT, BIAS)
    np.testing.assert_allclose(result.gradients["arg0"], autograd_of(layer, 0)(POINT, BIAS), rtol=1e-10)
    assert result.gradients["arg1"] == pytest.approx(autograd_of(layer, 1)(POINT, BIAS), rel=1e-10)


def test_a_strided_convolution(tmp_path: Path) -> None:
    kernel = loaded(tmp_path, CONVOLUTION)
    names = [parameter.name for parameter in kernel.parameters]
    gradient = tapeflow.gradient(kernel, wrt=names)
    random = np.random.default_rng(2)
    x, weights = random.standard_normal((1, 9, 9, 2)), random.standard_normal((3, 3, 2, 4))
    start, seed = random.standard_normal((1, 4, 4, 4)), random.standard_normal((1, 4, 4, 4))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
    y = start.copy()
    result = gradient(x, weights, y, seeds={names[2]: seed})
    np.testing.assert_allclose(y, start + np.einsum("nijchw,hwcf->nijf", windows, weights), rtol=1e-12)
    np.testing.assert_allclose(result.gradients[names[1]], np.einsum("nijchw,nijf->hwcf", windows, seed), rtol=1e-12)
    expected = np.zeros_like(x)
    for i, j, h, w in np.ndindex(4, 4, 3, 3):
        expected[:, 2 * i + h, 2 * j + w] += seed[:, i, j] @ weights[h, w].T
    np.testing.assert_allclose(result.gradients[names[0]], expected, rtol=1e-12)
    np.testing.assert_array_equal(result.gradients[names[2]], seed)

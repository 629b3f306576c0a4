"""Inputs that the reverse sweep reads again: which loads count, and when it cannot be said."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

import tapeflow
from tapeflow.backend.c_printer import print_c
from tapeflow.backend.reread_inputs import reread_inputs
from tapeflow.pipeline import context
from tapeflow.simulation import options_for

LOADS = """func.func @{0}(%n: index, %x: memref<?xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<?xf64>
  func.return %a : f64
}}"""


def test_functions_that_are_called_make_it_unknown():
    one = print_c(Parser(context(), LOADS.format("f")).parse_module())
    two = print_c(Parser(context(), f"{LOADS.format('f')}\n{LOADS.format('g')}").parse_module())
    assert reread_inputs(one, 2) == {}  # no gradient, so no reverse sweep
    assert reread_inputs(two, 2) is None


SOURCE = """
double f(int n, const double x[n], const int k[n], double y[n])
{
  double s = 0.0;
  for (int i = 0; i < n; i++) {
    y[i] = y[i] * x[k[i]];
    s += y[i];
  }
  return s;
}
"""


@pytest.mark.parametrize("machine", ["cache-2k", "stream-1k"])
def test_only_what_nobody_writes_counts(tmp_path, machine: str):
    """`x` and its subscripts are read again; `y` is written, so its old values are tape."""
    (tmp_path / "f.c").write_text(SOURCE)
    options = options_for(tapeflow.Hardware.preset(machine))
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "f.c"), wrt=["x", "y"], options=options)
    n = 40
    arguments = (n, np.ones(n), np.arange(n, dtype=np.int32), np.ones(n))
    report = tapeflow.simulate(grad, arguments, hardware=machine, seeds={"y": np.zeros(n)})
    assert report.tape_bytes == 8 * n
    assert report.reread_bytes == (8 + 4) * n

"""Values that are rounded to float are, also where gcc would make vectors of straight code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tapeflow

KERNEL = """
void rounded(const double x[2], double y[2])
{
  y[0] = (double)(float)x[0];
  y[1] = (double)(float)x[1];
}
"""


def test_straight_code_rounds(tmp_path: Path):
    (tmp_path / "rounded.c").write_text(KERNEL)
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "rounded.c"), wrt=["x"])
    x, y = np.array([0.1, 0.2]), np.zeros(2)
    result = grad(x, y, seeds={"y": np.ones(2)})
    assert y.tolist() == x.astype(np.float32).tolist() != x.tolist()
    assert result.gradients["x"].tolist() == [1, 1]

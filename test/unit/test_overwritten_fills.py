"""Fills and clears of shadows: gradients without them, and those that must stay.

The interpreter's arrays begin as NaN, so that no zero is there by chance.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from differentiation import check
from parsing import parse
from xdsl.dialects import func, memref, scf

from tapeflow.transforms.overwritten_fills import remove_overwritten_fills

TEXT = """
func.func @f(%n: index, %at: memref<?xindex>, %x_b: memref<?xf64>, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %t_b = memref.alloca(%n) : memref<?xf64>
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %t_b[%k] : memref<?xf64>
  }
  scf.for %k = %c0 to %n step %c1 {
    %i = memref.load %at[%k] : memref<?xindex>
    ad.accumulate %v into %t_b[%i] : memref<?xf64>
  }
  scf.for %j = %c0 to %n step %c1 {
    %from = memref.load %at[%j] : memref<?xindex>
    %i = arith.subi %from, %j : index
    %w = memref.load %t_b[%i] : memref<?xf64>
    memref.store %zero, %t_b[%i] : memref<?xf64>
    ad.accumulate %w into %x_b[%j] : memref<?xf64>
  }
  func.return
}
"""


def test_a_clear_stays_where_two_iterations_may_read_one_element():
    """What is counted down from changes in the loop, so an element may be read again after it is cleared."""
    module = parse(TEXT)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    (shadow,) = (op for op in function.walk() if isinstance(op, memref.AllocaOp))
    fill = next(op for op in function.walk() if isinstance(op, scf.ForOp))
    remove_overwritten_fills([(shadow, fill)])
    assert sum(isinstance(op, memref.StoreOp) for op in function.walk()) == 2


SECTIONS = (Path(__file__).parent.parent / "filecheck/transforms/overwritten_fills.mlir").read_text().split("// -----")
ARRAYS = {"steps": "m", "shifted": "m", "declared": "nnm", "guarded": "nm"}
"""The extents of the arrays that each function there takes behind `n` and `m`; others take `n`, and `n` elements."""


@pytest.mark.parametrize("text", SECTIONS, ids=lambda text: text.split("@")[1].split("(")[0])
@pytest.mark.parametrize(("n", "m"), [(0, 2), (5, 4), (4, 0)])
def test_gradients_are_those_of_the_primal(text: str, n: int, m: int):
    name = text.split("@")[1].split("(")[0]
    rng, sizes = np.random.default_rng(n), [n, m] if name in ARRAYS else [n]
    arrays = [rng.uniform(-0.9, 0.9, n if extent == "n" else m) for extent in ARRAYS.get(name, "n")]
    if name == "guarded":
        # More iterations than elements, where those of the inner loop, which touch them, are none.
        sizes.append(n if m else n + 3)
    check(text.replace(f"@{name}", "@f"), [*sizes, *arrays], pipelines=["differentiate", "plan"])

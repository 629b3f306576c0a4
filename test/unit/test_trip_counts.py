"""Trip counts of blocks of IR: which values are formulas, and which are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from parsing import parse
from xdsl.dialects import func, memref, scf
from xdsl.ir import Block

from tapeflow.analysis.trip_counts import TripCounts

HEAD = """
func.func @f(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"}, %steps: index {tapeflow.name = "steps"},
             %A: memref<?x?xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "m"]}, %k: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = arith.constant 1.0 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
"""


def function_of(body: str) -> func.FuncOp:
    (function,) = (op for op in parse(HEAD + body + "func.return\n}").walk() if isinstance(op, func.FuncOp))
    return function


def storing_blocks(function: func.FuncOp) -> Iterator[Block]:
    for op in function.walk():
        if isinstance(op, memref.StoreOp):
            assert op.parent is not None
            yield op.parent


STORE = "memref.store %v, %A[%c0, %c0] : memref<?x?xf64>"


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (STORE, ["1"]),
        (f"scf.for %i = %c0 to %N step %c1 {{ {STORE} scf.for %j = %c0 to %M step %c1 {{ {STORE} }} }}", ["n", "n*m"]),
        (f"scf.for %i = %c0 to %steps step %c1 {{ {STORE} }}", ["max(steps, 0)"]),
        (f"scf.for %i = %c1 to %N step %c2 {{ {STORE} }}", ["max(ceil((n - 1)/2), 0)"]),
        (
            f"""scf.for %i = %c0 to %N step %c1 {{
                  %from = arith.addi %i, %c1 : index
                  scf.for %j = %from to %N step %c1 {{ {STORE} }}
                }}""",
            ["n*(n - 1)/2"],
        ),
        (
            f"""scf.for %i = %c0 to %N step %c1 {{
                  %c = arith.cmpi eq, %i, %c0 : index
                  scf.if %c {{ {STORE} }} else {{ {STORE} }}
                }}""",
            ["at most n", "at most n"],
        ),
        (
            f"""%less = arith.minsi %N, %M : index
                scf.for %i = %c0 to %less step %c1 {{ {STORE} }}""",
            ["max(n - max(n - m, 0), 0)"],
        ),
        (
            f"""%rows = memref.dim %A, %c0 : memref<?x?xf64>
                scf.for %i = %c0 to %rows step %c1 {{ {STORE} }}""",
            ["extent(A, 0)"],
        ),
        (
            f"""%half = arith.divsi %N, %c2 : index
                %quarter = arith.shrsi %N, %c2 : index
                scf.for %i = %quarter to %half step %c1 {{ {STORE} }}""",
            ["max(floor(n/2) - floor(n/4), 0)"],
        ),
        # What may be negative, and so may be rounded either way, is no formula.
        (
            f"""%half = arith.divsi %steps, %c2 : index
                scf.for %i = %c0 to %half step %c1 {{ {STORE} }}""",
            ["None"],
        ),
        # Read from memory, or carried round a loop: nothing is said.
        (
            f"""%to = memref.load %k[%c0] : memref<?xindex>
                scf.for %i = %c0 to %to step %c1 {{ {STORE} }}""",
            ["None"],
        ),
        (
            f"""%end = scf.for %i = %c0 to %N step %c1 iter_args(%to = %c1) -> (index) {{
                  scf.for %j = %c0 to %to step %c1 {{ {STORE} }}
                  %next = arith.muli %to, %c2 : index
                  scf.yield %next : index
                }}""",
            ["None"],
        ),
        # The step of a loop is positive, whatever it is.
        (f"scf.for %i = %c0 to %N step %steps {{ {STORE} }}", ["ceil(n/steps)"]),
    ],
)
def test_counts(body: str, counts: list[str]):
    function = function_of(body)
    known = TripCounts(function)
    assert [str(known.executions(block)) for block in storing_blocks(function)] == counts


def test_parameters_without_attributes_have_names_of_their_own():
    (function,) = (
        op
        for op in parse(
            """
            func.func @f(%count: index, %0: index) {
              %c0 = arith.constant 0 : index
              scf.for %i = %c0 to %count step %0 {
              }
              func.return
            }
            """
        ).walk()
        if isinstance(op, func.FuncOp)
    )
    (loop,) = (op for op in function.walk() if isinstance(op, scf.ForOp))
    assert str(TripCounts(function).executions(loop.body.block)) == "max(ceil(count/arg1), 0)"

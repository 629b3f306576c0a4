"""What the suite's kernels tape in an iteration: no byte that could be had again for less, and why for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tapeflow
from bench.suite import SUITE
from bench.tape_bytes import PAGE, Taped, TapingLoop, main, markdown, page_with, taping_loops

EXPECTED = {
    # The derivative of sin needs the product; those of the factors need one another, and w is halved in place.
    "worked_example": [("i", 8, "n", ["t"]), ("j_if", 16, "at most n*m", ["t", "sum"])],
    # exp(x_i) is had again from x_i.
    "logsum": [(None, 0, "0", [])],
    # Whether x_i became the largest: the largest so far is gone, and the condition is the smaller of the two.
    "logsum_shifted": [("i", 1, "max(n - 1, 0)", ["condition"])],
    # The derivative of y*y; y is a sum over a whole row.
    "matdescent": [("i", 8, "n", ["y"])],
    # The derivative of row_f*row_f; the local row is used again for the next i.
    "mttkrp": [("f", 8, "I*F", ["row"])],
    # Which of three is the least, as two comparisons.
    "pathfinder": [("j", 2, "max(n - 1, 0)*m", ["condition", "condition_2"])],
    # All from r and m, which nobody writes.
    "gravity": [(None, 0, "0", [])],
    # The derivative of u*u; everything else in a step is linear.
    "jacobi": [("j", 8, "max(n - 2, 0)^2*max(steps, 0)", ["u"])],
}
"""Kernel -> for each loop or branch that tapes: its name, the bytes of an iteration, how many, the values."""


@pytest.fixture(scope="module")
def loops() -> dict[str, list[TapingLoop]]:
    return {name: list(taping_loops(kernel)) for name, kernel in SUITE.items()}


def test_every_kernel_of_the_suite_is_here():
    assert EXPECTED.keys() == SUITE.keys()


@pytest.mark.parametrize("kernel", EXPECTED)
def test_the_bytes_of_an_iteration(kernel: str, loops: dict[str, list[TapingLoop]]):
    found = [(loop.loop, loop.bytes, loop.iterations, [it.value for it in loop.values]) for loop in loops[kernel]]
    assert found == EXPECTED[kernel]


def test_every_taped_value_has_a_need_and_a_reason(loops: dict[str, list[TapingLoop]]):
    values = [value for kernel in loops.values() for loop in kernel for value in loop.values]
    assert all(value.needed_at and value.why for value in values)


def test_what_is_taped_of_the_worked_example_and_why(loops: dict[str, list[TapingLoop]]):
    outer, branch = loops["worked_example"]
    assert outer.values == (Taped("t", 8, ("14:10",), "t is what loop j (9:5) comes to"),)
    assert branch.values == (
        Taped("t", 8, ("11:13",), "t is carried from one iteration of loop j (9:5) to the next"),
        Taped("sum", 8, ("11:13",), "w is overwritten (12:7)"),
    )


def test_what_is_only_cheaper_to_tape_says_so():
    values = [value for loop in taping_loops(SUITE["logsum"], "cheap") for value in loop.values]
    assert [(it.value, it.why) for it in values] == [("exp", "it is cheaper to tape than to compute again")]


def test_the_page_has_the_table(loops: dict[str, list[TapingLoop]]):
    page = PAGE.read_text()
    table = markdown([loop for kernel in loops.values() for loop in kernel])
    assert page_with(table, page) == page, "python -m bench.tape_bytes --write"


def test_json(capsys: pytest.CaptureFixture[str]):
    main(as_json=True)
    rows = json.loads(capsys.readouterr().out)
    assert {row["kernel"] for row in rows} == SUITE.keys()
    (jacobi,) = (row for row in rows if row["kernel"] == "jacobi")
    assert jacobi["bytes"] == 8 and jacobi["values"][0]["value"] == "u"


KINDS = """\
#include <math.h>
double k(int n, const double *x, double *y)
{
  double s = 1, t = 0;
  for (int i = 0; i < n; i++) {
    s = s * x[i];
    double inner = 0;
    for (int j = 0; j < i; j++)
      inner += x[j];
    t += inner * inner;
    y[i] = y[i] * y[i] * x[i];
  }
  while (t > 1)
    t = t * s * 0.5;
  return t;
}
"""


def test_the_reasons(tmp_path: Path):
    path = tmp_path / "kinds.c"
    path.write_text(KINDS)
    regions = tapeflow.gradient(tapeflow.load(path), wrt=["x"]).tape_report().regions
    assert sorted({field.why for region in regions for field in region.fields}) == [
        "inner is what loop j (8:5) comes to",
        "s is carried from one iteration of loop i (5:3) to the next",
        "t is carried from one iteration of the while loop (13:3) to the next",
        "y is overwritten (11:5)",
    ]

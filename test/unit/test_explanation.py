"""`--explain`: why each array and loop is active, and what is taped, in the terms of the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tapeflow
from tapeflow.explanation import Explanation

SOURCE = """\
double population(int n, int years, double r, const double w[n], double x[n])
{
  for (int t = 0; t < years; t++)
    for (int i = 0; i < n; i++)
      x[i] = r * x[i] * (1 - x[i]);
  double total = 0, wt = 0;
  double copy[n];
  for (int i = 0; i < n; i++)
    wt += w[i];
  for (int i = 0; i < n; i++)
    copy[i] = x[i] * wt;
  for (int i = 0; i < n; i++)
    if (x[i] > 0.5)
      total += copy[i] * copy[i] * x[i];
  return total;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "population.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def explanation(source: Path) -> Explanation:
    return tapeflow.gradient(tapeflow.load(source), wrt=["r", "x"]).explain()


def test_arrays_and_scalars(explanation: Explanation):
    found = {it.name: (it.kind, it.active, [stop.name for stop in it.why], it.why_not) for it in explanation.arrays}
    assert found == {
        "r": ("argument", True, ["r", "x"], ""),
        "w": ("argument", False, [], "it depends on no active argument"),
        "x": ("argument", True, ["x"], ""),
        "copy": ("local", True, ["x", "copy", "total", "return"], ""),
    }


def test_places_are_those_of_the_source(explanation: Explanation):
    (copy,) = (it for it in explanation.arrays if it.name == "copy")
    assert copy.source is not None and copy.source.endswith("population.c:7:10")
    lines = [int(stop.source.rsplit(":", 2)[1]) for stop in copy.why if stop.source]
    assert lines == [1, 11, 14, 15]


def test_loops(explanation: Explanation):
    found = [(it.name, it.depth, it.active, it.active_inside) for it in explanation.loops]
    assert found == [
        ("t", 0, (), True),
        ("i", 1, ("x",), True),
        ("i", 0, (), False),
        ("i", 0, ("copy",), True),
        ("i", 0, ("total",), True),
    ]


def test_each_loop_lists_what_it_tapes(explanation: Explanation):
    taped = [bool(it.regions) for it in explanation.loops]
    assert taped == [False, True, False, False, False]
    assert explanation.outside == ()
    (region,) = explanation.loops[1].regions
    assert region.records == "n*max(years, 0)"


def test_a_function_inlined_twice_keeps_its_loops_apart(tmp_path: Path):
    source = tmp_path / "twice.c"
    source.write_text(
        "#include <math.h>\n"
        "static double norm(int n, const double x[n]) {\n"
        "  double s = 0;\n"
        "  for (int i = 0; i < n; i++) s = sin(s + x[i]);\n"
        "  return s;\n"
        "}\n"
        "double f(int n, int m, const double x[n], const double y[m]) { return norm(n, x) * norm(m, y); }\n"
    )
    loops = tapeflow.gradient(tapeflow.load(source, "f"), wrt=["x", "y"]).explain().loops
    assert [(loop.name, [region.records for region in loop.regions]) for loop in loops] == [("i", ["n"]), ("i", ["m"])]


def test_what_a_called_function_tapes_is_said_of_the_loop_that_calls_it(tmp_path: Path):
    source = tmp_path / "power.c"
    source.write_text(
        "#include <math.h>\n"
        "static double g(int k, double x) { return k == 0 ? x : sin(x) * x * g(k - 1, sin(x) * x); }\n"
        "double f(int n, int k, const double x[n]) {\n"
        "  double s = 0;\n"
        "  for (int i = 0; i < n; i++) s += g(k, x[i]);\n"
        "  return s;\n"
        "}\n"
    )
    explanation = tapeflow.gradient(tapeflow.load(source, "f"), wrt=["x"]).explain()
    (loop,) = explanation.loops
    assert loop.regions and all(region.records is None for region in loop.regions)
    assert "as needed" in str(explanation)


def test_command_line(source: Path):
    command = [Path(sys.executable).with_name("tapeflow"), "grad", "population.c", "--wrt", "x", "--explain"]
    page = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=True).stdout
    assert "copy: memref<?xf64>  population.c:7:10  yes     x -> copy (11:5) -> total (14:7) -> return (15:3)" in page
    assert "nothing in it is active: it is not mirrored" in page
    assert not list(source.parent.glob("*_grad.c"))
    printed = subprocess.run([*command, "--json"], cwd=source.parent, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed)["arrays"][0] == {
        "name": "r",
        "kind": "argument",
        "type": "float64",
        "source": "population.c:1:44",
        "active": False,
        "why": [],
        "why_not": "it depends on no active argument",
    }


def test_what_is_recorded_behind_a_loop_is_said_of_the_loop_around(tmp_path: Path):
    (tmp_path / "f.c").write_text("""\
double f(int steps, int n, const double *u, double *h, double *g)
{
  double loss = 0;
  for (int t = 0; t < steps; t++) {
    for (int r = 0; r < n; r++)
      for (int k = 0; k < n; k++)
        g[r] += u[r * n + k] * h[k];
    for (int k = 0; k < n; k++)
      h[k] = g[k];
  }
  for (int k = 0; k < n; k++)
    loss += h[k] * h[k];
  return loss;
}
""")
    explanation = tapeflow.gradient(tapeflow.load(tmp_path / "f.c"), wrt=["u", "h", "g"]).explain()
    assert [loop.name for loop in explanation.loops] == ["t", "r", "k", "k", "k"]
    (region,) = explanation.loops[0].regions
    assert region.records == "max(steps, 0)*max(n, 0)"
    assert region.fields[0].why == "h is overwritten (9:7)"
    assert not any(loop.regions for loop in explanation.loops[1:])

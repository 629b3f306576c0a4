"""Activity: what takes part in a derivative, and the reasons that are given."""

from __future__ import annotations

import pytest
from parsing import parse
from xdsl.dialects import func, memref
from xdsl.ir import SSAValue

from tapeflow.analysis.activity import Activity, Request
from tapeflow.analysis.source_names import source_name
from tapeflow.errors import TapeflowError, source_position

TEXT = """
func.func @f(%n: index, %x: memref<?xf64>, %table: memref<?xf64>, %a: f64) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %work = memref.alloca(%n) : memref<?xf64>
  %other = memref.alloca(%n) : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64> loc("xi"("f.c":4:12))
    %ti = memref.load %table[%i] : memref<?xf64>
    %p = arith.mulf %xi, %ti : f64 loc("p"("f.c":5:9))
    memref.store %p, %work[%i] : memref<?xf64> loc("f.c":6:5)
    memref.store %ti, %other[%i] : memref<?xf64>
    %back = memref.load %work[%i] : memref<?xf64> loc("back"("f.c":7:12))
    %o = memref.load %other[%i] : memref<?xf64>
    %down = math.floor %xi : f64
    %k = arith.fptosi %xi : f64 to i32
    %kf = arith.sitofp %k : i32 to f64
    %q = arith.addf %back, %o : f64 loc("q"("f.c":8:5))
    %r = arith.addf %q, %down : f64
    %unused = math.exp %xi : f64
    %s_new = arith.addf %s_i, %r : f64
    scf.yield %s_new : f64
  } loc("f.c":3:3)
  %d = arith.mulf %a, %a : f64
  func.return %s, %d : f64, f64
}
"""


def function_and_values(text: str = TEXT) -> tuple[func.FuncOp, dict[str, SSAValue]]:
    (function,) = (op for op in parse(text).body.block.ops if isinstance(op, func.FuncOp))
    values: dict[str, SSAValue] = {source_name(it) or "": it for it in function.args}
    for op in function.walk():
        values |= {source_name(it) or "": it for it in op.results}
    return function, values


def activity(arguments: tuple[bool, ...], results: tuple[bool, ...]) -> tuple[Activity, dict[str, SSAValue]]:
    function, values = function_and_values()
    return Activity(function, Request(arguments, results)), values


def test_values_and_arrays():
    known, values = activity((False, True, False, False), (True, True))
    active = {name for name, value in values.items() if known.value(value)}
    assert active == {"xi", "p", "back", "q", "r", "s_new", "s"}
    arrays = {name for name in ("x", "table", "work", "other") if known.array(values[name])}
    assert arrays == {"x", "work"}


def test_inactive_results_and_arguments():
    known, values = activity((False, True, False, True), (False, True))
    assert known.value(values["d"]) and known.value(values["a"])
    assert not any(known.value(values[name]) for name in ("xi", "p", "s"))


def test_why_is_a_chain_of_places_from_argument_to_result():
    known, values = activity((False, True, False, False), (True, False))
    steps = known.why(values["work"])
    assert [source_name(step.value) for step in steps] == [
        "x",
        "xi",
        "p",
        "work",
        "back",
        "q",
        "r",
        "s_new",
        "s_i",
        "s",
    ]
    assert [source_position(step.location) for step in steps][1:6] == [
        "f.c:4:12",
        "f.c:5:9",
        "f.c:6:5",
        "f.c:7:12",
        "f.c:8:5",
    ]
    assert str(steps[2]) == "'p' (arith.mulf)"


def test_why_not():
    known, values = activity((False, True, False, False), (True, False))
    assert known.why(values["ti"]) == ()
    assert known.why_not(values["ti"]) == "it depends on no active argument"
    assert known.why_not(values["unused"]) == "no active result or array depends on it"


def test_a_constant_array_that_carries_active_values_is_refused():
    function, _ = function_and_values(TEXT.replace("memref.store %p, %work", "memref.store %p, %table"))
    with pytest.raises(TapeflowError, match=r"'table' carries active values but is not marked active"):
        Activity(function, Request((False, True, False, False), (True, True)))


def test_a_result_that_does_not_depend_is_inactive():
    known, values = activity((False, False, False, True), (True, False))
    assert not any(known.value(value) for value in values.values())
    assert not any(known.view(op.memref) for op in loads_among(values))


def loads_among(values: dict[str, SSAValue]) -> list[memref.LoadOp]:
    return [value.owner for value in values.values() if isinstance(value.owner, memref.LoadOp)]

"""The operations of tape, spad and stream as they run: what layers mean, and errors that say where."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_text import parse
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters import observe, run

# One layer each way, and the loops with guards that they stand for.
LAYERS = """
!buffer = !spad.buffer<{copies} x {records} x {{k: index}}>
!fifo = !stream.fifo<{records} x {{k: index}}>

func.func @layers(%lb: index, %ub: index, %step: index, %outer: index) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %spad = spad.alloc : !buffer
  %fifo = stream.create : !fifo
  scf.for %o = %c0 to %outer step %c1 {{
    %unused = spad.layer %i = %lb to %ub step %step in %spad : !buffer iter_args(%k = %o) -> (index) {{
      %t = arith.muli %k, %c7 : index
      %next = arith.addi %t, %i : index
      spad.write %next onto %spad : !buffer
      spad.yield %next : index
    }} when full {{
      stream.push %spad into %fifo : !buffer
    }}
  }}
  %sum = scf.for %o = %c0 to %outer step %c1 iter_args(%s_o = %c0) -> (index) {{
    %s = spad.layer %i = %lb to %ub step %step in %spad : !buffer iter_args(%s_i = %s_o) -> (index) {{
      %k = spad.read %spad : !buffer
      %t = arith.muli %s_i, %c7 : index
      %s_next = arith.addi %t, %k : index
      spad.yield %s_next : index
    }} when empty {{
      stream.prefetch %spad from %fifo : !buffer
      stream.pop %spad from %fifo : !buffer
    }}
    scf.yield %s : index
  }}
  stream.close %fifo : !fifo
  func.return %sum : index
}}

func.func @guarded(%lb: index, %ub: index, %step: index, %outer: index) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %tape = tape.create : !tape.tape<index>
  scf.for %o = %c0 to %outer step %c1 {{
    %unused = scf.for %i = %lb to %ub step %step iter_args(%k = %o) -> (index) {{
      %t = arith.muli %k, %c7 : index
      %next = arith.addi %t, %i : index
      tape.push %next onto %tape : !tape.tape<index>
      scf.yield %next : index
    }}
  }}
  %sum = scf.for %o = %c0 to %outer step %c1 iter_args(%s_o = %c0) -> (index) {{
    %s = scf.for %i = %lb to %ub step %step iter_args(%s_i = %s_o) -> (index) {{
      %k = tape.pop %tape : !tape.tape<index>
      %t = arith.muli %s_i, %c7 : index
      %s_next = arith.addi %t, %k : index
      scf.yield %s_next : index
    }}
    scf.yield %s : index
  }}
  func.return %sum : index
}}
"""


@settings(max_examples=40)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.tuples(st.integers(-3, 3), st.integers(-3, 12), st.integers(1, 3), st.integers(0, 4)),
)
def test_layers_are_loops_cut_where_the_buffer_says(copies, records, bounds):
    module = parse(LAYERS.format(copies=copies, records=records))
    results, handles = observe(module, "layers", bounds)
    assert results == run(module, "guarded", bounds)
    buffer, fifo = handles
    lower, upper, step, outer = bounds
    assert buffer.pushed == outer * len(range(lower, upper, step)) // records
    assert fifo.closed


def test_a_layer_without_a_step_counts_by_one():
    module = parse(LAYERS.format(copies=2, records=3).replace(" step %step in", " in"))
    assert run(module, "layers", (0, 5, 2, 1)) == run(parse(LAYERS.format(copies=2, records=3)), "layers", (0, 5, 1, 1))


def test_a_layer_needs_a_positive_step():
    with pytest.raises(InterpretationError, match=r"spad\.layer: the step of a loop is 0, but it must be positive"):
        run(parse(LAYERS.format(copies=2, records=3)), "layers", (0, 5, 0, 1))


def program(body: str) -> str:
    return f"""
!spad_x = !spad.buffer<2 x 2 x {{x: f64}}>
!tape_x = !tape.region<{{x: f64}}, aos>
!fifo_x = !stream.fifo<2 x {{x: f64}}>
func.func private @elsewhere(!fifo_x) -> ()
func.func @f(%x: f64) {{
  %one = arith.constant 1 : index
  %spad_x = spad.alloc : !spad_x
  %tape_x = tape.create reserve %one : !tape_x
  %fifo_x = stream.create : !fifo_x
  {body}
  func.return
}}"""


WRITE = "spad.write %x onto %spad_x : !spad_x\n"
PUSH = "stream.push %spad_x into %fifo_x : !spad_x\n"
POP = "stream.pop %spad_x from %fifo_x : !spad_x\n"
CLOSE = "stream.close %fifo_x : !fifo_x\n"
HANDED_ON = "%no = arith.constant false\nscf.if %no {\nfunc.call @elsewhere(%fifo_x) : (!fifo_x) -> ()\n}\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('%t = tape.replay %tape_x : !tape_x loc("f.c":9:2)', r"f\.c:9:2: tape\.replay: underflow: tape_x is empty"),
        (
            "tape.record %x onto %tape_x : !tape_x\ntape.record %x onto %tape_x : !tape_x",
            r"tape\.record: overflow: tape_x holds 2 records, but reserves 1",
        ),
        (WRITE * 3, r"spad\.write: overflow: tile 0 of spad_x is full \(2 records\)"),
        ("%t = spad.read %spad_x : !spad_x", r"spad\.read: underflow: tile 0 of spad_x is empty"),
        (
            WRITE + "spad.dma_start %spad_x to %tape_x : !spad_x to !tape_x",
            r"spad\.dma_start: tile 0 of spad_x is not full: 1 of 2 records",
        ),
        (
            "spad.dma_start %tape_x to %spad_x : !tape_x to !spad_x",
            r"spad\.dma_start: underflow: tile 0 is the lowest of spad_x",
        ),
        (HANDED_ON + PUSH, r"stream\.push: tile 0 of spad_x is not full: 0 of 2 records"),
        (HANDED_ON + POP, r"stream\.pop: underflow: tile 0 is the lowest of spad_x"),
        (
            HANDED_ON + (WRITE * 2 + PUSH) * 2 + POP,
            "tile 2 of spad_x is popped, but tile 0, which takes its copy, was not prefetched",
        ),
        (HANDED_ON + WRITE * 2 + PUSH + CLOSE, r"stream\.close: fifo_x is closed, but holds 2 records"),
        (CLOSE + CLOSE, r"stream\.close: fifo_x is closed already"),
    ],
)  # fmt: skip
def test_a_use_without_meaning_is_an_error_that_says_where(body, message):
    with pytest.raises(InterpretationError, match=message):
        run(parse(program(body)), "f", (1.0,))


def test_two_copies_drain_into_a_region_that_is_replayed():
    """The home of a buffer is an ordinary region: what left by tiles is there as records."""
    module = parse(
        """
        !spad_x = !spad.buffer<2 x 2 x {x: f64}>
        !tape_x = !tape.region<{x: f64}, aos>
        func.func @f(%x: f64, %y: f64) -> (f64, f64) {
          %spad_x = spad.alloc : !spad_x
          %tape_x = tape.create : !tape_x
          spad.write %x onto %spad_x : !spad_x
          spad.write %y onto %spad_x : !spad_x
          spad.dma_start %spad_x to %tape_x : !spad_x to !tape_x
          spad.dma_wait %spad_x : !spad_x
          %y_1 = tape.replay %tape_x : !tape_x
          %x_1 = tape.replay %tape_x : !tape_x
          func.return %x_1, %y_1 : f64, f64
        }"""
    )
    assert run(module, "f", (1.0, 2.0)) == (1.0, 2.0)


def test_handles_are_passed_to_callees():
    module = parse(
        """
        func.func @push(%tape_x: !tape.tape<f64>, %x: f64) {
          tape.push %x onto %tape_x : !tape.tape<f64>
          func.return
        }
        func.func @f(%x: f64, %y: f64) -> f64 {
          %tape_x = tape.create : !tape.tape<f64>
          func.call @push(%tape_x, %x) : (!tape.tape<f64>, f64) -> ()
          func.call @push(%tape_x, %y) : (!tape.tape<f64>, f64) -> ()
          %y_1 = tape.pop %tape_x : !tape.tape<f64>
          func.return %y_1 : f64
        }"""
    )
    observation = observe(module, "f", (1.0, 2.0))
    assert observation.results == (2.0,)
    assert observation.handle("tape_x").records == [(1.0,)]
    with pytest.raises(KeyError, match="tape_y"):
        observation.handle("tape_y")

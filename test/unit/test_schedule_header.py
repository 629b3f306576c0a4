"""From printed C to its schedule: recurrences, memory order, ports, arms and the operation mix."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block
from xdsl.parser import Parser

from tapeflow.analysis.subscripts import Iteration, Meeting, affine, meeting
from tapeflow.backend.c_printer import print_c
from tapeflow.backend.printed import PrintedC
from tapeflow.backend.schedule_header import PrintedSchedule, schedule_printed
from tapeflow.errors import TapeflowError
from tapeflow.hardware import Hardware
from tapeflow.pipeline import context

MACHINE = Hardware.preset("stream-1k").with_(cache={"ports": 8}, scratchpad={"ports": 1})


def scheduled(text: str, machine: Hardware = MACHINE) -> tuple[PrintedC, PrintedSchedule]:
    printed = print_c(Parser(context(), text).parse_module())
    return printed, schedule_printed(printed, machine)


def loop(
    body: str, arguments: str, machine: Hardware = MACHINE, form: str = "scf.for %i = %c1 to %n step %c1 {{ {} }}"
):
    """The schedule and the mix of the one innermost loop."""
    printed, done = scheduled(
        f"""func.func @f(%n: index, {arguments}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %half = arith.constant 0.5 : f64
          {form.format(body)}
          func.return
        }}""",
        machine,
    )
    (line,) = [block.line for block in printed.blocks if block.kind == "loop"]
    return done.blocks[line], done.mix[line]


X = "%x: memref<?xf64>"
XY = f"{X}, %y: memref<?xf64>"


def test_independent_iterations_start_every_cycle():
    schedule, mix = loop(
        """%a = memref.load %x[%i] : memref<?xf64>
           %b = arith.mulf %a, %half : f64
           memref.store %b, %y[%i] : memref<?xf64>""",
        XY,
    )
    assert (schedule.ii, schedule.depth) == (1, 2 + 4 + 1)
    assert mix == {"fp_mul64": 1, "int_add32": 2}


def test_a_sum_is_bound_by_the_adder():
    schedule, _ = loop(
        """%a = memref.load %x[%i] : memref<?xf64>
           %t = arith.addf %s, %a : f64
           scf.yield %t : f64""",
        X,
        form="%r = scf.for %i = %c1 to %n step %c1 iter_args(%s = %half) -> (f64) {{ {} }}\n"
        "memref.store %r, %x[%c0] : memref<?xf64>",
    )
    assert (schedule.ii, schedule.rec_mii) == (5, 5)


@pytest.mark.parametrize(("back", "ii"), [("%c1", 2 + 4 + 1), ("%c2", 4)])
def test_memory_carries_a_recurrence_at_its_distance(back: str, ii: int):
    schedule, _ = loop(
        f"""%j = arith.subi %i, {back} : index
           %a = memref.load %x[%j] : memref<?xf64>
           %b = arith.mulf %a, %half : f64
           memref.store %b, %x[%i] : memref<?xf64>""",
        X,
    )
    assert schedule.ii == ii  # the load, the product and the store, over the distance


def test_unknown_subscripts_are_taken_to_meet_the_next_iteration():
    body = """%k = memref.load %idx[%i] : memref<?xindex>
              %a = memref.load %x[%k] : memref<?xf64>
              %b = arith.addf %a, %half : f64
              memref.store %b, %x[%k] : memref<?xf64>"""
    schedule, _ = loop(body, f"{X}, %idx: memref<?xindex>")
    assert schedule.ii == 2 + 5 + 1


def test_an_accumulation_into_one_element_is_a_recurrence_and_into_a_row_is_none():
    body = "ad.accumulate %half into %x[{}] : memref<?xf64>"
    assert loop(body.format("%c0"), X)[0].ii == 2 + 5 + 1
    schedule, mix = loop(body.format("%i"), X)
    assert schedule.ii == 1
    assert mix["fp_add64"] == 1 and schedule.use["cache"] == 2


def test_ports_bound_accesses():
    machine = MACHINE.with_(cache={"ports": 2})
    loads = "\n".join(f"%a{k} = memref.load %x[%i] : memref<?xf64>" for k in range(5))
    stores = "\n".join(f"memref.store %a{k}, %y[%i] : memref<?xf64>" for k in range(5))
    schedule, _ = loop(f"{loads}\n{stores}", XY, machine)
    assert (schedule.res_mii, schedule.use["cache"]) == (5, 10)


def test_arms_share_the_units_and_count_their_operations_apart():
    arm = """%{0} = memref.load %x[%i] : memref<?xf64>
             %{0}1 = arith.mulf %{0}, %half : f64
             %{0}2 = arith.mulf %{0}1, %{0} : f64
             scf.yield %{0}2 : f64"""
    printed, done = scheduled(
        f"""func.func @f(%n: index, {XY}, %c: memref<?xi1>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %half = arith.constant 0.5 : f64
          scf.for %i = %c0 to %n step %c1 {{
            %b = memref.load %c[%i] : memref<?xi1>
            %v = scf.if %b -> (f64) {{ {arm.format("p")} }} else {{ {arm.format("q")} }}
            memref.store %v, %y[%i] : memref<?xf64>
          }}
          func.return
        }}""",
        MACHINE.with_(units={"fp_mul": 1}),
    )
    (body,) = [block for block in printed.blocks if block.kind == "loop"]
    arms = [block for block in printed.blocks if block.kind == "arm"]
    assert done.blocks[body.line].use["fp_mul"] == done.blocks[body.line].ii == 4
    assert [done.mix[arm.line] for arm in arms] == [{"fp_mul64": 2}, {"fp_mul64": 2}]
    assert done.mix[body.line] == {"int_add32": 3}  # the loop's two, and the choice of the result


def test_records_take_a_port_for_each_word():
    body = "spad.write %a, %a, %a onto %b : !spad.buffer<2 x 8 x {x: f64, y: f64, z: f64}>"
    printed, done = scheduled(
        f"""func.func @f(%n: index, {X}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %home = tape.create reserve %n : !tape.region<{{x: f64, y: f64, z: f64}}, aos>
          %b = spad.alloc : !spad.buffer<2 x 8 x {{x: f64, y: f64, z: f64}}>
          spad.layer %i = %c0 to %n in %b : !spad.buffer<2 x 8 x {{x: f64, y: f64, z: f64}}> {{
            %a = memref.load %x[%i] : memref<?xf64>
            {body}
            spad.yield
          }} when full {{
            spad.dma_start %b to %home : !spad.buffer<2 x 8 x {{x: f64, y: f64, z: f64}}> to !tape.region<{{x: f64, y: f64, z: f64}}, aos>
            spad.dma_wait %b : !spad.buffer<2 x 8 x {{x: f64, y: f64, z: f64}}>
          }}
          func.return
        }}"""  # noqa: E501
    )
    (body_block,) = [block for block in printed.blocks if block.kind == "loop"]
    assert done.blocks[body_block.line].use["scratchpad"] == 3
    assert done.blocks[body_block.line].ii == 3


def test_a_struct_of_arrays_has_a_row_for_each_field():
    printed, done = scheduled(
        f"""func.func @f(%n: index, {X}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %t = tape.create reserve %n : !tape.region<{{x: f64, y: f64}}, soa>
          scf.for %i = %c0 to %n step %c1 {{
            %a = memref.load %x[%i] : memref<?xf64>
            tape.record %a, %a onto %t : !tape.region<{{x: f64, y: f64}}, soa>
          }}
          scf.for %i = %c0 to %n step %c1 {{
            %a, %b = tape.replay %t : !tape.region<{{x: f64, y: f64}}, soa>
            %c = arith.addf %a, %b : f64
            memref.store %c, %x[%i] : memref<?xf64>
          }}
          func.return
        }}"""
    )
    lines = printed.source.splitlines()
    accesses = [number for number, line in enumerate(lines, 1) if re.search("TF_(LOAD|STORE|RECORD|REPLAY)", line)]
    rows = [int(number) for number in re.findall(r"\[(\d+)\] = \{TF_LINE_ACCESS", done.header)]
    assert rows == accesses and len(accesses) == 6


def test_every_block_has_a_row_and_a_mix():
    printed, done = scheduled(
        f"""func.func @f(%n: index, {X}) -> f64 {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %zero = arith.constant 0.0 : f64
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {{
            %a = memref.load %x[%i] : memref<?xf64>
            %e = math.exp %a : f64
            %t = scf.for %j = %c0 to %n step %c1 iter_args(%t_j = %e) -> (f64) {{
              %u = arith.mulf %t_j, %a : f64
              scf.yield %u : f64
            }}
            %d = arith.divf %t, %a : f64
            %s_n = arith.addf %s_i, %d : f64
            scf.yield %s_n : f64
          }}
          func.return %s : f64
        }}"""
    )
    assert set(done.mix) == {block.line for block in printed.blocks}
    assert set(done.blocks) == {block.line for block in printed.blocks if block.kind != "arm"}
    for line, schedule in done.blocks.items():
        kind = "LOOP" if next(b for b in printed.blocks if b.line == line).kind == "loop" else "SEGMENT"
        assert f"[{line}] = {{TF_LINE_{kind}, {schedule.ii}, {schedule.depth}, 0, 0}}" in done.header
    segments = [done.blocks[block.line] for block in printed.blocks if block.kind == "segment"]
    assert [segment.depth for segment in segments] == [2 + 20, 16 + 5]
    assert f"#define TF_LINE_COUNT {len(printed.source.splitlines()) + 1}" in done.header


def test_loads_may_be_scheduled_ahead():
    body = """%a = memref.load %x[%i] : memref<?xf64>
              %b = arith.mulf %a, %half : f64
              memref.store %b, %y[%i] : memref<?xf64>"""
    schedule, _ = loop(body, XY, MACHINE.with_(units={"load_ahead_cycles": 40}))
    assert (schedule.ii, schedule.depth) == (1, 2 + 40 + 4 + 1)
    assert 40 in schedule.slack


def test_an_operation_without_a_unit_is_a_located_error():
    text = f"""func.func @f(%n: index, {X}, %k: memref<?xi64>) {{
        %c0 = arith.constant 0 : index
        %a = memref.load %k[%c0] : memref<?xi64>
        %b = math.ctpop %a : i64
        memref.store %b, %k[%c0] : memref<?xi64>
        func.return
    }}"""
    module = Parser(context(), text).parse_module()
    ctpop = next(op for op in module.walk() if op.name == "math.ctpop")
    ctpop.name = "math.unheard_of"
    from tapeflow.backend.operation_units import unit_of

    with pytest.raises(TapeflowError, match=r"knows no functional unit for 'math\.unheard_of'"):
        unit_of(ctpop)


# --- the affine test


def subscript(block: Block, factor: int, offset: int):
    """Operations for `factor * i + offset` at the end of `block`."""
    multiple = arith.MuliOp(block.args[0], constant(block, factor))
    block.add_op(multiple)
    total = arith.AddiOp(multiple.result, constant(block, offset))
    block.add_op(total)
    return total.result


def constant(block: Block, value: int):
    op = arith.ConstantOp.from_int_and_width(value, IndexType())
    block.add_op(op)
    return op.result


small = st.integers(-4, 4)


@given(first=st.tuples(small, small), second=st.tuples(small, small), step=st.integers(1, 3))
def test_meeting_is_what_counting_finds(first: tuple[int, int], second: tuple[int, int], step: int):
    block = Block(arg_types=[IndexType()])
    one, other = subscript(block, *first), subscript(block, *second)
    where = meeting([one], [other], Iteration(block, step))
    met = {
        later - earlier
        for earlier in range(30)
        for later in range(30)
        if first[0] * earlier * step + first[1] == second[0] * later * step + second[1]
    }
    if where is Meeting.NEVER:
        assert not met
    elif isinstance(where, int):
        assert met <= {where}
    else:
        assert first[0] != second[0] or (first[0] == 0 and first[1] == second[1])


def test_every_dimension_must_meet_at_one_distance():
    block = Block(arg_types=[IndexType()])
    i, before = subscript(block, 1, 0), subscript(block, 1, -1)
    zero, one = constant(block, 0), constant(block, 1)
    loop_ = Iteration(block, 1)
    assert meeting([i, zero], [before, zero], loop_) == 1
    assert meeting([i, zero], [before, one], loop_) is Meeting.NEVER
    assert meeting([i, i], [before, i], loop_) is Meeting.NEVER
    assert meeting([zero, zero], [zero, zero], loop_) is Meeting.ALWAYS


def test_values_of_the_loop_are_unknown_and_others_are_symbols():
    outer = Block(arg_types=[IndexType()])
    n = outer.args[0]
    body = Block(arg_types=[IndexType()])
    outer.add_op(scf.ForOp(n, n, n, [], body))
    i = body.args[0]
    last = arith.SubiOp(n, i)
    body.add_op(last)
    shifted = arith.AddiOp(last.result, constant(body, 2))
    body.add_op(shifted)
    squared = arith.MuliOp(i, i)
    body.add_op(squared)
    loop_ = Iteration(body, 1)
    form = affine(last.result, loop_)
    assert form is not None and form.terms == {n: 1, i: -1}
    assert meeting([last.result], [shifted.result], loop_) == 2
    assert affine(squared.result, loop_) is None
    assert meeting([squared.result], [squared.result], loop_) is Meeting.ALWAYS


ARTIFACT = Hardware.preset("artifact-2024")


def test_a_blocking_cache_has_one_read_and_one_write_under_way():
    assert ARTIFACT.cache and (ARTIFACT.cache.blocking, ARTIFACT.cache.ports, ARTIFACT.cache.hit_cycles) == (True, 1, 6)
    sums = "\n".join(
        f"%a{k} = memref.load %x[%i] : memref<?xf64>\n%s{k + 1} = arith.addf %s{k}, %a{k} : f64" for k in range(3)
    )
    head = "%r = scf.for %i = %c1 to %n step %c1 iter_args(%s0 = %half) -> (f64) {{ {} }}"
    head += "\nmemref.store %r, %x[%c0] : memref<?xf64>"
    schedule, _ = loop(f"{sums}\nscf.yield %s3 : f64", X, ARTIFACT, head)
    assert (schedule.ii, schedule.use["cache"]) == (18, 18)
    stores = "\n".join("memref.store %half, %x[%i] : memref<?xf64>" for _ in range(3))
    schedule, _ = loop(stores, X, ARTIFACT)
    assert (schedule.ii, schedule.use["cache writes"]) == (18, 18)
    assert loop(stores, X, ARTIFACT.with_(cache={"blocking": False}))[0].ii == 3


def test_with_a_blocking_cache_loads_wait_for_all_older_stores():
    """Of other arrays too: load, store, load, store, each after the one before, and then the next iteration."""
    copy = """%{0} = memref.load %x[%i] : memref<?xf64>
              memref.store %{0}, %y[%i] : memref<?xf64>"""
    body = f"{copy.format('a')}\n{copy.format('b')}"
    assert loop(body, XY, ARTIFACT)[0].ii == 4 * 6
    assert loop(body, XY, ARTIFACT.with_(cache={"blocking": False}))[0].ii == 4

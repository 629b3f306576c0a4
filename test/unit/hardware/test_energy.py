"""Energy: counters times tables, each part by hand, and sums that are exact."""

from __future__ import annotations

import json
import math
import re
import statistics
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tapeflow.errors import TapeflowError
from tapeflow.hardware import Comparison, Counters, EnergyBreakdown, Hardware, Report, tables
from tapeflow.hardware.energy import energy, energy_spread
from tapeflow.hardware.figures import png, stall_figure
from tapeflow.hardware.html_report import html_page
from tapeflow.hardware.report import STALLS, energy_text

NAMES = """cycles stall_fill stall_mshr stall_dma stall_start stall_bank stall_flush array_reads array_writes tape_reads
tape_writes array_read_misses array_write_misses tape_read_misses tape_write_misses mshr_merges array_writebacks
tape_writebacks cache_fills second_hits second_misses second_writes second_writebacks streamed_lines
prefetches prefetches_used spad_reads spad_writes spad_dma_reads spad_dma_writes dma_descriptors dma_waits
dram_cache_array_reads dram_cache_tape_reads dram_cache_array_writes dram_cache_tape_writes dram_dma_reads
dram_dma_writes dram_activates
dram_refreshes tape_bytes_pushed tape_bytes_popped tape_bytes_peak tiles_pushed tiles_fetched tiles_resident
spad_bytes_used spad_copies""".split()  # noqa: SIM905  # as in TF_COUNTERS

STREAM, CACHE = Hardware.preset("stream-1k"), Hardware.preset("cache-32k")


def counted(executions: dict[int, int] | None = None, **counts: int) -> Counters:
    return Counters(dict.fromkeys(NAMES, 0) | counts, executions or {})


def sram(kind: str, size: int) -> tables.Sram:
    return tables.sram(kind, size, node_um=0.045, cell_type="itrs-lop", temperature_k=360)


def test_rows_of_the_table():
    array = sram("spm8", 1024)
    assert (array.read_pj, array.write_pj) == (0.7871, 1.4406)
    assert sram("c8w_par8", 32768).read_pj == 9.5992


def test_sizes_between_rows_are_on_the_power_law():
    low, middle, high = (sram("spm8", size).read_pj for size in (1024, 1448, 2048))
    assert middle == pytest.approx(math.sqrt(low * high), rel=1e-3)


def test_no_extrapolation_and_no_unknown_arrays():
    with pytest.raises(TapeflowError, match=r"from 1 to 2048 KiB, not 0\.5 KiB"):
        sram("spm8", 512)
    with pytest.raises(TapeflowError, match="no array c3w_par8"):
        sram("c3w_par8", 2048)
    with pytest.raises(TapeflowError, match="has no high_pj"):
        tables.row("functional-units.csv", "op", "fp_div64").number("high_pj")


def test_scratchpad_counts_the_datapath_and_the_dma_engine():
    array = sram("spm8", 1024)
    counters = counted(spad_reads=3, spad_writes=5, spad_dma_reads=8, spad_dma_writes=16)
    assert energy(STREAM, counters, {}).parts["scratchpad"] == 11 * array.read_pj + 21 * array.write_pj


def test_cache_counts_line_fills_and_write_backs_as_eight_words():
    array = sram("c8w_par8", 32768)
    counters = counted(array_reads=10, tape_writes=4, cache_fills=3, tape_writebacks=3)
    parts = energy(CACHE, counters, {}).parts
    assert parts["cache"] == pytest.approx((10 + 24) * array.read_pj + (4 + 24) * array.write_pj)
    assert parts["scratchpad"] == 0


def test_leakage_and_standby_are_power_times_time():
    parts = energy(STREAM, counted(cycles=1000), {}).parts
    expected = sram("spm8", 1024).leakage_mw + sram("c2w_par8", 1024).leakage_mw
    assert parts["leakage"] == pytest.approx(1000 * expected)
    assert parts["dram standby"] == 413 * 1000
    slow = energy(STREAM.with_(clock_ghz=0.5), counted(cycles=1000), {}).parts
    assert slow["dram standby"] == 413 * 2000


def test_dma_and_dram():
    counters = counted(
        dma_descriptors=4, dram_dma_reads=2, dram_cache_tape_reads=3, dram_dma_writes=5, dram_activates=7
    )
    parts = energy(STREAM, counters, {}).parts
    assert parts["dma"] == 40
    assert (parts["dram read"], parts["dram write"], parts["dram activate"]) == (5 * 2932, 5 * 2550, 7 * 3450)


def test_functional_units_are_executions_times_mix():
    mix = {10: {"fp_add64": 2, "fp_mul64": 1}, 20: {"int_add32": 3}}
    parts = energy(STREAM, counted({10: 5, 20: 7}), mix).parts
    assert parts["functional units"] == pytest.approx(5 * (2 * 2.0 + 18) + 21 * 0.1)
    high = STREAM.with_(energy={"functional_units": "high"})
    assert energy(high, counted({20: 1}), mix).parts["functional units"] == pytest.approx(3 * 0.21)


def test_what_is_not_known_is_an_error_and_not_zero():
    with pytest.raises(TapeflowError, match="block at line 30 of the generated C ran, but has no operation mix"):
        energy(STREAM, counted({30: 1}), {})
    with pytest.raises(TapeflowError, match="no op 'fp_tan64'"):
        energy(STREAM, counted({30: 1}), {30: {"fp_tan64": 1}})
    high = STREAM.with_(energy={"functional_units": "high"})
    with pytest.raises(TapeflowError, match="'fp_div64' has no high_pj"):
        energy(high, counted({30: 1}), {30: {"fp_div64": 1}})


@settings(deadline=None)
@given(values=st.lists(st.floats(0, 1e15), min_size=10, max_size=10))
def test_totals_are_the_exact_sums_of_their_parts(values: list[float]):
    names = list(energy(STREAM, counted(), {}).parts)
    breakdown = EnergyBreakdown(dict(zip(names, values, strict=True)))
    assert breakdown.total == float(sum(map(Fraction, values)))
    on_chip = [value for name, value in breakdown.parts.items() if not name.startswith("dram")]
    assert breakdown.on_chip == float(sum(map(Fraction, on_chip)))
    assert breakdown.as_dict() == {**breakdown.parts, **{key: breakdown.as_dict()[key] for key in breakdown.as_dict()}}


def test_spread_has_every_choice_of_table():
    spread = energy_spread(STREAM, counted({1: 10}, cycles=100, array_reads=50, spad_reads=50), {1: {"fp_add64": 1}})
    assert len(spread.cases) == 8
    assert spread.minimum < spread.median < spread.maximum
    assert spread.maximum == spread.cases["itrs-hp", "parallel", "memory and functional units"]


def test_spread_is_each_table_times_the_counts():
    """{lop, hp} x {parallel, sequential} x {memory, with units}, by hand, DRAM apart."""
    machine = CACHE.with_(second_cache={"size_bytes": 65536, "ways": 8})
    counts = {
        "cycles": 100,
        "array_reads": 50,
        "tape_writes": 20,
        "cache_fills": 3,
        "second_hits": 2,
        "second_misses": 1,
    }
    spread = energy_spread(machine, counted({1: 10}, **counts, dram_activates=9), {1: {"fp_mul64": 2}})
    expected: dict[tuple[str, str, str], float] = {}
    for cell_type in ("itrs-lop", "itrs-hp"):
        for access, short in (("parallel", "par"), ("sequential", "seq")):
            near, far = (
                tables.sram(f"c8w_{short}8", size, node_um=0.045, cell_type=cell_type, temperature_k=360)
                for size in (32768, 65536)
            )
            memory = 50 * near.read_pj + (20 + 3 * 8) * near.write_pj
            memory += (2 * 8 + 1) * far.read_pj + 8 * far.write_pj
            memory += 100 * (near.leakage_mw + far.leakage_mw)
            expected[cell_type, access, "memory"] = memory
            expected[cell_type, access, "memory and functional units"] = memory + 10 * 2 * 18
    assert spread.cases == pytest.approx(expected)
    assert (spread.minimum, spread.maximum) == (min(spread.cases.values()), max(spread.cases.values()))
    assert spread.median == statistics.median(spread.cases.values())
    done = Report.from_counters(machine, counted({1: 10}, **counts), {1: {"fp_mul64": 2}})
    written = done.as_dict()["energy_on_chip_pj_spread"]
    assert (
        written["cases"]["itrs-hp, sequential, memory"] == done.energy_spread.cases["itrs-hp", "sequential", "memory"]
    )
    assert written["median"] == done.energy_spread.median


def test_spread_of_machines_with_fewer_choices():
    direct = STREAM.with_(cache={"size_bytes": 2048, "ways": 1})
    for machine in (direct, STREAM.with_(cache=None)):
        assert len(energy_spread(machine, counted(cycles=100, spad_reads=50), {}).cases) == 4
    # The table has hp only of some technologies; the machine's own energy is one of the cases all the same.
    for technology in ({"node_um": 0.04}, {"node_um": 0.032}, {"temperature_k": 300}):
        done = report(STREAM.with_(energy={"cell_type": "itrs-hp"} | technology), cycles=100, array_reads=50)
        assert {case[0] for case in done.energy_spread.cases} == {"itrs-hp"}
        assert done.as_dict()["energy_on_chip_pj_spread"]["cases"]["itrs-hp, parallel, memory"] == done.energy.memory


def report(hardware: Hardware = STREAM, **counts: int) -> Report:
    return Report.from_counters(hardware, counted({1: 10}, **counts), {1: {"fp_add64": 1}}, label="f_grad")


def test_stalls_and_compute_add_up_to_the_time():
    done = report(cycles=1000, stall_fill=300, stall_dma=50, stall_flush=10)
    assert done.compute == 640
    assert done.compute + sum(done.stalls.values()) == done.cycles
    assert len(done.stalls) == len(STALLS)


def test_traffic_is_by_cause():
    done = report(dram_cache_array_reads=1, dram_cache_tape_writes=2, dram_dma_reads=3)
    assert done.traffic["arrays read"] == 64
    assert done.traffic["tape written"] == 128
    assert done.traffic["tiles read"] == 192
    assert done.dram_bytes == 384


def test_bottleneck_names_the_greatest_bound():
    compute = report(cycles=1000, stall_fill=100)
    assert compute.bottleneck == (
        "bound by compute: at least 900 cycles, took 1.11 times that; 10 % waiting for a cache line"
    )
    bus = report(cycles=4000, stall_fill=3500, dram_cache_array_reads=1000)
    assert bus.bottleneck.startswith("bound by DRAM bandwidth: at least 3,332 cycles, took 1.20 times that; 88 % ")


def test_latency_bounds_a_run_in_which_every_resource_is_idle_most_of_the_time():
    waits = report(cycles=10_000, stall_fill=9_000, stall_flush=100, dram_cache_array_reads=200)
    assert waits.bottleneck == (
        "bound by latency, 90 % waiting for a cache line; the nearest bound is compute: "
        "at least 900 cycles, took 11.11 times that"
    )
    assert report(cycles=0).bottleneck == "bound by compute: at least 0 cycles, took 1.00 times that"


def test_what_a_machine_has_not_is_not_spoken_of():
    bare = CACHE.with_(cache=None, name="bare")
    counts = {"cycles": 10_000, "stall_fill": 6_000, "stall_mshr": 3_000, "dram_cache_array_reads": 16}
    alone = report(bare, **counts)
    assert alone.compute + sum(alone.stalls.values()) == alone.cycles
    assert alone.stalls["waiting for DRAM"] == 6_000
    assert alone.stalls["waiting for an access in flight to end"] == 3_000
    assert alone.bottleneck.startswith("bound by latency, 60 % waiting for DRAM; ")
    assert alone.traffic["arrays read"] == alone.dram_bytes == 1024
    page = html_page([alone]).partition("<h2>Machines</h2>")[0].partition("<h2>Numbers</h2>")[2]
    assert page
    words = " ".join([*alone.ceilings, *alone.stalls, *(bound.what for bound in alone.bounds), rendered(alone), page])
    assert not re.search(r"cache line|miss register|MSHR|scratchpad|tiles? |DMA", words)
    # Beside a machine that has all of them, each has a row for what it has.
    both = alone.against(report(**counts))
    shown = both.rows()
    assert shown["  waiting for DRAM"] == ["6,000 (60 %)", "-"]
    assert shown["  waiting for a cache line"] == ["-", "6,000 (60 %)"]
    assert shown["  tiles read"] == ["-", "0 B"]
    for each, row in zip((alone, both.reports[1]), zip(*shown.values(), strict=True), strict=True):
        assert [value for value in row if value != "-"] == [*each.rows().values()]
    assert png(stall_figure(both.reports)).startswith(b"\x89PNG")


def test_a_report_is_json():
    done = report(cycles=1000, array_reads=100)
    fields = json.loads(json.dumps(done.as_dict()))
    assert fields["cycles"] == 1000
    assert fields["hardware"]["cache"]["size_bytes"] == 1024
    assert fields["energy_pj"]["total"] == done.energy.total
    assert fields["counters"]["array_reads"] == 100


def rendered(what: object) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(what)
    return console.export_text()


def test_a_report_renders_as_a_table():
    text = rendered(report(cycles=1234, stall_fill=200, dram_dma_reads=10))
    for expected in ("f_grad on stream-1k", "1,234", "waiting for a cache line", "tiles read", "bound by"):
        assert expected in text


def test_amounts_are_three_digits_or_whole_and_never_a_power_of_ten():
    texts = [energy_text(amount) for amount in (0, 0.5, 12.34, 999.4, 999.6, 1000, 999_700, 12e12, 4.2e15)]
    assert texts == ["0 pJ", "0.5 pJ", "12.3 pJ", "999 pJ", "1 nJ", "1 nJ", "1 uJ", "12 J", "4,200 J"]
    # A KiB is 1,024 bytes, so there are four digits before the next unit.
    sizes = {1536: "1.5 KiB", 1000 << 10: "1,000 KiB", 1023 << 10: "1,023 KiB", (1 << 20) - 64: "1 MiB"}
    for size, text in sizes.items():
        assert report(cycles=1, dram_dma_reads=size // 64).rows()["DRAM traffic"] == text


def test_a_comparison_prints_ratios_and_what_was_not_equal():
    ours, theirs = report(cycles=1000), report(CACHE.with_(cache={"mshrs": 8}), cycles=1500)
    both = Comparison((ours, theirs))
    assert both.ratios(ours)["cycles"] == 1.5
    assert both.ratios(ours)["SRAM bytes"] == 16
    text = rendered(ours.against(theirs))
    assert "1.50x" in text
    assert "outstanding requests: 16 against 8" in " ".join(text.split())


def test_machines_of_one_name_are_told_apart_and_their_differences_kept():
    """Changed machines keep their name unless they are given another one: none may hide the others."""
    few, many = CACHE.with_(cache={"mshrs": 4}), CACHE.with_(units={"fp_mul": 8})
    several = Comparison((report(few, cycles=2), report(many, cycles=2), report(CACHE, cycles=1)))
    assert several.names == ["f_grad on cache-32k (1)", "f_grad on cache-32k (2)", "f_grad on cache-32k (3)"]
    assert list(several.differences.values()) == [["outstanding requests: 4 against 16"], ["units.fp_mul: 8 against 2"]]
    text = " ".join(rendered(several).split())
    assert "NOT EQUAL: f_grad on cache-32k (1) differs in outstanding requests: 4 against 16" in text
    assert "NOT EQUAL: f_grad on cache-32k (2) differs in units.fp_mul: 8 against 2" in text
    written = several.as_dict()
    assert [written[name].get("unequal") for name in several.names] == [*several.differences.values(), None]


def test_machines_of_one_name_are_told_apart_by_their_files(tmp_path: Path):
    files = [tmp_path / "few" / "mine.yaml", tmp_path / "many" / "mine.yaml"]
    for file, mshrs in zip(files, (4, 8), strict=True):
        file.parent.mkdir()
        file.write_text(f"cache: {{size_bytes: 32768, mshrs: {mshrs}}}\n")
    machines = [*map(Hardware.from_yaml, files), CACHE]
    several = Comparison(tuple(report(machine, cycles=1) for machine in machines))
    assert several.names == [f"mine ({files[0]})", f"mine ({files[1]})", "cache-32k"]
    assert list(several.as_dict()) == several.names
    alone = Comparison(several.reports[1:])
    assert alone.names == ["mine", "cache-32k"]


def test_quotients_of_nothing():
    ours, theirs = report(cycles=1), report(cycles=1, dram_dma_reads=1)
    assert ours.against(ours).ratios(ours)["DRAM bytes"] == 1
    assert ours.against(theirs).ratios(ours)["DRAM bytes"] == float("inf")

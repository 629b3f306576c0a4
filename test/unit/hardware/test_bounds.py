"""Validation 6, time >= roofline bound: no run is faster than the bounds its report states, one of which it names.

Machines and access patterns are random; runs that provoke each bound by turns are at the end.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.hardware import Hardware, Report

from .machine import COMPILER, Machine
from .test_cache import patterns

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

GEOMETRIES = [(1024, 2), (2048, 1), (2048, 2), (4096, 4), (8192, 8)]


@st.composite
def machines(draw: st.DrawFn) -> Hardware:
    size, ways = draw(st.sampled_from(GEOMETRIES))
    cache = {
        "size_bytes": size,
        "ways": ways,
        "hit_cycles": draw(st.integers(4, 8)),
        "ports": draw(st.integers(1, 3)),
        "mshrs": draw(st.sampled_from([1, 2, 4, 32])),
        "prefetch_lines": draw(st.sampled_from([0, 4])),
        "streaming_buffers": draw(st.sampled_from([0, 3])),
        "blocking": draw(st.booleans()),
    }
    dram = {
        "part": draw(st.sampled_from(["DDR4-2400", "LPDDR4-2400", "HBM2"])),
        "timing": draw(st.sampled_from(["banked", "banked", "fixed"])),
        "fixed_latency_ns": draw(st.sampled_from([5, 50])),
        "write_queue": draw(st.sampled_from([1, 32])),
    }
    dma = {"outstanding": draw(st.sampled_from([1, 3, 16])), "setup_cycles": draw(st.integers(0, 9))}
    second = {"size_bytes": 16384, "ways": 8} if draw(st.booleans()) else None
    with_cache = draw(st.sampled_from([True, True, True, False]))
    return Hardware.preset("stream-1k").with_(
        name="drawn",
        clock_ghz=draw(st.sampled_from([0.3, 0.7, 1, 2])),
        cache=cache if with_cache else None,
        second_cache=second if with_cache else None,
        scratchpad={"access_cycles": 2, "port_bytes": 8},
        dram=dram,
        dma=dma,
    )


@st.composite
def runs(draw: st.DrawFn) -> dict[str, object]:
    """A pattern of accesses, or a tape in cache, or through the scratchpad."""
    match draw(st.sampled_from(["accesses", "lifo", "stack"])):
        case "accesses":
            return {"pattern": draw(patterns), "slack": draw(st.sampled_from([0, 20, 500]))}
        case "lifo":
            return {"records": draw(st.integers(0, 400)), "size": draw(st.sampled_from([8, 24, 64]))}
        case _:
            sizes = {"copies": draw(st.integers(1, 3)), "tile": draw(st.integers(1, 32))}
            return {"pushes": draw(st.integers(0, 400)), "blocking": draw(st.booleans()), **sizes}


def drive(model: Machine, run: dict[str, object]) -> None:
    match run:
        case {"pattern": list(pattern), "slack": int(slack)}:
            model.accesses([8 * place for place, _ in pattern], [write for _, write in pattern], slack)
        case {"records": int(records), "size": int(size)}:
            model.lifo(records, size)
        case {"pushes": int(pushes), "copies": int(copies), "tile": int(tile), "blocking": blocking}:
            model.stack([True] * pushes + [False] * pushes, copies, tile, blocking=bool(blocking))
    assert model.error is None


def report_of(hardware: Hardware, run: dict[str, object]) -> Report:
    with Machine(hardware, "-O0") as model:  # many machines, little to do on each
        drive(model, run)
        return Report.from_counters(hardware, model.counters(), {1: {}, 2: {}})


@settings(deadline=None, max_examples=20)
@given(hardware=machines(), several=st.lists(runs(), min_size=12, max_size=12))
def test_no_run_is_faster_than_any_stated_bound(hardware: Hardware, several: list[dict[str, object]]):
    for run in several:
        report = report_of(hardware, run)
        assert all(report.cycles >= bound.cycles for bound in report.bounds), run
        assert [bound.cycles for bound in report.bounds] == sorted((b.cycles for b in report.bounds), reverse=True)
        assert report.compute + sum(report.stalls.values()) == report.cycles and report.compute >= 0


def test_a_fetch_that_nobody_waits_for_is_part_of_the_time():
    """A store that misses, at the end: its line is still on its way when the datapath is done."""
    hardware = Hardware.preset("cache-32k")
    report = report_of(hardware, {"pattern": [(0, True)], "slack": 0})
    shortest = 2 + 0.833 * (2 + 17 + 4)
    assert report.cycles >= shortest
    assert report.counters["stall_flush"] > 0


def named(report: Report, what: str, cycles: float) -> None:
    """The bottleneck is `what`, and its bound is at least `cycles` and no more than the time."""
    bound = next(bound for bound in report.bounds if bound.what == what)
    assert report.bottleneck.startswith(f"bound by {what}: at least {bound.cycles:,} cycles, took "), report.bottleneck
    assert int(cycles) <= bound.cycles <= report.cycles


def test_bottleneck_compute():
    report = report_of(Hardware.preset("cache-32k"), {"pattern": [(0, False)] * 2000, "slack": 0})
    named(report, "compute", 2000)


def test_bottleneck_cache_port():
    hardware = Hardware.preset("cache-32k").with_(cache={"ports": 1})
    named(report_of(hardware, {"pattern": [(0, False)] * 2000, "slack": 0}), "1 cache port", 2000)


def test_bottleneck_scratchpad_port():
    report = report_of(Hardware.preset("stream-1k"), {"pushes": 3000, "copies": 2, "tile": 64, "blocking": False})
    named(report, "1 scratchpad port", 6000)


LINES = [(8 * line, False) for line in range(3000)]
SCATTERED = [(8 * line, False) for line in random.Random(1).sample(range(100_000), 2000)]


def test_bottleneck_mshrs():
    fixed = {"timing": "fixed", "fixed_latency_ns": 60}
    hardware = Hardware.preset("cache-32k").with_(cache={"mshrs": 8}, dram=fixed)
    report = report_of(hardware, {"pattern": SCATTERED, "slack": 1000})
    named(report, "8 MSHRs", 2000 * 60 / 8)
    assert report.cycles < 1.1 * report.bounds[0].cycles
    # Little's law, by hand: 8 lines of 64 bytes in flight at 60 ns and more are at most 8.5 GB/s of 19.2.
    assert report.dram_bytes / report.seconds / 1e9 <= 8 * 64 / 60


def test_bottleneck_dram_bandwidth():
    hardware = Hardware.preset("cache-32k").with_(cache={"mshrs": 64}, dram={"timing": "fixed"})
    report = report_of(hardware, {"pattern": LINES, "slack": 1000})
    named(report, "DRAM bandwidth", 3000 * 64 / 19.2 * 0.999)
    assert report.cycles < 1.1 * report.bounds[0].cycles


def test_bottleneck_dma_latency_of_tiles():
    """Tiles of one record that are waited for one at a time."""
    report = report_of(Hardware.preset("stream-1k"), {"pushes": 300, "copies": 1, "tile": 1, "blocking": True})
    named(report, "DMA latency, 1 tile in flight", 300 * 0.833 * (2 + 17 + 4))


def test_bottleneck_dma_latency_of_bursts():
    hardware = Hardware.preset("stream-1k").with_(dma={"outstanding": 1})
    report = report_of(hardware, {"pushes": 2000, "copies": 2, "tile": 64, "blocking": False})
    named(report, "DMA latency, 1 burst in flight", (2000 - 64) / 8 * 0.833 * (2 + 17 + 4))

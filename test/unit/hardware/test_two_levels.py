"""Two levels of cache against a brute force of both, and tape stores that go past them."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapeflow
from bench.suite import SUITE
from tapeflow.hardware import Counters, Hardware, SecondCache
from tapeflow.hardware.energy import energy
from tapeflow.simulation import options_for, simulate

from .machine import COMPILER, Machine
from .test_cache import brute_force, machine, patterns
from .test_streams import pushes_of

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

LEVELS = [((1024, 1), (2048, 2)), ((1024, 2), (4096, 4)), ((1024, 16), (1024, 1)), ((2048, 2), (8192, 8))]


def two_levels(first: tuple[int, int], second: tuple[int, int]) -> Hardware:
    """Geometries that the energy tables need not know: only counts matter here."""
    level = SecondCache.model_construct(size_bytes=second[0], ways=second[1], hit_cycles=8, access="sequential")
    return machine(*first).model_copy(update={"second_cache": level})


class Level:
    """An ordered dictionary a set, oldest first; values are dirty bits."""

    def __init__(self, size: int, ways: int):
        self.sets = [OrderedDict[int, bool]() for _ in range(size // 64 // ways)]
        self.ways = ways

    def take(self, line: int, dirty: bool) -> tuple[bool, int | None]:
        """Whether `line` was there, and the dirty line that it drove out."""
        lines = self.sets[line % len(self.sets)]
        if line in lines:
            lines[line] |= dirty
            lines.move_to_end(line)
            return True, None
        victim = lines.popitem(last=False) if len(lines) == self.ways else (0, False)
        lines[line] = dirty
        return False, victim[0] if victim[1] else None

    def dirty(self) -> list[int]:
        return [line for lines in self.sets for line, dirty in lines.items() if dirty]


def brute_force_both(pattern: list[tuple[int, bool]], first: tuple[int, int], second: tuple[int, int]):
    near, far = Level(*first), Level(*second)
    count = dict.fromkeys(("second_hits", "second_misses", "second_writes", "second_writebacks"), 0)

    def write_back(line: int):
        count["second_writes"] += 1
        count["second_writebacks"] += far.take(line, True)[1] is not None

    for address, write in pattern:
        hit, victim = near.take(8 * address // 64, write)
        if hit:
            continue
        found, driven_out = far.take(8 * address // 64, False)
        count["second_hits" if found else "second_misses"] += 1
        count["second_writebacks"] += driven_out is not None
        if victim is not None:
            write_back(victim)
    # The first level's lines go in order of set and use, the last used first, as they lie.
    for lines in near.sets:
        for line in [line for line, dirty in reversed(lines.items()) if dirty]:
            write_back(line)
    count["second_writebacks"] += len(far.dirty())
    return count


@pytest.mark.parametrize(("first", "second"), LEVELS)
@settings(deadline=None, max_examples=50)
@given(pattern=patterns)
def test_two_levels_equal_brute_force(first: tuple[int, int], second: tuple[int, int], pattern: list[tuple[int, bool]]):
    addresses, writes = [8 * k for k, _ in pattern], [write for _, write in pattern]
    with Machine(two_levels(first, second)) as model:
        model.accesses(addresses, writes)
        counted = model.counters()
    # 2^32, where arrays begin, is line 0 of every cache.
    expected = brute_force_both(pattern, first, second) | brute_force(addresses, writes, *first)
    assert {name: counted[name] for name in expected} == expected
    assert counted["cache_fills"] == counted["second_hits"] + counted["second_misses"]
    assert counted["dram_cache_array_reads"] == counted["second_misses"]
    assert counted["dram_cache_array_writes"] == counted["second_writebacks"]


def test_a_line_in_the_second_cache_comes_after_its_hit_time():
    """A chase over 32 lines: the first cache holds 16 of them, the second all."""
    fixed = {"timing": "fixed", "fixed_latency_ns": 50}
    one = machine(1024, 16, dram=fixed)
    level = SecondCache(size_bytes=8192, ways=8, hit_cycles=10)
    lines = [64 * (k % 32) for k in range(32 * 11)]
    times = {}
    for name, hardware in (("one", one), ("two", one.model_copy(update={"second_cache": level}))):
        with Machine(hardware) as model:
            model.chase(lines)
            times[name] = model.counters()
    hit = one.cache.hit_cycles if one.cache else 0
    rest = 32 * 10
    cold = times["two"]["cycles"] - rest * (hit + 10)
    assert times["two"]["second_hits"] == rest and times["two"]["second_misses"] == 32
    assert times["one"]["cycles"] > times["two"]["cycles"]
    # What is left are the cold misses, each through both caches and DRAM.
    assert cold == pytest.approx(times["one"]["cycles"] / 11 + 32 * 10, rel=0.02)


def test_streamed_tape_is_written_once_and_fetched_once():
    lines = 100
    base = machine(1024, 16)
    past = machine(1024, 16, cache={"streaming_buffers": 2})
    for hardware, streamed in ((base, 0), (past, lines)):
        with Machine(hardware) as model:
            model.lifo(8 * lines, 8)
            counted = model.counters()
            assert model.error is None
        assert counted["streamed_lines"] == streamed
        assert counted["dram_cache_tape_writes"] == streamed + counted["tape_writebacks"]
        if streamed:
            assert counted["tape_write_misses"] == counted["tape_writebacks"] == 0
            assert counted["dram_cache_tape_reads"] == counted["tape_read_misses"] == lines
        else:
            # Each line is fetched to be written, and all but the last 16 once more to be read.
            assert counted["dram_cache_tape_reads"] == lines + lines - 16


def brute_force_past(pushes: list[bool], size: int, buffers: int, geometry: tuple[int, int]) -> dict[str, int]:
    """A stack of records whose stores are collected by the line, last used first, beside a cache."""
    cache, collected, top = Level(*geometry), OrderedDict[int, int](), 0
    names = ("streamed_lines", "tape_read_misses", "tape_write_misses", "tape_writebacks")
    count = dict.fromkeys(names, 0)

    def look_up(line: int, write: bool):
        hit, victim = cache.take(line, write)
        count["tape_write_misses" if write else "tape_read_misses"] += not hit
        count["tape_writebacks"] += victim is not None

    for push in pushes:
        top -= 0 if push else size
        for line in range(top // 64, (top + size - 1) // 64 + 1):
            share = min(top + size, 64 * line + 64) - max(top, 64 * line)
            if push and line not in cache.sets[line % len(cache.sets)]:
                if line not in collected and len(collected) == buffers:
                    collected.popitem(last=False)
                    count["streamed_lines"] += 1
                collected[line] = collected.get(line, 0) + share
                collected.move_to_end(line)
                full = collected[line] >= 64
            else:
                look_up(line, push)
                full = line in collected
            if full:
                del collected[line]
                count["streamed_lines"] += 1
        top += size if push else 0
    count["streamed_lines"] += len(collected)
    count["tape_writebacks"] += len(cache.dirty())
    return count


@pytest.mark.parametrize("buffers", [1, 3])
@settings(deadline=None, max_examples=80)
@given(size=st.sampled_from([8, 24, 40, 72]), runs=st.lists(st.integers(-40, 60), max_size=8))
def test_streaming_stores_equal_brute_force(buffers: int, size: int, runs: list[int]):
    pushes = pushes_of(runs)
    with Machine(machine(1024, 2, cache={"streaming_buffers": buffers}), "-O0") as model:
        model.records(pushes, size)
        counted = model.counters()
        assert model.error is None
    expected = brute_force_past(pushes, size, buffers, (1024, 2))
    assert {name: counted[name] for name in expected} == expected
    assert counted["dram_cache_tape_writes"] == expected["streamed_lines"] + expected["tape_writebacks"]
    assert counted["dram_cache_tape_reads"] == expected["tape_read_misses"] + expected["tape_write_misses"]


def test_a_partly_written_line_is_sent_out_before_it_is_read():
    with Machine(machine(1024, 16, cache={"streaming_buffers": 4})) as model:
        model.lifo(12, 8)
        counted = model.counters()
    assert counted["streamed_lines"] == counted["dram_cache_tape_writes"] == 2
    assert counted["dram_cache_tape_reads"] == 2


@pytest.mark.parametrize("changes", [{"second": True}, {"streaming": 8}, {"second": True, "streaming": 8}], ids=str)
def test_a_whole_gradient(changes: dict[str, object]):
    kernel = SUITE["worked_example"]
    hardware = Hardware.preset("cache-2k")
    if "second" in changes:
        hardware = hardware.with_(second_cache={"size_bytes": 32768, "ways": 8})
    if "streaming" in changes:
        hardware = hardware.with_(cache={"streaming_buffers": changes["streaming"]})
    made = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(hardware))
    report = simulate(made, list(kernel.arguments({"n": 30, "m": 40}).values()), hardware=hardware)
    counters = report.counters
    misses = sum(counters[f"{of}_{what}_misses"] for of in ("array", "tape") for what in ("read", "write"))
    assert counters["cache_fills"] + counters["replaced_merges"] == misses
    assert report.cycles >= report.bounds[0].cycles
    assert (report.energy.parts["second cache"] > 0) == ("second" in changes)
    assert (counters["streamed_lines"] > 0) == ("streaming" in changes)
    assert report.sram_bytes == 2048 + (32768 if "second" in changes else 0)
    if "streaming" in changes:
        assert counters["tape_write_misses"] < counters["streamed_lines"]


def test_energy_of_the_second_cache_is_what_it_did_times_the_table():
    base = Hardware.preset("cache-2k")
    hardware = base.with_(second_cache={"size_bytes": 32768, "ways": 8})
    counts = {"second_hits": 5, "second_misses": 3, "second_writes": 2, "second_writebacks": 1}
    with Machine(hardware) as model:
        idle = model.counters()
    array = hardware.sram("c8w_seq8", 32768)
    spent = energy(hardware, Counters({**idle, **counts}, {}), {}).parts["second cache"]
    assert spent == (6 * 8 + 3) * array.read_pj + 5 * 8 * array.write_pj
    more = energy(hardware, Counters({**idle, "cycles": 1000}, {}), {}).parts["leakage"]
    less = energy(base, Counters({**idle, "cycles": 1000}, {}), {}).parts["leakage"]
    assert more - less == pytest.approx(array.leakage_mw * 1000)

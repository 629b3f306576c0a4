"""The cache against a brute-force LRU, Mattson's stack distances, and what can be said in closed form."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.hardware import Hardware

from .machine import COMPILER, Machine

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

CACHES = [(1024, 1), (1024, 2), (2048, 2), (4096, 4), (8192, 8), (1024, 16)]
FIXED = {"timing": "fixed"}


def machine(size: int, ways: int, *, cache: dict[str, object] | None = None, **changes: object) -> Hardware:
    """A machine whose cache may have a geometry that the energy tables do not know: only counts matter here."""
    base = Hardware.preset("cache-32k").with_(name="test", cache=cache or {}, **changes)
    assert base.cache is not None
    geometry = base.cache.model_copy(update={"size_bytes": size, "ways": ways})
    return base.model_copy(update={"cache": geometry})


def brute_force(addresses: list[int], writes: list[bool], size: int, ways: int) -> dict[str, int]:
    """An ordered dictionary a set, oldest first; values are dirty bits."""
    sets = [OrderedDict[int, bool]() for _ in range(size // 64 // ways)]
    count = {"array_read_misses": 0, "array_write_misses": 0, "array_writebacks": 0}
    for address, write in zip(addresses, writes, strict=True):
        line = address // 64
        lines = sets[line % len(sets)]
        if line in lines:
            lines[line] |= write
            lines.move_to_end(line)
            continue
        count["array_write_misses" if write else "array_read_misses"] += 1
        if len(lines) == ways:
            count["array_writebacks"] += lines.popitem(last=False)[1]
        lines[line] = write
    count["array_writebacks"] += sum(dirty for lines in sets for dirty in lines.values())
    return count


patterns = st.one_of(
    st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=400),
    st.builds(
        lambda start, stride, length, write: [
            ((start + k * stride) % 4000, write and k % 2 == 0) for k in range(length)
        ],
        st.integers(0, 2000),
        st.integers(-300, 300),
        st.integers(0, 600),
        st.booleans(),
    ),
)


@pytest.mark.parametrize(("size", "ways"), CACHES)
@settings(deadline=None, max_examples=60)
@given(pattern=patterns)
def test_equals_brute_force_lru(size: int, ways: int, pattern: list[tuple[int, bool]]):
    addresses, writes = [8 * k for k, _ in pattern], [write for _, write in pattern]
    with Machine(machine(size, ways)) as model:
        model.accesses(addresses, writes)
        counted = model.counters()
    expected = brute_force(addresses, writes, size, ways)
    assert {name: counted[name] for name in expected} == expected
    assert counted["array_reads"] + counted["array_writes"] == len(pattern)
    assert counted["dram_cache_array_writes"] == counted["array_writebacks"]
    assert counted["dram_cache_array_reads"] == counted["cache_fills"]
    misses = counted["array_read_misses"] + counted["array_write_misses"]
    assert counted["cache_fills"] + counted["replaced_merges"] == misses


def stack_distances(lines: list[int]) -> list[int | None]:
    stack: list[int] = []
    distances: list[int | None] = []
    for line in lines:
        distances.append(stack.index(line) if line in stack else None)
        if line in stack:
            stack.remove(line)
        stack.insert(0, line)
    return distances


@settings(deadline=None, max_examples=40)
@given(lines=st.lists(st.integers(0, 40), max_size=300))
def test_misses_are_the_tail_of_mattsons_histogram(lines: list[int]):
    distances = stack_distances(lines)
    for capacity in (4, 16):
        with Machine(machine(64 * capacity, capacity)) as model:
            model.accesses([64 * line for line in lines], [0] * len(lines))
            misses = model.counters()["array_read_misses"]
        assert misses == sum(distance is None or distance >= capacity for distance in distances)


def test_stream_misses_once_a_line():
    with Machine(machine(4096, 4)) as model:
        model.accesses(range(0, 8 * 8000, 8), [0] * 8000)
        assert model.counters()["array_read_misses"] == 1000


@pytest.mark.parametrize(("lines", "misses"), [(16, 16), (17, 17 * 10)])
def test_cyclic_sweep_of_more_lines_than_fit_always_misses(lines: int, misses: int):
    with Machine(machine(1024, 16)) as model:
        model.accesses([64 * (k % lines) for k in range(lines * 10)], [0] * lines * 10)
        assert model.counters()["array_read_misses"] == misses


def test_power_of_two_stride_uses_one_set():
    with Machine(machine(4096, 4)) as model:
        model.accesses([1024 * (k % 5) for k in range(50)], [0] * 50)
        assert model.counters()["array_read_misses"] == 50


def test_tape_of_more_lines_than_fit_misses_on_the_way_back():
    lines, capacity = 40, 16
    with Machine(machine(64 * capacity, capacity)) as model:
        model.lifo(lines * 8, 8)
        counted = model.counters()
    assert counted["tape_write_misses"] == lines
    assert counted["tape_read_misses"] == lines - capacity
    assert counted["tape_bytes_pushed"] == counted["tape_bytes_popped"] == counted["tape_bytes_peak"] == lines * 64


@pytest.mark.parametrize("grow", [False, True])
def test_records_cost_their_words_and_touch_their_lines(grow: bool):
    with Machine(machine(32768, 8)) as model:
        model.lifo(1000, 24, grow=grow)
        counted = model.counters()
        assert model.error is None
    assert counted["tape_writes"] == counted["tape_reads"] == 3000
    assert counted["tape_write_misses"] >= 24000 // 64


def test_pointer_chase_takes_hit_and_memory_latency():
    hardware = machine(1024, 2, dram=FIXED)
    jumps = random.Random(1).sample(range(100000), 200)
    with Machine(hardware) as model:
        model.chase([64 * k for k in jumps])
        counted = model.counters()
    # Each load: the hit time, then the controller's clocks, the latency and the burst, in whole cycles.
    clocks = 2 + 61 + 4
    assert counted["array_read_misses"] == 200
    expected = 200 * (2 + clocks * 0.833)
    assert expected <= counted["cycles"] <= expected + 200 * 2


def test_timing_changes_no_count():
    shape = random.Random(2)
    addresses = [8 * shape.randrange(2000) for _ in range(3000)]
    writes = [shape.random() < 0.3 for _ in addresses]
    runs = []
    for changes in ({}, {"dram": FIXED}, {"clock_ghz": 0.5}, {"dram": {"part": "LPDDR4-2400"}}):
        with Machine(machine(2048, 2, **changes)) as model:
            model.accesses(addresses, writes)
            runs.append(model.counters())
    # Whether a line that was replaced is still on its way, when it is missing again, is a matter of time.
    names = [name for name in runs[0] if name.startswith("array_")] + ["dram_cache_array_writes"]
    assert all({name: run[name] for name in names} == {name: runs[0][name] for name in names} for run in runs)
    assert len({run["dram_cache_array_reads"] + run["replaced_merges"] for run in runs}) == 1
    assert len({run["cycles"] for run in runs}) == len(runs)


@settings(deadline=None, max_examples=60)
@given(
    parts=st.lists(
        st.tuples(
            st.integers(0, 10_000),
            st.sampled_from([8, 64, 4096, 40_000]),
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([0, 3, 1000]),
            st.sampled_from(["", "tape", "stack"]),
        ),
        min_size=1,
        max_size=6,
    )
)
@pytest.mark.parametrize(
    "changes", [{}, {"prefetch_lines": 2, "streaming_buffers": 2}, {"mshrs": 1}, {"ways": 1}], ids=str
)
def test_accesses_that_are_put_off_count_as_those_that_are_not(
    changes: dict[str, object], parts: list[tuple[int, int, float, int, str]]
):
    hardware = Hardware.preset("stream-1k").with_(name="test", cache={"size_bytes": 2048, **changes})
    runs = []
    for put_off in (0, 1):
        with Machine(hardware, f"-DTF_PUTS_OFF={put_off}") as model:
            for seed, words, stores, slack, then in parts:
                shape = random.Random(seed)
                addresses = [8 * shape.randrange(words) for _ in range(400)]
                model.accesses(addresses, [shape.random() < stores for _ in addresses], slack)
                if then == "tape":
                    model.records([True] * 25 + [False] * 15, 24)
                elif then == "stack":
                    model.stack([True] * 40, 2, 4)
            runs.append(model.counters())
    assert runs[0] == runs[1]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    words=st.sampled_from([64, 4096, 40_000]),
    spad=st.sampled_from([0.0, 0.05, 0.5]),
    slack=st.sampled_from([0, 3, 1000]),
)
def test_accesses_are_put_off_beside_a_scratchpad_with_conflicts(seed: int, words: int, spad: float, slack: int):
    hardware = Hardware.preset("stream-1k").with_(
        name="test",
        cache={"size_bytes": 2048, "mshrs": 2},
        scratchpad={"size_bytes": 2048, "ports": 2, "banks": 4, "access_cycles": 2},
    )
    shape = random.Random(seed)
    steps, held = [], 0
    for _ in range(120):
        step = []
        for _ in range(5):
            what = shape.randrange(2)
            if shape.random() < spad:
                what = 3 if held == 60 or (held > 0 and shape.random() < 0.5) else 2
                held += 1 if what == 2 else -1
            step.append((what, 8 * shape.randrange(words), shape.randrange(4)))
        steps.append(step)
    runs = []
    for put_off in (0, 1):
        with Machine(hardware, f"-DTF_PUTS_OFF={put_off}") as model:
            model.mixed(steps, slack)
            assert model.error is None
            runs.append(model.counters())
    assert runs[0] == runs[1]
    assert spad < 0.5 or runs[0]["stall_bank"] > 0


def test_two_runs_are_alike():
    shape = random.Random(3)
    addresses = [8 * shape.randrange(20000) for _ in range(5000)]
    writes = [shape.random() < 0.3 for _ in addresses]
    runs = []
    for _ in range(2):
        with Machine(machine(2048, 2)) as model:
            model.accesses(addresses, writes)
            runs.append(model.counters())
    assert runs[0] == runs[1]


def fetched(lines: list[int], size: int, ways: int, hardware: Hardware) -> list[int]:
    """The lines fetched by loads that nobody waits for, one a cycle: brute force over what is on its way.

    With fixed timing a fetch begins after the hit time and takes the controller's clocks, the latency and a burst on
    the bus, in the order of the fetches.
    """
    dram = hardware.dram
    held: dict[int, list[int]] = {}
    arrives: dict[int, int] = {}
    bus_free, fetches = 0, []
    for cycle, line in enumerate(lines):
        of_set = held.setdefault(line % (size // 64 // ways), [])
        if line in of_set:
            of_set.remove(line)
        elif arrives.get(line, 0) <= cycle:
            clock = -(-(cycle + 2) * 1000 // dram.clock_ps) + int(dram.number("controller_ck"))
            slot = max(clock + dram.fixed_latency_clocks, bus_free)
            bus_free = slot + 4
            arrives[line] = -(-bus_free * dram.clock_ps // 1000)
            fetches.append(line)
        of_set.append(line)
        del of_set[:-ways]
    return fetches


def test_a_line_replaced_on_its_way_is_not_fetched_again():
    counts = []
    for lines in ([0, 16, 0], [0, 16, *[16] * 100, 0]):
        with Machine(machine(1024, 1, dram=FIXED)) as model:
            model.accesses([64 * line for line in lines], [0] * len(lines), slack=1000)
            counts.append(model.counters())
    there, gone = counts
    assert there["array_read_misses"] == gone["array_read_misses"] == 3
    assert (there["dram_cache_array_reads"], there["replaced_merges"]) == (2, 1)
    assert (gone["dram_cache_array_reads"], gone["replaced_merges"]) == (3, 0)
    with Machine(machine(1024, 1, dram=FIXED)) as model:
        model.accesses([0, 1024], [0, 0], slack=1000)
        assert model.counters()["cycles"] == there["cycles"]  # it comes with the fetch under way


@pytest.mark.parametrize(("size", "ways"), [(1024, 1), (1024, 2), (4096, 4)])
@settings(deadline=None, max_examples=60)
@given(lines=st.lists(st.integers(0, 5).map(lambda k: 64 * k) | st.integers(0, 40), max_size=200))
def test_what_is_on_its_way_is_never_fetched_again(size: int, ways: int, lines: list[int]):
    hardware = machine(size, ways, cache={"mshrs": 64}, dram=FIXED)
    with Machine(hardware) as model:
        model.accesses([64 * line for line in lines], [0] * len(lines), slack=100_000)
        counted = model.counters()
    assert counted["dram_cache_array_reads"] == len(fetched(lines, size, ways, hardware))


@pytest.mark.parametrize("slack", [0, 20, 200])
def test_slack_hides_latency(slack: int):
    with Machine(machine(2048, 2, dram=FIXED)) as model:
        model.accesses([0], [0], slack)
        stalled = model.counters()["stall_fill"]
    latency = -(-(2 + 2 + 61 + 4) * 833 // 1000)
    assert abs(stalled - max(0, latency - 2 - slack)) <= 2


def test_more_miss_registers_are_never_slower():
    shape = random.Random(4)
    addresses = [64 * shape.randrange(100000) for _ in range(2000)]
    times = []
    for mshrs in (1, 4, 8, 16, 32):
        hardware = machine(2048, 2, cache={"mshrs": mshrs}, dram=FIXED)
        with Machine(hardware) as model:
            model.accesses(addresses, [0] * 2000, slack=1000)
            counted = model.counters()
        times.append(counted["cycles"])
        # Little's law: lines in flight over latency.
        assert counted["cycles"] * mshrs >= 2000 * 50
    assert times == sorted(times, reverse=True)
    assert times[0] > 4 * times[3]


def test_without_a_cache_every_access_is_a_burst():
    hardware = Hardware.preset("cache-32k").with_(cache=None)
    with Machine(hardware) as model:
        model.accesses([0, 8, 16, 0], [0, 1, 0, 0])
        counted = model.counters()
    assert (counted["dram_cache_array_reads"], counted["dram_cache_array_writes"]) == (3, 1)


def stalls(addresses: list[int], writes: list[int], *, blocking: bool, mshrs: int = 4) -> int:
    """Cycles waited for lines and miss registers; values are used late."""
    with Machine(machine(2048, 2, cache={"blocking": blocking, "mshrs": mshrs}, dram=FIXED), "-O0") as model:
        model.accesses(addresses, writes, slack=1000)
        counted = model.counters()
    return counted["stall_fill"] + counted["stall_mshr"]


def test_a_blocking_cache_does_nothing_beside_a_miss():
    memory = (2 + 61 + 4) * 0.833  # from the end of the hit time on, to whole cycles
    # A store that misses is not waited for by itself, but by whatever comes next: a store, a load, or a hit.
    assert stalls([0], [1], blocking=True) == 0
    for address, write in ((64, 1), (64, 0), (8, 0), (8, 1)):
        assert stalls([0, address], [1, write], blocking=True) == pytest.approx(memory + 2, abs=1)
        assert stalls([0, address], [1, write], blocking=False) == 0
    # Thirty misses, one after the other: one read and one write at a time are no two misses at a time.
    lines = [64 * k for k in range(30)]
    for writes in ([1] * 30, [0] * 30, [0, 1] * 15):
        assert stalls(lines, writes, blocking=True) == pytest.approx(29 * (memory + 2), abs=29)
        assert stalls(lines, writes, blocking=True) > 3 * stalls(lines, writes, blocking=False)


@pytest.mark.parametrize("stride", [8, -8, 64, -64, 640, -320])
def test_prefetcher_follows_strides_of_either_sign(stride: int):
    addresses = [10_000_000 + k * stride for k in range(4000)]
    runs = {}
    for ahead in (0, 4):
        with Machine(machine(4096, 4, cache={"prefetch_lines": ahead, "mshrs": 16})) as model:
            model.accesses(addresses, [0] * 4000, slack=4)
            runs[ahead] = model.counters()
    lines = len({address // 64 for address in addresses})
    assert runs[0]["array_read_misses"] == lines and runs[0]["prefetches"] == 0
    assert runs[4]["array_read_misses"] + runs[4]["prefetches_used"] == lines
    assert runs[4]["prefetches_used"] > 0.9 * lines
    share = 0.4 if abs(stride) < 64 else 1.0  # at a line a cycle DRAM is the limit, with and without
    assert runs[4]["cycles"] < share * runs[0]["cycles"]


def brute_force_prefetcher(pattern: list[tuple[int, bool]], size: int, ways: int, ahead: int) -> dict[str, int]:
    """Lists of lines in order of use; a line is [number, dirty, fetched ahead and not used yet]."""
    sets: list[list[list[int]]] = [[] for _ in range(size // 64 // ways)]
    names = ("array_read_misses", "array_write_misses", "array_writebacks", "prefetches", "prefetches_used")
    count = dict.fromkeys(names, 0)
    last = stride = 0

    def find(number: int) -> list[int] | None:
        return next((line for line in sets[number % len(sets)] if line[0] == number), None)

    def bring(number: int, dirty: bool, early: bool):
        lines = sets[number % len(sets)]
        if len(lines) == ways:
            count["array_writebacks"] += lines.pop()[1]
        lines.insert(0, [number, dirty, early])

    for address, write in pattern:
        number = address // 64
        line = find(number)
        watched = line is None or bool(line[2])
        if line is None:
            count["array_write_misses" if write else "array_read_misses"] += 1
            bring(number, write, False)
        else:
            count["prefetches_used"] += line[2]
            line[1:] = [line[1] or write, False]
            sets[number % len(sets)].remove(line)
            sets[number % len(sets)].insert(0, line)
        if watched:
            step = number - last
            steady, stride, last = step == stride, step, number
            for k in range(1, ahead + 1 if steady and step else 1):
                if find(number + k * step) is None:
                    count["prefetches"] += 1
                    bring(number + k * step, False, True)
    count["array_writebacks"] += sum(bool(line[1]) for lines in sets for line in lines)
    return count


@pytest.mark.parametrize("ahead", [1, 4])
@settings(deadline=None, max_examples=80)
@given(pattern=patterns)
def test_prefetcher_equals_brute_force(ahead: int, pattern: list[tuple[int, bool]]):
    """Cycles so long, and so many miss registers, that none is ever missing."""
    slow = {"dram": {"timing": "fixed", "fixed_latency_ns": 1}, "clock_ghz": 0.02}
    base = 1 << 32
    addresses, writes = [8 * k + 8_000_000 for k, _ in pattern], [write for _, write in pattern]
    with Machine(machine(1024, 2, cache={"prefetch_lines": ahead, "mshrs": 256}, **slow), "-O0") as model:
        model.accesses(addresses, writes)
        counted = model.counters()
    shifted = [(address + base, write) for address, write in zip(addresses, writes, strict=True)]
    expected = brute_force_prefetcher(shifted, 1024, 2, ahead)
    assert {name: counted[name] for name in expected} == expected


@settings(deadline=None, max_examples=60)
@given(pattern=patterns)
def test_prefetches_are_charged_and_never_change_what_is_written(pattern: list[tuple[int, bool]]):
    addresses, writes = [8 * k + 8_000_000 for k, _ in pattern], [write for _, write in pattern]
    with Machine(machine(1024, 2, cache={"prefetch_lines": 4})) as model:
        model.accesses(addresses, writes)
        counted = model.counters()
    misses = counted["array_read_misses"] + counted["array_write_misses"]
    assert counted["dram_cache_array_reads"] + counted["replaced_merges"] == misses + counted["prefetches"]
    assert counted["prefetches_used"] <= counted["prefetches"]
    assert counted["array_writebacks"] >= len({a // 64 for a, write in zip(addresses, writes, strict=True) if write})

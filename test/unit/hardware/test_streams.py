"""Tiles through the scratchpad against a stack of tiles in Python, and the DMA engine against its closed form."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.hardware import Hardware

from .machine import COMPILER, HERE, Machine, build

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

MACHINE = Hardware.preset("stream-1k")


class StackOfTiles:
    """What a buffer of B copies of N records does, as the dialects' documentation says."""

    def __init__(self, copies: int, records: int):
        self.copies, self.records = copies, records
        self.tiles: list[list[int]] = [[]]
        self.on_chip: dict[int, int] = {0: 0}
        self.fetched_copies: set[int] = set()
        self.pushed = self.fetched = self.resident = 0

    @property
    def tile(self) -> int:
        return len(self.tiles) - 1

    def push(self, value: int):
        self.tiles[-1].append(value)
        if len(self.tiles[-1]) == self.records:
            self.pushed += 1
            self.fetched_copies.discard(self.tile % self.copies)
            self.tiles.append([])
            self.on_chip[self.tile % self.copies] = self.tile
            self.fetched_copies.discard(self.tile % self.copies)

    def pop(self, *, blocking: bool) -> int:
        if not self.tiles[-1]:
            copy = self.tile % self.copies
            self.on_chip[copy] = -1
            below = self.tile - 1
            if blocking:
                if self.on_chip.get(below % self.copies) != below:
                    self.fetch(below)
            elif self.tile >= self.copies:
                self.fetch(self.tile - self.copies)
            self.tiles.pop()
            assert self.on_chip[below % self.copies] == below
            self.resident += below % self.copies not in self.fetched_copies
        return self.tiles[-1].pop()

    def fetch(self, tile: int):
        self.fetched += 1
        self.on_chip[tile % self.copies] = tile
        self.fetched_copies.add(tile % self.copies)


def pushes_of(runs: list[int]) -> list[bool]:
    """Runs of pushes, and of pops (negative) as far as there is something; at the end all is popped."""
    pushes: list[bool] = []
    held = 0
    for run in runs:
        length = run if run > 0 else min(-run, held)
        pushes += [run > 0] * length
        held += length if run > 0 else -length
    return pushes + [False] * held


@pytest.mark.parametrize("blocking", [False, True])
@settings(deadline=None, max_examples=150)
@given(
    copies=st.integers(1, 4),
    records=st.integers(1, 6),
    runs=st.lists(st.integers(-20, 30), max_size=8),
    grow=st.booleans(),
)
def test_any_order_of_pushes_and_pops_equals_a_stack(
    blocking: bool, copies: int, records: int, runs: list[int], grow: bool
):
    pushes = pushes_of(runs)
    reference = StackOfTiles(copies, records)
    expected = []
    for position, push in enumerate(pushes):
        if push:
            reference.push(position + 1)
        else:
            expected.append(reference.pop(blocking=blocking))
    with Machine(MACHINE) as model:
        values = model.stack(pushes, copies, records, blocking=blocking, grow=grow)
        counted = model.counters()
        assert model.error is None
    assert values == expected
    assert counted["tiles_pushed"] == reference.pushed
    assert counted["tiles_fetched"] == reference.fetched
    assert counted["tiles_resident"] == reference.resident
    assert counted["dma_descriptors"] == reference.pushed + reference.fetched
    assert counted["spad_writes"] == counted["spad_reads"] == sum(pushes)
    assert counted["tape_bytes_pushed"] == counted["tape_bytes_popped"] == 8 * sum(pushes)


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("records", [1, 8])
@pytest.mark.parametrize("total", [0, 1, 7, 8, 9, 16, 17, 64, 100])
def test_turn_around_tiles_never_leave_the_chip(total: int, records: int, copies: int, blocking: bool):
    with Machine(MACHINE) as model:
        model.stack([True] * total + [False] * total, copies, records, blocking=blocking)
        counted = model.counters()
    pushed = total // records
    assert counted["tiles_pushed"] == pushed
    assert counted["tiles_fetched"] == max(pushed - (copies - 1), 0)


def test_an_early_end_is_no_error_until_closed():
    with Machine(MACHINE) as model:
        model.stack([True] * 5, 2, 8)
        assert model.error == "stream: closed with records left in it"


def test_reading_what_was_not_written_is_an_error():
    with Machine(MACHINE) as model:
        model.stack([True, False, False], 2, 8)
        assert model.error == "stream: popped more tiles than were pushed"


def test_too_large_layers_name_both_sizes():
    with Machine(MACHINE) as model:
        model.stack([True, False], 2, 1000)
        assert model.error == "scratchpad: its buffers need 16000 bytes, the machine has 1024"


@given(j=st.integers(-50, 50), end=st.integers(-50, 50), step=st.integers(1, 7), records=st.integers(1, 40))
@settings(deadline=None)
def test_a_loop_is_cut_where_the_buffer_is_full_or_empty(j: int, end: int, step: int, records: int):
    with Machine(MACHINE) as model:
        up, down = model.reach(j, end, step, records, down=False), model.reach(j, end, step, records, down=True)
    for reached, whole in ((up, range(j, end, step)), (down, range(j, end, -step))):
        cut = range(j, reached, whole.step)
        assert len(cut) == min(len(whole), records)
        assert reached == end or len(cut) == records


def test_reach_does_not_overflow():
    most = 2**63 - 1
    with Machine(MACHINE) as model:
        assert model.reach(-most, most, most, 64, down=False) == most
        assert model.reach(most, -most, 3, 2**64 - 1, down=True) == -most
        assert model.reach(-most, most, 1, 5, down=False) == 5 - most


def test_what_was_read_is_poisoned():
    with Machine(MACHINE) as model:
        assert model.fresh_bytes(103) == 0
        assert model.error is None


@pytest.mark.parametrize("stream", [False, True])
def test_recording_more_than_reserved_is_an_error(stream: bool):
    with Machine(MACHINE) as model:
        model.reserved(3, 5, stream=stream)
        assert model.error == "tape: more was recorded than reserved"


def test_replaying_more_than_was_recorded_is_an_error():
    with Machine(MACHINE) as model:
        model.reserved(3, 3, stream=False)
        assert model.error == "tape: a record was replayed that was never recorded"


@settings(deadline=None, max_examples=60)
@given(
    loops=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 60), st.integers(1, 50)), min_size=1, max_size=5),
    tile=st.integers(1, 64),
)
def test_a_loop_takes_its_depth_its_intervals_and_its_stalls(loops: list[tuple[int, int, int]], tile: int):
    """T = depth + (n - 1) II + stalls, loop by loop; the end of a layer is a stall, and no refill of the pipeline."""
    shapes = [(ii, ii + more, iterations) for ii, more, iterations in loops]
    with Machine(MACHINE) as model:
        model.loops(shapes, tile)
        counted = model.counters()
    stalls = sum(counted[name] for name in counted if name.startswith("stall_"))
    assert counted["cycles"] == stalls + sum(depth + (n - 1) * ii for ii, depth, n in shapes)
    records = sum(n for _, _, n in shapes)
    assert counted["tiles_pushed"] == records // tile and (counted["stall_start"] > 0) == (records >= tile)


def test_accesses_are_words_of_the_port():
    """A burst is eight accesses of 8 bytes, or one of 64; a record ceil(bytes / port)."""
    wide = MACHINE.with_(scratchpad={"size_bytes": 4096, "port_bytes": 64, "access_cycles": 2})
    counts = {}
    for name, hardware in (("narrow", MACHINE), ("wide", wide)):
        with Machine(hardware) as model:
            model.stack([True] * 640 + [False] * 640, 2, 16)
            counts[name] = model.counters()
    bursts = counts["narrow"]["dram_dma_writes"]
    assert bursts == counts["wide"]["dram_dma_writes"] == 640 * 8 // 64
    assert (counts["narrow"]["spad_dma_reads"], counts["wide"]["spad_dma_reads"]) == (8 * bursts, bursts)
    assert counts["narrow"]["spad_writes"] == counts["wide"]["spad_writes"] == 640
    for port, words in ((8, 3), (64, 1)):
        hardware = Hardware.preset("cache-32k")
        assert hardware.cache
        cache = hardware.cache.model_copy(update={"port_bytes": port})
        with Machine(hardware.model_copy(update={"cache": cache})) as model:
            model.lifo(100, 24)
            counted = model.counters()
        assert counted["tape_writes"] == counted["tape_reads"] == 100 * words


def test_streaming_is_never_slower_than_blocking():
    times = {}
    for blocking in (False, True):
        with Machine(MACHINE) as model:
            model.stack([True] * 2000 + [False] * 2000, 2, 16, blocking=blocking)
            times[blocking] = model.counters()
    assert times[False]["cycles"] < times[True]["cycles"]
    assert times[False]["stall_dma"] < times[True]["stall_dma"]
    assert times[False]["tiles_fetched"] == times[True]["tiles_fetched"]


@pytest.mark.parametrize("copies", [1, 2, 4])
@pytest.mark.parametrize("bursts", [1, 4, 8])
@pytest.mark.parametrize("compute", [1, 10, 40, 100, 400])
def test_dma_time_is_the_closed_form(compute: int, bursts: int, copies: int):
    """T = L + D + C + (N - 1) max(C, D, (L + D + C) / B), exactly.

    Where latency bounds more than one buffer, the first tiles are fetched together and the last ones not: an end effect
    of less than one tile's time, however many tiles there are. DRAM's clock is the cycle, so that nothing is rounded.
    """
    fixed = {"part": "HBM2", "timing": "fixed", "fixed_latency_ns": 50}
    hardware = MACHINE.with_(dram=fixed, dma={"outstanding": 64})

    def time(tiles: int) -> int:
        with Machine(hardware) as model:
            model.tiles(copies, bursts * 8, tiles, compute)
            return model.counters()["cycles"]

    drain = 8 * bursts  # the port of the scratchpad is slower than the bus
    one = time(1)
    assert one == 4 + (2 + 50 + 2) + drain + compute
    tiles = 200
    bound_by_latency = copies > 1 and one > copies * max(compute, drain)
    closed_form = one + (tiles - 1) * max(compute, drain, one / copies)
    assert closed_form - (one if bound_by_latency else 0) <= time(tiles) <= closed_form


EVERY_PART = MACHINE.with_(
    cache={"streaming_buffers": 2, "prefetch_lines": 2},
    second_cache={"size_bytes": 8192},
    scratchpad={"ports": 3, "banks": 4},
)
RECORDED = ("-DTF_TIMELINE=1", "-DTF_REUSE=1", "-DTF_REUSE_LINES=64u")


@pytest.mark.parametrize(("hardware", "recorded"), [(MACHINE, ()), (EVERY_PART, RECORDED)], ids=["plain", "all"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_clean_under_warnings_and_sanitizers(compiler: str, hardware: Hardware, recorded: tuple[str, ...]):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    strict = "-Wall -Wextra -pedantic -Wconversion -Werror -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    source = (HERE / "driver.c").read_text()
    program = build(hardware, source, "-DDRIVE_MAIN", *recorded, *strict.split(), shared=False, compiler=compiler)
    subprocess.run([str(program)], check=True, capture_output=True)

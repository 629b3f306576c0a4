"""DRAM against DRAMsim3's figures for thirteen address patterns on two parts, closed forms, and who shares its bus."""

from __future__ import annotations

import csv
import math
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.hardware import Hardware

from .machine import COMPILER, Machine

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

REQUESTS = 40_000
LATENCY = ("lat_random", "lat_stream")
STRIDES = {"s256": 256, "s4k": 4096, "s8k": 8192, "s64k": 65536}
PATTERNS = ("stream", "write_stream", "copy", "copy_blocked", *STRIDES, "4str", "16str", "random", *LATENCY)
PARTS = {"DDR4-2400": 64, "LPDDR4-2400": 128}

# A clock of 2 GHz, so that rounding to whole cycles does not hide what DRAM does.
CLOCK_GHZ = 2.0


def golden(part: str, pattern: str) -> float:
    text = (resources.files("tapeflow.hardware") / "data" / "dramsim3-golden.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return next(float(row[pattern]) for row in rows if row["part"] == part)


def requests(pattern: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and whether each is a write. Parallel streams start a row apart, in different bank groups."""
    k = np.arange(REQUESTS, dtype=np.int64)
    never = np.zeros(REQUESTS, dtype=bool)
    far = 1 << 28
    match pattern:
        case "stream" | "lat_stream":
            return k * size, never
        case "write_stream":
            return k * size, ~never
        case "copy":
            return k // 2 * size + k % 2 * far, k % 2 == 1
        case "copy_blocked":
            block, within = k // 32, k % 32
            return (block // 2 * 32 + within) * size + block % 2 * far, block % 2 == 1
        case _ if pattern in STRIDES:
            return k * STRIDES[pattern], never
        case "4str" | "16str":
            streams = int(pattern.removesuffix("str"))
            return k // streams * size + k % streams * ((1 << 26) + 8192), never
        case _:
            return np.random.default_rng(7).integers(0, (1 << 33) // size, REQUESTS) * size, never


def hardware(part: str, **dram: object) -> Hardware:
    dram_fields = {"part": part, **dram}
    slower = {"cache": {"hit_cycles": 4}}
    return Hardware.preset("cache-32k").with_(name="dram", clock_ghz=CLOCK_GHZ, dram=dram_fields, **slower)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_nanoseconds_a_request_are_within_a_fifth_of_dramsim3(part: str, pattern: str):
    addresses, writes = requests(pattern, PARTS[part])
    with Machine(hardware(part)) as model:
        cycles = model.dram(addresses, writes, 1 if pattern in LATENCY else 32)
    nanoseconds = cycles / CLOCK_GHZ / REQUESTS
    assert nanoseconds == pytest.approx(golden(part, pattern), rel=0.2)


@pytest.mark.parametrize("part", [*PARTS, "HBM2"])
def test_no_pattern_beats_the_bus(part: str):
    machine = hardware(part)
    for pattern in PATTERNS:
        addresses, writes = requests(pattern, machine.dram.burst_bytes)
        with Machine(machine) as model:
            cycles = model.dram(addresses, writes, 32)
        assert cycles / CLOCK_GHZ * machine.dram.peak_bytes_per_ns >= REQUESTS * machine.dram.burst_bytes


def test_a_row_is_opened_once_for_all_its_bursts():
    with Machine(hardware("DDR4-2400")) as model:
        model.dram(np.arange(128, dtype=np.int64) * 64, np.zeros(128, dtype=bool), 1)
        assert model.counters()["dram_activates"] == 1


def test_fixed_timing_is_latency_plus_bursts():
    machine = hardware("DDR4-2400", timing="fixed", fixed_latency_ns=50)
    with Machine(machine) as model:
        cycles = model.dram(np.arange(64, dtype=np.int64) * 4096, np.zeros(64, dtype=bool), 64)
    clocks = 2 + 61 + 64 * 4
    assert cycles / CLOCK_GHZ == pytest.approx(clocks * 0.833, abs=1)


REQUESTED = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 6), st.booleans()), min_size=1, max_size=40)
"""Of cache and DMA engine: when, how many bursts (0: a line that misses), and whether out."""


def shared(outstanding: int, **dram: object) -> Hardware:
    """A cache that always has a free miss register; what is asked of it and of the engine comes to DRAM as soon."""
    return hardware("DDR4-2400", **dram).with_(cache={"mshrs": 64}, dma={"outstanding": outstanding})


def on_one_bus(machine: Hardware, requests: list[tuple[int, int, bool]]) -> list[int]:
    """When requests are done on a bus with a latency: each has the first free place on it, in the order of asking."""
    assert machine.cache is not None
    dma, dram = machine.dma, machine.dram
    burst, controller = int(dram.number("burst_ck")), int(dram.number("controller_ck"))
    words = dram.burst_bytes // 8
    taken: set[int] = set()
    flight, made, port_free = [0] * dma.outstanding, 0, 0

    def place(cycle: int) -> int:
        slot = -(-cycle * machine.cycle_ps // dram.clock_ps) + controller + dram.fixed_latency_clocks
        while taken & set(range(slot, slot + burst)):
            slot += 1
        taken.update(range(slot, slot + burst))
        return -(-(slot + burst) * dram.clock_ps // machine.cycle_ps)

    done: list[int] = []
    for at, bursts, out in requests:
        if bursts == 0:
            done.append(place(at + machine.cache.hit_cycles))
            continue
        ended = at
        for _ in range(bursts):
            issue = max(at + dma.setup_cycles, flight[made % dma.outstanding])
            if out:
                port_free = max(issue, port_free) + words
                over = place(port_free)
            else:
                port_free = over = max(place(issue), port_free) + words
            flight[made % dma.outstanding] = over
            made, ended = made + 1, max(ended, over)
        done.append(ended)
    return done


@settings(deadline=None, max_examples=100)
@given(requests=REQUESTED)
def test_misses_and_dma_bursts_take_the_first_free_places_of_one_bus(requests: list[tuple[int, int, bool]]):
    machine = shared(3, timing="fixed", fixed_latency_ns=50)
    with Machine(machine) as model:
        assert model.bus(requests) == on_one_bus(machine, requests)


@pytest.mark.parametrize("turn", [0, 5, 12])
def test_lines_and_a_burst_asked_for_together_come_one_after_the_other(turn: int):
    with Machine(shared(3, timing="fixed", fixed_latency_ns=50)) as model:
        done = model.bus([(0, int(k == turn), False) for k in range(13)])
    first = math.ceil(4 * 500 / 833) + 2 + 61  # after hit or set-up: controller, latency
    arrived = [math.ceil((first + 4 * (k + 1)) * 833 / 500) for k in range(13)]
    arrived[turn] += 8  # through the engine's port
    assert done == arrived


@settings(deadline=None, max_examples=60)
@given(requests=REQUESTED)
def test_to_banks_a_burst_is_what_a_line_is_and_no_two_meet_on_the_bus(requests: list[tuple[int, int, bool]]):
    mixed = [(at, min(bursts, 1), False) for at, bursts, _ in requests]
    with Machine(shared(40)) as model, Machine(shared(40)) as another:
        done, lines = model.bus(mixed), another.bus([(at, 0, False) for at, *_ in requests])
    port_free = 0
    for line, over, (_, bursts, _) in zip(lines, done, mixed, strict=True):
        if bursts > 0:
            port_free = max(line, port_free) + 8
        assert over == (port_free if bursts > 0 else line)
    ends = sorted(cycle * 500 // 833 for cycle in lines)  # a cycle is shorter than a clock of DRAM, so it tells that
    assert all(late - early >= 4 for early, late in pairwise(ends))


# DRAMsim3's figures do not have HBM2; these follow from its timing alone, in requests too few to meet a refresh.
HBM2 = hardware("HBM2")
CONTROLLER, CL, TRCD, BURST, TRRD, TFAW = 2, 14, 14, 2, 4, 30


def hbm2_nanoseconds(addresses: np.ndarray, in_flight: int) -> float:
    with Machine(HBM2) as model:
        return model.dram(addresses, np.zeros(len(addresses), dtype=bool), in_flight) / CLOCK_GHZ


def test_hbm2_one_at_a_time_is_the_latency_of_open_rows_and_of_opening_each():
    rows = 7
    nanoseconds = hbm2_nanoseconds(np.arange(rows * 1024 // 64, dtype=np.int64) * 64, 1)
    least = rows * 16 * (CONTROLLER + CL + BURST) + rows * TRCD
    assert nanoseconds == pytest.approx(least, abs=1)


def test_hbm2_rows_of_one_bank_are_a_row_cycle_apart():
    requests_made, row_cycle = 60, 34 + 14
    addresses = np.arange(requests_made, dtype=np.int64) * 1024 * 16
    last = CONTROLLER + TRCD + CL + BURST
    for in_flight in (1, 8):
        nanoseconds = hbm2_nanoseconds(addresses, in_flight)
        assert nanoseconds == pytest.approx((requests_made - 1) * row_cycle + last, abs=1)


def test_hbm2_rows_of_all_banks_are_four_to_a_window():
    rows = 64  # each the next bank's, of which there are 16; a bank is free again in time
    addresses = np.arange(rows, dtype=np.int64) * 1024
    first = CONTROLLER + TRCD + CL + BURST
    windows, rest = divmod(rows - 1, 4)
    assert hbm2_nanoseconds(addresses, 64) == pytest.approx(first + windows * TFAW + rest * TRRD, abs=1)


def fits(clock: int, others: list[int], trrd: int, tfaw: int) -> bool:
    """Whether an activate at `clock` is far enough from each other one, and no five are in a window."""
    together = sorted([*others, clock])
    apart = all(abs(clock - other) >= trrd for other in others)
    return apart and all(late - early >= tfaw for early, late in zip(together, together[4:], strict=False))


@pytest.mark.parametrize("part", [*PARTS, "HBM2"])
@settings(deadline=None, max_examples=80)
@given(asked=st.lists(st.integers(0, 300), max_size=40), drift=st.sampled_from([0, 7, 250, 5000]))
def test_activates_are_at_the_first_clock_that_trrd_and_tfaw_allow(part: str, asked: list[int], drift: int):
    wanted = [clock + position * drift for position, clock in enumerate(asked)]
    dram = hardware(part).dram
    trrd, tfaw = int(dram.number("trrd")), int(dram.number("tfaw"))
    with Machine(hardware(part)) as model:
        taken = model.activates(wanted)
    for position, (clock, least) in enumerate(zip(taken, wanted, strict=True)):
        others = taken[:position]
        assert clock == next(c for c in range(least, least + 10_000) if fits(c, others, trrd, tfaw))


# Clocks of the controller, tRCD, CL and a burst.
COLD = {"DDR4-2400": 2 + 17 + 17 + 4, "LPDDR4-2400": 2 + 15 + 17 + 8, "HBM2": 2 + 14 + 14 + 2}


@pytest.mark.parametrize("part", COLD)
@pytest.mark.parametrize("clock_ghz", [1.0, 2.0])
def test_one_cold_read_waits_for_no_activate_but_its_own(part: str, clock_ghz: float):
    machine = hardware(part).with_(clock_ghz=clock_ghz)
    with Machine(machine) as model:
        cycles = model.dram(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool), 1)
    assert cycles == math.ceil(COLD[part] * machine.dram.clock_ps / machine.cycle_ps)


def test_hbm2_streams_at_the_rate_of_its_bus():
    bursts = 1500
    nanoseconds = hbm2_nanoseconds(np.arange(bursts, dtype=np.int64) * 64, 32)
    assert bursts * BURST <= nanoseconds <= bursts * BURST * 1.05 + CONTROLLER + TRCD + CL

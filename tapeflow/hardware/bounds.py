"""Lower bounds on the time of a call: what no run with these counts can beat on this machine.

Each is a resource and the time for which the counted work keeps it busy, at the least: the datapath its schedules, a
port its accesses, the bus of DRAM its bursts. Requests in flight are bounded by Little's law: each holds one of so many
places for at least the shortest latency, so N of them take N * latency / places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapeflow.hardware.config import Hardware
from tapeflow.hardware.counters import Counters
from tapeflow.hardware.energy import dram_bursts

_SCHEDULE_IS_FULL = 0.9
"""The share of the schedules' cycles from which on a port that is busy for so long is what bounds them."""


@dataclass(frozen=True)
class Bound:
    """A time that no run with these counters can beat on this machine."""

    what: str
    """The resource."""

    cycles: int
    """The bound, in cycles."""


def shortest_latency_ps(hardware: Hardware) -> int:
    """From a request to DRAM to its last data when nothing is in its way, in ps: controller, column, burst."""
    dram = hardware.dram
    column = dram.fixed_latency_clocks if dram.timing == "fixed" else int(dram.number("cl"))
    clocks = int(dram.number("controller_ck")) + column + int(dram.number("burst_ck"))
    return clocks * dram.clock_ps


def lower_bounds(hardware: Hardware, counters: Counters, compute: int, computing: str) -> tuple[Bound, ...]:
    """The bounds of a call, greatest first.

    Args:
        hardware: the machine.
        counters: of the call.
        compute: cycles of its static schedules.
        computing: what these are spent on.
    """
    bounds = [Bound(computing, compute), *_ports(hardware, counters), *_dram(hardware, counters)]
    if hardware.scratchpad:
        bounds += _dma(hardware, counters)
    return tuple(sorted(bounds, key=lambda bound: bound.cycles, reverse=True))


def limiting(bounds: tuple[Bound, ...], computing: str) -> Bound:
    """What bounds the run: the greatest, or instead of the schedules the port that they are full of."""
    greatest = bounds[0]
    if greatest.what == computing:
        enough = greatest.cycles * _SCHEDULE_IS_FULL
        full = [bound for bound in bounds if _of_the_schedule(bound.what) and bound.cycles >= enough > 0]
        return full[0] if full else greatest
    return greatest


def _of_the_schedule(what: str) -> bool:
    return what.removesuffix("s").endswith((" cache port", " scratchpad port"))


def _ports(hardware: Hardware, counters: Counters) -> Iterator[Bound]:
    cache, pad = hardware.cache, hardware.scratchpad
    if cache:
        accesses = sum(counters[f"{of}_{what}"] for of in ("array", "tape") for what in ("reads", "writes"))
        yield Bound(_number(cache.ports, "cache port"), accesses // cache.ports)
    if pad:
        accesses = counters["spad_reads"] + counters["spad_writes"]
        yield Bound(_number(pad.ports, "scratchpad port"), accesses // pad.ports)


def _dram(hardware: Hardware, counters: Counters) -> Iterator[Bound]:
    dram, cache, second = hardware.dram, hardware.cache, hardware.second_cache
    bursts = dram_bursts(counters, "reads") + dram_bursts(counters, "writes")
    yield Bound("DRAM bandwidth", bursts * dram.burst_ps // hardware.cycle_ps)
    # A miss register is held from the miss on: the look-up of each level, and DRAM.
    registers = cache.mshrs if cache else hardware.uncached_requests
    demand = counters["dram_cache_array_reads"] + counters["dram_cache_tape_reads"]
    looking_up = (cache.hit_cycles if cache else 1) * (demand + counters["second_hits"])
    looking_up += second.hit_cycles * (demand + counters["second_hits"]) if second else 0
    held_ps = demand * shortest_latency_ps(hardware) + looking_up * hardware.cycle_ps
    what = _number(registers, "MSHR") if cache else _number(registers, "access", "accesses") + " in flight"
    yield Bound(what, held_ps // registers // hardware.cycle_ps)


def _dma(hardware: Hardware, counters: Counters) -> Iterator[Bound]:
    """Bursts through the engine's port; reads in flight at a time; tiles in flight at a time, one a buffer's copy."""
    requests, latency_ps, cycle_ps = hardware.dma.outstanding, shortest_latency_ps(hardware), hardware.cycle_ps
    reads, words = counters["dram_dma_reads"], counters["spad_dma_writes"]
    yield Bound("DMA port", words + counters["spad_dma_reads"])
    bursts_ps = reads * latency_ps + words * cycle_ps
    yield Bound(f"DMA latency, {_number(requests, 'burst')} in flight", bursts_ps // requests // cycle_ps)
    copies, tiles = counters["spad_copies"], counters["tiles_fetched"]
    if copies:
        fetching_ps = tiles * (hardware.dma.setup_cycles * cycle_ps + latency_ps) + words * cycle_ps
        what = f"DMA latency, {_number(copies, 'tile')} in flight"
        yield Bound(what, fetching_ps // copies // cycle_ps)


def _number(count: int, what: str, plural: str = "") -> str:
    return f"{count} {what if count == 1 else plural or what + 's'}"

"""Energy of a simulated call: integer counters times the tables, part by part."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from tapeflow.errors import TapeflowError
from tapeflow.hardware.config import LINE_BYTES, Cache, Hardware, SecondCache
from tapeflow.hardware.counters import Counters

OperationMix = Mapping[int, Mapping[str, int]]
"""Line of a block in the C source -> operation (a row of functional-units.csv) -> how many one execution does."""

MEMORY = ("scratchpad", "cache", "second cache", "dma", "leakage")
"""Parts on chip that hold or move data."""

DRAM = ("dram activate", "dram read", "dram write", "dram standby")
"""Parts of DRAM, device only."""

UNITS = ("functional units",)
"""Parts that compute."""


@dataclass(frozen=True)
class EnergyBreakdown:
    """Energy of one call in pJ, by part; every total is the exact sum of its parts, rounded once."""

    parts: Mapping[str, float]
    """Part -> energy in pJ, in the order of `MEMORY`, `UNITS`, `DRAM`."""

    def sum(self, names: tuple[str, ...]) -> float:
        """The energy of these parts in pJ."""
        return math.fsum(self.parts[name] for name in names)

    @property
    def memory(self) -> float:
        """Memories on chip and the DMA engine, leakage included, in pJ."""
        return self.sum(MEMORY)

    @property
    def on_chip(self) -> float:
        """Memories on chip, the DMA engine and functional units, in pJ."""
        return self.sum(MEMORY + UNITS)

    @property
    def dram(self) -> float:
        """DRAM, in pJ."""
        return self.sum(DRAM)

    @property
    def total(self) -> float:
        """Everything, in pJ."""
        return self.sum(MEMORY + UNITS + DRAM)

    def as_dict(self) -> dict[str, float]:
        """Parts and totals in pJ."""
        totals = {"memory": self.memory, "on chip": self.on_chip, "dram": self.dram, "total": self.total}
        return {**self.parts, **totals}


def energy(hardware: Hardware, counters: Counters, mix: OperationMix) -> EnergyBreakdown:
    """The energy of a call on `hardware`.

    Raises:
        TapeflowError: a table lacks a row that the call needs, or a block that ran has no operation mix.
    """
    nanoseconds = counters["cycles"] * hardware.cycle_ps / 1000
    parts = {
        "scratchpad": _scratchpad(hardware, counters),
        "cache": _cache(hardware, counters),
        "second cache": _second_cache(hardware, counters),
        "dma": counters["dma_descriptors"] * hardware.dma.descriptor_pj,
        "leakage": _leakage_mw(hardware) * nanoseconds,
        "functional units": _functional_units(hardware, counters, mix),
    }
    return EnergyBreakdown(parts | _dram(hardware, counters, nanoseconds))


def _scratchpad(hardware: Hardware, counters: Counters) -> float:
    pad = hardware.scratchpad
    if pad is None:
        return 0.0
    array = hardware.sram(pad.array_kind, pad.size_bytes)
    reads = counters["spad_reads"] + counters["spad_dma_reads"]
    writes = counters["spad_writes"] + counters["spad_dma_writes"]
    return reads * array.read_pj + writes * array.write_pj


def _cache(hardware: Hardware, counters: Counters) -> float:
    """Accesses by the datapath, and those that fill lines and write them back: line / port words each."""
    if hardware.cache is None:
        return 0.0
    array = hardware.sram(hardware.cache.array_kind, hardware.cache.size_bytes)
    words = LINE_BYTES // hardware.cache.port_bytes
    writebacks = counters["array_writebacks"] + counters["tape_writebacks"]
    reads = counters["array_reads"] + counters["tape_reads"] + writebacks * words
    writes = counters["array_writes"] + counters["tape_writes"] + counters["cache_fills"] * words
    return reads * array.read_pj + writes * array.write_pj


def _second_cache(hardware: Hardware, counters: Counters) -> float:
    """Lines read and written, words of 8 bytes each, and a look at the tags for each miss."""
    second = hardware.second_cache
    if second is None:
        return 0.0
    array = hardware.sram(second.array_kind, second.size_bytes)
    words = LINE_BYTES // 8
    reads = (counters["second_hits"] + counters["second_writebacks"]) * words + counters["second_misses"]
    writes = (counters["second_misses"] + counters["second_writes"]) * words
    return reads * array.read_pj + writes * array.write_pj


def _leakage_mw(hardware: Hardware) -> float:
    parts = (hardware.cache, hardware.second_cache, hardware.scratchpad)
    return math.fsum(hardware.sram(part.array_kind, part.size_bytes).leakage_mw for part in parts if part)


def _functional_units(hardware: Hardware, counters: Counters, mix: OperationMix) -> float:
    done: dict[str, int] = {}
    for line, executions in counters.executions.items():
        if line not in mix:
            raise TapeflowError(f"the block at line {line} of the generated C ran, but has no operation mix")
        for operation, count in mix[line].items():
            done[operation] = done.get(operation, 0) + count * executions
    return math.fsum(count * hardware.operation_pj(operation) for operation, count in sorted(done.items()) if count)


def _dram(hardware: Hardware, counters: Counters, nanoseconds: float) -> dict[str, float]:
    row = hardware.dram.energy_row
    return {
        "dram activate": counters["dram_activates"] * row.number("activate_precharge_pj_per_row"),
        "dram read": dram_bursts(counters, "reads") * row.number("read_pj_per_burst"),
        "dram write": dram_bursts(counters, "writes") * row.number("write_pj_per_burst"),
        "dram standby": row.number("active_standby_mw") * nanoseconds,
    }


def dram_bursts(counters: Counters, direction: str) -> int:
    """All bursts in one direction, `reads` or `writes`."""
    return sum(counters[f"dram_{cause}_{direction}"] for cause in ("cache_array", "cache_tape", "dma"))


@dataclass(frozen=True)
class EnergySpread:
    """On-chip energy of a call under every choice of transistor, cache access and scope.

    These are {lop, hp} x {parallel, sequential} x {memory, memory and functional units}, as far as there is a choice:
    the tables have hp only of 40 and 32 nm and at 300 K, and one kind of access of one way and of ports of a line.
    """

    cases: Mapping[tuple[str, str, str], float]
    """(cell type, access, scope) -> energy in pJ."""

    @property
    def minimum(self) -> float:
        """The least, in pJ."""
        return min(self.cases.values())

    @property
    def median(self) -> float:
        """The median, in pJ."""
        return statistics.median(self.cases.values())

    @property
    def maximum(self) -> float:
        """The most, in pJ."""
        return max(self.cases.values())


def energy_spread(hardware: Hardware, counters: Counters, mix: OperationMix) -> EnergySpread:
    """The on-chip energy of a call under every choice of tables, at unchanged time.

    Raises:
        TapeflowError: a table lacks a row.
    """
    cases: dict[tuple[str, str, str], float] = {}
    for cell_type in ("itrs-lop", "itrs-hp"):
        if cell_type not in hardware.energy.cell_types:
            continue
        tables_of = hardware.energy.model_copy(update={"cell_type": cell_type})
        for access in _accesses(hardware):
            caches = {level: _accessed(getattr(hardware, level), access) for level in ("cache", "second_cache")}
            variant = hardware.model_copy(update={"energy": tables_of, **caches})
            parts = energy(variant, counters, mix)
            cases[cell_type, access, "memory"] = parts.memory
            cases[cell_type, access, "memory and functional units"] = parts.on_chip
    return EnergySpread(cases)


def _accessed(cache: Cache | SecondCache | None, access: str) -> Cache | SecondCache | None:
    """The cache with tags and data read so, if it can be."""
    return cache.model_copy(update={"access": access}) if cache and _chooses(cache) else cache


def _accesses(hardware: Hardware) -> tuple[str, ...]:
    """The kinds of access that the caches of this machine can have."""
    caches = [cache for cache in (hardware.cache, hardware.second_cache) if cache]
    if any(_chooses(cache) for cache in caches):
        return ("parallel", "sequential")
    return (caches[0].access if caches else "none",)


def _chooses(cache: Cache | SecondCache) -> bool:
    """Whether there is an order of tag and data to choose: not with one way, nor where the table has one kind only."""
    return cache.ways > 1 and (isinstance(cache, SecondCache) or cache.port_bytes == 8)

"""The machine that compiled gradients are simulated on: every parameter, its unit, and where its default comes from.

```python
machine = Hardware.preset("stream-1k")
machine.with_(cache={"mshrs": 16}, name="stream-1k, 16 MSHRs")
```
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tapeflow.errors import TapeflowError
from tapeflow.hardware import tables

LINE_BYTES = 64
"""Bytes of a cache line: what the energy tables hold, and a burst of DDR4."""

MOST_CYCLES = 4096
"""The longest latency of a part: beyond all hardware, and short enough that no time of the model overflows."""

MOST_UNITS = 256
"""The most units or ports of a kind."""


class Of(NamedTuple):
    """What a field's number is; shown by `tapeflow hardware show --fields` and in the manual."""

    unit: str
    """The unit; of what is no number, what it is."""

    source: str
    """Where the default comes from, or who chooses."""


SAME = "a choice, the same on both sides of a comparison"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @field_validator("*", mode="before")
    @classmethod
    def _check_number(cls, value: Any, info: ValidationInfo) -> Any:
        """`yes` is no number, though Python and pydantic take it for 1."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation is not bool:
            raise ValueError(f"Input is {str(value).lower()}, not a number or text")
        return value


def _check_power_of_two(what: str, value: int) -> None:
    if value & (value - 1):
        raise ValueError(f"{what} is {value}, which is not a power of two")


def _check_cache(what: str, size_bytes: int, ways: int) -> None:
    _check_power_of_two(f"the {what}'s size_bytes", size_bytes)
    lines = size_bytes // LINE_BYTES
    if lines == 0:
        raise ValueError(f"a {what} of {size_bytes} bytes holds no line of {LINE_BYTES}")
    if lines % ways:
        raise ValueError(f"{ways} ways do not divide the {lines} lines of a {what} of {size_bytes} bytes")


class Cache(_Part):
    """A non-blocking, set-associative, write-back, write-allocate cache with least-recently-used replacement."""

    size_bytes: Annotated[int, Of("bytes", "a choice, swept; energy and area from sram-cacti7.csv")] = Field(gt=0)
    """Capacity in bytes, a power of two."""

    ways: Annotated[int, Of("ways", "a choice; sram-cacti7.csv has no 8-way cache of 4 KiB or less")] = Field(
        default=8, gt=0
    )
    """Associativity. CACTI has no 8-way cache at 4 KiB or less (sram-cacti7.csv)."""

    hit_cycles: Annotated[
        int, Of("cycles", "access_ns of sram-cacti7.csv rounded up, and one cycle for the address")
    ] = Field(default=2, ge=1, le=MOST_CYCLES)
    """Latency of a hit in cycles: the array's access time (CACTI 7) rounded up, and one cycle for the address."""

    ports: Annotated[int, Of("accesses a cycle", "a choice, three memory ports in all on both sides")] = Field(
        default=2, ge=1, le=MOST_UNITS
    )
    """Accesses that the datapath may start in a cycle. Banked: energy an access is that of one port."""

    port_bytes: Annotated[Literal[8, 64], Of("bytes", "the arrays of sram-cacti7.csv: 8 or 64")] = 8
    """Bytes of an access. A line fill or write-back is line / port accesses of the array."""

    mshrs: Annotated[int, Of("lines", "a choice, swept over 4, 8, 16, 32; 16 requests in all on both sides")] = Field(
        default=8, ge=1, le=256
    )
    """Miss registers: lines that may be on their way at a time. Swept over 4, 8, 16, 32 in the evaluation."""

    access: Annotated[
        Literal["parallel", "sequential"],
        Of("kind", "cNw_par8 or cNw_seq8 of sram-cacti7.csv; the energy spread takes both"),
    ] = "parallel"
    """Whether data ways are read with the tags, or after them: sequential costs less energy and more time."""

    prefetch_lines: Annotated[int, Of("lines", "a choice: presets with `prefetch` have 4")] = Field(
        default=0, ge=0, le=64
    )
    """Lines that a stride prefetcher fetches ahead, a stream for each access in the source, strides of either sign; 0
    for no prefetcher. It takes free miss registers only; its own table costs no energy here."""

    streaming_buffers: Annotated[int, Of("lines", "a choice: presets with `streaming-stores` have 4")] = Field(
        default=0, ge=0, le=64
    )
    """Lines of tape that may be collected at a time to be written past the caches, when they are full or another line
    needs the place; 0: tape stores fetch their lines. A store to a line in the cache goes there."""

    blocking: Annotated[bool, Of("yes or no", "the published artifact's baseline, for `artifact-2024` only")] = False
    """Whether the cache does nothing beside a miss, hits are not pipelined (each port has at most one read and one
    write under way) and loads wait for all older stores."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_cache("cache", self.size_bytes, self.ways)
        return self

    @property
    def array_kind(self) -> str:
        """The kind of the array in the energy table."""
        return f"c{self.ways}w_{'par' if self.access == 'parallel' else 'seq'}{self.port_bytes}"


class SecondCache(_Part):
    """A larger cache between the first one and DRAM: write-back, least recently used out first, asked for whole lines.

    It neither includes nor excludes what the first one holds, and has no miss registers of its own.
    """

    size_bytes: Annotated[int, Of("bytes", "a choice, swept; energy and area from sram-cacti7.csv")] = Field(gt=0)
    """Capacity in bytes, a power of two."""

    ways: Annotated[int, Of("ways", "a choice; sram-cacti7.csv has no 8-way cache of 4 KiB or less")] = Field(
        default=8, gt=0
    )
    """Associativity. CACTI has no 8-way cache at 4 KiB or less (sram-cacti7.csv)."""

    hit_cycles: Annotated[
        int, Of("cycles", "no less than access_ns of sram-cacti7.csv; 8 for a look-up and eight words of a line")
    ] = Field(default=8, ge=1, le=MOST_CYCLES)
    """Cycles from a miss of the first cache to the line, if it is here; more than the array's access time (CACTI 7)."""

    access: Annotated[Literal["parallel", "sequential"], Of("kind", "cNw_par8 or cNw_seq8 of sram-cacti7.csv")] = (
        "sequential"
    )
    """Whether data ways are read with the tags, or after them. A line is eight accesses of 8 bytes, a miss one."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_cache("second cache", self.size_bytes, self.ways)
        return self

    @property
    def array_kind(self) -> str:
        """The kind of the array in the energy table."""
        return f"c{self.ways}w_{'par' if self.access == 'parallel' else 'seq'}8"


class Scratchpad(_Part):
    """A memory on chip that the program addresses: no tags, no misses."""

    size_bytes: Annotated[int, Of("bytes", "a choice, swept; energy and area from sram-cacti7.csv")] = Field(gt=0)
    """Capacity in bytes, a power of two."""

    access_cycles: Annotated[
        int, Of("cycles", "access_ns of sram-cacti7.csv rounded up (0.47 ns for 1 KiB, itrs-lop at 45 nm)")
    ] = Field(default=1, ge=1, le=MOST_CYCLES)
    """Latency of an access in cycles (CACTI 7: 0.47 ns for 1 KiB, itrs-lop at 45 nm)."""

    ports: Annotated[int, Of("accesses a cycle", "a choice, three memory ports in all on both sides")] = Field(
        default=1, ge=1
    )
    """Accesses that the datapath may start in a cycle. The DMA engine works on the other buffer, in another bank."""

    port_bytes: Annotated[Literal[8, 64], Of("bytes", "the arrays of sram-cacti7.csv: 8 or 64")] = 8
    """Bytes of an access; a record takes ceil(bytes / port) of them, a 64-byte burst of the DMA engine 64 / port."""

    banks: Annotated[int, Of("banks", "a choice: the least that leaves the DMA engine one in every cycle")] = Field(
        default=2, ge=2, le=64
    )
    """Banks, a power of two, interleaved by words of the port, more than there are ports. Accesses of the datapath that
    meet in a bank wait for one another. Energy is that of one array of the whole size."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_power_of_two("the scratchpad's size_bytes", self.size_bytes)
        _check_power_of_two("the scratchpad's banks", self.banks)
        if self.banks <= self.ports:
            raise ValueError(f"{self.ports} ports and the DMA engine need more than {self.banks} banks")
        if self.banks * self.port_bytes > self.size_bytes:
            raise ValueError(
                f"{self.banks} banks of {self.port_bytes}-byte words are more than {self.size_bytes} bytes"
            )
        return self

    @property
    def array_kind(self) -> str:
        """The kind of the array in the energy table."""
        return f"spm{self.port_bytes}"


class Dma(_Part):
    """The engine that moves tiles between scratchpad and DRAM."""

    outstanding: Annotated[int, Of("bursts", "a choice: with the cache's MSHRs, 16 requests in all on both sides")] = (
        Field(default=8, ge=1, le=256)
    )
    """Bursts that may be in flight at a time: with the cache's MSHRs, the machine's budget of outstanding requests."""

    start_cycles: Annotated[int, Of("cycles", "one store to the engine's queue")] = Field(
        default=1, ge=0, le=MOST_CYCLES
    )
    """Cycles that the datapath is held while it writes a descriptor (one store to the engine's queue)."""

    setup_cycles: Annotated[int, Of("cycles", "an assumption, swept: decode and address generation")] = Field(
        default=4, ge=0, le=MOST_CYCLES
    )
    """Cycles from a written descriptor to its first burst: decode and address generation (an assumption, swept)."""

    descriptor_pj: Annotated[
        float, Of("pJ", "about 16 accesses of a 64-bit register (register64_read of functional-units.csv: 0.58 pJ)")
    ] = Field(default=10.0, ge=0, le=1e6)
    """Energy of a descriptor."""


class Dram(_Part):
    """Main memory, one channel."""

    part: Annotated[
        str, Of("row", "dram-timing.csv and dram-structure.csv, which names the row of dram-energy.csv")
    ] = "DDR4-2400"
    """Row of dram-timing.csv and dram-structure.csv, which names the row of dram-energy.csv."""

    timing: Annotated[
        Literal["banked", "fixed"], Of("kind", "`banked` is held against DRAMsim3 (dramsim3-golden.csv)")
    ] = "banked"
    """`banked`: open rows, activates, refresh, write queue. `fixed`: a latency and the bus, for closed forms."""

    fixed_latency_ns: Annotated[float, Of("ns", "random access in DRAMsim3: 48.6 ns (dramsim3-golden.csv)")] = Field(
        default=50.0, gt=0, le=1e6
    )
    """With `fixed`: from request to first data, in ns (random access in DRAMsim3: 48.6)."""

    write_queue: Annotated[int, Of("bursts", "DRAMsim3's transaction queue: 32")] = Field(default=32, ge=1, le=256)
    """Posted writes that go out together."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            tables.row("dram-timing.csv", "part", self.part)
            _ = self.energy_row
        except TapeflowError as error:
            raise ValueError(f"{error.message}; {error.hint}") from error
        return self

    @property
    def energy_row(self) -> tables.Row:
        """The row of the energy table for this part."""
        structure = tables.row("dram-structure.csv", "part", self.part)
        return tables.row("dram-energy.csv", "part", structure.text("energy_part"))

    def number(self, column: str) -> float:
        """A value of this part from the timing table, or else the structure table.

        Raises:
            TapeflowError: neither has it.
        """
        timing = tables.row("dram-timing.csv", "part", self.part)
        if timing.values.get(column):
            return timing.number(column)
        return tables.row("dram-structure.csv", "part", self.part).number(column)

    @property
    def burst_bytes(self) -> int:
        """Bytes of one burst."""
        return int(self.number("burst_bytes"))

    @property
    def clock_ps(self) -> int:
        """A DRAM clock, in whole ps, as the model counts it."""
        return round(self.number("tck_ns") * 1000)

    @property
    def burst_ps(self) -> int:
        """Time of one burst on the data bus, in ps."""
        return int(self.number("burst_ck")) * self.clock_ps

    @property
    def fixed_latency_clocks(self) -> int:
        """With `fixed`: clocks from a column command to its data."""
        return math.ceil(self.fixed_latency_ns * 1000 / self.clock_ps)

    @property
    def peak_bytes_per_ns(self) -> float:
        """Bandwidth of the data bus, in bytes a nanosecond."""
        return self.burst_bytes / self.burst_ps * 1000


class FunctionalUnits(_Part):
    """Units of the datapath, and how long their operations take."""

    fp_add: Annotated[int, Of("units", SAME)] = Field(default=2, ge=1, le=MOST_UNITS)
    """Floating-point adders, which also compare and convert."""

    fp_mul: Annotated[int, Of("units", SAME)] = Field(default=2, ge=1, le=MOST_UNITS)
    """Floating-point multipliers."""

    fp_fma: Annotated[int, Of("units", SAME)] = Field(default=1, ge=1, le=MOST_UNITS)
    """Fused multiply-adders, used for explicit fma only."""

    fp_div: Annotated[int, Of("units", SAME)] = Field(default=1, ge=1, le=MOST_UNITS)
    """Floating-point dividers."""

    fp_sqrt: Annotated[int, Of("units", SAME)] = Field(default=1, ge=1, le=MOST_UNITS)
    """Square-root units."""

    transcendental: Annotated[int, Of("units", SAME)] = Field(default=1, ge=1, le=MOST_UNITS)
    """Units for exp, log, sin and the like (about twelve fused multiply-adds)."""

    int_add: Annotated[int, Of("units", SAME)] = Field(default=4, ge=1, le=MOST_UNITS)
    """Integer adders: index arithmetic, comparisons, selects, cursor tests."""

    int_mul: Annotated[int, Of("units", SAME)] = Field(default=2, ge=1, le=MOST_UNITS)
    """Integer multipliers."""

    latency: Annotated[
        dict[str, StrictInt],
        Of("cycles", "functional-units.csv at 1 GHz, scaled to the clock, for all that is not named here"),
    ] = Field(default_factory=dict)
    """Latencies in cycles that differ from functional-units.csv, by operation, e.g. `{fp_add64: 5}`."""

    load_ahead_cycles: Annotated[int, Of("cycles", "a choice: 0, the compiler knows of no miss")] = Field(
        default=0, ge=0, le=1024
    )
    """Time by which the compiler schedules a load earlier than a hit needs, where no recurrence forbids it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for operation, cycles in self.latency.items():
            try:
                tables.row("functional-units.csv", "op", operation)
            except TapeflowError as error:
                raise ValueError(f"latency: {error.message}; {error.hint}") from error
            if not 1 <= cycles <= MOST_CYCLES:
                raise ValueError(f"latency: {operation} takes {cycles} cycles, not 1 to {MOST_CYCLES}")
        return self

    def count(self, unit: str) -> int:
        """How many units of this kind there are."""
        return getattr(self, unit)


class EnergyTables(_Part):
    """Which rows of the energy tables are meant."""

    cell_type: Annotated[
        Literal["itrs-hp", "itrs-lop", "itrs-lstp"],
        Of("row", "sram-cacti7.csv (CACTI 7); the energy spread takes itrs-lop and itrs-hp"),
    ] = "itrs-lop"
    """CACTI's transistor type. lop at 1 GHz is the default: hp leaks 41 mW for 32 KiB and swamps everything."""

    node_um: Annotated[
        float, Of("um", "sram-cacti7.csv has 0.045, 0.040, 0.032, 0.022; functional units are of 40 and 45 nm")
    ] = 0.045
    """Feature size in micrometres."""

    temperature_k: Annotated[int, Of("K", "sram-cacti7.csv has 300 and 360")] = 360
    """Temperature in kelvin."""

    functional_units: Annotated[
        Literal["low", "high"], Of("column", "functional-units.csv: Horowitz (ISSCC 2014), or Aladdin's 40 nm table")
    ] = "low"
    """Energy of operations."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = tables.technologies()
        if (self.node_um, self.temperature_k) not in known:
            have = ", ".join(f"{node:g} um at {kelvin} K" for node, kelvin in known)
            raise ValueError(f"sram-cacti7.csv has no {self.node_um:g} um at {self.temperature_k} K; it has: {have}")
        types = self.cell_types
        if self.cell_type not in types:
            raise ValueError(
                f"sram-cacti7.csv has no {self.cell_type} of {self.node_um:g} um at {self.temperature_k} K; it has: "
                f"{', '.join(types)}"
            )
        return self

    @property
    def cell_types(self) -> tuple[str, ...]:
        """The transistor types that sram-cacti7.csv has of this feature size at this temperature."""
        return tables.technologies()[self.node_um, self.temperature_k]


class Pipeline(_Part):
    """How the gradient's tape is laid out for this machine; the fields of `tapeflow.Options`."""

    layout: Annotated[Literal["soa", "aos"], Of("kind", "`tapeflow.Options`: soa is what other tools do")] = "soa"
    """An array a field, or records side by side."""

    spad_bytes: Annotated[int, Of("bytes", "a choice: the presets give layers the whole scratchpad")] = Field(
        default=0, ge=0
    )
    """The part of the scratchpad that layers may use, in bytes; 0 for no layers."""

    buffers: Annotated[int, Of("copies", "two are enough to overlap one transfer with computation")] = Field(
        default=2, ge=1
    )
    """Copies of each region's tile, in rotation."""

    stream: Annotated[bool, Of("yes or no", "`tapeflow.Options`")] = False
    """Whether tiles travel between the scratchpad and DRAM; needs `spad_bytes`."""


class _Loader(yaml.SafeLoader):
    """Plain YAML, in which no field is given twice: the second would win unseen."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{key.value}' is given twice", key.start_mark)
            seen.add((key.tag, key.value) if isinstance(key, yaml.ScalarNode) else key)
        return super().construct_mapping(node, deep)


class Hardware(_Part):
    """A machine, and the pipeline that goes with it.

    Raises:
        pydantic.ValidationError: a field is unknown, out of range, or contradicts another.
    """

    _file: str | None = PrivateAttr(default=None)

    name: Annotated[str, Of("text", "the preset or file")]
    """What reports call it."""

    description: Annotated[str, Of("text", "the preset or file")] = ""
    """What it stands for, in a sentence."""

    clock_ghz: Annotated[
        float, Of("GHz", "1 GHz, at which functional-units.csv has its latencies; they are scaled and rounded up")
    ] = Field(default=1.0, ge=0.001, le=4)
    """Clock in GHz. Latencies of the tables, given at 1 GHz, are scaled and rounded up."""

    cache: Cache | None = None
    """The cache, or none: then every access of an array is a burst of DRAM."""

    second_cache: SecondCache | None = None
    """A second level of cache, or none."""

    scratchpad: Scratchpad | None = None
    """The scratchpad, or none."""

    dma: Dma = Dma()
    """The DMA engine; there only with a scratchpad."""

    dram: Dram = Dram()
    """Main memory."""

    units: FunctionalUnits = FunctionalUnits()
    """The datapath."""

    energy: EnergyTables = EnergyTables()
    """Rows of the energy tables."""

    pipeline: Pipeline = Pipeline()
    """How the tape is laid out."""

    uncached_requests: Annotated[int, Of("accesses", "a choice: as many as a small cache has miss registers")] = Field(
        default=8, ge=1, le=256
    )
    """Without a cache: accesses that may be in flight at a time."""

    array_skew_bytes: Annotated[int, Of("bytes", "a choice, a multiple of a line")] = Field(
        default=5 * LINE_BYTES, ge=0, le=1 << 30
    )
    """Gap between two arrays in the virtual address space, in bytes; keeps equal arrays off each other's sets."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        # They go into pages, pictures, tables and comments of C.
        if not self.name.strip() or not self.name.isprintable():
            raise ValueError(f"the name {self.name!a} is not a line of printable text")
        if not "".join(self.description.split()).isprintable():
            raise ValueError(f"the description {self.description!a} has unprintable characters")
        if self.array_skew_bytes % LINE_BYTES:
            raise ValueError(f"array_skew_bytes is {self.array_skew_bytes}, not a multiple of {LINE_BYTES}")
        if self.second_cache and (not self.cache or self.second_cache.size_bytes < self.cache.size_bytes):
            raise ValueError("a second cache needs a first one, which is not larger")
        size = self.scratchpad.size_bytes if self.scratchpad else 0
        if self.pipeline.spad_bytes > size:
            raise ValueError(
                f"the pipeline's tiles need {self.pipeline.spad_bytes} bytes of scratchpad, the machine has {size}"
            )
        try:
            self._check_arrays()
        except TapeflowError as error:
            raise ValueError(f"{error.message}{f'; {error.hint}' if error.hint else ''}") from error
        return self

    def _check_arrays(self) -> None:
        """The energy tables know the arrays, and an access fits the latency it is given."""
        for what, kind, size_bytes, cycles in self._arrays():
            access_ns = self.sram(kind, size_bytes).access_ns
            if access_ns * self.clock_ghz > cycles:
                raise TapeflowError(
                    f"an access of the {what} takes {access_ns:.2f} ns, longer than {cycles} cycles at "
                    f"{self.clock_ghz:g} GHz"
                )

    def _arrays(self) -> list[tuple[str, str, int, int]]:
        arrays: list[tuple[str, str, int, int]] = []
        if self.cache:
            arrays.append(("cache", self.cache.array_kind, self.cache.size_bytes, self.cache.hit_cycles))
        if self.second_cache:
            second = self.second_cache
            arrays.append(("second cache", second.array_kind, second.size_bytes, second.hit_cycles))
        if self.scratchpad:
            pad = self.scratchpad
            arrays.append(("scratchpad", pad.array_kind, pad.size_bytes, pad.access_cycles))
        return arrays

    def sram(self, kind: str, size_bytes: int) -> tables.Sram:
        """An SRAM array in this machine's technology.

        Raises:
            TapeflowError: the tables have none.
        """
        energy = self.energy
        return tables.sram(
            kind,
            size_bytes,
            node_um=energy.node_um,
            cell_type=energy.cell_type,
            temperature_k=energy.temperature_k,
        )

    @property
    def cycle_ps(self) -> int:
        """A cycle, in whole ps, as the model counts it."""
        return round(1000 / self.clock_ghz)

    @property
    def sram_bytes(self) -> int:
        """All bytes on chip: caches and scratchpad."""
        return sum(part.size_bytes for part in (self.cache, self.second_cache, self.scratchpad) if part)

    @property
    def memories(self) -> dict[str, int]:
        """Name -> bytes of each memory on chip."""
        parts = {"cache": self.cache, "second cache": self.second_cache, "scratchpad": self.scratchpad}
        return {what: part.size_bytes for what, part in parts.items() if part}

    @property
    def outstanding(self) -> int:
        """Requests to DRAM that may be in flight at a time, cache and DMA together."""
        demand = self.cache.mshrs if self.cache else self.uncached_requests
        return demand + (self.dma.outstanding if self.scratchpad else 0)

    @property
    def memory_ports(self) -> int:
        """Accesses on chip that the datapath may start in a cycle, cache and scratchpad together."""
        return (self.cache.ports if self.cache else 1) + (self.scratchpad.ports if self.scratchpad else 0)

    def latency(self, operation: str) -> int:
        """Cycles from the start of `operation` (a row of functional-units.csv) to its result.

        Raises:
            TapeflowError: no such operation.
        """
        if operation in self.units.latency:
            return self.units.latency[operation]
        at_1ghz = tables.row("functional-units.csv", "op", operation).count("latency_cycles_1ghz")
        return _scaled(at_1ghz, self.clock_ghz)

    def operation_pj(self, operation: str) -> float:
        """Energy of `operation` (a row of functional-units.csv), in pJ, of the column that `energy` names.

        Raises:
            TapeflowError: no such operation, or the column has no value of it.
        """
        column = f"{self.energy.functional_units}_pj"
        row = tables.row("functional-units.csv", "op", operation)
        if not row.values[column] and row.values["low_pj"]:
            raise TapeflowError(
                f"functional-units.csv: '{operation}' has no {column}, which the energy of {self.name} is made of",
                hint="choose a machine with energy.functional_units: low, which has every operation",
            )
        return row.number(column)

    def interval(self, operation: str) -> int:
        """Cycles between two starts of `operation` on one unit.

        Raises:
            TapeflowError: no such operation.
        """
        at_1ghz = tables.row("functional-units.csv", "op", operation).count("initiation_interval")
        return max(1, _scaled(at_1ghz, self.clock_ghz))

    @staticmethod
    def presets() -> list[str]:
        """The names of the machines that come with Tapeflow."""
        folder = resources.files("tapeflow.hardware") / "presets"
        return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))

    @classmethod
    def preset(cls, name: str) -> Hardware:
        """The machine called `name` among those that come with Tapeflow.

        Raises:
            TapeflowError: there is none; the error lists those there are.
        """
        if name not in cls.presets():
            raise TapeflowError(
                f"no hardware preset '{name}'", hint=f"there are: {', '.join(cls.presets())}; files end in .yaml"
            )
        file = resources.files("tapeflow.hardware") / "presets" / f"{name}.yaml"
        return cls._from_text(file.read_text(encoding="utf-8"), f"{name}.yaml", name)

    @classmethod
    def from_yaml(cls, path: str | Path) -> Hardware:
        """The machine described by a YAML file, named after the file if it has no `name`.

        Raises:
            TapeflowError: the file cannot be read, or describes no machine; every wrong field is named.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise TapeflowError(f"cannot read the hardware file {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise TapeflowError(f"the hardware file {path} is no text in UTF-8: {error.reason}") from error
        machine = cls._from_text(text, str(path), path.stem)
        machine._file = str(path)
        return machine

    def __eq__(self, other: object) -> bool:
        """Whether all fields are the same, wherever they are written."""
        return isinstance(other, Hardware) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def file(self) -> str | None:
        """The YAML file that describes it; None for a preset, and for what was made or changed in Python."""
        return self._file

    @classmethod
    def _from_text(cls, text: str, source: str, name: str) -> Hardware:
        try:
            fields: Any = yaml.load(text, _Loader)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
            # PyYAML lets errors of Python's own through where a value is not of the kind that it looks like, e.g.
            # 2026-13-01, `!!bool maybe`, or a number of 5000 digits.
            raise TapeflowError(f"{source} is not YAML: {error}") from error
        except RecursionError as error:
            raise TapeflowError(f"{source} is nested too deeply to be read") from error
        if not isinstance(fields, dict):
            raise TapeflowError(f"{source} describes no machine", hint="give fields and values, as in clock_ghz: 1")
        try:
            return cls.model_validate({"name": name, **fields})
        except ValidationError as error:
            raise TapeflowError(f"{source}: {explain(error)}") from error

    def with_(self, **changes: Any) -> Hardware:
        """This machine with some fields changed; a mapping changes fields of a part, None removes the part.

        Raises:
            TapeflowError: the result is no valid machine; every wrong field is named.
        """
        fields = self.model_dump()
        for field, change in changes.items():
            old: Any = fields.get(field)
            if isinstance(change, BaseModel):
                fields[field] = change.model_dump()
            elif isinstance(change, Mapping) and isinstance(old, dict):
                fields[field] = {**old, **change}
            else:
                fields[field] = change
        try:
            return Hardware.model_validate(fields)
        except ValidationError as error:
            raise TapeflowError(f"{self.name}: {explain(error)}") from error

    def machine_header(self) -> str:
        """The text of "tf_machine.h", the constants that the model in C is compiled with."""
        from tapeflow.hardware.machine import machine_header

        return machine_header(self)

    def differences(self, other: Hardware) -> list[str]:
        """What an honest comparison keeps equal and these two machines do not: units, DRAM, requests, ports."""
        pairs: list[tuple[str, object, object]] = [
            ("clock (GHz)", self.clock_ghz, other.clock_ghz),
            ("outstanding requests", self.outstanding, other.outstanding),
            ("memory ports", self.memory_ports, other.memory_ports),
            ("SRAM bytes", self.sram_bytes, other.sram_bytes),
        ]
        mine, theirs = self.model_dump(), other.model_dump()
        for part in ("units", "dram", "energy"):
            pairs += [(f"{part}.{field}", value, theirs[part][field]) for field, value in mine[part].items()]
        return [f"{what}: {here} against {there}" for what, here, there in pairs if here != there]


def _scaled(cycles_at_1ghz: int, clock_ghz: float) -> int:
    """Cycles at `clock_ghz` of what takes so many at 1 GHz, rounded up."""
    return -int(-cycles_at_1ghz * clock_ghz // 1)


def explain(error: ValidationError) -> str:
    """All that is wrong, one clause a field."""
    clauses: list[str] = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        message = _unknown_field(item["loc"]) if item["type"] == "extra_forbidden" else item["msg"]
        message = message.removeprefix("Value error, ")
        clauses.append(f"{where}: {message}" if where else message)
    return "; ".join(clauses)


def _unknown_field(place: tuple[int | str, ...]) -> str:
    """What is said of the field at `place`, which there is not: the one that may have been meant, or all."""
    model: type[BaseModel] = Hardware
    for name in place[:-1]:
        model = part_of(model, str(name)) or model
    known = list(model.model_fields)
    close = get_close_matches(str(place[-1]), known, n=1)
    return f"no such field; did you mean '{close[0]}'?" if close else f"no such field; there are: {', '.join(known)}"


def part_of(model: type[BaseModel], field: str) -> type[BaseModel] | None:
    """The class of the part that `field` of `model` is; None for a field that is no part."""
    annotation = model.model_fields[field].annotation
    kinds = (annotation, *get_args(annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)

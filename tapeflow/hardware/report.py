"""What a simulated call cost: time, traffic, SRAM and energy, where the time went, and how two calls compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.table import Table
from rich.text import Text

from tapeflow.hardware.bounds import Bound, limiting, lower_bounds, shortest_latency_ps
from tapeflow.hardware.config import Hardware
from tapeflow.hardware.counters import Counters
from tapeflow.hardware.energy import (
    EnergyBreakdown,
    EnergySpread,
    OperationMix,
    energy,
    energy_spread,
)
from tapeflow.hardware.reuse import ReuseCurve
from tapeflow.hardware.timeline import Timeline

STALLS = {
    "stall_fill": "waiting for a cache line",
    "stall_mshr": "waiting for a miss register",
    "stall_dma": "waiting for a tile",
    "stall_start": "writing DMA descriptors",
    "stall_bank": "waiting for a scratchpad bank",
    "stall_flush": "writing back at the end",
}
"""Counter -> what the datapath was doing, on a machine that has all parts."""

UNCACHED_STALLS = {"stall_fill": "waiting for DRAM", "stall_mshr": "waiting for an access in flight to end"}
"""The same of a machine without a cache, where accesses go to DRAM themselves."""

SCRATCHPAD_STALLS = ("stall_dma", "stall_start", "stall_bank")
"""Counters of what only a machine with a scratchpad waits for."""

TRAFFIC = {
    "arrays read": "dram_cache_array_reads",
    "arrays written": "dram_cache_array_writes",
    "tape read": "dram_cache_tape_reads",
    "tape written": "dram_cache_tape_writes",
    "tiles read": "dram_dma_reads",
    "tiles written": "dram_dma_writes",
}
"""Cause of DRAM traffic -> its counter, in bursts."""


def stall_texts(hardware: Hardware) -> dict[str, str]:
    """Counter -> what the datapath was doing, of the stalls that `hardware` can have, named after what it has."""
    texts = STALLS if hardware.cache else STALLS | UNCACHED_STALLS
    return {name: what for name, what in texts.items() if hardware.scratchpad or name not in SCRATCHPAD_STALLS}


@dataclass(frozen=True)
class Report:
    """One call on one machine."""

    hardware: Hardware
    """The machine."""

    counters: Counters
    """What it counted."""

    mix: OperationMix
    """Operations of each block of the C source."""

    label: str = ""
    """What ran, e.g. the name of the gradient."""

    timeline: Timeline | None = None
    """What happened when, if that was recorded."""

    reuse: ReuseCurve | None = None
    """How far apart accesses of a line are, if that was counted."""

    reread: Mapping[int, int] | None = None
    """Line of a block of the C source -> bytes of inputs that an execution of it reads again in the reverse sweep; None
    where that is not known. Inputs are arguments that nobody writes."""

    accesses_only: bool = False
    """Whether only loads and stores are known, of an object that somebody else compiled: no operations, no schedule."""

    @classmethod
    def from_counters(
        cls,
        hardware: Hardware,
        counters: Counters,
        mix: OperationMix,
        *,
        label: str = "",
        timeline: Timeline | None = None,
        reuse: ReuseCurve | None = None,
        reread: Mapping[int, int] | None = None,
        accesses_only: bool = False,
    ) -> Report:
        """The report of a call that counted `counters` on `hardware`, with `mix` from the schedule.

        Raises:
            TapeflowError: an energy table lacks a row that the call needs.
        """
        report = cls(hardware, counters, mix, label, timeline, reuse, reread, accesses_only)
        _ = report.energy
        return report

    @property
    def cycles(self) -> int:
        """From the first operation until the last line fetched is there and the last dirty one in DRAM."""
        return self.counters["cycles"]

    @property
    def seconds(self) -> float:
        """The same in seconds."""
        return self.cycles * self.hardware.cycle_ps * 1e-12

    @cached_property
    def energy(self) -> EnergyBreakdown:
        """Energy by part, in pJ."""
        return energy(self.hardware, self.counters, self.mix)

    @cached_property
    def energy_spread(self) -> EnergySpread:
        """On-chip energy under every choice of energy table, in pJ."""
        return energy_spread(self.hardware, self.counters, self.mix)

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes between chip and DRAM, by cause."""
        return {what: self.counters[name] * self.hardware.dram.burst_bytes for what, name in TRAFFIC.items()}

    @property
    def dram_bytes(self) -> int:
        """Bytes between chip and DRAM, all causes, both directions."""
        return sum(self.traffic.values())

    @property
    def tape_bytes(self) -> int:
        """Bytes of values computed in the forward sweep and kept for the reverse one: the tape proper."""
        return self.counters["tape_bytes_pushed"]

    @property
    def reread_bytes(self) -> int | None:
        """Bytes of inputs that the reverse sweep reads again, which are no tape; None where that is not known."""
        if self.reread is None:
            return None
        executions = self.counters.executions
        return sum(count * executions.get(line, 0) for line, count in self.reread.items())

    @property
    def sram_bytes(self) -> int:
        """All bytes on chip: cache and scratchpad, used or not."""
        return self.hardware.sram_bytes

    @property
    def stalls(self) -> dict[str, int]:
        """Cycles in which the datapath stood still, by cause; with `compute` they add up to `cycles`."""
        return {what: self.counters[name] for name, what in stall_texts(self.hardware).items()}

    @property
    def compute(self) -> int:
        """Cycles of the static schedules alone."""
        return self.cycles - sum(self.stalls.values())

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Lower bounds on the time, greatest first."""
        return lower_bounds(self.hardware, self.counters, self.compute, self._computing)

    @property
    def _computing(self) -> str:
        """What the cycles without stalls are spent on."""
        return "issue of accesses" if self.accesses_only else "compute"

    @cached_property
    def operations(self) -> int:
        """Floating-point operations done; a fused multiply-add is two, a transcendental function one."""
        return sum(
            count * executions * (2 if operation.startswith("fp_fma") else 1)
            for line, executions in self.counters.executions.items()
            for operation, count in self.mix.get(line, {}).items()
            if not operation.startswith("int_")
        )

    @property
    def ceilings(self) -> dict[str, float]:
        """What a roofline is under: first its units in operations a ns, then what brings data in bytes a ns.

        Requests in flight bring a burst each latency (Little's law): the shortest, of a row that is open, which nothing
        can beat, and that of a row that has to be opened, which is what scattered reads get.
        """
        hardware, dram = self.hardware, self.hardware.dram
        units, requests = hardware.units, hardware.outstanding
        flops = (units.fp_add + units.fp_mul + 2 * units.fp_fma) * hardware.clock_ghz
        parts = f"{hardware.cache.mshrs} MSHRs" if hardware.cache else f"{hardware.uncached_requests} accesses"
        parts += f" and {hardware.dma.outstanding} DMA bursts" if hardware.scratchpad else ""
        ceilings = {
            f"{flops:g} operations a ns of the units": flops,
            f"{dram.peak_bytes_per_ns:.3g} GB/s of {dram.part}": dram.peak_bytes_per_ns,
        }
        opening_ns = (dram.number("trp") + dram.number("trcd")) * dram.number("tck_ns")
        rows = {"open rows": 0.0} | ({"rows to open": opening_ns} if dram.timing == "banked" else {})
        for what, more_ns in rows.items():
            latency_ns = shortest_latency_ps(hardware) / 1000 + more_ns
            ceilings[f"{parts} at {latency_ns:.3g} ns, {what}"] = requests * dram.burst_bytes / latency_ns
        return ceilings

    @property
    def bottleneck(self) -> str:
        """One line: the resource that bounds the run, its lower bound, and the greatest stall beside it.

        Where no resource is busy half of the time, and the datapath waits for more than that, it is latency that
        bounds the run; the line says what for, and which resource is busiest.
        """
        bound = limiting(self.bounds, self._computing)
        ratio = self.cycles / bound.cycles if bound.cycles else 1.0
        compared = f"at least {bound.cycles:,} cycles, took {ratio:.2f} times that"
        what, cycles = max(self.stalls.items(), key=lambda item: item[1])
        share = f"{100 * cycles / self.cycles:.0f} % {what}" if cycles else ""
        if 2 * cycles > self.cycles > 2 * bound.cycles:
            return f"bound by latency, {share}; the nearest bound is {bound.what}: {compared}"
        return f"bound by {bound.what}: {compared}" + (f"; {share}" if cycles * 20 >= self.cycles > 0 and share else "")

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it: counters, times, bytes, and energies in pJ."""
        return {
            "label": self.label,
            "hardware": self.hardware.model_dump(mode="json"),
            "accesses_only": self.accesses_only,
            "cycles": self.cycles,
            "seconds": self.seconds,
            "compute_cycles": self.compute,
            "stalls": self.stalls,
            "bounds": {bound.what: bound.cycles for bound in self.bounds},
            "bottleneck": self.bottleneck,
            "tape_bytes": self.tape_bytes,
            "reread_bytes": self.reread_bytes,
            "dram_bytes": self.dram_bytes,
            "traffic": self.traffic,
            "sram_bytes": self.sram_bytes,
            "energy_pj": self.energy.as_dict(),
            "energy_on_chip_pj_spread": {
                "minimum": self.energy_spread.minimum,
                "median": self.energy_spread.median,
                "maximum": self.energy_spread.maximum,
                "cases": {", ".join(case): spent for case, spent in self.energy_spread.cases.items()},
            },
            "counters": dict(self.counters),
        }

    def rows(self) -> dict[str, str]:
        """Name -> value of everything that the table shows, with units; names of parts begin with spaces.

        A memory that the machine has not, and what only that could do, has no row.
        """
        parts = self.energy
        absent = self._absent_parts
        rows = {"cycles": f"{self.cycles:,}", "time": _time(self.seconds), "  compute": _share(self.compute, self)}
        rows |= {f"  {what}": _share(cycles, self) for what, cycles in self.stalls.items()}
        rows["tape"] = "not known" if self.accesses_only else _bytes(self.tape_bytes)
        rows["inputs read again in reverse"] = "not known" if self.reread_bytes is None else _bytes(self.reread_bytes)
        rows["DRAM traffic"] = _bytes(self.dram_bytes)
        rows |= {
            f"  {what}": _bytes(count)
            for what, count in self.traffic.items()
            if self.hardware.scratchpad or not what.startswith("tiles ")
        }
        rows["SRAM"] = _bytes(self.sram_bytes)
        rows["energy on chip"] = energy_text(parts.on_chip)
        rows |= {
            f"  {part}": energy_text(spent)
            for part, spent in parts.parts.items()
            if not part.startswith("dram") and part not in absent
        }
        if self.accesses_only:
            rows["  functional units"] = "not known"
        spread = self.energy_spread
        rows["  least, median, most"] = ", ".join(map(energy_text, (spread.minimum, spread.median, spread.maximum)))
        rows["energy of DRAM"] = energy_text(parts.dram)
        return rows

    @property
    def _absent_parts(self) -> set[str]:
        """Parts of the energy that this machine has not."""
        machine = self.hardware
        memories = {"scratchpad": machine.scratchpad, "cache": machine.cache, "second cache": machine.second_cache}
        return {part for part, memory in {**memories, "dma": machine.scratchpad}.items() if memory is None}

    def __rich__(self) -> Table:
        # `Text`, as rich would take brackets and colons in a name for styles and emoji.
        title = Text(f"{self.label} on {self.hardware.name}".removeprefix(" on "), "table.title")
        table = Table(title=title, caption=self.bottleneck)
        table.add_column("")
        table.add_column(Text(self.hardware.name, "table.header"), justify="right")
        for name, value in self.rows().items():
            table.add_row(name, value)
        return table

    def against(self, other: Report) -> Comparison:
        """This call beside another one."""
        return Comparison((self, other))


def machine_names(machines: Sequence[Hardware]) -> list[str]:
    """What each machine is named beside the others: with its file where several have its name."""
    names = [machine.name for machine in machines]
    return [
        f"{machine.name} ({machine.file})" if machine.file and names.count(machine.name) > 1 else machine.name
        for machine in machines
    ]


@dataclass(frozen=True)
class Comparison:
    """Several calls side by side, the last being what the others are compared with."""

    reports: tuple[Report, ...]

    @property
    def names(self) -> list[str]:
        """What each call is named here: its machine; where several have that name its file, what ran, or its place."""
        names = machine_names([report.hardware for report in self.reports])
        if len(set(names)) < len(names):
            names = [f"{report.label} on {name}" for report, name in zip(self.reports, names, strict=True)]
        if len(set(names)) < len(names):
            names = [f"{name} ({place})" for place, name in enumerate(names, 1)]
        return names

    @property
    def differences(self) -> Mapping[str, list[str]]:
        """Name of each call but the last -> in which of units, DRAM, requests and ports it differs from the last."""
        reference = self.reports[-1].hardware
        return {
            name: report.hardware.differences(reference)
            for name, report in zip(self.names[:-1], self.reports, strict=False)
        }

    def as_dict(self) -> dict[str, Any]:
        """Name -> the call's report; all but the last say in `unequal` how their machine differs from the last's."""
        unequal = self.differences
        return {
            name: report.as_dict() | ({"unequal": unequal[name]} if name in unequal else {})
            for name, report in zip(self.names, self.reports, strict=True)
        }

    def rows(self) -> dict[str, list[str]]:
        """Name -> its value of every call, as in `Report.rows`; "-" where the machine of a call has no such thing."""
        columns = [report.rows() for report in self.reports]
        order: list[str] = []
        for column in columns:
            place = 0
            for name in column:
                if name not in order:
                    order.insert(place, name)
                place = order.index(name) + 1
        return {name: [column.get(name, "-") for column in columns] for name in order}

    def ratios(self, report: Report) -> dict[str, float]:
        """How many times the cycles, DRAM bytes, SRAM bytes and energy of `report` the last call needs.

        A quotient with a divisor of zero is infinite, or 1 if both are zero.
        """
        last = self.reports[-1]
        pairs = {
            "cycles": (last.cycles, report.cycles),
            "DRAM bytes": (last.dram_bytes, report.dram_bytes),
            "SRAM bytes": (last.sram_bytes, report.sram_bytes),
            **self._energies(last, report),
            "energy of DRAM": (last.energy.dram, report.energy.dram),
        }
        return {what: _quotient(theirs, mine) for what, (theirs, mine) in pairs.items()}

    def _energies(self, last: Report, report: Report) -> dict[str, tuple[float, float]]:
        """On-chip energy of both; that of memory alone where the operations of one are not known."""
        if any(done.accesses_only for done in self.reports):
            return {"energy of memory": (last.energy.memory, report.energy.memory)}
        return {"energy on chip": (last.energy.on_chip, report.energy.on_chip)}

    @property
    def notes(self) -> list[str]:
        """What has to be said beside the numbers: what was not equal, what is not known, and what bounds each run."""
        notes = [f"NOT EQUAL: {name} differs in {'; '.join(what)}" for name, what in self.differences.items() if what]
        unknown = [report.label for report in self.reports if report.accesses_only]
        if unknown and not all(report.accesses_only for report in self.reports):
            notes.append(f"{', '.join(unknown)}: loads and stores only, so energy is compared without functional units")
        return notes + [f"{name}: {report.bottleneck}" for name, report in zip(self.names, self.reports, strict=True)]

    def __rich__(self) -> Table:
        notes = self.notes
        table = Table(
            title=self.reports[-1].label or None,
            caption=Text("\n".join(notes), "table.caption"),
            caption_justify="left",
        )
        table.add_column("")
        several = len({report.label for report in self.reports}) > 1
        for name, report in zip(self.names, self.reports, strict=True):
            what = f"{report.label} on {name}" if several and not name.startswith(report.label) else name
            table.add_column(Text(what, "table.header"), justify="right")
        for name, values in self.rows().items():
            table.add_row(name, *values)
        last = self.names[-1]
        for what in self.ratios(self.reports[0]):
            ratios = [f"{self.ratios(report)[what]:.2f}x" for report in self.reports[:-1]]
            table.add_row(Text(f"{what}, {last} over this"), *ratios, "1.00x")
        return table


def _quotient(dividend: float, divisor: float) -> float:
    if divisor == 0:
        return 1.0 if dividend == 0 else float("inf")
    return dividend / divisor


def _share(cycles: int, report: Report) -> str:
    return f"{cycles:,} ({100 * cycles / max(report.cycles, 1):.0f} %)"


def _scaled(value: float, units: tuple[str, ...], step: int) -> str:
    """`value` to three digits or to the unit, in the unit in which it is less than `step` as printed."""
    for unit in units[:-1]:
        if round(value) < step:
            return f"{_digits(value)} {unit}"
        value /= step
    return f"{_digits(value)} {units[-1]}"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def _bytes(count: int) -> str:
    return f"{count} B" if count < 1024 else _scaled(count / 1024, ("KiB", "MiB", "GiB"), 1024)


def _time(seconds: float) -> str:
    return _scaled(seconds * 1e9, ("ns", "us", "ms", "s"), 1000)


def energy_text(picojoules: float) -> str:
    """An energy in the unit that suits it, to three digits."""
    return _scaled(picojoules, ("pJ", "nJ", "uJ", "mJ", "J"), 1000)

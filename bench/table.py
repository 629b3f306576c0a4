"""The table of the spine: every kernel on machines with different homes for the tape, wins and losses alike.

    python -m bench.table [--size paper] [--kernels jacobi,gravity] [--out out]

The baseline is what other tools do: a tape of arrays in a 32 KiB cache. A streamed machine has a scratchpad and a small
cache, and is also compared with one cache of as much SRAM, with that tape and with one of records. The SRAM ratio is
the smallest cache, with either tape, whose time is within 5 % of the streamed machine's, over all of that one's SRAM.
No option depends on the kernel. Writes table.json, table.md and table.png.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

import tapeflow
from bench.figures import grouped_bars
from bench.options import ALL, Kernels, Out, Size
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.hardware import Hardware
from tapeflow.hardware.sram_ratio import SramRatio, baseline_caches, sram_ratio
from tapeflow.simulation import options_for

BASELINE = "cache-32k"

EQUALS = {"stream-1k": ("cache-2k", "cache-2k-aos"), "stream-4k": ("cache-8k", "cache-8k-aos")}
"""Streamed machine -> caches of as much SRAM: the tape as arrays, and as records."""

MACHINES = (BASELINE, *(machine for stream, caches in EQUALS.items() for machine in (*caches, stream)))

METRICS = {"cycles": "cycles", "DRAM bytes": "dram_bytes", "SRAM bytes": "sram_bytes", "energy on chip (nJ)": "nj"}
"""Column of the table -> key of a measurement."""

SMALLEST, LARGEST = 1 << 11, 1 << 18
"""Bytes of the caches that the SRAM ratio looks for one among."""

RATIOS = {"cycles": "cycles", "traffic": "dram_bytes", "energy": "nj"}
"""Column of the summary -> key of a measurement."""

AGAINST = ("arrays in 32 KiB cache", "arrays in equal SRAM", "records in equal SRAM")

Measurement = dict[str, Any]
"""What `measure` says of one kernel on one machine."""


def measure(kernel: Kernel, size: str, machine: Hardware) -> Measurement:
    """One kernel on one machine: the numbers of its report that the table shows, and all of them."""
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
    report = tapeflow.simulate(grad, list(kernel.arguments(size).values()), hardware=machine)
    tape = grad.tape_report()
    return {
        "kernel": kernel.name,
        "machine": machine.name,
        "cycles": report.cycles,
        "dram_bytes": report.dram_bytes,
        "sram_bytes": report.sram_bytes,
        "nj": report.energy.on_chip / 1000,
        "tape_bytes": tape.bytes,
        "bottleneck": report.bottleneck,
        "report": report.as_dict(),
    }


def sram_ratios(kernel: Kernel, size: str, our_cycles: Mapping[str, int]) -> dict[str, SramRatio]:
    """Streamed machine -> its SRAM ratio on this kernel.

    Args:
        kernel: of the suite.
        size: of its arguments.
        our_cycles: streamed machine -> what it took.
    """
    loaded, arguments = tapeflow.load(kernel.source), list(kernel.arguments(size).values())
    likes = [Hardware.preset(BASELINE), Hardware.preset(BASELINE).with_(name="records", pipeline={"layout": "aos"})]
    made = {
        like.pipeline.layout: tapeflow.gradient(loaded, wrt=list(kernel.wrt), options=options_for(like))
        for like in likes
    }
    sizes = [1 << log for log in range(SMALLEST.bit_length() - 1, LARGEST.bit_length())]
    caches = [cache for like in likes for cache in baseline_caches(like, sizes)]
    known: dict[str, int] = {}

    def cycles(cache: Hardware) -> int:
        if cache.name not in known:
            known[cache.name] = tapeflow.simulate(made[cache.pipeline.layout], arguments, hardware=cache).cycles
        return known[cache.name]

    return {name: sram_ratio(Hardware.preset(name), ours, caches, cycles) for name, ours in our_cycles.items()}


def unequal(streams: Sequence[str]) -> Iterator[str]:
    """What is not equal between the machines that are compared, or that nothing is."""
    for stream in streams:
        for other in (BASELINE, *EQUALS[stream]):
            found = Hardware.preset(stream).differences(Hardware.preset(other))
            if found:
                yield f"Not equal between {stream} and {other}: {'; '.join(found)}."
    yield "All else that a comparison must keep equal is: clock, units, DRAM, requests in flight, memory ports."


def markdown(rows: Sequence[Measurement], size: str) -> str:
    """The measurements as two tables: what streaming gains or loses, and all numbers."""
    streams = [stream for stream in EQUALS if any(row["machine"] == stream for row in rows)]
    return "\n".join(
        [
            f"Kernels at {size} size. How many times more the other machine needs than the streamed one: above 1 the",
            "stream wins, below it loses.",
            "",
            *_summary(rows, streams),
            "",
            *unequal(streams),
            "",
            f"| kernel | machine | {' | '.join(METRICS)} |",
            f"|---|---|{'--:|' * len(METRICS)}",
            *(f"| {row['kernel']} | {row['machine']} | {_numbers(row)} |" for row in rows),
            "",
        ]
    )


def _numbers(row: Measurement) -> str:
    return " | ".join(f"{row[key]:,.0f}" for key in METRICS.values())


def _summary(rows: Sequence[Measurement], streams: Sequence[str]) -> Iterator[str]:
    found = {(row["kernel"], row["machine"]): row for row in rows}
    columns = [f"{stream}: {what}" for stream in streams for what in RATIOS]
    with_sram = all("sram_ratio" in row for row in rows if row["machine"] in streams)
    columns += [f"{stream}: SRAM ratio" for stream in streams if with_sram]
    yield f"| kernel | tape bytes | against | {' | '.join(columns)} |"
    yield f"|---|--:|---|{'--:|' * len(columns)}"
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        others = (BASELINE, *zip(*(EQUALS[stream] for stream in streams), strict=True))
        for position, other in enumerate(others):
            against = [other] * len(streams) if isinstance(other, str) else list(other)
            ratios = [
                ratio(found[kernel, cache][key], found[kernel, stream][key])
                for cache, stream in zip(against, streams, strict=True)
                for key in RATIOS.values()
            ]
            if with_sram:
                ratios += [found[kernel, stream]["sram_ratio"] if position == 0 else "" for stream in streams]
            name = (kernel, f"{found[kernel, BASELINE]['tape_bytes']:,}") if position == 0 else ("", "")
            yield f"| {' | '.join([*name, AGAINST[position], *ratios])} |"


def ratio(theirs: float, ours: float) -> str:
    return f"{theirs / ours:.2f}" if ours else "-"


def figure(rows: Sequence[Measurement], path: Path) -> None:
    """Bars: what each machine needs, relative to the first."""
    panels = {"cycles": "cycles", "bytes to and from DRAM": "dram_bytes", "energy on chip": "nj"}
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    values = {(row["kernel"], row["machine"]): row for row in rows}
    grouped_bars(
        path,
        kernels,
        {
            title: {m: [values[k, m][key] / values[k, machines[0]][key] for k in kernels] for m in machines}
            for title, key in panels.items()
        },
        ylabel=f"relative to {machines[0]}",
    )


def main(
    size: Size = "paper",
    kernels: Kernels = ALL,
    out: Out = Path("out"),
) -> None:
    """Measure, print and save the table."""
    console = Console(stderr=True)
    rows: list[Measurement] = []
    for name in kernels.split(","):
        for machine in MACHINES:
            with console.status(f"{name} on {machine}"):
                rows.append(measure(SUITE[name], size, Hardware.preset(machine)))
        ours = {row["machine"]: row for row in rows if row["kernel"] == name and row["machine"] in EQUALS}
        with console.status(f"{name} on caches of other sizes"):
            found = sram_ratios(SUITE[name], size, {machine: row["cycles"] for machine, row in ours.items()})
        for machine, row in ours.items():
            row["sram_ratio"] = str(found[machine])
    text = markdown(rows, size)
    save(out, "table", rows, text)
    figure(rows, out / "table.png")
    print(text)
    print(f"saved {out / 'table.json'}, {out / 'table.md'}, {out / 'table.png'}")


if __name__ == "__main__":
    typer.run(main)

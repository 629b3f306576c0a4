"""The table of the spine: every kernel on four machines, and what the streamed tape gains or loses on each.

    python -m bench.table [--size paper] [--kernels jacobi,gravity] [--machines cache-32k,...] [--out out]

The first machine is what other tools do, a struct-of-arrays tape in a 32 KiB cache. The second and third have as much
SRAM as the last in one cache, with that tape and with records. The last has a small cache, a scratchpad and streams.
No option depends on the kernel. Writes table.json, table.md and table.png.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tapeflow
from bench.figures import grouped_bars
from bench.suite import SUITE, Kernel
from tapeflow.hardware import Hardware
from tapeflow.simulation import options_for

MACHINES = ("cache-32k", "cache-2k", "cache-2k-aos", "stream-1k")

METRICS = {"cycles": "cycles", "DRAM bytes": "dram_bytes", "SRAM bytes": "sram_bytes", "energy on chip (nJ)": "nj"}
"""Column of the table -> key of a measurement."""


def measure(kernel: Kernel, size: str, machine: Hardware) -> dict[str, Any]:
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


def markdown(rows: Sequence[dict[str, Any]], size: str) -> str:
    """The measurements as a table: a row a kernel and machine, with how the first machine compares to it."""
    lines = [
        f'Kernels at {size} size. Under "less than" stands how many times more the first machine of the kernel needs.',
        "",
        f"| kernel | tape bytes | machine | {' | '.join(METRICS)} | time less than | traffic | energy |",
        f"|---|--:|---|{'--:|' * (len(METRICS) + 3)}",
    ]
    base: dict[str, Any] = {}
    for row in rows:
        first = row["kernel"] != base.get("kernel")
        base = row if first else base
        name, tape = (row["kernel"], f"{row['tape_bytes']:,}") if first else ("", "")
        numbers = " | ".join(f"{row[key]:,.0f}" for key in METRICS.values())
        ratios = " | ".join(ratio(base[key], row[key]) for key in ("cycles", "dram_bytes", "nj"))
        lines.append(f"| {name} | {tape} | {row['machine']} | {numbers} | {ratios} |")
    return "\n".join(lines) + "\n"


def ratio(base: float, other: float) -> str:
    return f"{base / other:.2f}x" if other else "-"


def figure(rows: Sequence[dict[str, Any]], path: Path) -> None:
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
    size: str = "paper",
    kernels: Annotated[str, typer.Option(help="Names, separated by commas.")] = ",".join(SUITE),
    machines: Annotated[str, typer.Option(help="Presets, the baseline first.")] = ",".join(MACHINES),
    out: Path = Path("out"),
) -> None:
    """Measure, print and save the table."""
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    for name in kernels.split(","):
        for machine in machines.split(","):
            with console.status(f"{name} on {machine}"):
                rows.append(measure(SUITE[name], size, Hardware.preset(machine)))
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.json").write_text(json.dumps(rows, indent=1))
    text = markdown(rows, size)
    (out / "table.md").write_text(text)
    figure(rows, out / "table.png")
    print(text)
    print(f"saved {out / 'table.json'}, {out / 'table.md'}, {out / 'table.png'}")


if __name__ == "__main__":
    typer.run(main)

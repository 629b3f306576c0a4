"""Requests in flight and the DMA engine's set-up time, swept: neither is what a result should hang on.

    python -m bench.sweep [--size paper] [--kernels jacobi,gravity] [--out out]

Both machines have the same number of requests in flight in all, 4, 8, 16 and 32: the cache that is compared with has
them as miss registers, the streamed machine half of them, and half as bursts of its DMA engine. Then the set-up time of
a descriptor is varied on the streamed machine alone. Writes sweep.json and sweep.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

import tapeflow
from bench.options import ALL, Kernels, Out, Size
from bench.results import save
from bench.suite import SUITE, Kernel
from bench.table import EQUALS, ratio
from tapeflow.hardware import Comparison, Hardware
from tapeflow.simulation import options_for

REQUESTS = (4, 8, 16, 32)
SETUP_CYCLES = (0, 4, 16, 64)
STREAM = "stream-1k"
CACHE = EQUALS[STREAM][0]


def pairs() -> Iterator[tuple[str, Hardware, Hardware]]:
    """What is varied, the cache, the streamed machine."""
    cache, stream = Hardware.preset(CACHE), Hardware.preset(STREAM)
    for requests in REQUESTS:
        half = requests // 2
        yield (
            f"{requests} requests",
            cache.with_(cache={"mshrs": requests}),
            stream.with_(cache={"mshrs": half}, dma={"outstanding": requests - half}),
        )
    for cycles in SETUP_CYCLES:
        yield f"set-up of {cycles} cycles", cache, stream.with_(dma={"setup_cycles": cycles})


def measure(kernel: Kernel, size: str) -> list[dict[str, Any]]:
    """The times of one kernel over all that is varied, and what was not equal, if anything."""
    loaded, arguments = tapeflow.load(kernel.source), list(kernel.arguments(size).values())
    made = {
        name: tapeflow.gradient(loaded, wrt=list(kernel.wrt), options=options_for(Hardware.preset(name)))
        for name in (CACHE, STREAM)
    }
    rows: list[dict[str, Any]] = []
    for what, cache, stream in pairs():
        reports = [tapeflow.simulate(made[machine.name], arguments, hardware=machine) for machine in (cache, stream)]
        unequal = Comparison(tuple(reports)).differences
        cycles = {report.hardware.name: report.cycles for report in reports}
        rows.append({"kernel": kernel.name, "varied": what, "cycles": cycles, "unequal": unequal[CACHE]})
    return rows


def markdown(rows: Sequence[dict[str, Any]], size: str) -> str:
    """How many times the cycles of the streamed machine the cache needs, a column for each thing varied."""
    varied = list(dict.fromkeys(row["varied"] for row in rows))
    found = {(row["kernel"], row["varied"]): ratio(row["cycles"][CACHE], row["cycles"][STREAM]) for row in rows}
    unequal = sorted({difference for row in rows for difference in row["unequal"]})
    return "\n".join(
        [
            f"Kernels at {size} size: cycles of {CACHE} over those of {STREAM}.",
            "",
            f"| kernel | {' | '.join(varied)} |",
            f"|---|{'--:|' * len(varied)}",
            *(
                f"| {kernel} | {' | '.join(found[kernel, what] for what in varied)} |"
                for kernel in dict.fromkeys(row["kernel"] for row in rows)
            ),
            "",
            f"Not equal: {'; '.join(unequal)}." if unequal else "Equal in all that a comparison must keep equal.",
            "",
        ]
    )


def main(
    size: Size = "paper",
    kernels: Kernels = ALL,
    out: Out = Path("out"),
) -> None:
    """Measure, print and save."""
    rows = [row for name in kernels.split(",") for row in measure(SUITE[name], size)]
    text = markdown(rows, size)
    save(out, "sweep", rows, text)
    print(text)


if __name__ == "__main__":
    typer.run(main)

"""How fast the hardware model runs: memory accesses a second of CPU time.

    python -m bench.model_speed [--size paper] [--machine cache-32k] [--repeats 5] [--out out]

An access is a load or store of an array or of the tape, in cache or scratchpad. Beside it stand the share of accesses
that hit, how many times longer the call takes than natively, and how long it takes to compile the model for a geometry
that is new: the median of three, and the time for one that was compiled before. Writes model_speed.json and
model_speed.md.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import tapeflow
from bench.suite import SUITE, Kernel
from tapeflow.backend.native import NativeFunction, build_model
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.hardware import Hardware
from tapeflow.hardware.config import LINE_BYTES
from tapeflow.hardware.machine import machine_header
from tapeflow.simulation import options_for

ACCESSES = ("array_reads", "array_writes", "tape_reads", "tape_writes", "spad_reads", "spad_writes")
MISSES = ("array_read_misses", "array_write_misses", "tape_read_misses", "tape_write_misses")


def measure(kernel: Kernel, size: str, machine: Hardware, repeats: int) -> dict[str, Any]:
    """Accesses of one call, and the median of its time."""
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
    printed = grad.compiled.printed
    model = build_model(printed, grad.name, machine_header(machine), schedule_printed(printed, machine).header)
    rebuild, again = _rebuild_seconds(grad, machine)
    seconds = _median_seconds(model, grad, kernel, size, repeats)
    native = _median_seconds(grad.native, grad, kernel, size, repeats)
    counters = model.counters
    accesses = sum(counters[name] for name in ACCESSES)
    misses = sum(counters[name] for name in MISSES)
    return {
        "kernel": kernel.name,
        "accesses": accesses,
        "hit_share": 1 - misses / accesses,
        "seconds": seconds,
        "accesses_per_second": accesses / seconds,
        "over_native": seconds / native,
        "rebuild_seconds": rebuild,
        "cached_seconds": again,
    }


def _rebuild_seconds(grad: tapeflow.Gradient, machine: Hardware) -> tuple[float, float]:
    """Wall time to build the model for a new geometry, and for the same once more; medians of three geometries."""
    new: list[float] = []
    known: list[float] = []
    printed = grad.compiled.printed
    # No two runs of this program share a geometry: the cache of compiled libraries outlives them.
    skew = time.time_ns() // 1000 % 100_000 * LINE_BYTES
    for k in range(3):
        other = machine.with_(array_skew_bytes=skew + k * LINE_BYTES)
        for times in (new, known):
            started = time.perf_counter()
            build_model(printed, grad.name, machine_header(other), schedule_printed(printed, other).header)
            times.append(time.perf_counter() - started)
    return statistics.median(new), statistics.median(known)


def _median_seconds(
    function: NativeFunction, grad: tapeflow.Gradient, kernel: Kernel, size: str, repeats: int
) -> float:
    times: list[float] = []
    for _ in range(repeats + 1):
        inputs: Sequence[Any] = grad.prepare(list(kernel.arguments(size).values()), None).inputs
        started = time.process_time()
        function.call(inputs)
        times.append(time.process_time() - started)
    return statistics.median(times[1:])


def main(
    size: str = "paper",
    machine: str = "cache-32k",
    kernels: Annotated[str, typer.Option(help="Names, separated by commas.")] = ",".join(SUITE),
    repeats: int = 5,
    out: Path = Path("out"),
) -> None:
    """Measure, print and save."""
    chosen = Hardware.preset(machine)
    rows = [measure(SUITE[name], size, chosen, repeats) for name in kernels.split(",")]
    lines = [
        f"Gradients at {size} size on {machine}",
        "",
        "| kernel | accesses | hits | million accesses a second | time over native | rebuild (ms) | again (ms) |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        speed = f"{row['accesses_per_second'] / 1e6:.0f} | {row['over_native']:.0f}x"
        builds = f"{1e3 * row['rebuild_seconds']:.0f} | {1e3 * row['cached_seconds']:.0f}"
        hits = f"{100 * row['hit_share']:.1f} %"
        lines.append(f"| {row['kernel']} | {row['accesses']:,} | {hits} | {speed} | {builds} |")
    text = "\n".join(lines) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    (out / "model_speed.json").write_text(json.dumps(rows, indent=1))
    (out / "model_speed.md").write_text(text)
    print(text)


if __name__ == "__main__":
    typer.run(main)

"""What a gradient costs natively: its time over the primal's, and the bytes of its tape.

    python -m bench.native [--size paper] [--repeats 21] [--out out]

Primal and gradients are compiled by the same compiler with the same flags and run in turns; the least CPU time of many
calls, as others may use the machine too. None allocates: the tape's memory is that of the first call, which is not
counted. There are two gradients: of the default options, and with `recompute="cheap"`, which tapes what is dear to
compute again. Writes native.json and native.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

import tapeflow
from bench.options import ALL, Kernels, Out, Repeats, Size
from bench.primal import compile_primal
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.native import FLAGS, find_compiler

LEAST_SECONDS = 0.002
"""A sample runs the function as often as this takes, so that the clock and the call do not show."""


RECOMPUTE = ("balanced", "cheap")
"""The gradients that are measured: the default, and the one that repeats no divisions, roots or functions."""


def measure(kernel: Kernel, size: str, repeats: int) -> dict[str, Any]:
    """The least times of interleaved samples, and the bytes of the tapes."""
    primal = compile_primal(kernel, find_compiler().command, FLAGS)
    tasks = {"primal": Restored(primal, list(kernel.arguments(size).values()))}
    gradients: dict[str, tapeflow.Gradient] = {}
    for recompute in RECOMPUTE:
        options = tapeflow.Options(recompute=recompute)
        gradients[recompute] = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options)
        tasks[recompute] = _restored_gradient(gradients[recompute], list(kernel.arguments(size).values()))
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    # The first calls make the tapes' memory.
    for counted in (False, *[True] * repeats):
        for name, task in tasks.items():
            seconds = task.seconds()
            if counted:
                samples[name].append(seconds)
    least = {name: min(times) for name, times in samples.items()}
    return {
        "kernel": kernel.name,
        "primal_seconds": least["primal"],
        "gradient_seconds": least["balanced"],
        "ratio": least["balanced"] / least["primal"],
        "tape_bytes": gradients["balanced"].tape_report().bytes,
        "cheap_seconds": least["cheap"],
        "cheap_ratio": least["cheap"] / least["primal"],
        "cheap_tape_bytes": gradients["cheap"].tape_report().bytes,
    }


def _restored_gradient(grad: tapeflow.Gradient, arguments: Sequence[Any]) -> Restored:
    """The gradient without the checks of the Python surface: what C code would pay."""
    inputs = grad.prepare(arguments, None).inputs
    return Restored(lambda *inputs: grad.native.call(inputs), inputs)


class Restored:
    """Calls of a function that may overwrite its arguments; they are restored outside of the time that is taken."""

    def __init__(self, function: Callable[..., object], arguments: Sequence[Any]):
        self.function, self.arguments = function, arguments
        self.originals = [(array, array.copy()) for array in arguments if isinstance(array, np.ndarray)]

    def seconds(self) -> float:
        """The time of one call, in seconds: the mean over enough of them."""
        total, calls = 0.0, 0
        while total < LEAST_SECONDS:
            for array, original in self.originals:
                array[...] = original
            started = time.process_time()
            self.function(*self.arguments)
            total += time.process_time() - started
            calls += 1
        return total / calls


def markdown(rows: list[dict[str, Any]], size: str) -> str:
    compiler = find_compiler()
    lines = [
        f"Kernels at {size} size, {' '.join(compiler.command)} {' '.join(FLAGS)}",
        "",
        "| kernel | primal (ms) | gradient (ms) | over primal | tape bytes | cheap (ms) | over primal | tape bytes |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        times = f"{row['primal_seconds'] * 1e3:.4f} | {row['gradient_seconds'] * 1e3:.4f} | {row['ratio']:.2f}"
        cheap = f"{row['cheap_seconds'] * 1e3:.4f} | {row['cheap_ratio']:.2f} | {row['cheap_tape_bytes']:,}"
        lines.append(f"| {row['kernel']} | {times} | {row['tape_bytes']:,} | {cheap} |")
    return "\n".join(lines) + "\n"


def main(
    size: Size = "paper",
    kernels: Kernels = ALL,
    repeats: Repeats = 21,
    out: Out = Path("out"),
) -> None:
    """Measure, print and save."""
    rows = [measure(SUITE[name], size, repeats) for name in kernels.split(",")]
    text = markdown(rows, size)
    save(out, "native", rows, text)
    print(text)


if __name__ == "__main__":
    typer.run(main)

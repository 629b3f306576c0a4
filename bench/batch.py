"""What several cotangents, or tangents, at once save: the time of K calls over that of one call with a batch of K.

    python -m bench.batch [--members 8] [--size paper] [--kernels logsum,gravity] [--repeats 21] [--json] [--out out]

Both run in turns in one process, compiled by the same compiler with the same flags; medians of CPU time. A batch runs
the primal once and writes one tape; K calls do so K times. Arrays are restored outside of the time that is taken, and
are laid out as generated code takes them. Writes batch.json and batch.md.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tapeflow
from bench.native import Restored
from bench.options import ALL, Kernels, Out, Repeats, Size
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.native import FLAGS, find_compiler


def interleaved(one: Restored, batch: Restored, members: int, repeats: int) -> dict[str, float]:
    """The medians of samples that are taken in turns, and their ratio."""
    singles: list[float] = []
    together: list[float] = []
    for task in (one, batch):
        task.seconds()
    for _ in range(repeats):
        singles.append(one.seconds())
        together.append(batch.seconds())
    apart, at_once = members * statistics.median(singles), statistics.median(together)
    return {"calls_seconds": apart, "batch_seconds": at_once, "ratio": apart / at_once}


def measure_reverse(kernel: Kernel, size: str, members: int, repeats: int) -> dict[str, Any]:
    """Cotangents of the value: K of them at once, and one."""
    arguments = list(kernel.arguments(size).values())
    loaded = tapeflow.load(kernel.source)
    tasks: list[Restored] = []
    tape_bytes: list[int] = []
    for batch, seed in ((None, 1.0), (members, np.linspace(-1.0, 1.0, members))):
        grad = tapeflow.gradient(loaded, wrt=list(kernel.wrt), batch=batch)
        call = grad.prepare(arguments, {"return": seed})
        tasks.append(Restored(lambda *inputs, native=grad.native: native.call(inputs), call.inputs))
        tasks[-1].seconds()
        tape_bytes.append(grad.tape_report().bytes or 0)
    times = interleaved(tasks[0], tasks[1], members, repeats)
    return times | {"tape_bytes": tape_bytes[0], "batch_tape_bytes": tape_bytes[1]}


def measure_forward(kernel: Kernel, size: str, members: int, repeats: int) -> dict[str, Any]:
    """Tangents of all arguments in `wrt`: K at once, and one."""
    arguments = kernel.arguments(size)
    rng = np.random.default_rng(0)
    loaded = tapeflow.load(kernel.source)
    tasks: list[Restored] = []
    for batch in (None, members):
        jvp = tapeflow.jvp(loaded, wrt=list(kernel.wrt), batch=batch)
        leading = () if batch is None else (batch,)
        tangents = {name: rng.standard_normal((*leading, *np.shape(arguments[name]))) for name in kernel.wrt}
        inputs = jvp.prepare_tangents(list(arguments.values()), tangents).inputs
        tasks.append(Restored(lambda *inputs, native=jvp.native: native.call(inputs), inputs))
    return interleaved(tasks[0], tasks[1], members, repeats)


def measure(kernel: Kernel, size: str, members: int, repeats: int) -> dict[str, Any]:
    """Both modes of one kernel."""
    reverse = measure_reverse(kernel, size, members, repeats)
    forward = measure_forward(kernel, size, members, repeats)
    return {"kernel": kernel.name, "size": size, "members": members, "reverse": reverse, "forward": forward}


def markdown(rows: list[dict[str, Any]], size: str, members: int) -> str:
    lines = [
        f"{members} derivatives at once, kernels at {size} size, {' '.join(find_compiler().command)} {' '.join(FLAGS)}",
        "",
        f"| kernel | gradient: {members} calls (ms) | one batch (ms) | calls over batch | tape of one (bytes) "
        f"| of the batch | forward: {members} calls (ms) | one batch (ms) | calls over batch |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        reverse, forward = row["reverse"], row["forward"]
        tape = f"{reverse['tape_bytes']:,} | {reverse['batch_tape_bytes']:,}"
        lines.append(f"| {row['kernel']} | {_times(reverse)} | {tape} | {_times(forward)} |")
    return "\n".join(lines) + "\n"


def _times(measured: dict[str, float]) -> str:
    return f"{measured['calls_seconds'] * 1e3:.4f} | {measured['batch_seconds'] * 1e3:.4f} | {measured['ratio']:.2f}"


def main(
    members: Annotated[int, typer.Option(min=1, help="Derivatives at once.")] = 8,
    size: Size = "paper",
    kernels: Kernels = ALL,
    repeats: Repeats = 21,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    out: Out = Path("out"),
) -> None:
    """Measure, print and save.

    For example: python -m bench.batch --members 8 --kernels logsum,gravity --json
    """
    rows = [measure(SUITE[name], size, members, repeats) for name in kernels.split(",")]
    text = markdown(rows, size, members)
    data = save(out, "batch", rows, text)
    print(data if as_json else text)


if __name__ == "__main__":
    typer.run(main)

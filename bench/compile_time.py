"""How long C source to C gradient takes, after start-up.

    python -m bench.compile_time [--repeats 5] [--out out]

The CPU time from `load` to the C of the streamed gradient, with every pass; the first kernel is compiled once
before, so that imports and caches of the compiler itself are not counted. Writes compile_time.json and
compile_time.md.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import typer

import tapeflow
from bench.suite import SUITE, Kernel

OPTIONS = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)


def compile_gradient(kernel: Kernel) -> tapeflow.Gradient:
    return tapeflow.gradient(tapeflow.load(kernel.source, kernel.function), wrt=list(kernel.wrt), options=OPTIONS)


def measure(kernel: Kernel, repeats: int) -> dict[str, Any]:
    """The median time, and the size of the result."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.process_time()
        grad = compile_gradient(kernel)
        times.append(time.process_time() - started)
    lines = grad.c_source.count("\n")
    return {"kernel": kernel.name, "seconds": statistics.median(times), "lines_of_c": lines}


def main(repeats: int = 5, out: Path = Path("out")) -> None:
    """Measure, print and save."""
    compile_gradient(next(iter(SUITE.values())))
    rows = [measure(kernel, repeats) for kernel in SUITE.values()]
    lines = ["| kernel | C to C gradient (ms) | lines of C |", "|---|--:|--:|"]
    lines += [f"| {row['kernel']} | {row['seconds'] * 1e3:.0f} | {row['lines_of_c']} |" for row in rows]
    text = "\n".join(lines) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    (out / "compile_time.json").write_text(json.dumps(rows, indent=1))
    (out / "compile_time.md").write_text(text)
    print(text)


if __name__ == "__main__":
    typer.run(main)

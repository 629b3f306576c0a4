"""What Tapeflow does, in two minutes: a small kernel through every stage, then a real one on four machines.

python -m bench.demo [--out out]
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.syntax import Syntax

import tapeflow
from bench.options import Out
from bench.suite import SUITE, Kernel
from bench.table import BASELINE, EQUALS, figure, markdown, measure
from tapeflow.hardware import Hardware

SMALL, REAL = SUITE["worked_example"], SUITE["pathfinder"]

MACHINES = (BASELINE, *EQUALS["stream-1k"], "stream-1k")

STAGES = {
    "import": "the C as core IR, and the request for its gradient",
    "differentiate": "a forward and a reverse sweep; every value needed in reverse on a tape of its own",
    "plan": "what can be had again is not taped",
    "regions": "values pushed together become one record",
    "layers": "records go through a scratchpad; loops are cut where its buffers are full",
    "streams": "tiles are drained while the next fills, and fetched before they are needed",
}

console = Console(width=132, highlight=False, markup=False)


def show_stages() -> None:
    """The worked example's C, then what each pass changes in its IR, then the C of the gradient."""
    options = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)
    grad = tapeflow.gradient(tapeflow.load(_relative(SMALL)), wrt=list(SMALL.wrt), options=options)
    _heading(f"1. A small kernel, {SMALL.source.name}")
    _show(SMALL.source.read_text(), "c")
    before: list[str] = []
    for stage, what in STAGES.items():
        _heading(f"{stage}: {what}")
        after = _gradient_text(grad.ir(stage), whole=stage == "import")
        if stage in ("import", "differentiate"):
            _show("\n".join(after), "llvm")
        else:
            _show("\n".join(_changes(before, after)), "diff")
        before = after
    _heading("the gradient as C, for the native and for the modelled machine")
    _show(grad.c_source, "c")
    console.print(str(grad.tape_report()))


def _show(text: str, language: str) -> None:
    """Print source text, in colours on a terminal."""
    if console.is_terminal:
        console.print(Syntax(text, language, word_wrap=True, background_color="default"))
    else:
        console.out(text)


def _gradient_text(module: str, *, whole: bool) -> list[str]:
    lines = module.splitlines()
    if whole:
        return lines
    start = next(k for k, line in enumerate(lines) if "tapeflow.gradient_of" in line)
    return [line.removeprefix("  ") for line in lines[start:-1]]


def _changes(before: list[str], after: list[str]) -> list[str]:
    return list(unified_diff(before, after, lineterm="", n=1))[2:]


def run_natively() -> None:
    """The real kernel's gradient: called, timed, and checked."""
    _heading(f"2. A real kernel at its published size, {REAL.source.name}")
    started = time.perf_counter()
    kernel = tapeflow.load(_relative(REAL))
    grad = tapeflow.gradient(kernel, wrt=list(REAL.wrt))
    compiled = time.perf_counter() - started
    arguments = list(REAL.arguments("paper").values())
    result = grad(*arguments)
    took = min(_seconds(lambda: grad(*arguments)) for _ in range(20))
    console.print(f"{kernel}\nC source to C gradient in {compiled:.2f} s; a call takes {took * 1e3:.2f} ms")
    gradient = result.gradients[REAL.wrt[0]]
    console.print(f"value {result.value:.6f}, gradient {gradient.shape}, its sum {np.sum(gradient):.6f}\n")
    console.print(str(tapeflow.check(grad, arguments, directions=1)))
    console.print()
    console.print(str(grad.tape_report()))


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def run_on_machines(out: Path) -> None:
    """The same gradient on the machines of the tables: how the tape is kept makes the difference."""
    _heading("3. The same gradient on four modelled machines")
    rows = [measure(REAL, "paper", Hardware.preset(name)) for name in MACHINES]
    console.print(markdown(rows, "paper"))
    for row in rows:
        console.print(f"{row['machine']}: {row['bottleneck']}")
    out.mkdir(parents=True, exist_ok=True)
    figure(rows, out / "demo.png")
    console.print(f"\nA picture of this is in {out / 'demo.png'}; all kernels: make bench")


def _relative(kernel: Kernel) -> str:
    """The kernel's file as seen from here, which reads better."""
    return os.path.relpath(kernel.source)


def _heading(text: str) -> None:
    console.print()
    console.rule(text, align="left")


def main(out: Out = Path("out")) -> None:
    """Show the stages, run the gradient, simulate it."""
    show_stages()
    run_natively()
    run_on_machines(out)


if __name__ == "__main__":
    typer.run(main)

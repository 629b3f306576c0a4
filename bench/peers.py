"""Three programs on which other differentiators were measured: what our gradient costs there, beside their figures.

    python -m bench.peers [--repeats 21] [--out out]

Ours is measured as in `bench.native`, compiled by the compiler that `CC` names. The others' ratios are as they were
given to this project, each to that tool's own primal, from one 2-core cloud machine with a spread of a fifth; this
command does not run them. Writes peers.json and peers.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from bench.native import measure
from bench.options import Out, Repeats
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.native import FLAGS, find_compiler


def _sum_sin(np: Any, n: int, x: NDArray[Any]) -> float:
    return np.sum(np.sin(x[:n]) * x[:n])


def _mlp(np: Any, batch: int, width: int, x: Any, w1: Any, w2: Any, w3: Any) -> float:
    h = x
    for w in (w1, w2, w3):
        h = np.tanh(np.dot(h, w))
    return np.sum(h * h)


def _draw_layers(rng: np.random.Generator, p: Mapping[str, int]) -> Mapping[str, Any]:
    width = p["width"]
    weights = {f"w{k}": rng.standard_normal((width, width)) / np.sqrt(width) for k in (1, 2, 3)}
    return {"x": rng.standard_normal((p["batch"], width)), **weights}


PROGRAMS: dict[str, Kernel] = {
    "sum_sin": Kernel(
        name="sum_sin",
        function="sum_sin",
        sizes={"mini": {"n": 9}, "paper": {"n": 1_000_000}},
        draw=lambda rng, p: {"x": rng.standard_normal(p["n"])},
        order=("n", "x"),
        wrt=("x",),
        reference=_sum_sin,
    ),
    "jacobi": SUITE["jacobi"],
    "mlp": Kernel(
        name="mlp",
        function="mlp",
        sizes={"mini": {"batch": 3, "width": 4}, "paper": {"batch": 64, "width": 128}},
        draw=_draw_layers,
        order=("batch", "width", "x", "w1", "w2", "w3"),
        wrt=("w1", "w2", "w3"),
        reference=_mlp,
    ),
}
"""A sum of independent terms, a stencil in place over many time steps, three layers of a network on a batch."""

GIVEN = {
    "Enzyme, LLVM 19": ("1.2", "14", "5.2"),
    "Enzyme, LLVM 14": ("1.1", "22", "2.7"),
    "Clad": ("2.9", "20", "63"),
    "CoDiPack": ("5 to 7", "30", "50 to 70"),
    "JAX 0.10 (CPU)": ("1.2", "", "3.5 to 4"),
    "by hand: store all, allocate in each call": ("", "12", ""),
    "by hand: adjoint as a gather, memory kept": ("", "4.0", ""),
}
"""Tool -> time of its gradient over that of its primal, for each of `PROGRAMS`."""


def markdown(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The table: our ratios and tapes, then the given ratios."""
    compiler = find_compiler()
    lines = [
        f"{' '.join(compiler.command)} {' '.join(FLAGS)}; gradient over primal",
        "",
        "| | sum of sin(x) x, n = 1,000,000 | stencil with u u, 256 x 256, 100 steps | three tanh layers, 64 x 128 |",
        "|---|--:|--:|--:|",
    ]
    for title, key, bytes_key in (
        ("Tapeflow", "ratio", "tape_bytes"),
        ("Tapeflow, `recompute=cheap`", "cheap_ratio", "cheap_tape_bytes"),
    ):
        cells = [f"{row[key]:.1f} ({row[bytes_key]:,} B of tape)" for row in rows.values()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += [f"| {tool} | {' | '.join(ratios)} |" for tool, ratios in GIVEN.items()]
    return "\n".join(lines) + "\n"


def main(repeats: Repeats = 21, out: Out = Path("out")) -> None:
    """Measure, print and save."""
    rows = {name: measure(kernel, "paper", repeats) for name, kernel in PROGRAMS.items()}
    text = markdown(rows)
    save(out, "peers", rows, text)
    print(text)


if __name__ == "__main__":
    typer.run(main)

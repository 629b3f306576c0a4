"""Put what the benchmarks found into the documentation: out/*.md to docs/measured.md.

make bench && python -m bench.measured [--out out]
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

import typer

from bench.options import Out
from tapeflow.backend.native import find_compiler

PAGE = Path(__file__).parents[1] / "docs" / "measured.md"

SECTIONS = {
    "table": (
        "Four homes for the tape",
        "Modelled machines, so exact and repeatable: a tape of arrays in a 32 KiB cache; arrays, then records, in\n"
        "one cache of as much SRAM as the streamed machine; a scratchpad that streams beside a small cache. Presets\n"
        "in `tapeflow/hardware/presets`.",
    ),
    "sweep": (
        "Requests in flight and set-up time",
        "The same number of requests in flight on both machines, 4 to 32 in all; then the time that the DMA engine\n"
        "takes for a descriptor.",
    ),
    "native": (
        "Native gradients",
        "The least CPU time, primal and gradients in turns: of the default options, and of `recompute=cheap`.",
    ),
    "peers": (
        "Beside other differentiators",
        "Gradient over primal, ours in turns as above. The others' ratios were given to this project, from a machine\n"
        "of this kind and a spread of a fifth; they are not measured here.",
    ),
    "compile_time": (
        "Compile time",
        "From the C source to the C of the gradient, after start-up: of the suite streamed, of generated programs\n"
        "with a plain tape. Time grows as operations to the power of the exponent.",
    ),
    "model_speed": ("Speed of the hardware model", "How fast the modelled machine runs, with timing on."),
}
"""Name of a benchmark -> heading and introduction."""


def main(out: Out = Path("out")) -> None:
    """Assemble the page from the benchmarks' output in `out`."""
    missing = [name for name in SECTIONS if not (out / f"{name}.md").is_file()]
    if missing:
        raise typer.BadParameter(f"{out} has no {missing[0]}.md: run python -m bench.{missing[0]} first")
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {find_compiler().version.splitlines()[1]}"
    text = ["# What was measured", "", f"By `make bench` and `python -m bench.measured`, on {machine}."]
    for name, (heading, introduction) in SECTIONS.items():
        text += ["", f"## {heading}", "", f"`python -m bench.{name}`", "", introduction, ""]
        text.append((out / f"{name}.md").read_text().strip())
    PAGE.write_text("\n".join(text) + "\n")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    typer.run(main)

"""How long C source to C gradient takes, after start-up, for the suite and as programs grow.

    python -m bench.compile_time [--repeats 5] [--sizes 2000,20000] [--shapes straight,nests] [--json] [--out out]

CPU time, the least of several runs, with every pass. The suite's kernels go to the streamed gradient; the first is
compiled once before, so that imports and caches of the compiler itself are not counted. The generated programs of
`bench/programs.py` go to the gradient with a plain tape, and the time of each part is taken: reading, each pass, the
verification between passes, printing. The exponent e in time ~ operations^e is that between the first size and each.
A program of 20,000 operations takes a minute or two, all shapes in all sizes a quarter of an hour a repetition. Writes
compile_time.json and compile_time.md.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

import tapeflow
from bench.options import Out, Repeats
from bench.programs import SHAPES, program
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.c_printer import print_c
from tapeflow.pipeline import context, gradient_name, gradient_of, requested

STREAMED = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)
Result = TypeVar("Result")


def compile_gradient(kernel: Kernel) -> tapeflow.Gradient:
    return tapeflow.gradient(tapeflow.load(kernel.source, kernel.function), wrt=list(kernel.wrt), options=STREAMED)


def measure(kernel: Kernel, repeats: int) -> dict[str, Any]:
    """The least time, and the size of the result."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.process_time()
        grad = compile_gradient(kernel)
        times.append(time.process_time() - started)
    return {"kernel": kernel.name, "seconds": min(times), "lines_of_c": grad.c_source.count("\n")}


class _Clock:
    """The CPU time of each part, in seconds, by its name."""

    def __init__(self):
        self.seconds: dict[str, float] = {}

    def __call__(self, part: str, work: Callable[[], Result]) -> Result:
        started = time.process_time()
        result = work()
        self.seconds[part] = self.seconds.get(part, 0.0) + time.process_time() - started
        return result


def measure_parts(source: Path, options: tapeflow.Options) -> tuple[int, Mapping[str, float]]:
    """The core IR operations of the function `f` in `source`, and the seconds of each part of making its gradient."""
    clock, known = _Clock(), context()
    kernel = clock("read", lambda: tapeflow.load(source, "f"))
    arrays = [parameter.name for parameter in kernel.parameters if parameter.is_array]
    module = clock("request", lambda: requested(kernel, arrays, arrays))
    for each in options.passes():
        clock(each.name, lambda each=each: each.apply(known, module))
        clock("verify", module.verify)
    clock("print", lambda: print_c(gradient_of(module, kernel), name=gradient_name(kernel)))
    return sum(1 for _ in kernel.function.body.walk()), clock.seconds


def growth(shape: str, sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """For each size the operations of a program of that shape, and the least seconds in all and of each part."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            source = Path(folder) / f"{shape}_{size}.c"
            source.write_text(program(shape, size))
            runs = [measure_parts(source, tapeflow.Options()) for _ in range(repeats)]
            operations, parts = min(runs, key=lambda run: sum(run[1].values()))
            rows.append({"shape": shape, "operations": operations, "seconds": sum(parts.values()), "parts": parts})
    return rows


def exponent(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The e in time ~ operations^e between the first and the last of `rows`; None for a single one."""
    if len(rows) < 2:
        return None
    before, after = rows[0], rows[-1]
    grown = math.log(after["operations"] / before["operations"])
    return math.log(after["seconds"] / before["seconds"]) / grown


def growth_table(grown: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """A row for each shape and size."""
    parts = list(dict.fromkeys(part for rows in grown.values() for row in rows for part in row["parts"]))
    lines = [f"| shape | operations | seconds | {' | '.join(parts)} | exponent |"]
    lines.append("|---|--:|--:|" + "--:|" * (len(parts) + 1))
    for shape, rows in grown.items():
        for position, row in enumerate(rows):
            times = " | ".join(f"{row['parts'][part]:.2f}" for part in parts)
            power = exponent(rows[: position + 1])
            shown = "" if power is None else f"{power:.2f}"
            lines.append(f"| {shape} | {row['operations']:,} | {row['seconds']:.2f} | {times} | {shown} |")
    return lines


def main(
    repeats: Repeats = 5,
    sizes: Annotated[str, typer.Option(help="Sizes of generated programs, separated by commas.")] = "2000,6000,20000",
    shapes: Annotated[str, typer.Option(help="Shapes of generated programs.")] = ",".join(SHAPES),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    out: Out = Path("out"),
) -> None:
    """How long C source to C gradient takes, for the suite and as programs grow."""
    unknown = [shape for shape in shapes.split(",") if shape not in SHAPES]
    if unknown:
        raise typer.BadParameter(f"no shape '{unknown[0]}': there are {', '.join(SHAPES)}")
    compile_gradient(next(iter(SUITE.values())))
    rows = [measure(kernel, repeats) for kernel in SUITE.values()]
    lines = ["| kernel | C to C gradient (ms) | lines of C |", "|---|--:|--:|"]
    lines += [f"| {row['kernel']} | {row['seconds'] * 1e3:.0f} | {row['lines_of_c']} |" for row in rows]
    grown = {
        shape: growth(shape, [int(size) for size in sizes.split(",")], min(repeats, 2)) for shape in shapes.split(",")
    }
    lines += ["", "Generated programs, by part, in seconds:", "", *growth_table(grown)]
    text, everything = "\n".join(lines) + "\n", {"suite": rows, "programs": grown}
    data = save(out, "compile_time", everything, text)
    print(data if as_json else text)


if __name__ == "__main__":
    typer.run(main)

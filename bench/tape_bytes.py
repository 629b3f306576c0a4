"""What each kernel of the suite tapes in an iteration, and why.

    python -m bench.tape_bytes [--json] [--recompute balanced] [--write]

For each loop that tapes: the bytes of an iteration, how often they are taped, as a formula in the parameters, and for
each value where its derivative needs it and what keeps it from being had again. Nothing is measured: it is read off the
gradients, which are made in a few seconds. With --write the table goes into docs/kernels.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

import tapeflow
from bench.suite import SUITE, Kernel

PAGE = Path(__file__).parents[1] / "docs" / "kernels.md"
BEGIN, END = "<!-- begin: python -m bench.tape_bytes --write -->", "<!-- end -->"
Recompute = Literal["balanced", "all", "cheap"]


@dataclass(frozen=True)
class Taped:
    """A value that a kernel tapes.

    Attributes:
        value: its name in the source.
        bytes: in one iteration.
        needed_at: the `line:column` of the operations whose derivatives need it.
        why: what keeps it from being had again.
    """

    value: str
    bytes: int
    needed_at: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class TapingLoop:
    """What one iteration of a loop, or one run of a branch, tapes; see `Taped`.

    Attributes:
        kernel: in the suite.
        loop: the innermost loop or branch that the values are taped in; None for a kernel without a tape.
        bytes: in one iteration.
        iterations: how many there are, as a formula, "at most" where it is a bound.
        values: that are taped.
    """

    kernel: str
    loop: str | None
    bytes: int
    iterations: str
    values: tuple[Taped, ...]


def taping_loops(kernel: Kernel, recompute: Recompute = "balanced") -> Iterator[TapingLoop]:
    """The loops of `kernel` that tape; one without a name if none does."""
    options = tapeflow.Options(recompute=recompute)
    grad = tapeflow.gradient(tapeflow.load(kernel.source, kernel.function), wrt=list(kernel.wrt), options=options)
    regions = grad.tape_report().regions
    if not regions:
        yield TapingLoop(kernel.name, None, 0, "0", ())
    for region in regions:
        values = tuple(Taped(it.name, it.bytes, tuple(map(_short, it.needed_at)), it.why) for it in region.fields)
        count = "as needed" if region.records is None else ("" if region.exact else "at most ") + region.records
        yield TapingLoop(kernel.name, region.name, sum(value.bytes for value in values), count, values)


def _short(place: str) -> str:
    """`place` without its file."""
    return ":".join(place.rsplit(":", 2)[1:])


def markdown(loops: list[TapingLoop]) -> str:
    """The table for docs/kernels.md."""
    lines = ["| kernel | in | bytes an iteration | iterations | value | bytes | needed at | why |"]
    lines.append("|---|---|--:|---|---|--:|---|---|")
    for loop in loops:
        head = f"| {loop.kernel} | {loop.loop or '-'} | {loop.bytes} | `{loop.iterations}` |"
        if not loop.values:
            lines.append(f"{head} | | | all that is needed is had again |")
        for value in loop.values:
            lines.append(f"{head} {value.value} | {value.bytes} | {', '.join(value.needed_at)} | {value.why} |")
            head = "| | | | |"
    return "\n".join(lines)


def page_with(table: str, page: str) -> str:
    """The text of the `page` with `table` in place of the one there."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.split(END, 1)[1]}"


def main(
    recompute: Annotated[Recompute, typer.Option(help="What is computed again instead of taped.")] = "balanced",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Put the table into docs/kernels.md.")] = False,
) -> None:
    """What each kernel of the suite tapes in an iteration, and why."""
    loops = [loop for kernel in SUITE.values() for loop in taping_loops(kernel, recompute)]
    print(json.dumps([asdict(loop) for loop in loops], indent=1) if as_json else markdown(loops))
    if write:
        PAGE.write_text(page_with(markdown(loops), PAGE.read_text()))


if __name__ == "__main__":
    typer.run(main)

"""Checks random programs for a given time, and writes the smallest failing ones: `make fuzz SECONDS=600`."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "property"))

import campaign  # noqa: E402 the path above makes the oracle importable
from shrinking import shrink  # noqa: E402


@dataclass(frozen=True)
class Finding:
    """A program that failed."""

    surface: str
    seed: int
    number: int
    failure: str

    @property
    def kind(self) -> str:
        """What it has in common with other findings of the same bug."""
        return campaign.kind_of(self.failure)


@dataclass
class Tally:
    """What was run so far."""

    programs: Counter[str] = field(default_factory=Counter[str])
    findings: list[Finding] = field(default_factory=list[Finding])

    def kinds(self) -> dict[str, list[Finding]]:
        """The findings by kind."""
        kinds: dict[str, list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault(f"{finding.surface}: {finding.kind}", []).append(finding)
        return kinds


def run_batch(number: int) -> tuple[str, int, list[Finding]]:
    """Check a batch: its surface, how many programs it has, what failed."""
    warnings.simplefilter("ignore")
    cases = campaign.batch(number)
    outcome = campaign.run(number)
    surface = cases[0].surface
    found = [Finding(surface, int(name[1:]), number, failures[0]) for name, failures in outcome.failures.items()]
    return surface, len(cases), found


def outcomes(pool: ProcessPoolExecutor, start: int, end: float, jobs: int) -> Iterator[tuple[str, int, list[Finding]]]:
    """Batches from number `start` on, until the time `end`."""
    number, running = start, set[Future[tuple[str, int, list[Finding]]]]()
    while running or time.monotonic() < end:
        while len(running) < jobs and time.monotonic() < end:
            running.add(pool.submit(run_batch, number))
            number += 1
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def search(seconds: float, start: int, jobs: int, console: Console) -> Tally:
    """Check programs for some time, and show how it goes."""
    tally = Tally()
    begin = time.monotonic()
    columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[state]}")]
    # A worker starts afresh: the C parser's library does not survive a fork.
    spawn = multiprocessing.get_context("spawn")
    # IR is full of cycles that live as long as it: rarer collections save a tenth of the time.
    rarely = (100_000, 20, 20)
    with (
        ProcessPoolExecutor(jobs, mp_context=spawn, initializer=gc.set_threshold, initargs=rarely) as pool,
        Progress(*columns, console=console, transient=not console.is_terminal) as progress,
    ):
        task = progress.add_task("random programs", total=seconds, state="")
        for surface, count, found in outcomes(pool, start, begin + seconds, jobs):
            tally.programs[surface] += count
            tally.findings += found
            state = f"{tally.programs.total()} programs, {len(tally.findings)} failing"
            progress.update(task, completed=min(time.monotonic() - begin, seconds), state=state)
            if not console.is_terminal:
                console.print(f"{time.monotonic() - begin:7.0f} s  {state}", highlight=False)
            for finding in found:
                first = finding.failure.splitlines()[0]
                console.print(f"{finding.surface} seed {finding.seed}: {first}", markup=False, highlight=False)
    return tally


def write_smallest(finding: Finding, folder: Path, seconds: float = 60.0) -> Path:
    """Write a small program that fails as `finding` does, found in `seconds`, and say where."""
    program = campaign.case_of(finding.surface, finding.seed).program
    # Batches differ in stages, compilers and checks: the same number fails in the same way.
    kind, number = finding.kind, finding.number
    program = shrink(program, lambda some: campaign.still_fails(finding.surface, kind, number, some), seconds)
    outcome = campaign.check([campaign.Case("f", finding.surface, program)], number)
    failures = outcome.failures.get("f", [finding.failure])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{finding.surface}_seed_{finding.seed}.{'c' if finding.surface == 'c' else 'mlir'}"
    notes = "\n".join(f"// {line}" for text in failures for line in text.splitlines())
    wrt = ", ".join(program.wrt)
    path.write_text(f"{notes}\n// with respect to {wrt}\n{campaign.Case('f', finding.surface, program).text}")
    return path


def main() -> int:
    """Run the command; 1 when a program failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (default 60)")
    parser.add_argument("--start", type=int, help="first batch of 20 programs (default: by the clock; it is printed)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz", help="where failing programs go")
    arguments = parser.parse_args()
    console = Console()
    # Batches below are the test suite's.
    start = 1000 + int(time.time()) % 1_000_000 if arguments.start is None else arguments.start
    console.print(f"from --start {start}", highlight=False)
    tally = search(arguments.seconds, start, arguments.jobs, console)
    counts = ", ".join(f"{count} in {surface}" for surface, count in sorted(tally.programs.items()))
    console.print(f"{tally.programs.total()} programs ({counts}), {len(tally.findings)} failing", highlight=False)
    console.print(campaign.SHARES, highlight=False)
    for kind, findings in tally.kinds().items():
        path = write_smallest(min(findings, key=lambda finding: finding.seed), arguments.out)
        console.print(f"{len(findings)} times: {kind}\n    smallest program: {path}", markup=False, highlight=False)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks random programs for a given time, and writes the smallest failing one: `make fuzz SECONDS=600`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "property"))

from checking import failures  # noqa: E402 the path above makes the oracle importable
from programs import Generator, Program, c_text  # noqa: E402
from shrinking import shrink  # noqa: E402


def describe(program: Program, seed: int) -> list[str]:
    """What is wrong with `program`: mismatches, or the exception that the compiler raised."""
    try:
        return list(failures(program, seed))
    except Exception as problem:
        return [f"{type(problem).__name__}: {problem}"]


def smallest_like(program: Program, seed: int, found: list[str]) -> Program:
    """A small program that fails in the same way, by the first words of what is wrong."""
    kind = found[0].split(":")[0]
    return shrink(program, lambda candidate: any(kind in line for line in describe(candidate, seed)))


def write_report(program: Program, seed: int, folder: Path) -> Path:
    """Write `program` with what is wrong with it, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed_{seed}.c"
    notes = "\n".join(f"// {line}" for text in describe(program, seed) for line in text.splitlines())
    path.write_text(f"{notes}\n{c_text(program)}")
    return path


def main() -> int:
    """Run the command; 1 when a program failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (default 60)")
    parser.add_argument("--start", type=int, default=1000, help="first seed (default 1000)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz", help="where a failing program goes")
    arguments = parser.parse_args()
    end, seed = time.monotonic() + arguments.seconds, arguments.start
    while time.monotonic() < end:
        program = Generator(seed).program()
        found = describe(program, seed)
        if found:
            path = write_report(smallest_like(program, seed, found), seed, arguments.out)
            print(f"seed {seed} fails: {found[0]}\nsmallest program: {path}")
            return 1
        seed += 1
    print(f"{seed - arguments.start} programs, no mismatch (seeds {arguments.start} to {seed - 1})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

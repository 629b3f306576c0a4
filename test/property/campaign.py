"""Batches of random programs by number: which programs they hold, and which check each program gets."""

from __future__ import annotations

from batches import Case, Outcome, check
from generator import FEATURES, Generator
from syntax import Program

BATCH = 20
"""Programs in a batch."""

SURFACES = tuple(sorted(FEATURES))

SHARES = """every program: forward mode and dot product against dual numbers, 2 of 6 stages bit for bit, a second call,
               warnings of the C compiler, 6 sizes
1 in 11:       all 6 stages bit for bit
15 in 16:      the address and undefined-behaviour sanitizers, without optimization
1 in 16:       optimized as users' gradients are
1 in 3:        functions that stay calls (inline-limit 0) instead of being inlined
1 in 4:        a second C compiler, where there is one
1 in 8:        the IR verified after every pass
1 in 16:       the interpreter, bit for bit"""


def case_of(surface: str, seed: int) -> Case:
    """The program of a seed."""
    return Case(f"p{seed}", surface, Generator(seed, surface).program())


def batch(number: int) -> list[Case]:
    """The programs of a batch; its surface changes every eight batches, so that all checks meet all surfaces."""
    surface = SURFACES[number // 8 % len(SURFACES)]
    return [case_of(surface, seed) for seed in range(number * BATCH, (number + 1) * BATCH)]


def run(number: int) -> Outcome:
    """Check a batch."""
    return check(batch(number), number)


def still_fails(surface: str, kind: str, number: int, programs: list[Program]) -> list[bool]:
    """Whether each of `programs` fails in the way `kind`."""
    cases = [Case(f"p{k}", surface, program) for k, program in enumerate(programs)]
    outcome = check(cases, number)
    return [any(kind_of(failure) == kind for failure in outcome.failures.get(case.name, ())) for case in cases]


def kind_of(failure: str) -> str:
    """What failures of the same bug have in common, most likely: words without numbers, names and places."""
    words = failure.splitlines()[0].split(" ")
    telling = [word for word in words if word.isalpha() or word.endswith(("Error:", "refused:"))]
    return " ".join(telling[:8])

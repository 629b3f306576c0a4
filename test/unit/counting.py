"""How much work a run is, counted and not timed: a machine with other work counts the same."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def calls_made(run: Callable[[], T]) -> tuple[T, int]:
    """What `run` returns, and the calls of functions, Python's own with them, that it makes."""
    profile = cProfile.Profile()
    result = profile.runcall(run)
    return result, pstats.Stats(profile).total_calls  # pyright: ignore[reportAttributeAccessIssue] # not in its stub

"""How much work a run is, counted and not timed: a machine with other work counts the same."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_made(run: Callable[[], object]) -> int:
    """The calls of functions, Python's own with them, that `run` makes."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return made

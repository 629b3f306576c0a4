"""How much on-chip memory a machine saves: the smallest cache that is as fast, over all its own bytes on chip.

"As fast" is within 5 % of its time. The caches differ from it in nothing that a comparison must keep equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tapeflow.errors import TapeflowError
from tapeflow.hardware.config import Hardware

WITHIN_PERCENT = 5
"""How much longer than ours a cache may take to count as fast."""


@dataclass(frozen=True)
class SramRatio:
    """The SRAM that a cache needs to be as fast, over ours."""

    our_bytes: int
    """All our bytes on chip: scratchpad and any cache that remains."""

    cache: str | None
    """Name of the smallest cache that is fast enough; None if none of those tried is."""

    bytes: int
    """Its bytes on chip; of the largest tried if none is fast enough."""

    @property
    def ratio(self) -> float:
        """The quotient; above it if no cache tried was fast enough."""
        return self.bytes / self.our_bytes

    def __str__(self) -> str:
        return f"{'' if self.cache else 'over '}{self.ratio:.3g}"


def baseline_caches(like: Hardware, sizes: Sequence[int] = tuple(1 << log for log in range(10, 19))) -> list[Hardware]:
    """Machines with one cache and no scratchpad, equal to `like` in all else, one of each size in bytes.

    They have eight ways where the tables know such a cache, else four or two, and the hit time that its array needs.

    Raises:
        TapeflowError: `like` has no cache to vary, or the tables know none of a size.
    """
    if like.cache is None or like.scratchpad is not None:
        raise TapeflowError(f"{like.name} is no baseline: it has {'a scratchpad' if like.cache else 'no cache'}")
    return [_resized(like, size) for size in sizes]


def _resized(like: Hardware, size: int) -> Hardware:
    reasons: list[TapeflowError] = []
    for ways in (8, 4, 2):
        for hit_cycles in range(like.cache.hit_cycles if like.cache else 1, 12):
            changes = {"size_bytes": size, "ways": ways, "hit_cycles": hit_cycles}
            try:
                return like.with_(name=f"{like.name}, {size} B", cache=changes)
            except TapeflowError as error:
                reasons.append(error)
    raise reasons[-1]


def sram_ratio(
    ours: Hardware, our_cycles: int, caches: Sequence[Hardware], cycles: Callable[[Hardware], int]
) -> SramRatio:
    """The SRAM ratio of a run on `ours`.

    Args:
        ours: the machine.
        our_cycles: that the run took on it.
        caches: what it is held against, in any order; of several of one size the fastest counts.
        cycles: the time of the same computation on one of them; asked from the smallest up until one is fast enough.

    Raises:
        TapeflowError: a cache is not equal to `ours` in units, DRAM, requests or ports.
    """
    for cache in caches:
        unequal = [what for what in ours.differences(cache) if not what.startswith("SRAM bytes: ")]
        if unequal:
            raise TapeflowError(f"{cache.name} cannot be compared with {ours.name}: {'; '.join(unequal)}")
    for cache in sorted(caches, key=lambda cache: cache.sram_bytes):
        if cycles(cache) * 100 <= our_cycles * (100 + WITHIN_PERCENT):
            return SramRatio(ours.sram_bytes, cache.name, cache.sram_bytes)
    return SramRatio(ours.sram_bytes, None, max(cache.sram_bytes for cache in caches))

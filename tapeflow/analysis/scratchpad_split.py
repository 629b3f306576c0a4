"""The static split of a scratchpad among regions: plain arithmetic, no IR.

Every region that fits gets at least one burst a buffer. What is left goes, piece by piece, to where it saves most
transfers: a region of `runs` records in tiles of `records` needs `runs / records` of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

BURST_BYTES = 64
"""What DRAM moves at once, and so the granule of the split."""


def bursts_for(records: int, record_bytes: int) -> int:
    """The bursts that a tile of `records` records takes."""
    return -(-records * record_bytes // BURST_BYTES)


def records_of_whole_bursts(record_bytes: int) -> int:
    """The fewest records that end where a burst ends."""
    return BURST_BYTES // gcd(BURST_BYTES, record_bytes)


def records_in(bursts: int, record_bytes: int) -> int:
    """The records that a tile of `bursts` bursts holds: whole records, and where it can be whole bursts of them.

    Tiles lie side by side in DRAM, so with whole bursts each tile begins on a burst, and no burst is moved twice.
    """
    fit = bursts * BURST_BYTES // record_bytes
    granule = records_of_whole_bursts(record_bytes)
    return fit if fit < granule else fit - fit % granule


@dataclass(frozen=True)
class Demand:
    """What one region asks of the scratchpad.

    Args:
        record_bytes: bytes of one record.
        runs: how many records are expected in all.
        most: how many there are at most, where that is known.
    """

    record_bytes: int
    runs: int
    most: int | None = None

    @property
    def traffic(self) -> int:
        """Bytes that are expected to travel, one way."""
        return self.record_bytes * self.runs

    @property
    def least_bursts(self) -> int:
        """Bursts that hold one record."""
        return bursts_for(1, self.record_bytes)

    def next_bursts(self, bursts: int) -> int | None:
        """The smallest tile that holds more records than one of `bursts` bursts; None where more are of no use."""
        records = records_in(bursts, self.record_bytes)
        # A tile that never gets full never travels.
        if self.most is not None and records > self.most:
            return None
        granule = records_of_whole_bursts(self.record_bytes)
        return bursts_for(records + (1 if records < granule else granule), self.record_bytes)

    def saved(self, bursts: int, larger: int) -> float:
        """Transfers that a tile of `larger` bursts saves over one of `bursts`, for each burst more."""
        fewer = self.runs / records_in(larger, self.record_bytes)
        return (self.runs / records_in(bursts, self.record_bytes) - fewer) / (larger - bursts)


def kept(demands: Sequence[Demand], bursts: int) -> list[int]:
    """The positions of the demands that get a place in `bursts` bursts: those with the most traffic first."""
    chosen: list[int] = []
    for position in sorted(range(len(demands)), key=lambda position: -demands[position].traffic):
        if demands[position].least_bursts <= bursts:
            chosen.append(position)
            bursts -= demands[position].least_bursts
    return chosen


def split(demands: Sequence[Demand], scratchpad_bytes: int, buffers: int) -> list[int]:
    """The records a tile for each of `demands`; 0 for one that does not fit.

    Args:
        demands: the regions.
        scratchpad_bytes: the whole scratchpad, over all regions and buffers.
        buffers: copies of each tile.
    """
    budget = scratchpad_bytes // buffers // BURST_BYTES
    bursts = {position: demands[position].least_bursts for position in kept(demands, budget)}
    left = budget - sum(bursts.values())

    # Each region waits with its next larger tile, the one that saves most in front; the first of equals goes first.
    waiting: list[tuple[float, int, int]] = []

    def wait(position: int) -> None:
        demand, had = demands[position], bursts[position]
        if (larger := demand.next_bursts(had)) is not None and larger - had <= left:
            heapq.heappush(waiting, (-demand.saved(had, larger), position, larger))

    for position in bursts:
        wait(position)
    while waiting:
        _, position, larger = heapq.heappop(waiting)
        if larger - bursts[position] <= left:
            left -= larger - bursts[position]
            bursts[position] = larger
            wait(position)

    return [
        records_in(bursts[position], demand.record_bytes) if position in bursts else 0
        for position, demand in enumerate(demands)
    ]

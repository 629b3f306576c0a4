"""Tapes, buffers and FIFOs as they run: stacks that refuse every use the dialects' documentation does not allow.

Nothing here knows the IR. A record is a tuple of Python scalars.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.utils.exceptions import InterpretationError

Record: TypeAlias = tuple[Any, ...]


@dataclass
class Stack:
    """A tape or a region: a stack of records; a tape's have one field."""

    name: str
    """What its creation is called in the source."""

    reserve: int | None = None
    """The most records there may be at a time; None for no bound."""

    records: list[Record] = field(default_factory=list[Record])
    pushes: int = 0
    """Records that were ever pushed."""

    peak: int = 0
    """The most records that there ever were at a time."""

    def push(self, *records: Record) -> None:
        """Put `records` on top, the last one topmost.

        Raises:
            InterpretationError: when there are more than were reserved.
        """
        height = len(self.records) + len(records)
        if self.reserve is not None and height > max(self.reserve, 0):
            raise InterpretationError(f"overflow: {self.name} holds {height} records, but reserves {self.reserve}")
        self.records.extend(records)
        self.pushes += len(records)
        self.peak = max(self.peak, height)

    def pop(self) -> Record:
        """Take the topmost record off.

        Raises:
            InterpretationError: when there is none.
        """
        if not self.records:
            raise InterpretationError(f"underflow: {self.name} is empty")
        return self.records.pop()

    def drop(self, count: int) -> None:
        """Take the topmost `count` records off.

        Raises:
            InterpretationError: when there are fewer.
        """
        if len(self.records) < count:
            raise InterpretationError(f"underflow: {self.name} holds {len(self.records)} records, not {count}")
        del self.records[len(self.records) - count :]


@dataclass
class Buffer:
    """A buffer in the scratchpad: tile t in copy t mod `copies`, of which one tile is current.

    A tile that is full leaves for its home and one that is empty makes room for the tile below, in one of two ways:
    `drain` and `fetch`, which `wait` ends (the spad dialect), or `push`, `prefetch` and `pop` (the stream dialect).
    """

    name: str
    copies: int
    records: int
    """How many records a tile holds."""

    tile: int = 0
    """Which tile is current."""

    pushed: int = 0
    """Tiles that left for the home."""

    fetched: int = 0
    """Tiles that came from the home."""

    _contents: dict[int, list[Record]] = field(default_factory=lambda: {0: []})
    """The tiles on chip, at most one a copy."""

    _moving: set[int] = field(default_factory=set[int])
    """The copies that a transfer reads or writes."""

    @property
    def current(self) -> list[Record]:
        """The records of the current tile."""
        return self._contents[self.tile]

    @property
    def full(self) -> bool:
        """Whether the current tile has no room for another record."""
        return len(self.current) == self.records

    @property
    def empty(self) -> bool:
        """Whether the current tile has no record left."""
        return not self.current

    def copy_of(self, tile: int) -> int:
        """The copy that `tile` lives in."""
        return tile % self.copies

    def is_on_chip(self, tile: int) -> bool:
        """Whether `tile` is in its copy, or on its way there."""
        return tile in self._contents

    def write(self, record: Record) -> None:
        """Add `record` to the current tile.

        Raises:
            InterpretationError: when the tile is full, or in flight.
        """
        self._touch("written")
        if self.full:
            raise InterpretationError(f"overflow: tile {self.tile} of {self.name} is full ({self.records} records)")
        self.current.append(record)

    def read(self) -> Record:
        """Take the newest record off the current tile.

        Raises:
            InterpretationError: when the tile is empty, or in flight.
        """
        self._touch("read")
        if self.empty:
            raise InterpretationError(f"underflow: tile {self.tile} of {self.name} is empty")
        return self.current.pop()

    def drain(self, home: Stack) -> None:
        """Start to move the current tile to its home; the next tile becomes current.

        Raises:
            InterpretationError: when the tile is not full, or in flight already.
        """
        self._start_to_drain(home)
        self._turn_to_new(self.tile + 1)

    def fetch(self, home: Stack) -> None:
        """Make the tile below current, and start to move it here unless it is on chip.

        Raises:
            InterpretationError: when the current tile is not empty, in flight, or the lowest.
        """
        below = self._check_turn_down(home)
        self._touch("left")
        if not self.is_on_chip(below):
            if (copy := self.copy_of(below)) in self._moving:
                raise InterpretationError(f"copy {copy} of {self.name} is in flight: a dma_wait is missing")
            self._start_to_fetch(home, below)
        self._turn_down(home)

    def wait(self) -> None:
        """Wait until all transfers have ended."""
        self._moving.clear()

    def push(self, home: Stack) -> None:
        """Start to drain the current tile, turn to the next, and wait until its copy is free.

        Raises:
            InterpretationError: when the tile is not full, or a tile is being fetched over it.
        """
        self._start_to_drain(home)
        self._moving.discard(self.copy_of(self.tile + 1))
        self._turn_to_new(self.tile + 1)

    def prefetch(self, home: Stack) -> None:
        """Start to fetch the tile that the current, empty tile's copy holds next, if there is one.

        Raises:
            InterpretationError: when the current tile is not empty, or its copy is in flight already.
        """
        self._check_height(home)
        self._touch("fetched into")
        if not self.empty:
            raise InterpretationError(f"tile {self.tile} of {self.name} is not empty: {len(self.current)} records left")
        if self.tile >= self.copies:
            self._start_to_fetch(home, self.tile - self.copies)

    def pop(self, home: Stack) -> None:
        """Turn to the tile below, and wait until it is here.

        Raises:
            InterpretationError: when the current tile is not empty, the lowest, or was not prefetched over.
        """
        self._check_turn_down(home)
        if self.tile >= self.copies and not self.is_on_chip(self.tile - self.copies):
            raise InterpretationError(
                f"tile {self.tile} of {self.name} is popped, but tile {self.tile - self.copies}, "
                "which takes its copy, was not prefetched"
            )
        self._moving.discard(self.copy_of(self.tile - 1))
        self._turn_down(home)

    def _touch(self, done: str) -> None:
        """Refuse to touch the current tile while its copy is in flight."""
        if self.copy_of(self.tile) in self._moving:
            raise InterpretationError(
                f"tile {self.tile} of {self.name} is {done} while a transfer of its copy is in flight: "
                "a wait (or a pop) is missing"
            )

    def _check_height(self, home: Stack) -> None:
        """The home holds all tiles below the current one, and nothing else."""
        if len(home.records) != self.tile * self.records:
            raise InterpretationError(
                f"{self.name} is at tile {self.tile}, but {home.name} holds {len(home.records)} records and not "
                f"{self.tile} x {self.records}: another buffer or a record moved it"
            )

    def _check_turn_down(self, home: Stack) -> int:
        self._check_height(home)
        if not self.empty:
            raise InterpretationError(f"tile {self.tile} of {self.name} is not empty: {len(self.current)} records left")
        if self.tile == 0:
            raise InterpretationError(f"underflow: tile 0 is the lowest of {self.name}")
        return self.tile - 1

    def _start_to_drain(self, home: Stack) -> None:
        self._check_height(home)
        self._touch("drained")
        if not self.full:
            raise InterpretationError(
                f"tile {self.tile} of {self.name} is not full: {len(self.current)} of {self.records} records"
            )
        home.push(*self.current)
        self._moving.add(self.copy_of(self.tile))
        self.pushed += 1

    def _start_to_fetch(self, home: Stack, tile: int) -> None:
        copy = self.copy_of(tile)
        self._evict(copy, keep=self.tile)
        self._contents[tile] = home.records[tile * self.records : (tile + 1) * self.records]
        self._moving.add(copy)
        self.fetched += 1

    def _turn_to_new(self, tile: int) -> None:
        self._evict(self.copy_of(tile))
        self._contents[tile] = []
        self.tile = tile

    def _turn_down(self, home: Stack) -> None:
        """Forget the current tile: the one below is what is left at home and here."""
        home.drop(self.records)
        del self._contents[self.tile]
        self.tile -= 1

    def _evict(self, copy: int, keep: int | None = None) -> None:
        """Forget the tile in `copy`."""
        for tile in [tile for tile in self._contents if self.copy_of(tile) == copy and tile != keep]:
            del self._contents[tile]


@dataclass
class Fifo(Stack):
    """The home of a region that is moved by tiles, and the buffers that it was moved through."""

    closed: bool = False
    buffers: list[Buffer] = field(default_factory=list[Buffer])

    def through(self, buffer: Buffer) -> Fifo:
        """Note that tiles move through `buffer`.

        Raises:
            InterpretationError: when the FIFO is closed.
        """
        if self.closed:
            raise InterpretationError(f"{self.name} is closed")
        if not any(known is buffer for known in self.buffers):
            self.buffers.append(buffer)
        return self

    def close(self) -> None:
        """Assert that what was pushed was popped, and read.

        Raises:
            InterpretationError: when it was not, or when the FIFO is closed already.
        """
        if self.closed:
            raise InterpretationError(f"{self.name} is closed already")
        if self.records:
            raise InterpretationError(f"{self.name} is closed, but holds {len(self.records)} records")
        for buffer in self.buffers:
            if not buffer.empty:
                raise InterpretationError(
                    f"{self.name} is closed, but {buffer.name} holds {len(buffer.current)} records"
                )
        self.closed = True

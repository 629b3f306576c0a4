"""How a run would miss in caches of every size: Mattson's stack distances, of the tape and of all else.

R. L. Mattson et al., Evaluation techniques for storage hierarchies (1970): with least-recently-used replacement, a
fully associative cache of K lines misses an access if K or more other lines were accessed since the last access of its
line.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OWNERS = ("arrays", "tape")
"""Whom an access serves, in the order of TF_OF_*."""

_BINS_A_POWER = 256


@dataclass(frozen=True)
class Distances:
    """Accesses of one owner, by distance."""

    distances: NDArray[np.int64]
    """In lines, rising: other lines accessed since the last access of the line; the least of those in the bin."""

    counts: NDArray[np.int64]
    """Accesses at each distance."""

    cold: int
    """First accesses of a line."""

    @property
    def accesses(self) -> int:
        """All of them."""
        return int(self.counts.sum()) + self.cold

    def misses(self, lines: int) -> int:
        """How many miss in a fully associative cache of so many lines."""
        return self.cold + int(self.counts[self.distances >= lines].sum())


@dataclass(frozen=True)
class ReuseCurve:
    """The distances of one run, by owner. Tape in a scratchpad is in no cache, and not in here."""

    of: Mapping[str, Distances]
    """Owner (`OWNERS`) -> distances."""

    sampled: int = 1
    """Of so many lines one was followed at the end; 1: everything is exact."""

    def misses(self, lines: int) -> int:
        """Misses of all owners together, which share the cache."""
        return sum(distances.misses(lines) for distances in self.of.values())


def read(library: ctypes.CDLL, tape: int | ctypes.c_void_p) -> ReuseCurve:
    """The distances of the call that ran last on `tape`.

    Args:
        library: compiled with TF_MODEL_EXPORTS for a machine header with `reuse=True`.
        tape: the `tf_tape *` that the call was given.
    """
    owner = [ctypes.c_void_p, ctypes.c_uint32]
    for name, arguments, result in (
        ("tf_reuse_bins", [], ctypes.c_size_t),
        ("tf_reuse_exact", [], ctypes.c_size_t),
        ("tf_reuse_counts", owner, ctypes.POINTER(ctypes.c_uint64)),
        ("tf_reuse_cold", owner, ctypes.c_uint64),
        ("tf_reuse_halvings", [ctypes.c_void_p], ctypes.c_uint32),
    ):
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = result
    bins = int(library.tf_reuse_bins())
    owners = range(len(OWNERS))
    counts = [np.ctypeslib.as_array(library.tf_reuse_counts(tape, number), (bins,)) for number in owners]
    cold = [int(library.tf_reuse_cold(tape, number)) for number in owners]
    return _curve(counts, cold, int(library.tf_reuse_exact()), int(library.tf_reuse_halvings(tape)))


def read_bytes(content: bytes) -> ReuseCurve:
    """The distances that a program of its own wrote, see `tf_object_write_recorded`."""
    bins, exact, halvings, *cold = struct.unpack_from("=5Q", content)
    counts = np.frombuffer(content, np.uint64, len(OWNERS) * bins, 40).reshape(len(OWNERS), bins)
    return _curve([*counts], cold, exact, halvings)


def _curve(counts: Sequence[NDArray[np.uint64]], cold: Sequence[int], exact: int, halvings: int) -> ReuseCurve:
    """From accesses by bin and first accesses, by owner."""
    found: dict[str, Distances] = {}
    for name, binned, first in zip(OWNERS, counts, cold, strict=True):
        distances = bin_distances(len(binned), exact)
        used = binned > 0
        found[name] = Distances(distances[used], binned[used].astype(np.int64), first)
    return ReuseCurve(found, 1 << halvings)


def bin_distances(bins: int, exact: int) -> NDArray[np.int64]:
    """The least distance of each bin: one each below `exact`, then 256 to a power of two, to 2^62 at most."""
    power = exact.bit_length() - 1
    shared = [
        min((_BINS_A_POWER + part) << (power + k - 8), 1 << 62)
        for k in range((bins - exact) // _BINS_A_POWER)
        for part in range(_BINS_A_POWER)
    ]
    return np.concatenate([np.arange(exact, dtype=np.int64), np.asarray(shared, dtype=np.int64)])

"""How a run would miss in caches of every size: Mattson's stack distances, of the tape and of all else.

R. L. Mattson et al., Evaluation techniques for storage hierarchies (1970): with least-recently-used replacement, a
fully associative cache of K lines misses an access if K or more other lines were accessed since the last access of its
line.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
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
    distances = bin_distances(bins, int(library.tf_reuse_exact()))
    found: dict[str, Distances] = {}
    for number, name in enumerate(OWNERS):
        counts = np.ctypeslib.as_array(library.tf_reuse_counts(tape, number), (bins,)).astype(np.int64)
        used = counts > 0
        found[name] = Distances(distances[used], counts[used], int(library.tf_reuse_cold(tape, number)))
    return ReuseCurve(found, 1 << int(library.tf_reuse_halvings(tape)))


def bin_distances(bins: int, exact: int) -> NDArray[np.int64]:
    """The least distance of each bin: one each below `exact`, then 256 to a power of two, to 2^62 at most."""
    power = exact.bit_length() - 1
    shared = [
        min((_BINS_A_POWER + part) << (power + k - 8), 1 << 62)
        for k in range((bins - exact) // _BINS_A_POWER)
        for part in range(_BINS_A_POWER)
    ]
    return np.concatenate([np.arange(exact, dtype=np.int64), np.asarray(shared, dtype=np.int64)])

"""Small kernels for what the suite does not show, each with sizes that make its loops, buffers and tiles awkward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).parent / "kernels"
EXTENTS = (0, 1, 2, 13)
"""Zero trips, one trip, two, and enough to fill tiles and end in the middle of one."""


@dataclass(frozen=True)
class Case:
    """A kernel of one function, named as its file.

    Attributes:
        name: of file and function.
        wrt: what is differentiated.
        arguments: makes the arguments in source order for an extent, from a generator.
        extents: that it is run with.
    """

    name: str
    wrt: tuple[str, ...]
    arguments: Callable[[np.random.Generator, int], list[Any]]
    extents: tuple[int, ...] = EXTENTS

    @property
    def source(self) -> Path:
        return KERNELS / f"{self.name}.c"


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


CASES: Mapping[str, Case] = {
    case.name: case
    for case in (
        Case("constant_bounds", ("A", "x"), lambda r, n: [_normal(r, 4, 5), _normal(r, 5)], (0,)),
        Case("two_regions", ("x", "y"), lambda r, n: [n, n + 1, n + 2, _normal(r, n), _normal(r, n + 2)]),
        Case("triangular", ("x",), lambda r, n: [n, 0.5 * _normal(r, n)]),
        Case("carried_triangle", ("s",), lambda r, n: [n, 0.3], (0, 1, 2, 7)),
        Case("descending", ("x",), lambda r, n: [n, min(n, 2), _normal(r, n)]),
        Case("in_place", ("x",), lambda r, n: [n, 5, _normal(r, n)]),
        Case("outputs", ("a", "x"), lambda r, n: [n, 0.7, _normal(r, n), _normal(r, n), _normal(r, n)]),
        Case("single", ("x", "w"), lambda r, n: [n, _normal(r, n).astype(np.float32), 0.5]),
        Case("calls", ("x",), lambda r, n: [n, 0.3 * _normal(r, n)]),
        Case("branches", ("x", "w"), lambda r, n: [n, _normal(r, n), 0.8]),
        Case("local_array", ("x",), lambda r, n: [3, n, 0.9 * _normal(r, n)], (1, 2, 13)),
        Case("pointers", ("A", "x"), lambda r, n: [n, _normal(r, n * n), _normal(r, n), np.zeros(1)]),
        Case("units", ("x",), lambda r, n: [n, _normal(r, n), r.integers(0, 4, n).astype(np.int32)]),
        Case("clamped", ("x", "lo"), lambda r, n: [n, 0.3 * r.permutation(n) - 2.05, -0.5, 0.5]),
    )
}

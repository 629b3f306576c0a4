"""The kernel suite: for each kernel its C file, sizes, data, what is differentiated, and a NumPy reference.

A reference is the same mathematics written with arrays against a NumPy-like module: with `numpy` it checks the primal,
with `autograd.numpy` it gives a gradient that owes nothing to this compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

KERNELS = Path(__file__).parent / "kernels"
SIZES = ("mini", "paper", "large")

Arguments = dict[str, Any]
"""A kernel's arguments by name, in source order: Python ints and floats, NumPy arrays."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of the suite.

    Attributes:
        name: also the stem of its C file.
        function: the C function.
        sizes: for "mini" (tests), "paper" (tables) and "large" (a tape or inputs beyond a 32 MiB cache), the integer
            parameters.
        draw: makes the other arguments, arrays and real parameters, from a generator and the integer parameters.
        order: every argument's name in source order.
        wrt: what is differentiated.
        reference: `reference(np, *arguments)` is the kernel's value, computed without changing its arguments.
    """

    name: str
    function: str
    sizes: Mapping[str, Mapping[str, int]]
    draw: Callable[[np.random.Generator, Mapping[str, int]], Mapping[str, Any]]
    order: tuple[str, ...]
    wrt: tuple[str, ...]
    reference: Callable[..., float] = field(repr=False)

    @property
    def source(self) -> Path:
        """The C file."""
        return KERNELS / f"{self.name}.c"

    def arguments(self, size: str | Mapping[str, int], seed: int = 0) -> Arguments:
        """Fresh arguments in source order, the same for the same `size` and `seed`.

        Args:
            size: a name in `sizes`, or the integer parameters themselves.
            seed: of the generator that draws the data.
        """
        extents = self.sizes[size] if isinstance(size, str) else size
        drawn = self.draw(np.random.default_rng(seed), extents)
        return {name: extents[name] if name in extents else drawn[name] for name in self.order}


def _worked_example(np: Any, n: int, m: int, A: NDArray[Any], w: NDArray[Any]) -> float:  # noqa: N803 (the C's names)
    s = 0.0
    for i in range(n):
        s = s + np.sin(np.prod(np.where(A[i] > 0, A[i] + w[:m] * 0.5**i, 1.0)))
    return s


def _logsum(np: Any, n: int, x: NDArray[Any]) -> float:
    return np.log(np.sum(np.exp(x[:n])))


def _logsum_shifted(np: Any, n: int, x: NDArray[Any]) -> float:
    largest = np.max(x[:n])
    return largest + np.log(np.sum(np.exp(x[:n] - largest)))


def _matdescent(np: Any, n: int, m: int, A: NDArray[Any], x: NDArray[Any]) -> float:  # noqa: N803
    return np.sum(np.dot(A, x) ** 2)


def _mttkrp(np: Any, I: int, J: int, K: int, F: int, X: Any, B: Any, C: Any) -> float:  # noqa: E741, N803
    return np.sum(np.einsum("ijk,jf,kf->if", X, B, C) ** 2)


def _pathfinder(np: Any, n: int, m: int, w: NDArray[Any]) -> float:
    wall = np.array([np.inf])
    d = w[0]
    for i in range(1, n):
        left, right = np.concatenate([wall, d[:-1]]), np.concatenate([d[1:], wall])
        d = w[i] + np.minimum(np.minimum(d, left), right)
    return np.sum(d)


def _gravity(np: Any, n: int, m: NDArray[Any], r: NDArray[Any], eps: float) -> float:
    i, j = np.triu_indices(n, 1)
    return -np.sum(m[i] * m[j] / np.sqrt(np.sum((r[i] - r[j]) ** 2, axis=1) + eps))


def _jacobi(np: Any, n: int, steps: int, dt: float, u: NDArray[Any]) -> float:
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
        middle = np.concatenate([u[1:-1, :1], inner + dt * (lap + inner * inner), u[1:-1, -1:]], axis=1)
        u = np.concatenate([u[:1], middle, u[-1:]], axis=0)
    return np.sum(u * u)


SUITE: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            name="worked_example",
            function="f",
            sizes={"mini": {"n": 7, "m": 11}, "paper": {"n": 200, "m": 200}, "large": {"n": 3000, "m": 2000}},
            # Factors near 1 keep a product of some hundred of them away from overflow and from 0.
            draw=lambda rng, p: {
                "A": rng.choice([-1.0, 1.0], (p["n"], p["m"])) * rng.uniform(0.9, 1.1, (p["n"], p["m"])),
                "w": rng.uniform(-0.1, 0.1, p["m"]),
            },
            order=("n", "m", "A", "w"),
            wrt=("A", "w"),
            reference=_worked_example,
        ),
        Kernel(
            name="logsum",
            function="logsum",
            sizes={"mini": {"n": 300}, "paper": {"n": 10_000}, "large": {"n": 8_000_000}},
            draw=lambda rng, p: {"x": rng.standard_normal(p["n"])},
            order=("n", "x"),
            wrt=("x",),
            reference=_logsum,
        ),
        Kernel(
            name="logsum_shifted",
            function="logsum_shifted",
            sizes={"mini": {"n": 300}, "paper": {"n": 10_000}, "large": {"n": 8_000_000}},
            draw=lambda rng, p: {"x": rng.standard_normal(p["n"])},
            order=("n", "x"),
            wrt=("x",),
            reference=_logsum_shifted,
        ),
        Kernel(
            name="matdescent",
            function="matdescent",
            sizes={"mini": {"n": 13, "m": 9}, "paper": {"n": 400, "m": 400}, "large": {"n": 3000, "m": 3000}},
            draw=lambda rng, p: {
                "A": rng.standard_normal((p["n"], p["m"])),
                "x": rng.standard_normal(p["m"]),
            },
            order=("n", "m", "A", "x"),
            wrt=("A", "x"),
            reference=_matdescent,
        ),
        Kernel(
            name="mttkrp",
            function="mttkrp",
            sizes={
                "mini": {"I": 3, "J": 4, "K": 5, "F": 6},
                "paper": {"I": 12, "J": 12, "K": 12, "F": 12},
                "large": {"I": 64, "J": 64, "K": 64, "F": 64},
            },
            draw=lambda rng, p: {
                "X": rng.standard_normal((p["I"], p["J"], p["K"])),
                "B": rng.standard_normal((p["J"], p["F"])),
                "C": rng.standard_normal((p["K"], p["F"])),
            },
            order=("I", "J", "K", "F", "X", "B", "C"),
            wrt=("X", "B", "C"),
            reference=_mttkrp,
        ),
        Kernel(
            name="pathfinder",
            function="pathfinder",
            sizes={"mini": {"n": 8, "m": 9}, "paper": {"n": 100, "m": 100}, "large": {"n": 4000, "m": 4000}},
            draw=lambda rng, p: {"w": rng.uniform(0.0, 10.0, (p["n"], p["m"]))},
            order=("n", "m", "w"),
            wrt=("w",),
            reference=_pathfinder,
        ),
        Kernel(
            name="gravity",
            function="gravity",
            sizes={"mini": {"n": 10}, "paper": {"n": 256}, "large": {"n": 4096}},
            draw=lambda rng, p: {
                "m": rng.uniform(0.5, 2.0, p["n"]),
                "r": rng.standard_normal((p["n"], 3)),
                "eps": 1e-3,
            },
            order=("n", "m", "r", "eps"),
            wrt=("r",),
            reference=_gravity,
        ),
        Kernel(
            name="jacobi",
            function="jacobi",
            sizes={
                "mini": {"n": 8, "steps": 3},
                "paper": {"n": 256, "steps": 100},
                "large": {"n": 256, "steps": 400},
            },
            # With u <= 1/2 the source term doubles u in a time of 1 at the least, which is `paper`'s 100 steps.
            draw=lambda rng, p: {"dt": 0.01, "u": rng.uniform(0.0, 0.5, (p["n"], p["n"]))},
            order=("n", "steps", "dt", "u"),
            wrt=("u",),
            reference=_jacobi,
        ),
    )
}
"""The kernels by name, in the order of the tables."""

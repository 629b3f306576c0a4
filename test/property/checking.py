"""Checks one random program: compiled gradient against dual numbers, at several sizes and with several pipelines."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from duals import Dual, Machine, dual_array, parts
from programs import Program, c_text

import tapeflow

WRT = ("x", "A", "y", "s")
SIZES = ((0, 0), (1, 2), (3, 0), (4, 3), (5, 9))
PIPELINES = (
    tapeflow.Options(),
    tapeflow.Options(layout="aos"),
    tapeflow.Options(layout="aos", spad_bytes=2048, buffers=2),
    tapeflow.Options(layout="aos", spad_bytes=1024, buffers=3, stream=True),
)
TOLERANCE = 1e-10
"""Relative, of the dot product; both sides are exact to rounding, and programs amplify rounding a little."""


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call, in source order."""

    n: int
    m: int
    c: np.ndarray
    x: np.ndarray
    A: np.ndarray
    y: np.ndarray
    s: float

    def fresh(self) -> tuple[object, ...]:
        """Arguments for a call that may overwrite its arrays."""
        return (self.n, self.m, self.c.copy(), self.x.copy(), self.A.copy(), self.y.copy(), self.s)


def draw(rng: np.random.Generator, n: int, m: int) -> Inputs:
    """Inputs of this size, of order one."""
    return Inputs(
        n, m, rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, m)), rng.normal(size=m), float(rng.normal())
    )


def forward(program: Program, inputs: Inputs, tangents: Inputs) -> tuple[Dual, dict[str, np.ndarray]]:
    """Value and tangent of the program along `tangents`, and its arrays of duals afterwards."""
    machine = Machine(
        {"n": inputs.n, "m": inputs.m},
        {"s": Dual(inputs.s, tangents.s)},
        {
            "c": dual_array(inputs.c, np.zeros_like(inputs.c)),
            **{name: dual_array(getattr(inputs, name), getattr(tangents, name)) for name in ("x", "A", "y")},
        },
    )
    return machine.run(program), machine.arrays


def failures(program: Program, seed: int) -> Iterator[str]:
    """What is wrong with the compiled gradient of `program`, in words; nothing when all is well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.c"
        path.write_text(c_text(program))
        kernel = tapeflow.load(path, function="f")
        gradients = [tapeflow.gradient(kernel, wrt=list(WRT), options=options) for options in PIPELINES]
    rng = np.random.default_rng(seed)
    for n, m in SIZES:
        inputs, tangents, cotangents = draw(rng, n, m), draw(rng, n, m), draw(rng, n, m)
        result, arrays = forward(program, inputs, tangents)
        finals = {name: parts(arrays[name]) for name in ("x", "A", "y")}
        left = result.tangent + sum(float(np.sum(finals[name][1] * getattr(cotangents, name))) for name in finals)
        reference = None
        for options, gradient in zip(PIPELINES, gradients, strict=True):
            where = f"n={n} m={m} {options!r}"
            arguments = inputs.fresh()
            outcome = gradient(*arguments, seeds={name: getattr(cotangents, name) for name in finals})
            if not math.isclose(outcome.value, result.value, rel_tol=1e-12, abs_tol=1e-12):
                yield f"{where}: value {outcome.value!r}, should be {result.value!r}"
            for name, final in zip(("x", "A", "y"), arguments[3:6], strict=True):
                if not np.allclose(final, finals[name][0], rtol=1e-12, atol=1e-12):
                    yield f"{where}: final {name} differs"
            right = sum(float(np.sum(outcome.gradients[name] * getattr(tangents, name))) for name in WRT)
            scale = max(1.0, abs(left), *(float(np.abs(outcome.gradients[name]).sum()) for name in WRT))
            if not abs(left - right) <= TOLERANCE * scale:
                yield f"{where}: <J v, w> = {left!r}, but <v, J^T w> = {right!r}"
            bits = tuple(np.asarray(outcome.gradients[name]).tobytes() for name in WRT)
            reference = reference or bits
            if bits != reference:
                yield f"{where}: the gradient differs in bits from that of {PIPELINES[0]!r}"

"""Is a gradient right? Central differences along random directions, and the dot product with random cotangents.

For each differentiated argument x, a random direction v and cotangents w of the outputs, reverse mode must satisfy
`<J v, w> = <v, J^T w>`. The right side is the gradient's; the left side is a central difference of the kernel's own
outputs, so the two share nothing but the primal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeflow.api import Gradient
from tapeflow.arguments import Array, Parameter

TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 2e-2}
"""The relative error up to which a difference in that type confirms a derivative."""

_STEPS = {np.dtype(np.float64): range(5, 29, 2), np.dtype(np.float32): range(2, 12, 1)}
"""Binary exponents of the steps tried, relative to the size of the argument."""


@dataclass(frozen=True)
class DirectionCheck:
    """One directional derivative, twice.

    Attributes:
        wrt: the argument that was moved.
        gradient: `<v, J^T w>`, from the gradient.
        difference: `<J v, w>`, from central differences.
        step: of the difference, relative to the size of the argument.
        error: relative, of the one against the other.
        tolerance: that `error` is held against.
    """

    wrt: str
    gradient: float
    difference: float
    step: float
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the two agree; never for infinities and NaN."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class CheckReport:
    """All directional derivatives that were compared; `str()` is a table."""

    checks: tuple[DirectionCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether all agree."""
        return all(check.passed for check in self.checks)

    @property
    def errors(self) -> dict[str, float]:
        """The largest relative error for each argument."""
        worst: dict[str, float] = {}
        for check in self.checks:
            # NaN is the worst that can be, and max() would lose it.
            worst[check.wrt] = max(worst.get(check.wrt, 0.0), math.inf if math.isnan(check.error) else check.error)
        return worst

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries, lists, numbers and strings."""
        return {"passed": self.passed, "checks": [vars(check) | {"passed": check.passed} for check in self.checks]}

    def __str__(self) -> str:
        lines = ["wrt         gradient . v          difference            relative error"]
        for check in self.checks:
            verdict = "pass" if check.passed else f"FAIL (above {check.tolerance:g})"
            lines.append(
                f"{check.wrt:<12}{check.gradient:<22.14g}{check.difference:<22.14g}{check.error:.1e}  {verdict}"
            )
        return "\n".join(lines)


def check(
    gradient: Gradient,
    arguments: Sequence[Any],
    *,
    seeds: Mapping[str, Any] | None = None,
    directions: int = 2,
    seed: int = 0,
    tolerance: float | None = None,
) -> CheckReport:
    """Compare `gradient` at `arguments` with central differences.

    Args:
        gradient: what `tapeflow.gradient` returned.
        arguments: of the kernel, in source order; they are not changed.
        seeds: cotangents of the outputs; by default 1 for the return value and random ones for the arrays written.
        directions: how many random directions for each differentiated argument.
        seed: of the generator that draws directions and cotangents.
        tolerance: the relative error that passes; by default as in `TOLERANCE`, for the argument's type.

    Raises:
        ArgumentError: the arguments or seeds do not fit the kernel.
    """
    rng = np.random.default_rng(seed)
    cotangents = dict(seeds) if seeds is not None else _random_cotangents(gradient, arguments, rng)
    result = gradient(*_copies(arguments), seeds=cotangents)
    along = _Along(gradient, arguments, cotangents)
    checks: list[DirectionCheck] = []
    for position, parameter in enumerate(gradient.parameters):
        if parameter.name not in gradient.wrt:
            continue
        for _ in range(directions):
            direction = rng.standard_normal(np.shape(arguments[position]))
            product = float(np.sum(np.asarray(result.gradients[parameter.name], np.float64) * direction))
            scale = _size(arguments[position])
            found, step = _derivative(along.line(position, direction, parameter), scale, _STEPS[parameter.dtype])
            limit = TOLERANCE[parameter.dtype] if tolerance is None else tolerance
            error = _relative_error(product, found)
            checks.append(DirectionCheck(parameter.name, product, found, step, error, limit))
    return CheckReport(tuple(checks))


class _Along:
    """The kernel as a function of one real number, the way along a direction."""

    def __init__(self, gradient: Gradient, arguments: Sequence[Any], cotangents: Mapping[str, Any]):
        self._gradient, self._arguments, self._cotangents = gradient, arguments, cotangents

    def line(self, position: int, direction: Array, parameter: Parameter) -> Callable[[float], float]:
        """`t -> <outputs(x + t v), w>`, where x is the argument at `position` and v is `direction`."""

        def objective(t: float) -> float:
            moved = _copies(self._arguments)
            # A sum of arrays of rank 0 is a scalar in NumPy.
            there = np.asarray(np.asarray(self._arguments[position], np.float64) + t * direction)
            moved[position] = there.astype(parameter.dtype) if parameter.is_array else float(there)
            return self._objective(moved)

        return objective

    def _objective(self, arguments: list[Any]) -> float:
        value = self._gradient(*arguments, seeds=self._cotangents).value
        total = self._cotangents.get("return", 1.0) * value if isinstance(value, float) else 0.0
        for name, cotangent in self._cotangents.items():
            if name != "return":
                output = arguments[self._gradient.position(name)]
                total += float(np.sum(np.asarray(output, np.float64) * np.asarray(cotangent, np.float64)))
        return total


def _random_cotangents(gradient: Gradient, arguments: Sequence[Any], rng: np.random.Generator) -> dict[str, Any]:
    cotangents: dict[str, Any] = {}
    for name in gradient.outputs:
        parameter = gradient.parameters[gradient.position(name)]
        shape = np.shape(arguments[gradient.position(name)])
        cotangents[name] = np.asarray(rng.standard_normal(shape), parameter.dtype)
    return cotangents


def _derivative(objective: Callable[[float], float], scale: float, exponents: range) -> tuple[float, float]:
    """The derivative of `objective` at 0 by extrapolated central differences, and the step it was had with.

    Of ever smaller steps, truncation spoils the first and rounding the last, so the estimate is taken where two in
    sequence agree best.
    """
    estimates = list(_estimates(objective, scale, exponents))
    pairs = [(abs(b[0] - a[0]), b) for a, b in itertools.pairwise(estimates)]
    finite = [pair for pair in pairs if math.isfinite(pair[0])]
    return min(finite)[1] if finite else estimates[-1]


def _estimates(objective: Callable[[float], float], scale: float, exponents: range) -> Iterator[tuple[float, float]]:
    ratio = 4.0**exponents.step
    wide: float | None = None
    for exponent in exponents:
        step = 2.0**-exponent
        narrow = _central(objective, step * scale)
        if wide is not None:
            # Richardson: the errors in the square of the step cancel.
            yield (ratio * narrow - wide) / (ratio - 1), step
        wide = narrow


def _central(objective: Callable[[float], float], step: float) -> float:
    return (objective(step) - objective(-step)) / (2 * step)


def _relative_error(a: float, b: float) -> float:
    if a == b:
        return 0.0
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if math.isfinite(largest) else math.inf


def _size(argument: Any) -> float:
    """A typical magnitude of the elements of `argument`; 1 where they are all 0."""
    elements = np.abs(np.asarray(argument, np.float64))
    return float(np.sqrt(np.mean(elements**2))) or 1.0 if elements.size else 1.0


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]

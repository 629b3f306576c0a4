"""Is a gradient right? Central differences along random directions, and the dot product with random cotangents.

For each differentiated argument x, a random direction v and cotangents w of the outputs, reverse mode must satisfy
`<J v, w> = <v, J^T w>`. The right side is the gradient's; the left side is a central difference of the kernel's own
outputs, so the two share nothing but the primal. Forward mode gives the left side once more, without truncation: it is
held against the difference as the gradient is, and against the gradient as closely as rounding lets them agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapeflow.api import RETURN, Gradient
from tapeflow.api import gradient as differentiated
from tapeflow.arguments import Array, Parameter
from tapeflow.central_differences import derivative, magnitude
from tapeflow.complex_numbers import products, random_numbers, wide_type
from tapeflow.errors import TapeflowError, remark
from tapeflow.path_precision import Precision, path_precisions
from tapeflow.records import separated, unpacked_names
from tapeflow.tangents import Jvp, jvp

TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 2e-2}
"""The relative error up to which a difference confirms a derivative, for the shortest type that it is computed in."""

DOT_TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-3}
"""The relative error up to which forward and reverse mode agree, for the shortest type that they are computed in.

Both round, but neither truncates: these are some thousand units in the last place.
"""


@dataclass(frozen=True)
class DirectionCheck:
    """One directional derivative, twice.

    Attributes:
        wrt: the argument that was moved.
        gradient: `<v, J^T w>`, from the gradient.
        difference: `<J v, w>`, from central differences.
        step: of the difference, relative to the size of the argument.
        error: relative, of the one against the other.
        tolerance: that `error` and `forward_error` are held against.
        forward: `<J v, w>` from forward mode; None where that was not run.
        forward_error: relative, of `forward` against `difference`; None with `forward`.
        dot_error: of `forward` against `gradient`, relative to the sum of the magnitudes of the terms in the larger of
            the two dot products; None with `forward`.
        dot_tolerance: that `dot_error` is held against.
        precision: the shortest type of all that depends on the argument, `float64` or `float32`: tolerances go by it.
        because: what is of that type, in words; "" of `float64`.
        member: which cotangents of a batch; None of a gradient for one alone.
    """

    wrt: str
    gradient: float
    difference: float
    step: float
    error: float
    tolerance: float
    forward: float | None = None
    forward_error: float | None = None
    dot_error: float | None = None
    dot_tolerance: float = DOT_TOLERANCE[np.dtype(np.float64)]
    precision: str = "float64"
    because: str = ""
    member: int | None = None

    @property
    def passed(self) -> bool:
        """Whether all that was computed agrees; never for infinities and NaN."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """What does not agree, and the error that it would have to be below."""
        compared = (
            ("gradient", self.error, self.tolerance),
            ("forward mode", self.forward_error, self.tolerance),
            ("dot product", self.dot_error, self.dot_tolerance),
        )
        # NaN is not below anything.
        return tuple(
            f"{what} above {limit:g}" for what, error, limit in compared if error is not None and not error <= limit
        )


@dataclass(frozen=True)
class CheckReport:
    """All directional derivatives that were compared; `str()` is a table.

    Attributes:
        checks: one for each direction of each argument.
        outputs_finite: whether the kernel computes finite numbers at the arguments; else no difference has a value.
    """

    checks: tuple[DirectionCheck, ...]
    outputs_finite: bool = True

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
        checks = [vars(check) | {"passed": check.passed} for check in self.checks]
        return {"passed": self.passed, "outputs_finite": self.outputs_finite, "checks": checks}

    def __str__(self) -> str:
        lines = [
            "wrt         gradient . v          forward mode          difference            errors: of both, dot product"
        ]
        for check in self.checks:
            verdict = "pass" if check.passed else f"FAIL ({', '.join(check.failures)})"
            forward = "-" if check.forward is None else f"{check.forward:.14g}"
            errors = (check.error, check.forward_error, check.dot_error)
            shown = "  ".join(f"{'-':<7}" if error is None else f"{error:<7.1e}" for error in errors)
            wrt = check.wrt if check.member is None else f"{check.wrt} ({check.member})"
            lines.append(f"{wrt:<12}{check.gradient:<22.14g}{forward:<22}{check.difference:<22.14g}{shown}  {verdict}")
        lines += dict.fromkeys(
            f"tolerances for {check.wrt}: {check.tolerance:g}, dot product {check.dot_tolerance:g}: {check.because}"
            for check in self.checks
            if check.because
        )
        if not self.outputs_finite:
            lines.append("what the kernel computes at these arguments is infinite or no number: check it at others")
        return "\n".join(lines)


def check(
    gradient: Gradient,
    arguments: Sequence[Any],
    *,
    seeds: Mapping[str, Any] | None = None,
    directions: int = 2,
    seed: int = 0,
    tolerance: float | None = None,
    forward: bool = True,
) -> CheckReport:
    """Compare `gradient` at `arguments` with central differences, and forward mode with both.

    Args:
        gradient: what `tapeflow.gradient` returned.
        arguments: of the kernel, in source order; they are not changed.
        seeds: cotangents of the outputs; by default 1 for the return value and random ones for the arrays written. Of a
            gradient with a batch all of them, and by default random ones for the return value too. Each is checked.
        directions: how many random directions for each differentiated argument.
        seed: of the generator that draws directions and cotangents.
        tolerance: the relative error that passes; by default as in `TOLERANCE`, for the shortest type of all
            that depends on the argument.
        forward: whether forward mode is compared too. Where it refuses the kernel, a remark says so.

    Raises:
        ArgumentError: the arguments or seeds do not fit the kernel.
    """
    rng = np.random.default_rng(seed)
    arguments = separated(gradient.parameters, arguments)
    if seeds is not None:
        cotangents = unpacked_names(gradient.parameters, seeds, "seeds", gradient.batch)
    else:
        cotangents = random_cotangents(gradient, arguments, rng)
    if gradient.return_is_output and not gradient.returns_complex:
        cotangents = {RETURN: 1.0 if gradient.batch is None else np.ones(gradient.batch)} | dict(cotangents)
    weights = _members(gradient, cotangents)
    adjoints = _members(gradient, gradient(*_copies(arguments), seeds=cotangents).gradients)
    # The primal's values are those of any gradient; with one cotangent they are had soonest.
    values = (
        gradient
        if gradient.batch is None
        else differentiated(gradient.kernel, gradient.wrt, gradient.options, outputs=gradient.compiled.named_outputs)
    )
    lines = [_Along(values, arguments, weight) for weight in weights]
    tangents = _Forward(gradient, arguments) if forward else None
    checks: list[DirectionCheck] = []
    precisions = path_precisions(gradient.compiled)
    for position, parameter in enumerate(gradient.parameters):
        if parameter.name not in gradient.wrt:
            continue
        for _ in range(directions):
            # In the argument's type, so that forward mode is given the direction that the others see.
            drawn = [random_numbers(np.shape(arguments[position]), parameter.dtype, rng) for _ in weights]
            outputs = tangents.outputs(parameter.name, drawn) if tangents else None
            for k, (line, weight) in enumerate(zip(lines, weights, strict=True)):
                terms = products(adjoints[k][parameter.name], drawn[k])
                compared = line.compare(position, drawn[k], terms, precisions[parameter.name], tolerance)
                check = compared if gradient.batch is None else replace(compared, member=k)
                checks.append(check if outputs is None else _with_forward(check, terms, outputs[k], weight))
    return CheckReport(tuple(checks), all(math.isfinite(line.value) for line in lines))


def _members(gradient: Gradient, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`values`, cotangents or gradients by name, for each member of the batch; of no batch as they are."""
    if gradient.batch is None:
        return [dict(values)]
    return [{name: of_all[k] for name, of_all in values.items()} for k in range(gradient.batch)]


class _Forward:
    """Forward mode at the same arguments."""

    def __init__(self, gradient: Gradient, arguments: Sequence[Any]):
        self._arrays = {parameter.name for parameter in gradient.parameters if parameter.is_array}
        self._gradient, self._arguments = gradient, arguments
        self._jvp: Jvp | None = None
        try:
            self._jvp = jvp(gradient.kernel, gradient.wrt, gradient.options, batch=gradient.batch)
        except TapeflowError as error:
            remark(f"forward mode is not checked, it refuses {gradient.kernel.name}: {error.message}", error.position)

    def outputs(self, wrt: str, directions: Sequence[Array]) -> list[dict[str, Any]] | None:
        """The tangents of all arrays, and of the return value, for each of the `directions` of `wrt`."""
        if self._jvp is None:
            return None
        is_number = self._gradient.batch is None and wrt not in self._arrays
        tangent = np.stack(directions) if self._gradient.batch is not None else directions[0]
        tangents = {wrt: tangent.item() if is_number else tangent}
        found = self._jvp(*_copies(self._arguments), tangents=tangents).tangents
        # An array that the kernel leaves as it is is at the end what it was at entry, and may have a weight.
        return _members(self._gradient, found | ({} if wrt in found or wrt not in self._arrays else tangents))


def _with_forward(
    check: DirectionCheck, terms: Array, outputs: Mapping[str, Any], weights: Mapping[str, Any]
) -> DirectionCheck:
    """`check`, of the gradient with the `terms` of its dot product, with that of the tangents `outputs`."""
    parts = [products(tangent, weights[name]) for name, tangent in outputs.items() if name in weights]
    weighted = np.concatenate(parts) if parts else np.zeros(1)
    forward = float(np.sum(weighted))
    size = max(float(np.sum(np.abs(weighted))), float(np.sum(np.abs(terms))))
    return replace(
        check,
        forward=forward,
        forward_error=_relative_error(forward, check.difference),
        dot_error=_relative_error(forward, check.gradient, size),
    )


class _Along:
    """The kernel as a function of one real number, the way along a direction."""

    def __init__(self, gradient: Gradient, arguments: Sequence[Any], cotangents: Mapping[str, Any]):
        self._gradient, self._arguments, self._cotangents = gradient, arguments, cotangents

    def compare(
        self, position: int, direction: Array, terms: Array, precision: Precision, tolerance: float | None
    ) -> DirectionCheck:
        """The gradient with the `terms` of its dot product with `direction`, of the argument at `position`."""
        parameter, product = self._gradient.parameters[position], float(np.sum(terms))
        objective = self._line(position, direction.astype(wide_type(parameter.dtype)), parameter)
        found, step = derivative(objective, magnitude(self._arguments[position]), precision.dtype)
        return DirectionCheck(
            parameter.name,
            product,
            found,
            step,
            _relative_error(product, found),
            TOLERANCE[precision.dtype] if tolerance is None else tolerance,
            dot_tolerance=DOT_TOLERANCE[precision.dtype],
            precision=precision.dtype.name,
            because=precision.because,
        )

    @property
    def value(self) -> float:
        """The weighted sum of the outputs at the arguments."""
        return self._objective(_copies(self._arguments))

    def _line(self, position: int, direction: Array, parameter: Parameter) -> Callable[[float], float]:
        """`t -> <outputs(x + t v), w>`, where x is the argument at `position` and v is `direction`."""

        def objective(t: float) -> float:
            moved = _copies(self._arguments)
            # A sum of arrays of rank 0 is a scalar in NumPy.
            there = np.asarray(np.asarray(self._arguments[position], direction.dtype) + t * direction)
            moved[position] = there.astype(parameter.dtype) if parameter.is_array else there.item()
            return self._objective(moved)

        return objective

    def _objective(self, arguments: list[Any]) -> float:
        value = self._gradient(*arguments, seeds=self._cotangents).value
        total = 0.0
        if isinstance(value, float | complex):
            total = float(np.sum(products(value, self._cotangents.get(RETURN, 0.0))))
        for name, cotangent in self._cotangents.items():
            if name != RETURN:
                output = arguments[self._gradient.position(name)]
                total += float(np.sum(products(output, cotangent)))
        return total


def random_cotangents(gradient: Gradient, arguments: Sequence[Any], rng: np.random.Generator) -> dict[str, Any]:
    """Cotangents of the outputs, of their shapes: of the arrays written, and of what is returned if 1 is not enough."""
    cotangents: dict[str, Any] = {}
    leading = () if gradient.batch is None else (gradient.batch,)
    if gradient.return_is_output and (gradient.returns_complex or gradient.batch is not None):
        drawn = random_numbers(leading, gradient.returned_dtype, rng)
        cotangents[RETURN] = drawn if leading else drawn.item()
    for name in gradient.outputs:
        parameter = gradient.parameters[gradient.position(name)]
        shape = (*leading, *np.shape(arguments[gradient.position(name)]))
        cotangents[name] = random_numbers(shape, parameter.dtype, rng)
    return cotangents


def _relative_error(a: float, b: float, size: float | None = None) -> float:
    """Of `a` and `b`, relative to the larger of them, or to `size`; infinite where one is no finite number."""
    if a == b:
        return 0.0
    largest = max(abs(a), abs(b)) if size is None else size
    finite = math.isfinite(a) and math.isfinite(b) and math.isfinite(largest)
    return abs(a - b) / largest if finite and largest else math.inf


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]

"""Jacobians: every output by every differentiated argument, from batches of unit tangents or unit cotangents.

```python
jacobian = tapeflow.jacobian(kernel, wrt=["x"])
jacobian(n, x, y).jacobian["y"]["x"]             # of shape y.shape + x.shape
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from tapeflow.api import RETURN, Gradient, gradient
from tapeflow.arguments import Array, BoundArray
from tapeflow.errors import TapeflowError
from tapeflow.loading import Kernel, as_kernel
from tapeflow.options import Options
from tapeflow.pipeline import check_batch, check_outputs
from tapeflow.records import unpacked
from tapeflow.tangents import Jvp, jvp

Mode = Literal["forward", "reverse"]


@dataclass(frozen=True)
class JacobianResult:
    """What a call of a `Jacobian` gives.

    Attributes:
        value: what the kernel returned; None for a void function.
        jacobian: by output, "return" for the return value, and then by argument in `wrt`: an array whose shape is the
            output's followed by the argument's, the derivatives of the output's final by the argument's initial
            elements; a float of a number by a number. Structs are the arrays of numbers that generated code takes.
        mode: how it was had.
        runs: how often the kernel ran.
    """

    value: float | int | bool | None
    jacobian: dict[str, dict[str, Any]]
    mode: Mode
    runs: int


class Jacobian:
    """The Jacobian of a kernel; `jacobian` makes it. Arrays that the kernel writes are updated in place, once.

    What is compiled depends on the mode and on the number of elements, and is compiled when it is first needed.
    """

    def __init__(
        self,
        kernel: Kernel,
        wrt: Sequence[str],
        batch: int,
        mode: Mode | None,
        options: Options,
        outputs: Sequence[str] | None,
    ):
        """Make the Jacobian callable; users call `jacobian`."""
        self.kernel, self.batch, self.options = kernel, batch, options
        self._named = None if outputs is None else tuple(check_outputs(kernel, outputs))
        self.mode: Mode | None = mode
        self._names = wrt
        self._made: dict[tuple[Mode, int], Gradient] = {}
        self._first = first = self._derivative(mode or "reverse", batch)
        self.wrt = first.wrt
        outputs_of = (*((RETURN,) if first.returns_float else ()), *first.outputs)
        self.outputs = tuple(name for name in outputs_of if self._named is None or name in self._named)
        _check_real(first, self.outputs)
        if not self.outputs:
            raise TapeflowError(
                f"{kernel.name} has no output to differentiate",
                location=kernel.function.location,
                hint="return a floating-point number, or write an array of them",
            )

    def __call__(self, *arguments: Any) -> JacobianResult:
        """Run the kernel as often as it takes, on copies of what it writes but for the last time.

        Args:
            arguments: of the kernel, in source order.

        Raises:
            ArgumentError: an argument does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for the tape, or for the Jacobian.
            TapeflowError: there is no C compiler, or it fails.
        """
        # Derivatives of structs are by their numbers, which have a place in a table.
        apart = unpacked(self._first.parameters, arguments)
        inputs, outputs = self._parts(apart)
        mode = self.mode or _shorter(inputs, outputs)
        given, found = (inputs, outputs) if mode == "forward" else (outputs, inputs)
        total = _count(given)
        members = max(1, min(self.batch, total))
        derivative = self._derivative(mode, members)
        rows = {part.name: np.empty((total, *part.shape)) for part in found}
        value: float | int | bool | None = None
        starts = range(0, max(1, total), members)
        for start in starts:
            used = apart if start == starts[-1] else _copies(apart)
            value, derivatives = _run(derivative, used, _units(given, start, members))
            for part in found:
                rows[part.name][start : start + members] = derivatives[part.name][: total - start]
        blocks = {
            (output.name, argument.name): _block(rows, output, argument, given, mode)
            for output in outputs
            for argument in inputs
        }
        jacobian = {out.name: {arg.name: blocks[out.name, arg.name] for arg in inputs} for out in outputs}
        return JacobianResult(value, jacobian, mode, len(starts))

    def _derivative(self, mode: Mode, members: int) -> Gradient:
        if (mode, members) not in self._made:
            self._made[mode, members] = (
                jvp(self.kernel, self._names, self.options, batch=members)
                if mode == "forward"
                else gradient(self.kernel, self._names, self.options, batch=members, outputs=self._named)
            )
        return self._made[mode, members]

    def _parts(self, arguments: Sequence[Any]) -> tuple[list[_Part], list[_Part]]:
        """What is differentiated by, and what, for these arguments."""
        bound = self._first.bind(arguments)
        parts = {
            parameter.name: _Part(
                parameter.name, value.given.shape if isinstance(value, BoundArray) else (), parameter.dtype
            )
            for parameter, value in zip(self._first.parameters, bound, strict=True)
        }
        returned = [_Part(RETURN, (), self._first.returned_dtype)] if RETURN in self.outputs else []
        outputs = [*returned, *(parts[name] for name in self.outputs if name != RETURN)]
        return [parts[name] for name in self.wrt], outputs


@dataclass(frozen=True)
class _Part:
    """An argument or an output: a number, or an array."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return prod(self.shape)


def _check_real(derivative: Gradient, outputs: Sequence[str]) -> None:
    """Refuse complex arguments and outputs, which have no table of derivatives unless they are holomorphic.

    Raises:
        TapeflowError: `derivative` is by a complex argument, or of a complex output.
    """
    hint = "give gradient, or jvp, a batch: 1 and 1j for each element are the derivatives of and by its two parts"
    if derivative.returns_complex and RETURN in outputs:
        location = derivative.kernel.function.location
        reason = f"{derivative.kernel.name} returns a complex number: Jacobians are of real numbers"
        raise TapeflowError(reason, location=location, hint=hint)
    for parameter in derivative.parameters:
        if parameter.dtype.kind == "c" and parameter.name in {*derivative.wrt, *outputs}:
            reason = f"{parameter.name} is complex: Jacobians are of real numbers"
            raise TapeflowError(reason, location=parameter.location, hint=hint)


def _shorter(inputs: Sequence[_Part], outputs: Sequence[_Part]) -> Mode:
    """The mode that needs fewer runs."""
    return "forward" if _count(inputs) <= _count(outputs) else "reverse"


def _count(parts: Sequence[_Part]) -> int:
    return sum(part.size for part in parts)


def _units(given: Sequence[_Part], start: int, members: int) -> dict[str, Array]:
    """A batch of unit tangents or cotangents, from that of element `start` of all elements of `given` on."""
    units: dict[str, Array] = {}
    for part in given:
        unit = np.zeros((members, part.size), part.dtype)
        first, last = max(start, 0), min(start + members, part.size)
        for element in range(first, last):
            unit[element - start, element] = 1.0
        units[part.name] = unit.reshape((members, *part.shape))
        start -= part.size
    return units


def _run(derivative: Gradient, arguments: Sequence[Any], units: Mapping[str, Array]) -> tuple[Any, dict[str, Any]]:
    """The kernel's value, and tangents of its outputs or gradients by its arguments."""
    if isinstance(derivative, Jvp):
        forward = derivative(*arguments, tangents=units)
        return forward.value, forward.tangents
    reverse = derivative(*arguments, seeds=units)
    return reverse.value, reverse.gradients


def _block(
    rows: Mapping[str, Array], output: _Part, argument: _Part, given: Sequence[_Part], mode: Mode
) -> Array | float:
    """The derivatives of `output` by `argument`, among the `rows`, one for each element of `given`."""
    mine, other = (argument, output) if mode == "forward" else (output, argument)
    names = [part.name for part in given]
    start = _count(given[: names.index(mine.name)])
    block = rows[other.name][start : start + mine.size].reshape((*mine.shape, *other.shape))
    if mode == "forward":
        rank = len(mine.shape)
        block = np.moveaxis(block, range(rank), range(-rank, 0))
    dtype = np.result_type(output.dtype, argument.dtype)
    return np.array(block, dtype, order="C") if block.ndim else float(block)


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]


def jacobian(
    kernel: Kernel | Callable[..., Any],
    wrt: Sequence[str],
    *,
    batch: int = 8,
    mode: Mode | None = None,
    options: Options | None = None,
    outputs: Sequence[str] | None = None,
) -> Jacobian:
    """The Jacobian of `kernel`: its outputs by some of its parameters.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        batch: how many tangents or cotangents go through the kernel at once.
        mode: "forward", a tangent for each element of the arguments, or "reverse", a cotangent for each element of the
            outputs; by default, at each call, what needs fewer.
        options: what to do with the tape of reverse mode.
        outputs: names of arrays that the kernel writes, and "return"; all of them by default.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place; it has
            no output; `batch` is out of range.
    """
    check_batch(batch)
    if mode not in (None, "forward", "reverse"):
        raise TapeflowError(f"mode='{mode}' is no mode", hint="'forward', 'reverse', or None for what needs fewer runs")
    return Jacobian(as_kernel(kernel), wrt, batch, mode, options or Options(), outputs)

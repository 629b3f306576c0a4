"""Forward mode on the Python surface: directional derivatives, and Hessian-vector products.

```python
jvp = tapeflow.jvp(kernel, wrt=["x"])
jvp(n, x, tangents={"x": dx}).tangents["return"]
hvp = tapeflow.hvp(kernel, wrt=["x"])
hvp(n, x, vectors={"x": v}).products["x"]
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tapeflow.analysis.complex_pairs import paired
from tapeflow.api import RETURN, Gradient, Result
from tapeflow.arguments import ArgumentError, Array, Bound, BoundArray, bind, bind_scalar, check_array, whole_numbers
from tapeflow.dialects.ad import has_derivative
from tapeflow.loading import Kernel, as_kernel
from tapeflow.options import Options
from tapeflow.pipeline import Mode, compile_gradient


@dataclass(frozen=True)
class TangentResult:
    """What a call of a `Jvp` gives.

    Attributes:
        value: what the kernel returned; None for a void function.
        tangents: of the outputs: of the return value, called "return", a float; of each array that the kernel writes
            an array of its shape and dtype, the tangent of its final value.
    """

    value: float | int | complex | bool | None
    tangents: dict[str, Any]


@dataclass(frozen=True)
class ProductResult(Result):
    """What a call of a `HessianProduct` gives, beside value and gradients.

    Attributes:
        products: for each differentiated argument the derivative of its gradient along the vectors, of its shape.
    """

    products: dict[str, Any]


class _Tangents(Gradient):
    """A derivative that takes tangents of its arguments."""

    def _arguments(self, arguments: Sequence[Any]) -> list[Bound]:
        self._check_results()
        written = [parameter.name in self.compiled.written for parameter in self.parameters]
        return bind(self.parameters, written, arguments, self.kernel.name)

    def _directions(self, given: Mapping[str, Any], bound: Sequence[Bound], role: str) -> dict[str, Any]:
        """A tangent for every active argument, fresh arrays that the function may change; 0 where none is given."""
        known = ", ".join(self.wrt)
        if not given:
            raise ArgumentError(f"{role}: no direction is given", hint=f"give one for some of: {known}")
        for name in given:
            if name not in self.wrt:
                raise ArgumentError(f"{role}: '{name}' is not in wrt", hint=f"these are: {known}")
        directions: dict[str, Any] = {}
        for parameter, value in zip(self.parameters, bound, strict=True):
            name = parameter.name
            if isinstance(value, BoundArray) and name in self.compiled.active:
                directions[name] = np.zeros(value.given.shape, parameter.dtype)
                if name in given:
                    tangent = check_array(parameter, given[name], f"{role}['{name}']")
                    if tangent.shape != value.given.shape:
                        raise ArgumentError(
                            f"{role}['{name}']: expected the shape of {name}, {value.given.shape}, got {tangent.shape}",
                            location=parameter.location,
                        )
                    directions[name][...] = tangent
            elif name in self.wrt:
                directions[name] = self._scalar_direction(name, given.get(name, 0.0), role)
        return directions

    def _scalar_direction(self, name: str, given: Any, role: str) -> float | complex:
        try:
            # A parameter in wrt is a float or complex number, and so is what fits it.
            return cast("float | complex", bind_scalar(self.parameters[self.position(name)], given))
        except ArgumentError as error:
            raise ArgumentError(f"{role}: {error.message}", location=error.position) from None

    def _in_order(self, directions: Mapping[str, Any]) -> list[Any]:
        """The scalars' tangents, then the arrays', as the function takes them."""
        scalars = [it for it in directions.values() if not isinstance(it, np.ndarray)]
        return [*scalars, *(it for it in directions.values() if isinstance(it, np.ndarray))]


def _write_back(bound: Sequence[Bound]) -> None:
    for value in bound:
        if isinstance(value, BoundArray):
            value.write_back()


class Jvp(_Tangents):
    """The directional derivative of a kernel in forward mode, without a tape; `jvp` makes it.

    Arrays that the kernel writes are updated in place. Calls from several threads take turns.
    """

    def __call__(self, *arguments: Any, tangents: Mapping[str, Any]) -> TangentResult:  # pyright: ignore[reportIncompatibleMethodOverride] # other keywords
        """Run the kernel and its tangents.

        Args:
            arguments: of the kernel, in source order.
            tangents: by name in `wrt`: for a scalar a number, for an array one of its shape and dtype, which is not
                changed. What is not there is zero; so are the tangents of all other arguments.

        Raises:
            ArgumentError: an argument or tangent does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for local arrays; all arrays are unchanged.
            TapeflowError: there is no C compiler, or it fails.
        """
        bound = self._arguments(arguments)
        directions = self._directions(tangents, bound, "tangents")
        inputs = [value.used if isinstance(value, BoundArray) else value for value in bound]
        with self._lock:
            outcome = self.native.call([*inputs, *self._in_order(directions)])
        _write_back(bound)
        returned = self.kernel.function.function_type.outputs.data
        numbers = whole_numbers(outcome, [*returned, *filter(has_derivative, returned)])
        found: dict[str, Any] = {RETURN: numbers[1]} if self.returns_float else {}
        found |= {name: directions[name] for name in self.outputs}
        return TangentResult(numbers[0] if numbers else None, found)


class HessianProduct(_Tangents):
    """The gradient of a kernel and its derivative along given vectors; `hvp` makes it.

    For a kernel that returns a number, or with seeds for a weighted sum of its outputs, the products are those of the
    Hessian with the vectors. Arrays that the kernel writes are updated in place. Calls from several threads take turns.
    """

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride] # other keywords
        self, *arguments: Any, vectors: Mapping[str, Any], seeds: Mapping[str, Any] | None = None
    ) -> ProductResult:
        """Run the kernel, its reverse sweep, and the tangents of both.

        Args:
            arguments: of the kernel, in source order.
            vectors: by name in `wrt`: numbers, and arrays of the argument's shape and dtype. What is not there is zero.
            seeds: cotangents of the outputs, as for a gradient; they are held fixed.

        Raises:
            ArgumentError: an argument, vector or seed does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for the tape. Reserved at entry, this leaves all arrays unchanged.
            TapeflowError: there is no C compiler, or it fails.
        """
        call = self.prepare(arguments, seeds)
        directions = self._directions(vectors, call.bound, "vectors")
        products: dict[str, Array] = {name: np.zeros_like(shadow) for name, shadow in call.shadows.items()}
        with self._lock:
            outcome = self.native.call([*call.inputs, *self._in_order(directions), *products.values()])
        _write_back(call.bound)
        scalars = self.scalars_in_wrt
        parts = sum(len(paired(type_)) for type_ in scalars)
        tangents = iter(whole_numbers(outcome[len(outcome) - parts :], scalars))
        result = self.collect(call, outcome[: len(outcome) - parts])
        found: dict[str, Any] = {
            p.name: products[p.name] if p.is_array else next(tangents) for p in self.parameters if p.name in self.wrt
        }
        return ProductResult(result.value, result.gradients, found)


def jvp(kernel: Kernel | Callable[..., Any], wrt: Sequence[str]) -> Jvp:
    """The directional derivative of `kernel` with respect to some of its parameters.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place.
    """
    return Jvp(compile_gradient(as_kernel(kernel), wrt, Options(), mode=Mode.JVP))


def hvp(kernel: Kernel | Callable[..., Any], wrt: Sequence[str], options: Options | None = None) -> HessianProduct:
    """The gradient of `kernel` together with Hessian-vector products.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        options: what to do with the tape, as for a gradient; values and their tangents are fields of one record.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place.
    """
    return HessianProduct(compile_gradient(as_kernel(kernel), wrt, options or Options(), mode=Mode.HVP))

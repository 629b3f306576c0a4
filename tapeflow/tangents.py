"""Forward mode on the Python surface: directional derivatives, and Hessian-vector products.

```python
jvp = tapeflow.jvp(kernel, wrt=["x"])
jvp(n, x, tangents={"x": dx}).tangents["return"]
hvp = tapeflow.hvp(kernel, wrt=["x"])
hvp(n, x, vectors={"x": v}).products["x"]
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tapeflow.analysis.complex_pairs import paired
from tapeflow.api import RETURN, Gradient, Result
from tapeflow.arguments import (
    ArgumentError,
    Array,
    Bound,
    BoundArray,
    Parameter,
    bind_scalar,
    check_derivative,
    check_numbers,
)
from tapeflow.complex_numbers import whole_numbers
from tapeflow.dialects.ad import has_derivative
from tapeflow.loading import Kernel, as_kernel
from tapeflow.members import seen, taken, taken_numbers, zeros
from tapeflow.options import Options
from tapeflow.pipeline import Mode, compile_gradient
from tapeflow.records import unpacked_names


@dataclass(frozen=True)
class TangentResult:
    """What a call of a `Jvp` gives.

    Attributes:
        value: what the kernel returned; None for a void function.
        tangents: of the outputs: of the return value, called "return", a float; of each array that the kernel writes
            an array of its shape and dtype, the tangent of its final value. Of a batch all of them, along one more
            dimension, the first.
    """

    value: float | int | complex | bool | None
    tangents: dict[str, Any]


@dataclass(frozen=True)
class ProductResult(Result):
    """What a call of a `HessianProduct` gives, beside value and gradients.

    Attributes:
        products: for each differentiated argument the derivative of its gradient along the vectors, of its shape. Of a
            batch all of them, along one more dimension, the first.
    """

    products: dict[str, Any]


@dataclass(frozen=True)
class TangentCall:
    """One call of a `Jvp`, checked and ready to run.

    Attributes:
        bound: the kernel's arguments.
        inputs: of the tangent function, in the order of its parameters in the IR.
        directions: among `inputs`, by name: tangents that come in, and of arrays also go out.
        of_return: among `inputs` of a batch: where the tangents of the return value go.
    """

    bound: tuple[Bound, ...]
    inputs: tuple[Any, ...]
    directions: Mapping[str, Any]
    of_return: Array | None


class _Tangents(Gradient):
    """A derivative that takes tangents of its arguments."""

    def _directions(self, given: Mapping[str, Any], bound: Sequence[Bound], role: str) -> dict[str, Any]:
        """A tangent for every active argument, fresh arrays that the function may change; 0 where none is given."""
        given = unpacked_names(self.parameters, given, role, self.batch)
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
                directions[name] = self._direction(parameter, given.get(name), value.given.shape, role)
            elif name in self.wrt:
                directions[name] = self._scalar_direction(parameter, given.get(name), role)
        return directions

    def _direction(self, parameter: Parameter, given: Any, shape: tuple[int, ...], role: str) -> Array:
        if given is None:
            return zeros(shape, parameter.dtype, self.batch)
        direction = check_derivative(parameter, given, f"{role}['{parameter.name}']", shape, self.batch)
        return taken(direction, self.batch)

    def _scalar_direction(self, parameter: Parameter, given: Any, role: str) -> float | complex | Array:
        if self.batch is not None:
            if given is None:
                return zeros((), parameter.dtype, self.batch)
            return taken(check_numbers(given, f"{role}['{parameter.name}']", parameter.dtype, self.batch), self.batch)
        try:
            # A parameter in wrt is a float or complex number, and so is what fits it.
            return cast("float | complex", bind_scalar(parameter, 0.0 if given is None else given))
        except ArgumentError as error:
            raise ArgumentError(f"{role}: {error.message}", location=error.position) from None

    def _in_order(self, directions: Mapping[str, Any]) -> list[Any]:
        """The scalars' tangents, then the arrays', as the function takes them."""
        scalars = {parameter.name for parameter in self.parameters if not parameter.is_array}
        numbers = taken_numbers(each for name, each in directions.items() if name in scalars)
        return [*numbers, *(each for name, each in directions.items() if name not in scalars)]

    def _seen(self, parameter: Parameter, array: Array) -> Array:
        """An array of the derivatives of an argument as the caller sees it."""
        return seen(array, parameter.dtype, self.batch)


def _write_back(bound: Sequence[Bound]) -> None:
    for value in bound:
        if isinstance(value, BoundArray):
            value.write_back()


class Jvp(_Tangents):
    """The directional derivative of a kernel in forward mode, without a tape, or a batch of them; `jvp` makes it.

    Arrays that the kernel writes are updated in place. Calls from several threads take turns.
    """

    def __call__(self, *arguments: Any, tangents: Mapping[str, Any]) -> TangentResult:  # pyright: ignore[reportIncompatibleMethodOverride] # other keywords
        """Run the kernel and its tangents.

        Args:
            arguments: of the kernel, in source order.
            tangents: by name in `wrt`: for a scalar a number, for an array one of its shape and dtype, which is not
                changed. What is not there is zero; so are the tangents of all other arguments. Of a batch all of them,
                along one more dimension, the first; for a scalar as many numbers.

        Raises:
            ArgumentError: an argument or tangent does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for local arrays; all arrays are unchanged.
            RecursionError: the kernel calls itself too deep.
            TapeflowError: there is no C compiler, or it fails.
        """
        call = self.prepare_tangents(arguments, tangents)
        with self._lock:
            outcome = self.native.call(call.inputs)
        _write_back(call.bound)
        returned = self.kernel.function.function_type.outputs.data
        of_return = [] if self.batch is not None else list(filter(has_derivative, returned))
        numbers = whole_numbers(outcome, [*returned, *of_return])
        found: dict[str, Any] = {}
        if self.returns_float:
            found[RETURN] = (
                numbers[1] if call.of_return is None else seen(call.of_return, self.returned_dtype, self.batch)
            )
        outputs = {p.name: self._seen(p, self._tangent(p, b, call)) for p, b in self._outputs_of(call)}
        return TangentResult(numbers[0] if numbers else None, found | self._packed(outputs, call.bound))

    def _outputs_of(self, call: TangentCall) -> Iterator[tuple[Parameter, BoundArray]]:
        for parameter, value in zip(self.parameters, call.bound, strict=True):
            if parameter.name in self.outputs and isinstance(value, BoundArray):
                yield parameter, value

    def _tangent(self, parameter: Parameter, value: BoundArray, call: TangentCall) -> Array:
        """Of an output; zero of one that nothing that depends on `wrt` is written to."""
        found = call.directions.get(parameter.name)
        return zeros(value.given.shape, parameter.dtype, self.batch) if found is None else found

    def prepare_tangents(self, arguments: Sequence[Any], tangents: Mapping[str, Any]) -> TangentCall:
        """Check the arguments of a call, and make the tangents that the function may change.

        Raises:
            ArgumentError: as calling it does.
        """
        bound = self.bind(arguments)
        directions = self._directions(tangents, bound, "tangents")
        inputs = [value.used if isinstance(value, BoundArray) else value for value in bound]
        inputs += self._in_order(directions)
        of_return: Array | None = None
        if self.batch is not None and self.returns_float:
            of_return = zeros((), self.returned_dtype, self.batch)
            inputs += taken_numbers([of_return])
        return TangentCall(tuple(bound), tuple(inputs), directions, of_return)


class HessianProduct(_Tangents):
    """The gradient of a kernel and its derivative along given vectors; `hvp` makes it.

    For a kernel that returns a number, or with seeds for a weighted sum of its outputs, the products are those of the
    Hessian with the vectors. Arrays that the kernel writes are updated in place. Calls from several threads take turns.
    A batch is of vectors; cotangents are those of one gradient.
    """

    @property
    def _seed_batch(self) -> int | None:
        return None

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride] # other keywords
        self, *arguments: Any, vectors: Mapping[str, Any], seeds: Mapping[str, Any] | None = None
    ) -> ProductResult:
        """Run the kernel, its reverse sweep, and the tangents of both.

        Args:
            arguments: of the kernel, in source order.
            vectors: by name in `wrt`: numbers, and arrays of the argument's shape and dtype. What is not there is zero.
                Of a batch all of them, along one more dimension, the first; for a scalar as many numbers.
            seeds: cotangents of the outputs, as for a gradient; they are held fixed.

        Raises:
            ArgumentError: an argument, vector or seed does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for the tape. Reserved at entry, this leaves all arrays unchanged.
            RecursionError: the kernel calls itself too deep.
            TapeflowError: there is no C compiler, or it fails.
        """
        call = self.prepare(arguments, seeds)
        directions = self._directions(vectors, call.bound, "vectors")
        products = {name: zeros(shadow.shape, shadow.dtype, self.batch) for name, shadow in call.shadows.items()}
        of_scalars = {it.name: zeros((), it.dtype, self.batch) for it in self._scalars if self.batch is not None}
        made = [*products.values(), *taken_numbers(of_scalars.values())]
        with self._lock:
            outcome = self.native.call([*call.inputs, *self._in_order(directions), *made])
        _write_back(call.bound)
        scalars = [parameter.type for parameter in self._scalars] if self.batch is None else []
        behind = len(outcome) - sum(len(paired(type_)) for type_ in scalars)
        result = self.collect(call, outcome[:behind])
        tangents = iter(whole_numbers(outcome[behind:], scalars))
        arrays = products | of_scalars
        found: dict[str, Any] = {
            p.name: self._seen(p, arrays[p.name]) if p.name in arrays else next(tangents)
            for p in self.parameters
            if p.name in self.wrt
        }
        return ProductResult(result.value, result.gradients, self._packed(found, call.bound))


def jvp(
    kernel: Kernel | Callable[..., Any],
    wrt: Sequence[str],
    options: Options | None = None,
    *,
    batch: int | None = None,
) -> Jvp:
    """The directional derivative of `kernel` with respect to some of its parameters.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        options: `inline_limit` of them; the others are of a tape, and here is none.
        batch: how many tangents it takes at once, for one run of the kernel.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place.
    """
    used = Options() if options is None else Options(inline_limit=options.inline_limit)
    return Jvp(compile_gradient(as_kernel(kernel), wrt, used, mode=Mode.JVP, batch=batch))


def hvp(
    kernel: Kernel | Callable[..., Any],
    wrt: Sequence[str],
    options: Options | None = None,
    *,
    batch: int | None = None,
    outputs: Sequence[str] | None = None,
) -> HessianProduct:
    """The gradient of `kernel` together with Hessian-vector products.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        options: what to do with the tape, as for a gradient; values and their tangents are fields of one record.
        batch: how many vectors it takes at once, for one gradient.
        outputs: what is differentiated, as for `gradient`.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place.
    """
    used = options or Options()
    return HessianProduct(compile_gradient(as_kernel(kernel), wrt, used, mode=Mode.HVP, batch=batch, outputs=outputs))

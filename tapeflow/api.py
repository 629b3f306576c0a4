"""The Python surface: a kernel's gradient, called with NumPy arrays.

```python
kernel = tapeflow.load("logsum.c")
grad = tapeflow.gradient(kernel, wrt=["x"])
result = grad(n, x)
result.value, result.gradients["x"]
```
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np

from tapeflow.analysis.complex_pairs import is_complex
from tapeflow.arguments import (
    ArgumentError,
    Array,
    Bound,
    BoundArray,
    Parameter,
    bind,
    check_derivative,
    check_numbers,
    numpy_type,
    overlaps_itself,
    shares_memory,
)
from tapeflow.backend.native import NativeFunction
from tapeflow.complex_numbers import whole_numbers
from tapeflow.dialects.ad import has_derivative
from tapeflow.errors import TapeflowError
from tapeflow.explanation import Explanation, explain
from tapeflow.loading import Kernel, as_kernel
from tapeflow.members import seen, taken, taken_numbers, zeros
from tapeflow.options import Options
from tapeflow.pipeline import RETURN, Compiled, compile_gradient
from tapeflow.records import packed, unpacked_names
from tapeflow.tape_report import TapeReport, tape_report


@dataclass(frozen=True)
class Result:
    """What a call of a gradient gives.

    Attributes:
        value: what the kernel returned; None for a void function.
        gradients: for each differentiated argument the gradient: an array of its shape and dtype, a float for a scalar.
            Of a batch all of them, along one more dimension, the first; for a scalar an array with that alone.
            By a complex z = x + iy it is dL/dx + i dL/dy, of the real L that the seeds weigh the outputs to.
    """

    value: float | int | complex | bool | None
    gradients: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of a gradient, checked and ready to run.

    Attributes:
        bound: the kernel's arguments.
        inputs: of the gradient function, in the order of its parameters in the IR: numbers and contiguous arrays.
        shadows: among `inputs`, by name of the array whose cotangent comes in and whose gradient goes out; of a batch,
            with the members last.
        adjoints: among `inputs` of a batch, by name of the scalar whose gradients go out.
    """

    bound: tuple[Bound, ...]
    inputs: tuple[Any, ...]
    shadows: Mapping[str, Array]
    adjoints: Mapping[str, Array]


class Gradient:
    """The gradient of a kernel; call it with the kernel's arguments in source order.

    Arrays that the kernel writes are updated in place, as calling the kernel would. The first call compiles. The tape's
    memory is kept for later calls and freed with the object; calls from several threads take turns.

    Attributes:
        compiled: the gradient in every form it has before it is machine code.
    """

    def __init__(self, compiled: Compiled):
        """Make the gradient callable; users call `gradient`."""
        self.compiled = compiled
        self.parameters = compiled.kernel.parameters
        self._lock = threading.Lock()
        self._native: NativeFunction | None = None

    @property
    def kernel(self) -> Kernel:
        """What was differentiated."""
        return self.compiled.kernel

    @property
    def name(self) -> str:
        """Of the C function."""
        return self.compiled.name

    @property
    def wrt(self) -> tuple[str, ...]:
        """What it is differentiated with respect to, in source order."""
        return self.compiled.wrt

    @property
    def batch(self) -> int | None:
        """How many cotangents, or tangents in forward mode, it takes at once; None for one alone."""
        return self.compiled.batch

    @property
    def _seed_batch(self) -> int | None:
        """How many cotangents it takes at once."""
        return self.batch

    @property
    def options(self) -> Options:
        """That it was made with."""
        return self.compiled.options

    @property
    def outputs(self) -> tuple[str, ...]:
        """The arrays that the kernel writes, that are outputs, and whose final values `seeds` can give a cotangent."""
        written = self.compiled.written
        return tuple(
            p.name
            for p in self.parameters
            if p.is_array and p.is_float and p.name in written and self._is_output(p.name)
        )

    def _is_output(self, name: str) -> bool:
        """Whether what an array holds last, or the return value, is to be differentiated."""
        return self.compiled.outputs is None or name in self.compiled.outputs

    @property
    def _seedable(self) -> tuple[str, ...]:
        """The arrays that `seeds` can name: outputs, and, where all are that can be, what is in `wrt`."""
        names = {name for name in (*self.compiled.active, *self.compiled.constant) if self._is_output(name)}
        return tuple(parameter.name for parameter in self.parameters if parameter.name in names)

    @property
    def returns_float(self) -> bool:
        """Whether the kernel returns a floating-point number, which `seeds` calls "return"."""
        return any(map(has_derivative, self.kernel.function.function_type.outputs))

    @property
    def return_is_output(self) -> bool:
        """Whether the kernel returns a floating-point number that is to be differentiated."""
        return self.returns_float and self._is_output(RETURN)

    @property
    def returns_complex(self) -> bool:
        """Whether that number is complex, so that it has no derivative without a seed."""
        return any(map(is_complex, self.kernel.function.function_type.outputs))

    @property
    def c_source(self) -> str:
        """The gradient in C99, to be compiled beside `header` and `tapeflow_rt.h`."""
        return self.compiled.printed.source

    @property
    def header(self) -> str:
        """The C header that declares the gradient, for C and C++."""
        return self.compiled.printed.header

    def ir(self, stage: str) -> str:
        """The IR after a stage, one of `options.stages`, as MLIR text that `tapeflow-opt` reads.

        Raises:
            ValueError: these options have no such stage.
        """
        return self.compiled.ir(stage)

    def tape_report(self) -> TapeReport:
        """What is remembered between the sweeps: fields, their places in the source, bytes, counts as formulas."""
        uses = None if self._native is None else self._native.tape_bytes
        return tape_report(self.compiled.recording, self.compiled.final, uses)

    def explain(self) -> Explanation:
        """Why each array and loop is active and what it tapes, in the terms of the source; `str()` is a page."""
        return explain(self.compiled)

    def __call__(
        self,
        *arguments: Any,
        seeds: Mapping[str, Any] | None = None,
        accumulate: Mapping[str, Array] | None = None,
    ) -> Result:
        """Run the kernel and its reverse sweep.

        Args:
            arguments: of the kernel, in source order: Python numbers, NumPy arrays of the declared dtypes and extents.
            seeds: cotangents of the outputs by name: for an array that the kernel writes an array of its shape, for
                "return" a number (1 when it is not given). A void function needs at least one, and one that returns
                a complex number needs that of "return": s stands for the derivative of Re(conj(s) value). Of a batch,
                which needs one too, all of them: along one more dimension, the first; for "return" as many numbers.
            accumulate: arrays by name in `wrt`; the gradients are added to them too.

        Raises:
            ArgumentError: an argument or seed does not fit the kernel; nothing is changed.
            MemoryError: there is no memory for the tape. Reserved at entry, this leaves all arrays unchanged.
            RecursionError: the kernel calls itself too deep.
            TapeflowError: there is no C compiler, or it fails.
        """
        call = self.prepare(arguments, seeds)
        targets = self._check_accumulate(accumulate or {}, call)
        result = self.run(call)
        for bound in call.bound:
            if isinstance(bound, BoundArray):
                bound.write_back()
        for name, target in targets.items():
            target += self._gradient(call, self.parameters[self.position(name)], iter(()))
        return result

    @property
    def native(self) -> NativeFunction:
        """The gradient as machine code, compiled when it is first asked for. One call at a time: see `__call__`."""
        if self._native is None:
            self._native = NativeFunction(self.compiled.printed, self.name, self.kernel.link)
        return self._native

    def run(self, call: Call) -> Result:
        """Run a call on the native machine; the kernel's outputs are in `call.bound`.

        Raises:
            MemoryError: as calling the gradient does.
        """
        with self._lock:
            outcome = self.native.call(call.inputs)
        return self.collect(call, outcome)

    def prepare(self, arguments: Sequence[Any], seeds: Mapping[str, Any] | None) -> Call:
        """Check the arguments of a call, and make the shadows.

        Raises:
            ArgumentError: as calling the gradient does.
            TapeflowError: the kernel, which is MLIR then, has several results.
        """
        bound = self.bind(arguments)
        cotangents = self._check_seeds(seeds, bound)
        shadows = {name: cotangents[name] for name in self.compiled.shadowed}
        inputs = [value.used if isinstance(value, BoundArray) else value for value in bound]
        if self.return_is_output:
            inputs += taken_numbers([cotangents[RETURN]])
        scalars = [] if self._seed_batch is None else self._scalars
        adjoints = {parameter.name: zeros((), parameter.dtype, self._seed_batch) for parameter in scalars}
        return Call(tuple(bound), (*inputs, *shadows.values(), *taken_numbers(adjoints.values())), shadows, adjoints)

    def bind(self, arguments: Sequence[Any]) -> list[Bound]:
        """The arguments of a call, checked, in the form that C takes.

        Raises:
            ArgumentError: as calling the gradient does.
            TapeflowError: the kernel, which is MLIR then, has several results.
        """
        self._check_results()
        written = [parameter.name in self.compiled.written for parameter in self.parameters]
        return bind(self.parameters, written, arguments, self.kernel.name)

    @property
    def returned_dtype(self) -> np.dtype[Any]:
        """The NumPy type of what the kernel returns, which is a number."""
        (returned,) = self.kernel.function.function_type.outputs
        return numpy_type(returned)

    @property
    def _scalars(self) -> list[Parameter]:
        """The scalars in `wrt`, in source order."""
        return [parameter for parameter in self.parameters if parameter.name in self.wrt and not parameter.is_array]

    def _check_results(self) -> None:
        results = len(self.kernel.function.function_type.outputs)
        if results > 1:
            raise TapeflowError(
                f"{self.kernel.name} has {results} results: only kernels with one can be called",
                location=self.kernel.function.location,
                hint="return one and write the others into arrays, or call the generated C",
            )

    def collect(self, call: Call, outcome: Sequence[float | int | bool]) -> Result:
        """The result of `call`, whose gradient function returned `outcome`: its results in the order of the IR."""
        returned = self.kernel.function.function_type.outputs.data
        scalars = [] if self._seed_batch is not None else self._scalars
        numbers = iter(whole_numbers(outcome, [*returned, *(parameter.type for parameter in scalars)]))
        value = next(numbers) if returned else None
        gradients: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in self.wrt:
                gradients[parameter.name] = self._gradient(call, parameter, numbers)
        return Result(value, self._packed(gradients, call.bound))

    def _packed(self, found: Mapping[str, Any], bound: Sequence[Bound]) -> dict[str, Any]:
        """Derivatives by name, those of structs as the caller gave the structs."""
        structured = frozenset(
            parameter.source
            for parameter, value in zip(self.parameters, bound, strict=True)
            if isinstance(value, BoundArray) and value.structured
        )
        return packed(self.parameters, found, structured)

    def _gradient(self, call: Call, parameter: Parameter, numbers: Iterator[Any]) -> Any:
        """As the caller sees it, that of structs as numbers; of a scalar it is next among `numbers` but in a batch."""
        made = call.shadows if parameter.is_array else call.adjoints
        if parameter.name not in made:
            return next(numbers)
        return seen(made[parameter.name], parameter.dtype, self._seed_batch)

    def _check_seeds(self, seeds: Mapping[str, Any] | None, bound: Sequence[Bound]) -> dict[str, Any]:
        """A cotangent for the return value and for every array with one, fresh arrays that the gradient may change."""
        given = unpacked_names(self.parameters, {} if seeds is None else seeds, "seeds", self._seed_batch)
        known = (*((RETURN,) if self.return_is_output else ()), *self._seedable)
        for name in given:
            if name not in known and self._is_left_out(name):
                raise ArgumentError(
                    f"seeds: '{name}' is not among the outputs that {self.name} is the gradient of",
                    hint=f"these have cotangents: {_listed(known)}; outputs= takes more names",
                )
            if name not in known:
                raise ArgumentError(
                    f"seeds: {self.kernel.name} has no output '{name}'", hint=f"these have cotangents: {_listed(known)}"
                )
        if not given and not self.return_is_output:
            raise ArgumentError(
                f"{self.kernel.name} returns nothing "
                + ("that is among the outputs" if self.returns_float else "to differentiate")
                + ": seeds are needed",
                location=self.kernel.function.location,
                hint="give the cotangent of an output array: "
                + ", ".join(f"seeds={{'{name}': ...}}" for name in self.outputs or self._seedable)
                if self._seedable
                else "return a floating-point number, or write an array of them",
            )
        if not given and self._seed_batch is not None:
            raise ArgumentError(
                f"seeds are needed: {self._seed_batch} cotangents of an output of {self.kernel.name}",
                hint=f"these have cotangents: {_listed(known)}",
            )
        if self.returns_complex and self.return_is_output and RETURN not in given:
            raise ArgumentError(
                f"{self.kernel.name} returns a complex number, which has no gradient without a seed",
                location=self.kernel.function.location,
                hint=f"seeds={{'{RETURN}': 1}} is for its real part, {{'{RETURN}': 1j}} for its imaginary part",
            )
        names = {*self._seedable, *self.compiled.shadowed}
        cotangents: dict[str, Any] = {}
        if self.return_is_output:
            cotangents[RETURN] = self._return_seed(given.get(RETURN))
        for parameter, value in zip(self.parameters, bound, strict=True):
            if parameter.name in names and isinstance(value, BoundArray):
                shape = value.given.shape
                cotangents[parameter.name] = self._seed(parameter, given.get(parameter.name), shape)
        return cotangents

    def _is_left_out(self, name: str) -> bool:
        """Whether `name` would be an output, had `outputs` not left it out."""
        arrays = {*self.compiled.active, *self.compiled.constant}
        return not self._is_output(name) and (name in arrays or (name == RETURN and self.returns_float))

    def _seed(self, parameter: Parameter, given: Any, shape: tuple[int, ...]) -> Array:
        """A cotangent of an array, as the gradient takes it; 0 where none is given."""
        if given is None:
            return zeros(shape, parameter.dtype, self._seed_batch)
        role = f"seeds['{parameter.name}']"
        return taken(check_derivative(parameter, given, role, shape, self._seed_batch), self._seed_batch)

    def _return_seed(self, given: Any) -> float | complex | Array:
        """The cotangent of the return value; 1 where none is given."""
        role, batch = f"seeds['{RETURN}']", self._seed_batch
        if batch is not None:
            ones = np.ones(batch) if given is None else given
            return taken(check_numbers(ones, role, self.returned_dtype, batch), batch)
        seed = 1.0 if given is None else given
        if self.returns_complex and isinstance(seed, (int, float, complex, np.number)) and not isinstance(seed, bool):
            return complex(cast(complex, seed))
        if isinstance(seed, (int, float, np.integer, np.floating)) and not isinstance(seed, bool):
            return float(cast(float, seed))
        raise ArgumentError(f"{role}: expected a number, got {type(seed).__name__}")

    def _check_accumulate(self, accumulate: Mapping[str, Array], call: Call) -> dict[str, Array]:
        for name, target in accumulate.items():
            arrays = [parameter.name for parameter in self.parameters if parameter.is_array]
            if name not in self.wrt or name not in arrays:
                raise ArgumentError(
                    f"accumulate: '{name}' is no array in wrt",
                    hint=f"these are: {_listed([name for name in self.wrt if name in arrays])}",
                )
            parameter = self.parameters[self.position(name)]
            role = f"accumulate['{name}']"
            check_derivative(parameter, target, role, self._shape(call, name), self._seed_batch)
            if not target.flags.writeable:
                raise ArgumentError(f"{role}: the array is read-only", location=parameter.location)
            if overlaps_itself(target):
                raise ArgumentError(f"{role}: several of its elements share memory", location=parameter.location)
        targets = {f"accumulate['{name}']": target for name, target in accumulate.items()}
        given = {p.name: b.given for p, b in zip(self.parameters, call.bound, strict=True) if isinstance(b, BoundArray)}
        for (name, array), (other, another) in combinations({**given, **targets}.items(), 2):
            if other in targets and shares_memory(array, another):
                raise ArgumentError(f"{name} and {other} share memory: a gradient is not added into an argument")
        return dict(accumulate)

    def _shape(self, call: Call, name: str) -> tuple[int, ...]:
        """Of the array argument called `name`."""
        bound = call.bound[self.position(name)]
        assert isinstance(bound, BoundArray)
        return bound.given.shape

    def position(self, name: str) -> int:
        """Where the parameter called `name` stands among the kernel's arguments."""
        return [parameter.name for parameter in self.parameters].index(name)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def gradient(
    kernel: Kernel | Callable[..., Any],
    wrt: Sequence[str],
    options: Options | None = None,
    *,
    batch: int | None = None,
    outputs: Sequence[str] | None = None,
) -> Gradient:
    """The gradient of `kernel` with respect to some of its parameters.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        options: what to do with the tape; by default a struct of arrays in cache.
        batch: how many cotangents it takes at once, for one run of the kernel and one tape: `seeds` then have one more
            dimension, the first, and so have the gradients.
        outputs: names of arrays that the kernel writes, and "return" for what it returns: what is differentiated. All
            of them by default. The cotangents of other arrays are zero: what only they depend on is not differentiated
            and not taped, and an array that is neither here nor in `wrt` takes no cotangent and has no gradient.

    Raises:
        TapeflowError: a name is wrong, or the kernel uses something that is not differentiated: with its place.
    """
    return Gradient(compile_gradient(as_kernel(kernel), wrt, options or Options(), batch=batch, outputs=outputs))


def value_and_gradient(
    kernel: Kernel | Callable[..., Any],
    wrt: Sequence[str],
    options: Options | None = None,
    *,
    batch: int | None = None,
    outputs: Sequence[str] | None = None,
) -> Callable[..., tuple[float | int | complex | bool | None, dict[str, Any]]]:
    """A function of the kernel's arguments that returns its value and its gradients, by running it once.

    The arguments, the errors, and what is done to arrays are those of the object that `gradient` returns.

    Args:
        kernel: what `load` returned, or a Python function to load.
        wrt: names of scalar or array parameters of floating-point numbers.
        options: what to do with the tape.
        batch: how many cotangents it takes at once.
        outputs: what is differentiated, as for `gradient`.

    Raises:
        TapeflowError: as `gradient` does.
    """
    made = gradient(kernel, wrt, options, batch=batch, outputs=outputs)

    def evaluate(*arguments: Any, **keywords: Any) -> tuple[float | int | complex | bool | None, dict[str, Any]]:
        result = made(*arguments, **keywords)
        return result.value, result.gradients

    return evaluate

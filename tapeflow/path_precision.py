"""The shortest floating-point type on the way from an argument to what depends on it: how exact a derivative can be.

A `double` that is stored in a `float` array on its way to the result is only known as exactly as a float: central
differences of it, and forward and reverse mode against one another, agree up to the rounding of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tapeflow.analysis.activity import Activity, Request, is_allocation
from tapeflow.analysis.call_graph import calls_in
from tapeflow.analysis.complex_pairs import is_complex
from tapeflow.analysis.requests import functions_of, primal_of, requests_of
from tapeflow.analysis.roots import is_array, roots
from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.complex_numbers import real_type
from tapeflow.errors import source_position
from tapeflow.pipeline import Compiled, requested, run_passes


@dataclass(frozen=True)
class Precision:
    """How exactly what depends on an argument is computed.

    Attributes:
        dtype: the shortest type on the way, float64 or float32.
        because: what has this type, and where: in words; "" of a float64, which nothing shortens.
    """

    dtype: np.dtype[Any]
    because: str


def path_precisions(compiled: Compiled) -> dict[str, Precision]:
    """The precision behind each argument that the gradient `compiled` is with respect to, by name."""
    module = requested(compiled.kernel, compiled.wrt, compiled.active, outputs=compiled.outputs)
    run_passes(module, compiled.options.passes()[:1])
    (request,) = requests_of(module)
    functions = functions_of(module)
    function = primal_of(request, functions)
    activity = Activity(function, Request.of(request))
    arguments = iter(function.args)
    found: dict[str, Precision] = {}
    for parameter in compiled.kernel.parameters:
        parts = [next(arguments) for _ in range(1 + (is_complex(parameter.type) and not parameter.is_array))]
        if parameter.name in compiled.wrt:
            if real_type(parameter.dtype) == np.float32:
                found[parameter.name] = _single(f"{parameter.name} is of float32")
            else:
                found[parameter.name] = _behind(parts, function, activity, functions)
    return found


def _single(because: str) -> Precision:
    return Precision(np.dtype(np.float32), because)


def _behind(
    arguments: Sequence[SSAValue], function: func.FuncOp, activity: Activity, functions: Mapping[str, func.FuncOp]
) -> Precision:
    is_behind = activity.behind(arguments)
    for value in _values(function):
        if _is_single(value.type) and _is_root(value) and is_behind(value):
            name = source_name(value) or "a number"
            return _single(f"{name} ({source_position(location_of(value))}), which depends on it, is of float32")
    for call in calls_in(function):
        # What a call computes with counts if anything that it gives back depends on the argument.
        arrays = (root for array in call.arguments if is_array(array) for root in roots(array))
        if any(map(is_behind, (*call.results, *arrays))) and (callee := _first_single(call, functions, set())):
            return _single(f"{callee}, which is called on the way, computes in float32")
    return Precision(np.dtype(np.float64), "")


def _first_single(call: func.CallOp, functions: Mapping[str, func.FuncOp], seen: set[str]) -> str | None:
    """The name of a function that computes with single precision, of the one that is called and those that it calls."""
    name = call.callee.string_value()
    if name in seen or (callee := functions.get(name)) is None or callee.is_declaration:
        return None
    seen.add(name)
    if any(_is_single(value.type) for value in _values(callee)):
        return name
    return next((it for inner in calls_in(callee) if (it := _first_single(inner, functions, seen))), None)


def _values(function: func.FuncOp) -> Iterator[SSAValue]:
    yield from function.args
    for op in function.body.walk():
        yield from op.results


def _is_root(value: SSAValue) -> bool:
    """Whether activity knows `value` itself: a number, or an array that is no view of another."""
    return not is_array(value) or isinstance(value, BlockArgument) or is_allocation(value)


def _is_single(type_: Attribute) -> bool:
    return isinstance(getattr(type_, "element_type", type_), Float32Type)

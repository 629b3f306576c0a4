"""What a module asks for: its derivative requests, and the functions they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from tapeflow.dialects.ad import Activity, ActivityArray, DerivativeRequest, JvpOp
from tapeflow.errors import TapeflowError


def functions_of(module: ModuleOp) -> Mapping[str, func.FuncOp]:
    """The functions of `module` by name."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}


def requests_of(module: ModuleOp) -> tuple[DerivativeRequest, ...]:
    """The requests of `module`, in order."""
    return tuple(op for op in module.body.block.ops if isinstance(op, DerivativeRequest))


def primal_of(request: DerivativeRequest, functions: Mapping[str, func.FuncOp]) -> func.FuncOp:
    """The function that `request` is about.

    Raises:
        TapeflowError: it is not there, or has no body.
    """
    name = request.primal.string_value()
    primal = functions.get(name)
    if primal is None or primal.is_declaration:
        raise TapeflowError(
            f"{request.name} of '{name}', whose definition is not here",
            location=request.location,
            hint="define it in the same module",
        )
    return primal


def is_derivative(function: func.FuncOp) -> bool:
    """Whether `ad-differentiate` made `function`."""
    return bool({"tapeflow.gradient_of", "tapeflow.tangent_of"} & function.attributes.keys())


def signature_of(
    name: str, functions: Mapping[str, func.FuncOp], requests: Mapping[str, DerivativeRequest]
) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of the arguments and results of a function, or of the one that the request called `name` will make.

    `functions` and `requests` are those of the module by name; nothing is known of others, which have no types.
    """
    if (function := functions.get(name)) is not None:
        return function.function_type.inputs.data, function.function_type.outputs.data
    if (request := requests.get(name)) is None:
        return (), ()
    rest = {other: each for other, each in requests.items() if other != name}
    inputs, outputs = signature_of(request.primal.string_value(), functions, rest)
    taken = _active(request.arguments, inputs)
    scalars = [type_ for type_ in taken if not isinstance(type_, MemRefType)]
    arrays = [type_ for type_ in taken if type_ not in scalars]
    given = _active(request.results_, outputs)
    if isinstance(request, JvpOp):
        return (*inputs, *scalars, *arrays), (*outputs, *given)
    return (*inputs, *given, *arrays), (*outputs, *scalars)


def _active(marks: ActivityArray, types: Sequence[Attribute]) -> list[Attribute]:
    with_derivative = (Activity.ACTIVE, Activity.INPUT)
    return [type_ for mark, type_ in zip(marks, types, strict=False) if mark.data in with_derivative]

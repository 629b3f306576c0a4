"""What a module asks for: its derivative requests, and the functions they are about."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tapeflow.dialects.ad import DerivativeRequest
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

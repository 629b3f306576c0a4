"""Tapeflow: loop code to its gradient, with the gradient tape a first-class thing in the IR."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapeflow.api import Gradient, Result, gradient, value_and_gradient
    from tapeflow.arguments import ArgumentError
    from tapeflow.errors import TapeflowError, TapeflowRemark
    from tapeflow.frontend.python import bool_, c64, c128, f32, f64, i32, i64, kernel, rule
    from tapeflow.gradient_check import check
    from tapeflow.hardware import Hardware, Report
    from tapeflow.jacobians import Jacobian, JacobianResult, jacobian
    from tapeflow.loading import Kernel, load
    from tapeflow.object_simulation import simulate_object
    from tapeflow.options import Options
    from tapeflow.simulation import simulate
    from tapeflow.tangents import HessianProduct, Jvp, ProductResult, TangentResult, hvp, jvp
    from tapeflow.tape_report import TapeReport

__all__ = [
    "ArgumentError",
    "Gradient",
    "Hardware",
    "HessianProduct",
    "Jacobian",
    "JacobianResult",
    "Jvp",
    "Kernel",
    "Options",
    "ProductResult",
    "Report",
    "Result",
    "TangentResult",
    "TapeReport",
    "TapeflowError",
    "TapeflowRemark",
    "bool_",
    "c64",
    "c128",
    "check",
    "f32",
    "f64",
    "gradient",
    "hvp",
    "i32",
    "i64",
    "jacobian",
    "jvp",
    "kernel",
    "load",
    "rule",
    "simulate",
    "simulate_object",
    "value_and_gradient",
]

_HOME = {
    "ArgumentError": "arguments",
    "Gradient": "api",
    "Hardware": "hardware",
    "HessianProduct": "tangents",
    "Jacobian": "jacobians",
    "JacobianResult": "jacobians",
    "Jvp": "tangents",
    "Kernel": "loading",
    "Options": "options",
    "ProductResult": "tangents",
    "Report": "hardware",
    "Result": "api",
    "TangentResult": "tangents",
    "TapeReport": "tape_report",
    "TapeflowError": "errors",
    "TapeflowRemark": "errors",
    "bool_": "frontend.python",
    "check": "gradient_check",
    "c64": "frontend.python",
    "c128": "frontend.python",
    "f32": "frontend.python",
    "f64": "frontend.python",
    "gradient": "api",
    "hvp": "tangents",
    "i32": "frontend.python",
    "i64": "frontend.python",
    "jacobian": "jacobians",
    "jvp": "tangents",
    "kernel": "frontend.python",
    "load": "loading",
    "rule": "frontend.python",
    "simulate": "simulation",
    "simulate_object": "object_simulation",
    "value_and_gradient": "api",
}
"""The module of each name: imported when it is first used, so that `xdsl-opt`, which loads the plug-in only, starts
as fast as without it."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'tapeflow' has no attribute '{name}'")
    value = getattr(import_module(f"tapeflow.{_HOME[name]}"), name)
    globals()[name] = value
    return value

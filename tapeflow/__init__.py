"""Tapeflow: loop code to its gradient, with the gradient tape a first-class thing in the IR."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapeflow.api import Gradient, Result, gradient
    from tapeflow.arguments import ArgumentError
    from tapeflow.gradient_check import check
    from tapeflow.errors import TapeflowError, TapeflowRemark
    from tapeflow.hardware import Hardware, Report
    from tapeflow.kernel import Kernel, load
    from tapeflow.options import Options
    from tapeflow.simulation import simulate
    from tapeflow.tape_report import TapeReport

__all__ = [
    "ArgumentError",
    "Gradient",
    "Hardware",
    "Kernel",
    "Options",
    "Report",
    "Result",
    "TapeReport",
    "TapeflowError",
    "TapeflowRemark",
    "check",
    "gradient",
    "load",
    "simulate",
]

_HOME = {
    "ArgumentError": "arguments",
    "Gradient": "api",
    "Hardware": "hardware",
    "Kernel": "kernel",
    "Options": "options",
    "Report": "hardware",
    "Result": "api",
    "TapeReport": "tape_report",
    "TapeflowError": "errors",
    "TapeflowRemark": "errors",
    "check": "gradient_check",
    "gradient": "api",
    "load": "kernel",
    "simulate": "simulation",
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

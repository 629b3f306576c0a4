"""The meaning of the IR: what every stage of a compilation is tested against.

`run(module, "f", (3, array))` interprets a function of core IR and of the Tapeflow dialects. Values are Python scalars
and NumPy arrays (see `values`); arrays are mutated in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from xdsl import interpreter as stock
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters.ad import AdFunctions
from tapeflow.interpreters.arith import ArithFunctions
from tapeflow.interpreters.builtin import BuiltinFunctions
from tapeflow.interpreters.func import CfFunctions, FuncFunctions
from tapeflow.interpreters.handles import Buffer, Fifo, Stack
from tapeflow.interpreters.interpreter import Functions, Interpreter
from tapeflow.interpreters.math import MathFunctions
from tapeflow.interpreters.memref import MemrefFunctions
from tapeflow.interpreters.registry import Handle, handles_of
from tapeflow.interpreters.scf import ScfFunctions
from tapeflow.interpreters.spad import SpadFunctions
from tapeflow.interpreters.stream import StreamFunctions
from tapeflow.interpreters.tape import TapeFunctions
from tapeflow.interpreters.values import argument

__all__ = [
    "Buffer",
    "Fifo",
    "Handle",
    "Interpreter",
    "Observation",
    "Stack",
    "make_interpreter",
    "observe",
    "register_implementations",
    "run",
]

IMPLEMENTATIONS: tuple[type[Functions], ...] = (
    AdFunctions,
    ArithFunctions,
    BuiltinFunctions,
    CfFunctions,
    FuncFunctions,
    MathFunctions,
    MemrefFunctions,
    ScfFunctions,
    SpadFunctions,
    StreamFunctions,
    TapeFunctions,
)


class Observation(NamedTuple):
    """What a run returned, and what it left behind."""

    results: tuple[Any, ...]
    """The function's results, as `run` returns them."""

    handles: tuple[Handle, ...]
    """Every tape, region, buffer and FIFO, in the order of creation, with its counters and what is left in it."""

    def handle(self, name: str) -> Handle:
        """The first handle of that name.

        Raises:
            KeyError: when there is none.
        """
        for handle in self.handles:
            if handle.name == name:
                return handle
        raise KeyError(name)


def register_implementations(interpreter: stock.Interpreter) -> None:
    """Register the implementations of all operations that Tapeflow knows, core and its own."""
    for functions in IMPLEMENTATIONS:
        interpreter.register_implementations(functions())


def make_interpreter(module: ModuleOp) -> Interpreter:
    """An interpreter of `module` with all implementations registered."""
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    return interpreter


def run(module: ModuleOp, name: str, args: Sequence[Any]) -> tuple[Any, ...]:
    """Interpret the function `name` of `module`.

    Args:
        module: the IR; it is not changed.
        name: the function's symbol.
        args: one value a parameter: Python or NumPy scalars, and NumPy arrays of the element's dtype, which are
            read and written in place.

    Returns:
        The function's results, as Python scalars (`float`, `int`, `bool`) or arrays.

    Raises:
        InterpretationError: when an argument does not fit its type, and when an operation has no meaning on its
            operands: an index out of bounds, an empty tape, a transfer that was not waited for.
    """
    return observe(module, name, args).results


def observe(module: ModuleOp, name: str, args: Sequence[Any]) -> Observation:
    """Interpret a function as `run` does, and tell what became of its tapes, buffers and FIFOs.

    Raises:
        InterpretationError: as `run` does.
    """
    interpreter = make_interpreter(module)
    function = interpreter.get_op_for_symbol(name)
    if not isinstance(function, FuncOp):
        raise InterpretationError(f"@{name} is not a function")
    types = function.function_type.inputs.data
    if len(types) != len(args):
        raise InterpretationError(f"@{name} takes {len(types)} arguments, but {len(args)} were given")
    values = tuple(
        argument(value, of_type, f"argument {position} of @{name}")
        for position, (value, of_type) in enumerate(zip(args, types, strict=True))
    )
    results = interpreter.call_op(function, values)
    return Observation(results, tuple(handles_of(interpreter)))

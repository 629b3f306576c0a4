"""The handles that a run created, by the names that they have in the IR."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from xdsl.interpreter import Interpreter
from xdsl.ir import Operation

from tapeflow.analysis.source_names import source_name
from tapeflow.interpreters.handles import Buffer, Stack
from tapeflow.interpreters.interpreter import Functions

Handle: TypeAlias = Stack | Buffer
_H = TypeVar("_H", Stack, Buffer)


def handles_of(interpreter: Interpreter) -> list[Handle]:
    """All handles created so far, in order of creation."""
    return interpreter.get_data(Functions, "handles", list)


def register(interpreter: Interpreter, handle: _H) -> _H:
    """Note that `handle` was created."""
    handles_of(interpreter).append(handle)
    return handle


def handle_name(op: Operation) -> str:
    """What the handle that `op` creates is called."""
    return source_name(op.results[0]) or op.name

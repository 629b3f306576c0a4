"""The meaning of `tape`: stacks whose reservation is a bound that is checked."""

from __future__ import annotations

from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from tapeflow.dialects.tape import CreateOp, PopOp, PushOp, RecordOp, ReplayOp
from tapeflow.interpreters.handles import Stack
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.registry import handle_name, register


@register_impls
class TapeFunctions(Functions):
    """Tapes and regions, both as `Stack`; a tape holds records of one field."""

    @impl(CreateOp)
    def run_create(self, interpreter: Interpreter, op: CreateOp, args: PythonValues) -> PythonValues:
        """An empty stack."""
        return (register(interpreter, Stack(handle_name(op), args[0] if args else None)),)

    @impl(PushOp)
    def run_push(self, interpreter: Interpreter, op: PushOp, args: PythonValues) -> PythonValues:
        """Remember a value."""
        value, tape = args
        tape.push((value,))
        return ()

    @impl(PopOp)
    def run_pop(self, interpreter: Interpreter, op: PopOp, args: PythonValues) -> PythonValues:
        """The newest value."""
        return args[0].pop()

    @impl(RecordOp)
    def run_record(self, interpreter: Interpreter, op: RecordOp, args: PythonValues) -> PythonValues:
        """Remember a record."""
        args[-1].push(args[:-1])
        return ()

    @impl(ReplayOp)
    def run_replay(self, interpreter: Interpreter, op: ReplayOp, args: PythonValues) -> PythonValues:
        """The newest record."""
        return args[0].pop()

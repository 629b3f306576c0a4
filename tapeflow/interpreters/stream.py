"""The meaning of `stream`: the same tiles as `spad` moves, with start parted from wait, and balance asserted.

Values do not depend on time here: a transfer takes effect when it starts, and what the protocol forbids until it has
ended is an error.
"""

from __future__ import annotations

from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls

from tapeflow.dialects.stream import CloseOp, CreateOp, PopOp, PrefetchOp, PushOp
from tapeflow.interpreters.handles import Fifo
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.registry import handle_name, register


@register_impls
class StreamFunctions(Functions):
    """FIFOs, the homes of what buffers hold."""

    @impl(CreateOp)
    def run_create(self, interpreter: Interpreter, op: CreateOp, args: PythonValues) -> PythonValues:
        """An empty FIFO."""
        return (register(interpreter, Fifo(handle_name(op), args[0] if args else None)),)

    @impl(PushOp)
    def run_push(self, interpreter: Interpreter, op: PushOp, args: PythonValues) -> PythonValues:
        """Turn to the next tile while the full one drains."""
        buffer, fifo = args
        buffer.push(fifo.through(buffer))
        return ()

    @impl(PrefetchOp)
    def run_prefetch(self, interpreter: Interpreter, op: PrefetchOp, args: PythonValues) -> PythonValues:
        """Start to fetch into the copy just emptied."""
        buffer, fifo = args
        buffer.prefetch(fifo.through(buffer))
        return ()

    @impl(PopOp)
    def run_pop(self, interpreter: Interpreter, op: PopOp, args: PythonValues) -> PythonValues:
        """Turn to the tile below."""
        buffer, fifo = args
        buffer.pop(fifo.through(buffer))
        return ()

    @impl(CloseOp)
    def run_close(self, interpreter: Interpreter, op: CloseOp, args: PythonValues) -> PythonValues:
        """Assert that nothing is left."""
        args[0].close()
        return ()

"""The meaning of `spad`: buffers, their transfers, and loops that are cut at their boundaries."""

from __future__ import annotations

from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)

from tapeflow.dialects.spad import (
    AllocOp,
    Boundary,
    BufferType,
    DmaStartOp,
    DmaWaitOp,
    EmptyOp,
    FullOp,
    LayerOp,
    ReadOp,
    WriteOp,
    YieldOp,
)
from tapeflow.interpreters.handles import Buffer
from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.registry import handle_name, register
from tapeflow.interpreters.scf import iterations


@register_impls
class SpadFunctions(Functions):
    """Buffers in the scratchpad."""

    @impl(AllocOp)
    def run_alloc(self, interpreter: Interpreter, op: AllocOp, args: PythonValues) -> PythonValues:
        """A buffer at tile 0, which is empty."""
        buffer_type = op.results[0].type
        assert isinstance(buffer_type, BufferType)
        buffer = Buffer(handle_name(op), buffer_type.copies.data, buffer_type.records.data)
        return (register(interpreter, buffer),)

    @impl(WriteOp)
    def run_write(self, interpreter: Interpreter, op: WriteOp, args: PythonValues) -> PythonValues:
        """Add a record to the current tile."""
        args[-1].write(args[:-1])
        return ()

    @impl(ReadOp)
    def run_read(self, interpreter: Interpreter, op: ReadOp, args: PythonValues) -> PythonValues:
        """The newest record of the current tile."""
        return args[0].read()

    @impl(FullOp)
    def run_full(self, interpreter: Interpreter, op: FullOp, args: PythonValues) -> PythonValues:
        """Whether there is no room."""
        return (args[0].full,)

    @impl(EmptyOp)
    def run_empty(self, interpreter: Interpreter, op: EmptyOp, args: PythonValues) -> PythonValues:
        """Whether there is no record."""
        return (args[0].empty,)

    @impl(DmaStartOp)
    def run_dma_start(self, interpreter: Interpreter, op: DmaStartOp, args: PythonValues) -> PythonValues:
        """Turn to the next tile, or to the one below."""
        source, destination = args
        if op.is_outward:
            source.drain(destination)
        else:
            destination.fetch(source)
        return ()

    @impl(DmaWaitOp)
    def run_dma_wait(self, interpreter: Interpreter, op: DmaWaitOp, args: PythonValues) -> PythonValues:
        """All transfers of the buffer have ended."""
        args[0].wait()
        return ()

    @impl(LayerOp)
    def run_layer(self, interpreter: Interpreter, op: LayerOp, args: PythonValues) -> PythonValues:
        """A counted loop, whose clause runs after an iteration that fills, or before one that finds nothing."""
        lower, upper, step, buffer, carried = _layer_operands(op, args)
        body, clause = op.regions
        cut_when_full = op.boundary.data is Boundary.FULL
        for index in iterations(lower, upper, step):
            if not cut_when_full and buffer.empty:
                interpreter.run_ssacfg_region(clause, ())
            carried = interpreter.run_ssacfg_region(body, (index, *carried))
            if cut_when_full and buffer.full:
                interpreter.run_ssacfg_region(clause, ())
        return carried

    @impl_terminator(YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        """Hand values to the layer."""
        return ReturnedValues(args), ()


def _layer_operands(op: LayerOp, args: PythonValues) -> tuple[int, int, int, Buffer, PythonValues]:
    """Bounds, step (1 when not given), buffer, and what is carried."""
    if op.step is None:
        lower, upper, buffer, *carried = args
        return lower, upper, 1, buffer, tuple(carried)
    lower, upper, step, buffer, *carried = args
    return lower, upper, step, buffer, tuple(carried)

"""Which loads give the same value whenever they are repeated later: those from arrays that nobody writes any more."""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.nested_sweeps import changing_arguments
from tapeflow.analysis.roots import roots, written_arrays


class Unchanging:
    """The loads of a function, and what writes to their arrays once they have run.

    Args:
        function: structured; what stands in the same loop of its top block as a load may run after it.
    """

    def __init__(self, function: func.FuncOp):
        self._positions: dict[Operation, int] = {}
        self._last_writes: dict[SSAValue, tuple[int, Operation]] = {}
        for position, op in enumerate(function.body.block.ops):
            for inner in op.walk():
                if isinstance(inner, memref.LoadOp):
                    self._positions[inner] = position
                for array in written_arrays(inner):
                    self._last_writes |= dict.fromkeys(roots(array), (position, inner))
        for argument in changing_arguments(function):
            # Somebody else writes, between the two sweeps: as if it were behind everything.
            self._last_writes[argument] = (len(function.body.block.ops), function)

    def load(self, op: memref.LoadOp) -> bool:
        """Whether nobody writes to the array of `op` any more once it runs."""
        return self.write_after(op) is None

    def write_after(self, op: memref.LoadOp) -> Operation | None:
        """What writes last to the array of `op` once that has run; None if nobody does."""
        writes = (self._last_writes[root] for root in roots(op.memref) if root in self._last_writes)
        last = max(writes, default=None, key=lambda write: write[0])
        return last[1] if last is not None and last[0] >= self._positions[op] else None

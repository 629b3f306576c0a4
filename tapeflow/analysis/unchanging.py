"""Which elements of arrays keep their value from a point of a function on: those that nobody writes any more.

What is loaded from such an element can be loaded again later, and what is stored to one can be loaded from there. Two
accesses in the same loops are of different elements in different iterations where the variable of each of these loops
is a subscript of both, in the same dimension: `h[b][i]` is stored to once, whatever `b` and `i` are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from tapeflow.analysis.block_tree import defining_block, enclosing, enclosing_loops, innermost_common, is_top_block
from tapeflow.analysis.index_arithmetic import base_and_offset, surely_differ
from tapeflow.analysis.nested_sweeps import changing_arguments
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.dialects.ad import AccumulateOp

MOST_COMPARED = 64
"""The most writes in one op of the top block that an access is compared with; where there are more, the last may be to
its element. So the time is linear."""

Access: TypeAlias = memref.LoadOp | memref.StoreOp


class Unchanging:
    """The accesses of a function, and what writes to their elements once they have run.

    Args:
        function: structured; what stands in the same loop as an access may run after it.
    """

    def __init__(self, function: func.FuncOp):
        self._positions: dict[Operation, int] = {}
        self._order: dict[Operation, int] = {}
        self._writes: dict[SSAValue, dict[int, list[Operation]]] = {}
        for position, op in enumerate(function.body.block.ops):
            for inner in op.walk():
                self._order[inner] = len(self._order)
                if isinstance(inner, memref.LoadOp | memref.StoreOp):
                    self._positions[inner] = position
                for root in {root for array in written_arrays(inner) for root in roots(array)}:
                    self._writes.setdefault(root, {}).setdefault(position, []).append(inner)
        for argument in changing_arguments(function):
            # Somebody else writes, between the two sweeps: as if it were behind everything.
            self._writes.setdefault(argument, {})[len(function.body.block.ops)] = [function]

    def element(self, op: Access) -> bool:
        """Whether nobody writes to the element that `op` loads or stores any more once it has run."""
        return self.write_after(op) is None

    def write_after(self, op: Access) -> Operation | None:
        """What may write to the element of `op` once that has run, the last such thing; None if nothing does."""
        position = self._positions[op]
        found: Operation | None = None
        latest = -1
        for root in roots(op.memref):
            writes = self._writes.get(root)
            if writes is None:
                continue
            last = next(reversed(writes))
            if last > max(position, latest):
                latest, found = last, writes[last][-1]
            elif last == position > latest and (write := self._overwriting(writes[last], op)) is not None:
                latest, found = last, write
        return found

    def _overwriting(self, writes: Sequence[Operation], access: Access) -> Operation | None:
        """Of `writes`, in the same op of the top block as `access`, the last that may be to its element after it."""
        if len(writes) > MOST_COMPARED:
            return writes[-1]
        return next((write for write in reversed(writes) if self._may_overwrite(write, access)), None)

    def _may_overwrite(self, write: Operation, access: Access) -> bool:
        if not isinstance(write, memref.StoreOp | AccumulateOp) or write.memref is not access.memref:
            return True
        # Another memref of the same name in each iteration can be of other elements.
        if not is_top_block(defining_block(access.memref)):
            return True
        common = innermost_common([_block_of(write), _block_of(access)])
        if self._follows(write, access, common) and not surely_differ(list(write.indices), list(access.indices)):
            return True
        return not all(_tells_apart(loop, write, access) for loop in enclosing_loops(common))

    def _follows(self, write: Operation, access: Operation, common: Block) -> bool:
        """Whether `write` may run after `access` in one run of the block `common`."""
        first, second = _in_block(access, common), _in_block(write, common)
        if first is second:
            # Of two arms only one runs, and the access itself does not run again.
            return write is not access and not isinstance(first, scf.IfOp)
        return self._order[second] > self._order[first]


def _block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def _in_block(op: Operation, block: Block) -> Operation:
    """The op of `block` that is, or contains, `op`."""
    current = op
    for inner in enclosing(_block_of(op)):
        if inner is block:
            break
        parent = inner.parent_op()
        assert parent is not None
        current = parent
    return current


def _tells_apart(loop: scf.ForOp | scf.WhileOp, write: memref.StoreOp | AccumulateOp, access: Access) -> bool:
    """Whether the accesses are of different elements in different iterations of `loop`."""
    if isinstance(loop, scf.WhileOp):
        return False
    variable = loop.body.block.args[0]
    for one, other in zip(write.indices, access.indices, strict=True):
        (base, offset), (its_base, its_offset) = base_and_offset(one), base_and_offset(other)
        if base is variable and its_base is variable and offset == its_offset:
            return True
    return False

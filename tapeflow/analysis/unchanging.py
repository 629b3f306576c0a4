"""Which elements of arrays keep their value from a point of a function on: those that nobody writes any more.

What is loaded from such an element can be loaded again later, and what is stored to one can be loaded from there.

Accesses in the same loops are told apart by subscripts that are a loop's variable plus a constant. `h[b][i]` is stored
to once, whatever `b` and `i` are. The `y[i - 1]` that iteration `i` loads is what iteration `i - 1` wrote, and no later
iteration writes it; but the `y[i + 1]` that it loads is written by the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from tapeflow.analysis.block_tree import defining_block, enclosing_loops, innermost_common, is_top_block
from tapeflow.analysis.known_elements import MOST_COMPARED, Element, element_of, surely_apart
from tapeflow.analysis.nested_sweeps import changing_arguments
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.dialects.ad import AccumulateOp

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
        """Of `writes`, in the same op of the top block as `access`, the last that may be to its element after it.

        Where there are too many to compare, the last may be.
        """
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
        loops = enclosing_loops(common)
        written, accessed = (element_of(op.memref, list(op.indices)) for op in (write, access))
        distances = _distances(written, accessed, loops)
        if distances is None:
            return False
        # The iterations in which they are of one element: the write's is a later one, or an earlier one, or the same.
        for loop in loops:
            distance = distances.get(loop)
            if distance is None or distance > 0:
                return True
            if distance < 0:
                return False
        return self._follows(write, access, common) and not surely_apart(written, accessed)

    def _follows(self, write: Operation, access: Operation, common: Block) -> bool:
        """Whether `write` may run after `access` in one run of the block `common`."""
        first, second = common.find_ancestor_op_in_block(access), common.find_ancestor_op_in_block(write)
        assert first is not None and second is not None
        if first is second:
            # Of two arms only one runs, and the access itself does not run again.
            return write is not access and not isinstance(first, scf.IfOp)
        return self._order[second] > self._order[first]


def _block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def _distances(
    written: Element, accessed: Element, loops: Sequence[scf.ForOp | scf.WhileOp]
) -> Mapping[Operation, int] | None:
    """By how much a loop's variable is larger when the element written is the one accessed; None if it never is.

    Args:
        written: of the same memref.
        accessed: to which it is compared.
        loops: that both are in. Those whose variable does not tell are not in the result.
    """
    counted: dict[SSAValue, scf.ForOp] = {
        loop.body.block.args[0]: loop for loop in loops if isinstance(loop, scf.ForOp)
    }
    distances: dict[Operation, int] = {}
    for base, its_base, offset, its_offset in zip(
        written.row.bases, accessed.row.bases, written.offsets, accessed.offsets, strict=True
    ):
        if base is not its_base:
            continue
        distance = its_offset - offset
        if base is None or is_top_block(defining_block(base)):
            if distance != 0:
                return None
        elif base in counted and distances.setdefault(counted[base], distance) != distance:
            return None
    return distances

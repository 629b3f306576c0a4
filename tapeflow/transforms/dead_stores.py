"""Remove what is written to a local array at the end of its life, when nobody reads it any more.

The reverse sweep clears an element of a shadow where the forward sweep overwrites it; of a local array that was just
allocated then, nobody looks at the cleared shadow.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref, scf
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tapeflow.dialects.ad import AccumulateOp


def _is_write(op: Operation, array: SSAValue) -> bool:
    """Whether `op` only writes to `array`; accumulating reads only what nobody sees."""
    return isinstance(op, memref.StoreOp | AccumulateOp) and op.memref is array and op.value is not array


def _last_writes(array: memref.AllocaOp) -> Sequence[Operation]:
    """The writes to `array` that nothing in its block reads after, last first."""
    block = array.parent
    assert block is not None
    users: dict[Operation, list[Operation]] = {}
    for use in array.memref.uses:
        around = block.find_ancestor_op_in_block(use.operation)
        assert around is not None
        users.setdefault(around, []).append(use.operation)
    writes: list[Operation] = []
    op = block.last_op
    while op is not None and users:
        inside = users.pop(op, [])
        if not all(_is_write(user, array.memref) for user in inside):
            break
        writes.extend(inside)
        op = op.prev_op
    return writes


def _drop_if_empty(op: Operation | None) -> None:
    """Erase a loop or branch without results, and those around it, that does nothing any more."""
    while isinstance(op, scf.ForOp | scf.IfOp) and not op.results:
        blocks = [block for region in op.regions for block in region.blocks]
        if any(block.first_op is not block.last_op for block in blocks):
            return
        if any(argument.uses for block in blocks for argument in block.args):
            # The reverse sweep needs the loop's variable: the loop goes when that need is met.
            return
        around = op.parent_op()
        Rewriter.erase_op(op)
        op = around


def remove_dead_stores(function: func.FuncOp) -> None:
    """Remove all writes to local arrays of `function` that come after the last read."""
    for array in [op for op in function.body.walk() if isinstance(op, memref.AllocaOp)]:
        for write in _last_writes(array):
            around = write.parent_op()
            Rewriter.erase_op(write)
            _drop_if_empty(around)

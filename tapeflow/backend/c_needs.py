"""What a function needs: the operations and values without which it would not do what it does.

Only these are printed, so the C has no dead temporaries, and no variable that is only ever assigned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.loops import condition_of
from tapeflow.backend.c_arrays import root_of
from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_reads import Merge, Reads
from tapeflow.dialects import ad, spad, stream, tape

_EFFECTS = (
    memref.StoreOp,
    memref.CopyOp,
    ad.AccumulateOp,
    tape.CreateOp,
    tape.PushOp,
    tape.PopOp,
    tape.RecordOp,
    tape.ReplayOp,
    spad.AllocOp,
    spad.WriteOp,
    spad.ReadOp,
    spad.DmaStartOp,
    spad.DmaWaitOp,
    stream.CreateOp,
    stream.PushOp,
    stream.PrefetchOp,
    stream.PopOp,
    stream.CloseOp,
    func.ReturnOp,
)
"""Operations that are needed whether or not anybody needs their results."""

PURE_OF_MEMORY = (memref.LoadOp, memref.DimOp, spad.FullOp, spad.EmptyOp)
"""Operations besides the expressions that are needed only for their result."""


@dataclass
class Needs:
    """The needed part of a function."""

    reads: Reads
    ops: set[Operation] = field(default_factory=set[Operation])
    values: set[SSAValue] = field(default_factory=set[SSAValue])
    _pending: list[SSAValue] = field(default_factory=list[SSAValue])
    _merge_of: dict[SSAValue, Merge] = field(default_factory=dict[SSAValue, Merge])

    def __post_init__(self) -> None:
        for merges in self.reads.merges.values():
            for merge in merges:
                self._merge_of[merge.result] = merge
                self._merge_of |= dict.fromkeys(merge.carried, merge)
        for op in self.reads.function.walk():
            if isinstance(op, _EFFECTS) or (isinstance(op, func.CallOp) and not is_expression(op)):
                self._need_op(op)
        while self._pending:
            self._follow(self._pending.pop())

    def _need(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._pending.append(value)

    def _need_op(self, op: Operation) -> None:
        """`op` is printed, and so is whatever it is nested in."""
        current: Operation | None = op
        while current is not None and current not in self.ops and not isinstance(current, func.FuncOp):
            self.ops.add(current)
            self._need(read.value for read in self.reads.of(current))
            self._need_arrays(current)
            if isinstance(current, scf.WhileOp):
                self._need_op(condition_of(current))
            current = current.parent_op()

    def _need_arrays(self, op: Operation) -> None:
        """Whoever touches an array needs its allocation."""
        for operand in op.operands:
            if isinstance(operand.type, MemRefType) and isinstance(root := root_of(operand), OpResult):
                self._need_op(root.op)

    def _follow(self, value: SSAValue) -> None:
        if (merge := self._merge_of.get(value)) is not None:
            self._need_op(merge.op)
            self._need(assigned for _, assigned in merge.yields)
            if merge.initial is not None:
                self._need([merge.initial])
        elif self.reads.is_loop_variable(value):
            self._need_op(self.reads.loop_of[value])
        elif isinstance(value, OpResult):
            self._need_op(value.op)

    def merge(self, merge: Merge) -> bool:
        """Whether anybody needs what `merge` merges."""
        return merge.result in self.values or any(carried in self.values for carried in merge.carried)

    def merges(self, op: Operation) -> list[Merge]:
        """The needed merges of `op`."""
        return [merge for merge in self.reads.merges.get(op, ()) if self.merge(merge)]

    def block_ops(self, parent: Operation, region: int = 0) -> list[Operation]:
        """The needed operations of a region of `parent`, without its terminator."""
        blocks = parent.regions[region].blocks
        return [] if not blocks else [op for op in parent.regions[region].block.ops if self.is_printed(op)]

    def is_printed(self, op: Operation) -> bool:
        """Whether `op` is printed, alone or within another."""
        if isinstance(op, scf.YieldOp | scf.ConditionOp | spad.YieldOp):
            return False
        if op.results and all(self.reads.is_loop_variable(result) for result in op.results):
            return False
        return op in self.ops


def is_argument_of_function(value: SSAValue) -> bool:
    """Whether `value` is a parameter of the function."""
    return isinstance(value, BlockArgument) and isinstance(value.owner.parent_op(), func.FuncOp)

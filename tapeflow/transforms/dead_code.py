"""Remove what nobody uses from a structured function: ops, carried values of loops, results of branches.

A value is live if something that must happen uses it: a store, the return, an unknown operation. A value carried round
a loop is live only if the loop's result or something in the body, other than carrying it on, needs it. A store to a
local array is live only if the array is ever read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.effects import is_unneeded_when_unused
from tapeflow.analysis.loops import Loop, carried_arguments, condition_of, initial_values, yielded_values
from tapeflow.analysis.roots import roots
from tapeflow.analysis.source_names import set_result_names, source_name, unnamed
from tapeflow.dialects.ad import AccumulateOp

_Structure = TypeVar("_Structure", scf.ForOp, scf.WhileOp, scf.IfOp)

_STRUCTURES = scf.ForOp | scf.WhileOp | scf.IfOp

_ALLOCATIONS = (memref.AllocaOp, memref.AllocOp)


def _local_array(op: Operation) -> SSAValue | None:
    """The local array that `op` writes to, if that is all it does."""
    if isinstance(op, memref.StoreOp | AccumulateOp):
        written = roots(op.memref)
        (root, *others) = written
        if not others and isinstance(root, OpResult) and isinstance(root.op, _ALLOCATIONS):
            return root
    return None


class _Liveness:
    """What is live in a function: ops, and the values that loops and branches carry."""

    def __init__(self, function: func.FuncOp):
        self.ops: set[Operation] = set()
        self.values: set[SSAValue] = set()
        self._pending: list[SSAValue] = []
        self._writers: dict[SSAValue, list[Operation]] = {}
        for op in function.body.walk():
            if isinstance(op, _STRUCTURES) or is_unneeded_when_unused(op):
                continue
            if isinstance(op, scf.YieldOp | scf.ConditionOp) and isinstance(op.parent_op(), _STRUCTURES):
                continue
            local = _local_array(op)
            if local is None:
                self._keep(op)
            else:
                self._writers.setdefault(local, []).append(op)
        while self._pending:
            self._follow(self._pending.pop())

    def _keep(self, op: Operation) -> None:
        """`op` happens, so the ops around it do."""
        around: Operation | None = op
        while around is not None and around not in self.ops:
            self.ops.add(around)
            if not around.regions:
                self._need(*around.operands)
            elif isinstance(around, scf.ForOp):
                self._need(around.lb, around.ub, around.step)
            elif isinstance(around, scf.WhileOp):
                self._need(condition_of(around).condition)
            elif isinstance(around, scf.IfOp):
                self._need(around.cond)
            elif not isinstance(around, func.FuncOp):
                self._need(*around.operands)
            around = around.parent_op()

    def _need(self, *values: SSAValue) -> None:
        fresh = [value for value in values if value not in self.values]
        self.values.update(fresh)
        self._pending.extend(fresh)

    def _follow(self, value: SSAValue) -> None:
        match value:
            case BlockArgument(block=Block() as block, index=index):
                loop = block.parent_op()
                if isinstance(loop, scf.ForOp) and index > 0:
                    self._carry(loop, index - 1)
                elif isinstance(loop, scf.ForOp):
                    # What the reverse sweep needs of the forward sweep may be the variable of a loop that does nothing.
                    self._keep(loop)
                elif isinstance(loop, scf.WhileOp):
                    self._carry(loop, index)
            case OpResult(op=scf.ForOp() | scf.WhileOp() as loop, index=index):
                self._carry(loop, index)
            case OpResult(op=scf.IfOp() as branch, index=index):
                self._keep(branch)
                self._need(*(_yield_of(arm.block).operands[index] for arm in branch.regions))
            case OpResult(op=op):
                self._keep(op)
                for writer in self._writers.pop(value, ()):
                    self._keep(writer)
            case _:
                pass

    def _carry(self, loop: Loop, position: int) -> None:
        self._keep(loop)
        self._need(
            initial_values(loop)[position],
            carried_arguments(loop)[position],
            loop.results[position],
            yielded_values(loop)[position],
        )
        if isinstance(loop, scf.WhileOp):
            self._need(loop.before_region.block.args[position])


def _yield_of(block: Block) -> Operation:
    terminator = block.last_op
    assert terminator is not None
    return terminator


def remove_dead_code(function: func.FuncOp) -> None:
    """Remove from `function` all ops and carried values that nothing needs."""
    live = _Liveness(function)
    _remove_from(function.body.block, live)


def _remove_from(block: Block, live: _Liveness) -> None:
    # Users go before what they use; what a carried value still uses goes with its loop.
    for op in reversed(list(block.ops)):
        if isinstance(op, scf.YieldOp | scf.ConditionOp):
            continue
        if op not in live.ops:
            op.detach()
            op.erase(safe_erase=False)
            continue
        for region in op.regions:
            for inner in region.blocks:
                _remove_from(inner, live)
        kept = [k for k, result in enumerate(op.results) if result in live.values]
        if isinstance(op, scf.ForOp):
            keep_carried(op, kept)
        elif isinstance(op, scf.WhileOp):
            keep_carried_by_while(op, kept)
        elif isinstance(op, scf.IfOp):
            keep_results(op, kept)


def keep_carried(loop: scf.ForOp, kept: Sequence[int]) -> scf.ForOp:
    """Replace `loop` by one that carries only the values at the positions `kept`; the others have no other users."""
    if len(kept) == len(loop.results):
        return loop
    names = [source_name(loop.results[k]) for k in kept]
    body = loop.body.block
    terminator = _yield_of(body)
    terminator.operands = [terminator.operands[k] for k in kept]
    for k in reversed(range(len(loop.results))):
        if k not in kept:
            body.erase_arg(body.args[1 + k], safe_erase=False)
    inits = [loop.iter_args[k] for k in kept]
    smaller = scf.ForOp(loop.lb, loop.ub, loop.step, inits, loop.detach_region(loop.body))
    return _replace(loop, smaller, kept, names)


def keep_carried_by_while(loop: scf.WhileOp, kept: Sequence[int]) -> scf.WhileOp:
    """Replace `loop`, in normal form, by one that carries only the values at the positions `kept`."""
    if len(kept) == len(loop.results):
        return loop
    names = [source_name(loop.results[k]) for k in kept]
    before, after = loop.before_region.block, loop.after_region.block
    condition, end = condition_of(loop), _yield_of(after)
    end.operands = [end.operands[k] for k in kept]
    condition.operands = [condition.condition, *(condition.args[k] for k in kept)]
    for k in reversed(range(len(loop.results))):
        if k not in kept:
            before.erase_arg(before.args[k], safe_erase=False)
            after.erase_arg(after.args[k], safe_erase=False)
    inits = [loop.arguments[k] for k in kept]
    types = [loop.results[k].type for k in kept]
    before_region, after_region = (loop.detach_region(region) for region in tuple(loop.regions))
    return _replace(loop, scf.WhileOp(inits, types, before_region, after_region), kept, names)


def keep_results(branch: scf.IfOp, kept: Sequence[int]) -> scf.IfOp:
    """Replace `branch` by one that has only the results at the positions `kept`; the others have no users."""
    if len(kept) == len(branch.results):
        return branch
    names = [source_name(branch.results[k]) for k in kept]
    for arm in branch.regions:
        terminator = _yield_of(arm.block)
        terminator.operands = [terminator.operands[k] for k in kept]
    types = [branch.results[k].type for k in kept]
    true_region, false_region = (branch.detach_region(arm) for arm in tuple(branch.regions))
    smaller = scf.IfOp(branch.cond, types, true_region, false_region)
    return _replace(branch, smaller, kept, names)


def _replace(
    old: scf.ForOp | scf.WhileOp | scf.IfOp, smaller: _Structure, kept: Sequence[int], names: Sequence[str | None]
) -> _Structure:
    block = old.parent
    assert block is not None
    smaller.attributes |= old.attributes
    smaller.location = unnamed(old.location)
    set_result_names(smaller, names)
    block.insert_op_before(smaller, old)
    for k, result in zip(kept, smaller.results, strict=True):
        old.results[k].replace_all_uses_with(result)
    old.detach()
    old.erase(safe_erase=False)
    return smaller

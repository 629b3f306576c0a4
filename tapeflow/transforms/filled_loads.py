"""What computes again what is loaded from an array that loops have filled: what they compute, for its subscripts.

It is an `scf.execute_region` outside of every block, to be cloned where the value is needed: the operations of one
iteration, as far as the stored value needs them, with the subscripts of the load for the variables of the loops. For a
branch around such loads, as one that asks whether the element exists, it is the branch with these in their place.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.filled_arrays import Fill, FilledArrays
from tapeflow.analysis.source_names import set_result_names, source_name
from tapeflow.transforms.located_builder import LocatedBuilder, place_of

MOST_OPERATIONS = 64
"""The most operations that are looked at; so many cost more than a tape. So the time is linear."""


class FilledLoads:
    """What computes again what is loaded in a function.

    Args:
        function: structured.
        repeatable: whether an operation gives the same result when it is repeated later.
    """

    def __init__(self, function: func.FuncOp, repeatable: Callable[[Operation], bool]):
        self._arrays = FilledArrays(function)
        self._repeatable = repeatable
        self._made: dict[Operation, Operation | None] = {}

    def __call__(self, op: Operation) -> Operation | None:
        """What gives again what `op` loads, or yields as a branch; None for other ops, and if nothing does."""
        if op not in self._made:
            match op:
                case memref.LoadOp():
                    fill = self._arrays.fill(op)
                    self._made[op] = None if fill is None else self._make(op, fill)
                case scf.IfOp():
                    self._made[op] = self._branch(op)
                case _:
                    self._made[op] = None
        return self._made[op]

    def drop(self) -> None:
        """Erase all that was given; to be called once it is no longer needed."""
        for made in self._made.values():
            if made is not None:
                made.erase()

    def _make(self, load: Operation, fill: Fill) -> scf.ExecuteRegionOp | None:
        behind: dict[Operation, None] = {}
        if not self._collect(fill.store.value, fill, behind):
            return None
        build = LocatedBuilder(InsertPoint.at_end(Block()), place=place_of(load))
        values: dict[SSAValue, SSAValue] = dict(fill.subscripts)
        for op in behind:
            build.insert(op.clone(values))
        stored = fill.store.value
        build.insert(scf.YieldOp(values.get(stored, stored)))
        made = scf.ExecuteRegionOp(load.result_types, Region(build.insertion_point.block))
        made.location = place_of(load)
        set_result_names(made, [source_name(load.results[0])])
        return made

    def _branch(self, op: scf.IfOp) -> scf.IfOp | None:
        again: dict[Operation, Operation] = {}
        for inner in op.walk():
            if not isinstance(inner, scf.IfOp | scf.YieldOp) and not self._repeatable(inner):
                instead = self(inner)
                if instead is None:
                    return None
                again[inner] = instead
        branch = op.clone()
        clones = dict(zip(op.walk(), list(branch.walk()), strict=True))
        values: dict[SSAValue, SSAValue] = {
            value: other
            for each, clone in clones.items()
            for value, other in zip(each.results, clone.results, strict=True)
        }
        for load, instead in again.items():
            Rewriter.replace_op(clones[load], instead.clone(values))
        return branch

    def _collect(self, value: SSAValue, fill: Fill, behind: dict[Operation, None]) -> bool:
        """Note in `behind` what computes `value` in the loops of `fill`, operands first; whether it can be repeated."""
        if value in fill.subscripts or not fill.loops.is_ancestor(value.owner):
            return True
        if not isinstance(value, OpResult) or value.op.regions or not self._repeatable(value.op):
            return False
        if value.op not in behind:
            if len(behind) >= MOST_OPERATIONS or not all(self._collect(it, fill, behind) for it in value.op.operands):
                return False
            behind[value.op] = None
        return True

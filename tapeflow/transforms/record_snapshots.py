"""Record a snapshot of the elements that loops load over and over, behind these, in place of a record for each load.

```mlir
scf.for %r = %c0 to %n step %c1 {              scf.for %r = ... { ... }
  scf.for %k = %c0 to %n step %c1 {            scf.for %k = %c0 to %n step %c1 {
    %h_k = memref.load %h[%k]           ->       %h_k = memref.load %h[%k]
    tape.push %h_k onto %tape                    tape.push %h_k onto %tape
  }                                            }
}
```

In the reverse sweep the snapshot is popped into a local array just before the mirror of the loop, which loads from
there. Behind the loop, nobody having written in it, the elements are what they were: so what was pushed last is popped
first. The elements are recorded by loops over the axes of the snapshot, so they are records like others to all passes
that follow, and cost a modelled machine what they cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, UnitAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.nested_sweeps import sweep_of
from tapeflow.analysis.snapshots import RESTORED_IN_BRANCH, SNAPSHOT, Axis, Snapshot, Snapshots, Sum
from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.unchanging import Unchanging
from tapeflow.analysis.value_names import value_name
from tapeflow.dialects import tape
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.mirrored_values import point_before
from tapeflow.transforms.simplify import Constants
from tapeflow.transforms.tape_reservation import TapeReservation


class SnapshotRecords:
    """The snapshots of a function, and what records them.

    Args:
        function: with both sweeps. In one in joint form, whose tapes and sizes others hold, there are none.
        unchanging: of the same function.
        mirrors: the mirrored block of each primal block with a need in it.
    """

    def __init__(self, function: func.FuncOp, unchanging: Unchanging, mirrors: Mapping[Block, Block]):
        self._function = function
        self._mirrors = mirrors
        self._snapshots = Snapshots(function)
        self.by_value = {} if sweep_of(function) is not None else dict(self._found(unchanging))
        """The snapshot that can serve each value that is loaded and not there any more."""

    def _found(self, unchanging: Unchanging) -> Iterator[tuple[SSAValue, Snapshot]]:
        for op in self._function.body.walk():
            if isinstance(op, memref.LoadOp) and op.parent in self._mirrors and not unchanging.element(op):
                snapshot = self._snapshots.of(op)
                if snapshot is not None and self._mirror(snapshot) is not None:
                    yield op.res, snapshot

    def _mirror(self, snapshot: Snapshot) -> Operation | None:
        """The mirror of the loop of `snapshot`; None if it is not clear."""
        body, around = self._mirrors.get(snapshot.loop.body.block), self._mirrors.get(snapshot.block)
        loop = None if body is None else body.parent_op()
        return loop if loop is not None and around is not None and loop.parent is around else None

    def record(self, values: Sequence[SSAValue]) -> Mapping[SSAValue, memref.StoreOp]:
        """Record the snapshots that serve `values`, and have them again in the reverse sweep.

        Returns for each value a store outside of every block, as if it had put the value where it is to be loaded from.
        """
        stores: dict[SSAValue, memref.StoreOp] = {}
        if values:
            # Both are of use as long as nobody else changes the start of the function.
            constants = Constants(self._function)
            reservation = TapeReservation(self._function, constants)
            for group in self._snapshots.shared(self.by_value[value] for value in values):
                mirror = self._mirror(group[-1])
                assert mirror is not None
                restored = _Recording(self._function, group[-1], mirror, constants, reservation).make()
                for each in group:
                    indices = [axis.variable for axis in each.axes]
                    stores[each.load.res] = memref.StoreOp.get(each.load.res, restored, indices)
        return stores


@dataclass
class _Recording:
    """Records one snapshot, behind its loop, and restores it before `mirror`, the mirror of the loop."""

    function: func.FuncOp
    snapshot: Snapshot
    mirror: Operation
    constants: Constants
    reservation: TapeReservation

    def make(self) -> SSAValue:
        """Make it; returns the local array of the elements, by the variables of the axes."""
        load, axes = self.snapshot.load, self.snapshot.axes
        forward = LocatedBuilder(InsertPoint.after(self.snapshot.loop), place=place_of(load))
        reverse = LocatedBuilder(InsertPoint.before(self.mirror), place=place_of(load))
        top = LocatedBuilder(self._in_top_block(self.snapshot.loop), place=place_of(load))
        uppers = [self._value(axis.upper, top) for axis in axes]
        restored = self._array(uppers)
        if self.snapshot.running:
            condition = self._all_run(top)
            forward, reverse = (_into_branch(build, condition) for build in (forward, reverse))
        # What is recorded, a loop an axis.
        again: dict[SSAValue, SSAValue] = {}
        for axis, upper in zip(axes, uppers, strict=True):
            name, lower = source_name(axis.variable), self.constants.index(axis.lower)
            forward, again[axis.variable] = self._loop(forward, axis, lower, upper, name)
        self._repeat(load, again, forward)
        block, name = forward.insertion_point.block, f"tape_{value_name(load.res)}"
        handle = self.reservation.tape(load.res.type, block, load.res, name)
        forward.insert(tape.PushOp(again[load.res], handle))
        # And its mirror.
        indices: list[SSAValue] = []
        for axis, upper in zip(axes, uppers, strict=True):
            name, zero = source_name(axis.variable), self.constants.index(0)
            trips, last = self._plus(upper, -axis.lower, top), self._plus(upper, -1, top)
            reverse, behind = self._loop(reverse, axis, zero, trips, name and f"{name}_r")
            indices.append(reverse.value(arith.SubiOp(last, behind), name))
        popped = reverse.value(tape.PopOp(handle), value_name(load.res))
        reverse.insert(memref.StoreOp.get(popped, restored, indices))
        return restored

    def _in_top_block(self, op: Operation) -> InsertPoint:
        """In the top block of the function, before what `op` is in."""
        assert op.parent is not None
        top = self.function.body.block
        return InsertPoint.before(op) if op.parent is top else point_before(top, op.parent)

    def _value(self, sum_: Sum, build: LocatedBuilder) -> SSAValue:
        if sum_.base is None:
            return self.constants.index(sum_.offset)
        return self._plus(sum_.base, sum_.offset, build)

    def _plus(self, value: SSAValue, offset: int, build: LocatedBuilder) -> SSAValue:
        if offset == 0:
            return value
        number = self.constants.index(abs(offset))
        return build.value(arith.SubiOp(value, number) if offset < 0 else arith.AddiOp(value, number))

    def _all_run(self, build: LocatedBuilder) -> SSAValue:
        conditions = [
            build.value(arith.CmpiOp(self._value(lower, build), self._value(upper, build), "slt"))
            for lower, upper in self.snapshot.running
        ]
        all_run = conditions[0]
        for condition in conditions[1:]:
            all_run = build.value(arith.AndIOp(all_run, condition))
        return all_run

    def _array(self, uppers: Sequence[SSAValue]) -> SSAValue:
        """A local array of the top block, as large as the axes go."""
        load, build = self.snapshot.load, LocatedBuilder(self._in_top_block(self.mirror), place=place_of(self.mirror))
        known = [axis.upper.offset if axis.upper.base is None else DYNAMIC_INDEX for axis in self.snapshot.axes]
        sizes = [
            build.value(arith.MaxSIOp(upper, self.constants.index(0)))
            for upper, size in zip(uppers, known, strict=True)
            if size == DYNAMIC_INDEX
        ]
        name = f"{source_name(load.memref) or value_name(load.res)}_was"
        array = memref.AllocaOp.get(load.res.type, shape=known, dynamic_sizes=sizes)
        if self.snapshot.running:
            array.attributes[RESTORED_IN_BRANCH] = UnitAttr()
        return build.value(array, name)

    def _loop(
        self, build: LocatedBuilder, axis: Axis, lower: SSAValue, upper: SSAValue, name: str | None
    ) -> tuple[LocatedBuilder, SSAValue]:
        """A loop over `axis`, in steps of 1: a builder in its body, and its variable."""
        with build.at(axis.loop):
            body = build.block([(IndexType(), name)])
            loop = build.insert(scf.ForOp(lower, upper, self.constants.index(1), [], Region(body)))
        loop.attributes[SNAPSHOT] = UnitAttr()
        return _up_to_end(build.into(body)), body.args[0]

    def _repeat(self, load: memref.LoadOp, again: dict[SSAValue, SSAValue], build: LocatedBuilder) -> None:
        """Compute in `build` what `load` loads, with its subscripts, from what is in `again`; it is there then too."""
        pending: list[Operation] = [load]
        while pending:
            op = pending[-1]
            missing = [
                operand.op
                for operand in op.operands
                if isinstance(operand, OpResult) and operand not in again and self.snapshot.loop.is_ancestor(operand.op)
            ]
            pending.extend(missing)
            if not missing:
                pending.pop()
                if op.results[0] not in again:
                    build.insert(op.clone(again))


def _into_branch(build: LocatedBuilder, condition: SSAValue) -> LocatedBuilder:
    """A builder in a branch that is taken on `condition`."""
    taken = build.block()
    build.insert(scf.IfOp(condition, [], Region(taken), Region()))
    return _up_to_end(build.into(taken))


def _up_to_end(build: LocatedBuilder) -> LocatedBuilder:
    """`build`, at the end of a block, before a `scf.yield` there."""
    end = build.insert(scf.YieldOp())
    build.insertion_point = InsertPoint.before(end)
    return build

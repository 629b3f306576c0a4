"""Which loads a snapshot can serve: of elements that loops load over and over while nobody writes to the array.

```mlir
scf.for %r = %c0 to %n step %c1 {
  scf.for %k = %c0 to %n step %c1 {
    %h_k = memref.load %h[%k] : memref<?xf64>       // nobody writes to h in loop r: n elements, loaded n*n times
  }
}
```

A loop around the load is `repeating` if the subscripts do not depend on its variable; those on whose variables they do
are the axes of the snapshot, which holds an element for each of their iterations. Nobody may write to the array in the
outermost repeating loop, `loop`. The snapshot reads what the source reads, no more: the load is under no branch in
`loop`, and the iterations of the axes are those that one iteration of the repeating loops runs. Where the bounds of an
axis depend on the variable of a repeating loop, that is its first or its last, in which the axis is longest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.availability import is_integer_arithmetic
from tapeflow.analysis.block_runs import USUAL_TRIPS, constant_integer, expected_runs
from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.index_arithmetic import base_and_offset
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.analysis.stored_values import counted_behind

SNAPSHOT = "tapeflow.snapshot"
"""The attribute of a loop that only records or restores a snapshot: it is none of the source's."""

RESTORED_IN_BRANCH = "tapeflow.restored_in_branch"
"""The attribute of a local array that is filled in a branch and read in loops that run where the branch is taken. A C
compiler does not see that the two go together."""

MOST_OPERATIONS = 64
"""The most operations of subscripts that are looked at, so that the time is linear."""


@dataclass(frozen=True)
class Sum:
    """A value of the function's top block plus a constant; the constant alone where that is None."""

    base: SSAValue | None
    offset: int

    def __add__(self, offset: int) -> Sum:
        return Sum(self.base, self.offset + offset)


@dataclass(frozen=True)
class Axis:
    """A loop on whose variable the subscripts depend, with the iterations from `lower` to `upper` - 1."""

    loop: scf.ForOp
    lower: int
    upper: Sum

    @property
    def variable(self) -> SSAValue:
        """What counts the iterations."""
        return self.loop.body.block.args[0]

    @property
    def expected(self) -> int:
        """How many iterations there are: a guess for run-time bounds."""
        return max(self.upper.offset - self.lower, 0) if self.upper.base is None else USUAL_TRIPS


@dataclass(frozen=True)
class Snapshot:
    """What can be recorded once for a load.

    Attributes:
        load: that it serves.
        loop: the outermost loop around the load that loads the elements over and over; nobody writes to them in it.
        axes: the loops in it that tell the elements apart, outermost first.
        running: the bounds of repeating loops of which all must run an iteration for anything to be loaded; those that
            run whenever the axes do are left out.
    """

    load: memref.LoadOp
    loop: scf.ForOp
    axes: tuple[Axis, ...]
    running: tuple[tuple[Sum, Sum], ...]

    @property
    def block(self) -> Block:
        """The block in which the snapshot is taken."""
        assert self.loop.parent is not None
        return self.loop.parent

    @property
    def expected_records(self) -> int:
        """How many elements are recorded in a call: a guess for loops with run-time bounds."""
        return max(expected_runs(self.block), 1) * prod(axis.expected for axis in self.axes)

    @property
    def key(self) -> Hashable:
        """The same for snapshots with the same elements, taken in one block while nobody writes."""
        numbers = {axis.variable: number for number, axis in enumerate(self.axes)}
        subscripts = tuple(_expression(index, self.loop, numbers) for index in self.load.indices)
        bounds = tuple((axis.lower, axis.upper) for axis in self.axes)
        return self.block, self.load.memref, bounds, self.running, subscripts


def _expression(value: SSAValue, loop: scf.ForOp, numbers: Mapping[SSAValue, int]) -> Hashable:
    """What `value` is computed as from the axes and from what is outside of `loop`."""
    if value in numbers:
        return numbers[value]
    if not isinstance(value, OpResult) or not loop.is_ancestor(value.op):
        return value
    operands = tuple(_expression(operand, loop, numbers) for operand in value.op.operands)
    return value.op.name, tuple(value.op.properties.items()), value.index, value.type, operands


class Snapshots:
    """The snapshots that loads of a function can be served by.

    Args:
        function: structured.
    """

    def __init__(self, function: func.FuncOp):
        self._disturbing: dict[SSAValue, set[Operation]] = {}
        for op in function.body.walk():
            for root in {root for array in written_arrays(op) for root in roots(array)}:
                self._disturbing.setdefault(root, set()).update(_around(op))

    def of(self, load: memref.LoadOp) -> Snapshot | None:
        """The snapshot with the fewest records for `load`; None if no loop around it loads its element repeatedly."""
        (root, *others) = roots(load.memref)
        disturbing = self._disturbing.get(root, set())
        if others or not load.indices:
            return None
        found: Snapshot | None = None
        loops: list[scf.ForOp] = []
        around = load.parent_op()
        while isinstance(around, scf.ForOp) and around not in disturbing and not around.is_ancestor(load.memref.owner):
            loops.insert(0, around)
            found = _snapshot(load, loops) or found
            around = around.parent_op()
        return found

    def shared(self, snapshots: Iterable[Snapshot]) -> Iterator[Sequence[Snapshot]]:
        """Those of `snapshots` that can be one, in the order in which their loops run."""
        groups: dict[Hashable, list[Snapshot]] = {}
        for snapshot in snapshots:
            groups.setdefault(snapshot.key, []).append(snapshot)
        for group in groups.values():
            positions = {op: position for position, op in enumerate(group[0].block.ops)}
            group.sort(key=lambda snapshot: positions[snapshot.loop])
            (root,) = roots(group[0].load.memref)
            disturbing = self._disturbing.get(root, set())
            together = group[:1]
            for snapshot in group[1:]:
                if any(op in disturbing for op in _between(together[-1].loop, snapshot.loop)):
                    yield together
                    together = []
                together.append(snapshot)
            yield together


def _around(op: Operation) -> Iterator[Operation]:
    """`op` and what it is in."""
    current: Operation | None = op
    while current is not None:
        yield current
        current = current.parent_op()


def _between(first: Operation, last: Operation) -> Iterator[Operation]:
    op = first
    while op is not last and op.next_op is not None:
        op = op.next_op
        if op is not last:
            yield op


def _snapshot(load: memref.LoadOp, loops: Sequence[scf.ForOp]) -> Snapshot | None:
    """The snapshot of what `load`, in all of `loops`, outermost first, loads; None if the first does not repeat it."""
    variables = _variables(load.indices, loops[0])
    if variables is None or loops[0].body.block.args[0] in variables:
        return None
    inner = [loop for loop in loops if loop.body.block.args[0] in variables]
    repeating: dict[SSAValue, scf.ForOp] = {loop.body.block.args[0]: loop for loop in loops if loop not in inner}
    bounds = _Bounds(repeating)
    axes = [axis for loop in inner if (axis := bounds.axis(loop)) is not None]
    running = [its for loop in repeating.values() if (its := _sums(loop)) is not None]
    if len(axes) < len(inner) or len(running) < len(repeating) or counted_behind(variables) is None:
        return None
    left = tuple(dict.fromkeys(its for its in running if not _runs(its) and not _runs_with(its, axes)))
    return Snapshot(load, loops[0], tuple(axes), left)


def _variables(indices: Iterable[SSAValue], loop: scf.ForOp) -> set[SSAValue] | None:
    """The variables in `loop` that integer arithmetic computes `indices` from; None if there is more to it."""
    variables: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    pending = list(indices)
    while pending:
        value = pending.pop()
        if value in seen or not loop.is_ancestor(value.owner):
            continue
        seen.add(value)
        if isinstance(value, OpResult):
            if not is_integer_arithmetic(value.op) or len(seen) > MOST_OPERATIONS:
                return None
            pending.extend(value.op.operands)
        elif isinstance(value, BlockArgument) and value.index == 0 and isinstance(value.block.parent_op(), scf.ForOp):
            variables.add(value)
        else:
            return None
    return variables


def _sum(value: SSAValue) -> Sum | None:
    base, offset = base_and_offset(value)
    return Sum(base, offset) if base is None or is_top_block(defining_block(base)) else None


def _sums(loop: scf.ForOp) -> tuple[Sum, Sum] | None:
    lower, upper = _sum(loop.lb), _sum(loop.ub)
    return None if lower is None or upper is None else (lower, upper)


class _Bounds:
    """The bounds of axes, each from one iteration of the `repeating` loops, the same for all axes."""

    def __init__(self, repeating: Mapping[SSAValue, scf.ForOp]):
        self._repeating = repeating
        self._chosen: dict[SSAValue, bool] = {}

    def axis(self, loop: scf.ForOp) -> Axis | None:
        """The iterations of `loop`, an axis; None if not known, none, or not one after another."""
        lower, upper = self._extreme(loop.lb, last=False), self._extreme(loop.ub, last=True)
        if lower is None or upper is None or lower.base is not None or lower.offset < 0:
            return None
        axis = Axis(loop, lower.offset, upper)
        return axis if axis.expected > 0 and constant_integer(loop.step) == 1 else None

    def _extreme(self, bound: SSAValue, *, last: bool) -> Sum | None:
        """The value of `bound` in the first or the last iteration of the repeating loop that it depends on."""
        base, offset = base_and_offset(bound)
        loop = None if base is None else self._repeating.get(base)
        if base is None or loop is None:
            return _sum(bound)
        its = _sums(loop)
        if its is None or constant_integer(loop.step) != 1 or self._chosen.setdefault(base, last) is not last:
            return None
        return its[1] + (offset - 1) if last else its[0] + offset


def _runs(bounds: tuple[Sum, Sum]) -> bool:
    """Whether a loop of these bounds is known to run an iteration."""
    lower, upper = bounds
    return lower.base is upper.base and lower.offset < upper.offset


def _runs_with(bounds: tuple[Sum, Sum], axes: Sequence[Axis]) -> bool:
    """Whether a loop of these bounds runs whenever one of `axes` has an iteration."""
    lower, upper = bounds
    # upper <= lower then gives axis.upper = upper + more <= lower + more <= axis.lower: no iteration.
    return lower.base is None and any(
        axis.upper.base is upper.base and lower.offset + axis.upper.offset - upper.offset <= axis.lower for axis in axes
    )

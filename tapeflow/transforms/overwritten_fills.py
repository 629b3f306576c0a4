"""Do not fill with zeros what is overwritten next: an array that is added to in each element is stored to instead.

```mlir
%x_b = memref.alloca(%n)                       %x_b = memref.alloca(%n)
scf.for %k = %c0 to %n step %c1 {
  memref.store %zero, %x_b[%k]          ->
}
scf.for %i_r = %c0 to %n step %c1 {            scf.for %i_r = %c0 to %n step %c1 {
  %i = arith.subi %last, %i_r                    %i = arith.subi %last, %i_r
  ad.accumulate %v into %x_b[%i]                 memref.store %v, %x_b[%i]
}                                              }
```

The same where a loop behind the fill does so in every iteration, and later in the iteration reads each of these
elements and clears it: the adjoints of an array that each step of a loop writes before it reads it. Then nothing is
cleared either. What is cleared at the end of the array's life, in a loop that has just read it or that only clears,
goes too.

The loops that give the elements their first values run over the whole array, in either direction and in any order of
the dimensions; or all else that touches the array does so for subscripts that count through the very same numbers. Each
iteration of the innermost gives one element, of its own, a value before anything else touches it: on every way through
branches. A sum that `accumulate_in_registers` adds where its loop has run is zero where it has not, so it is stored
in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.array_extents import extent_key, extents_of
from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.roots import is_array, roots
from tapeflow.dialects.ad import AccumulateOp


def remove_overwritten_fills(
    fills: Iterable[tuple[memref.AllocaOp, Operation]], sums: Collection[AccumulateOp] = frozenset()
) -> None:
    """Remove what needs not be.

    Args:
        fills: local arrays, each with the op in the block that allocates it that fills it with zeros.
        sums: accumulations in branches that add zero if they are not taken, of elements from outside of these.
    """
    for array, fill in fills:
        if fill.parent is not None:
            _Fill(array, fill, sums).remove()


_Bounds = tuple[SSAValue, SSAValue, SSAValue, SSAValue | int | None]
"""What an index counts through: from, up to, in steps of, and as it is or down from what."""


_Accumulates = Sequence[tuple[AccumulateOp, Operation]]


@dataclass(frozen=True)
class _First:
    """What gives elements their first values in an op: all of them, each in an iteration of its own.

    Attributes:
        accumulates: of which one is reached in each iteration, each with the op that a store is put before: itself,
            or a branch that it is in.
        elements: what each index counts through.
        whole: whether these are all elements of the array.
    """

    accumulates: _Accumulates
    elements: Sequence[_Bounds]
    whole: bool


@dataclass(frozen=True)
class _Fill:
    """An array and the op that fills it with zeros; see `remove_overwritten_fills`."""

    array: memref.AllocaOp
    fill: Operation
    sums: Collection[AccumulateOp]

    def remove(self) -> None:
        behind = [op for op in _behind(self.fill) if any(self._touching(op))]
        if behind:
            first = self._first(behind[0])
            if first is not None and self._stays_within(first, behind[1:]):
                self._store_instead(first)
                Rewriter.erase_op(self.fill)
            elif len(behind) == 1:
                self._remove_in_steps(behind[0])
        self._remove_last_clears(behind)

    def _touching(self, op: Operation) -> Iterator[Operation]:
        """The ops in `op` that use the array or a view of it."""
        for inner in op.walk():
            if any(is_array(operand) and self.array.memref in roots(operand) for operand in inner.operands):
                yield inner

    def _is_access(self, op: Operation) -> bool:
        return isinstance(op, AccumulateOp | memref.LoadOp | memref.StoreOp) and op.memref is self.array.memref

    # What comes first.

    def _first(self, op: Operation) -> _First | None:
        """What gives elements their first values in `op`, if nothing in it touches others."""
        touching = list(self._touching(op))
        first = touching[0]
        if not isinstance(first, AccumulateOp) or not all(map(self._is_access, touching)):
            return None
        nest = self._nest(op, first)
        if nest is None or (elements := _elements(op, nest, first.indices)) is None:
            return None
        indices = tuple(first.indices)
        if any(tuple(other.indices) != indices for other in touching if isinstance(other, _ACCESSES)):
            return None
        accumulates = self._on_each_way(nest[0].body.block)
        return None if accumulates is None else _First(accumulates, elements, self._is_whole(elements))

    def _nest(self, outermost: Operation, inside: Operation) -> Sequence[scf.ForOp] | None:
        """The loops from `outermost` to the one that runs `inside`, innermost first, branches only in that."""
        loops: list[scf.ForOp] = []
        current = inside
        while current is not outermost:
            around = current.parent_op()
            if isinstance(around, scf.ForOp):
                loops.append(around)
            elif not isinstance(around, scf.IfOp) or loops:
                return None
            current = around
        return loops or None

    def _on_each_way(self, block: Block) -> _Accumulates | None:
        """What touches the array first in `block`, if that is an accumulation on each way through it."""
        op = next((op for op in block.ops if any(self._touching(op))), None)
        if isinstance(op, AccumulateOp):
            return [(op, op)]
        if not isinstance(op, scf.IfOp):
            return None
        if (total := self._sum_in(op)) is not None:
            return [(total, op)]
        found = list[tuple[AccumulateOp, Operation]]()
        for arm in op.regions:
            if not arm.blocks or (on_this := self._on_each_way(arm.block)) is None:
                return None
            found += on_this
        return found

    def _sum_in(self, branch: scf.IfOp) -> AccumulateOp | None:
        """The only thing in `branch` that touches the array, if it is one of `sums`."""
        match [*self._touching(branch)]:
            case [AccumulateOp() as total] if total in self.sums and total.parent_op() is branch:
                inside = any(branch.is_ancestor(operand.owner) for operand in total.operands)
                return None if inside else total
            case _:
                return None

    def _is_whole(self, elements: Sequence[_Bounds]) -> bool:
        return all(map(_counts_all, elements, extents_of(self.array)))

    def _stays_within(self, first: _First, behind: Sequence[Operation]) -> bool:
        """Whether what touches the array in `behind` touches what `first` has given a value, and nothing else."""
        if first.whole:
            return True
        is_guarded = any(accumulate is not place for accumulate, place in first.accumulates)
        if is_guarded and not any(self._reaches_all(first, op) for op in behind):
            # Where the sum is not added, the element need not even be there.
            return False
        touching = [inner for op in behind for inner in self._touching(op)]
        return all(self._is_access(op) for op in touching) and all(
            tuple(map(_counted, op.indices)) == tuple(first.elements) for op in touching if isinstance(op, _ACCESSES)
        )

    def _reaches_all(self, first: _First, op: Operation) -> bool:
        """Whether `op` touches each element that `first` gives a value, whatever branches are taken."""
        for access in self._touching(op):
            nest = self._nest(op, access) if isinstance(access, _ACCESSES) and self._is_access(access) else None
            if nest is None or not isinstance(access, _ACCESSES) or access.parent is not nest[0].body.block:
                continue
            if _elements(op, nest, access.indices) == first.elements:
                return True
        return False

    def _store_instead(self, first: _First) -> None:
        for accumulate, place in first.accumulates:
            store = memref.StoreOp.get(accumulate.value, accumulate.memref, list(accumulate.indices))
            store.location = accumulate.location
            Rewriter.insert_op(store, InsertPoint.before(place))
            Rewriter.erase_op(accumulate)

    # Steps, each of which begins with zeros and ends with them.

    def _remove_in_steps(self, loop: Operation) -> None:
        """If each iteration of `loop` gives elements values, and clears them in the end: neither fill nor clear."""
        if not isinstance(loop, scf.ForOp):
            return
        steps = [op for op in loop.body.block.ops if any(self._touching(op))]
        if len(steps) == 1:
            self._remove_in_steps(steps[0])
            return
        if (clear := self._clear(steps[-1])) is None:
            return
        first = self._first(steps[0])
        if first is None or not _is_zero(clear.value) or tuple(map(_counted, clear.indices)) != tuple(first.elements):
            return
        if self._stays_within(first, steps[1:]):
            self._store_instead(first)
            for op in (self.fill, clear):
                Rewriter.erase_op(op)

    def _clear(self, op: Operation) -> memref.StoreOp | None:
        """What writes to elements that `op` has just read, each once, if `op` does nothing else with the array."""
        match [*self._touching(op)]:
            case [memref.LoadOp() as load, memref.StoreOp() as clear]:
                pass
            case _:
                return None
        if not self._is_access(load) or not self._is_access(clear):
            return None
        if load.parent is not clear.parent or tuple(load.indices) != tuple(clear.indices):
            return None
        nest = self._nest(op, clear)
        if nest is None or clear.parent is not nest[0].body.block:
            return None
        return clear if _elements(op, nest, clear.indices) is not None else None

    def _remove_last_clears(self, behind: Sequence[Operation]) -> None:
        """Remove the stores to elements that nothing reads any more, in the last ops of the array's life."""
        for op in reversed(behind):
            touching = list(self._touching(op))
            if not all(isinstance(inner, memref.StoreOp) and self._is_access(inner) for inner in touching):
                if (clear := self._clear(op)) is not None:
                    Rewriter.erase_op(clear)
                return
            for store in touching:
                Rewriter.erase_op(store)


_ACCESSES = AccumulateOp | memref.LoadOp | memref.StoreOp


def _behind(op: Operation) -> Iterator[Operation]:
    """What comes after `op` in its block."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _elements(outermost: Operation, nest: Sequence[scf.ForOp], indices: Sequence[SSAValue]) -> Sequence[_Bounds] | None:
    """What `indices` count through if each iteration of the loops of `nest` reaches an element of its own, else None.

    The bounds, and what is counted down from, are from outside of the nest, whose outermost loop is `outermost`.
    """
    left, found = list(nest), list[_Bounds]()
    for index in indices:
        loop = next((loop for loop in left if _follows(index, loop) is not None), None)
        if loop is None:
            return None
        left.remove(loop)
        bounds = _bounds(index, loop)
        if any(isinstance(value, SSAValue) and outermost.is_ancestor(value.owner) for value in bounds):
            return None
        found.append(bounds)
    return None if left else found


def _bounds(index: SSAValue, loop: scf.ForOp) -> _Bounds:
    return loop.lb, loop.ub, loop.step, _follows(index, loop)


def _counted(index: SSAValue) -> _Bounds | None:
    """What `index` counts through, if it is the variable of a loop or counted down by one."""
    variable = index.op.rhs if isinstance(index, OpResult) and isinstance(index.op, arith.SubiOp) else index
    loop = variable.owner.parent_op() if isinstance(variable.owner, Block) else None
    return _bounds(index, loop) if isinstance(loop, scf.ForOp) and _follows(index, loop) is not None else None


def _follows(index: SSAValue, loop: scf.ForOp) -> SSAValue | int | None:
    """How `index` follows from the variable of `loop`: as it is, or counted down from what this returns."""
    variable = loop.body.block.args[0]
    if index is variable:
        return variable.index
    if isinstance(index, OpResult) and isinstance(index.op, arith.SubiOp) and index.op.rhs is variable:
        return index.op.lhs
    return None


def _is_zero(value: SSAValue) -> bool:
    if not isinstance(value, OpResult) or not isinstance(value.op, arith.ConstantOp):
        return False
    constant = value.op.value
    return isinstance(constant, FloatAttr) and constant.value.data == 0


def _counts_all(bounds: _Bounds, extent: SSAValue | int) -> bool:
    """Whether an index counts through each of 0 to `extent` - 1, up, or down from the end."""
    lower, upper, step, last = bounds
    if constant_integer(lower) != 0 or constant_integer(step) != 1 or extent_key(upper) != extent_key(extent):
        return False
    if not isinstance(last, SSAValue):
        return True
    known = constant_integer(upper)
    if known is not None:
        return constant_integer(last) == known - 1
    return (
        isinstance(last, OpResult)
        and isinstance(last.op, arith.SubiOp)
        and last.op.lhs is upper
        and constant_integer(last.op.rhs) == 1
    )

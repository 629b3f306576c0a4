"""Have each value computed once: pure ops and loads that repeat an earlier one where that one's result can be had.

A load repeats an earlier one when nothing in between can have written to the array. One walk over the function, with
a table of what is known that grows on the way into a block and shrinks on the way out, so the time is linear.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import count

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.analysis.source_names import set_source_name, source_name


class _Memory:
    """Which state each array is in: a number that changes when something may have written to it."""

    def __init__(self, function: func.FuncOp):
        self._states: dict[SSAValue, int] = {}
        self._numbers = count(1)
        self._written: dict[Operation, frozenset[SSAValue]] = {}
        self._collect(function.body.block)

    def _collect(self, block: Block) -> frozenset[SSAValue]:
        """The roots that `block` may write to; notes them for each loop and branch on the way."""
        total: set[SSAValue] = set()
        for op in block.ops:
            written = {root for array in written_arrays(op) for root in roots(array)}
            for region in op.regions:
                for inner in region.blocks:
                    written |= self._collect(inner)
            if op.regions:
                self._written[op] = frozenset(written)
            total |= written
        return frozenset(total)

    def state(self, array: SSAValue) -> Hashable:
        """The state of what `array` is a view of."""
        return tuple(sorted((id(root), self._states.get(root, 0)) for root in roots(array)))

    def written_by(self, op: Operation) -> Iterator[SSAValue]:
        """The roots that `op`, or something in its regions, may write to."""
        if op.regions:
            yield from self._written[op]
        else:
            for array in written_arrays(op):
                yield from roots(array)

    def change(self, op: Operation) -> None:
        """`op` may have written."""
        for root in self.written_by(op):
            self._states[root] = next(self._numbers)


class _Numbering:
    """The walk: what is known, and in which order it came to be known."""

    def __init__(self, function: func.FuncOp):
        self._memory = _Memory(function)
        self._known: dict[Hashable, Operation] = {}
        self._history: list[Hashable] = []

    def block(self, block: Block) -> None:
        """Simplify `block`; what it makes known is forgotten at its end."""
        start = len(self._history)
        for op in block.ops:
            key = self._key(op)
            if key is not None:
                self._unify(op, key)
                continue
            if isinstance(op, scf.ForOp | scf.WhileOp):
                # The body runs again after itself.
                self._memory.change(op)
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)
            self._memory.change(op)
        while len(self._history) > start:
            del self._known[self._history.pop()]

    def _key(self, op: Operation) -> Hashable:
        """What tells `op` from ops with other results; None if it is not to be unified."""
        if is_pure(op):
            state: Hashable = None
        elif isinstance(op, memref.LoadOp):
            state = self._memory.state(op.memref)
        else:
            return None
        return (
            type(op),
            tuple(op.operands),
            frozenset(op.properties.items()),
            frozenset(op.attributes.items()),
            tuple(op.result_types),
            state,
        )

    def _unify(self, op: Operation, key: Hashable) -> None:
        earlier = self._known.get(key)
        if earlier is None:
            self._known[key] = op
            self._history.append(key)
            return
        for ours, theirs in zip(op.results, earlier.results, strict=True):
            if source_name(theirs) is None and (name := source_name(ours)) is not None:
                set_source_name(theirs, name)
            ours.replace_all_uses_with(theirs)
        op.detach()
        op.erase()


def unify_common_subexpressions(function: func.FuncOp) -> None:
    """Replace each repeated pure op and load in `function` by the first."""
    _Numbering(function).block(function.body.block)

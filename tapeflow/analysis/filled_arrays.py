"""Which loop has filled what is loaded: what it stored can be computed again for the subscripts that are loaded.

```mlir
scf.for %i = %c0 to %n step %c1 {
  %v = arith.mulf %x_i, %t : f64
  memref.store %v, %w[%i] : memref<?xf64>
}
scf.for %k = %c0 to %n step %c1 {
  %u = memref.load %w[%k] : memref<?xf64>         // is %x_k * %t
```

The loops store to each element once, in a block that the load is in too, further behind. They reach the element that is
loaded, as they run over the whole array, or as the load's own loops have the same bounds. Nothing in between writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.known_elements import MOST_COMPARED
from tapeflow.analysis.roots import roots, written_arrays


@dataclass(frozen=True)
class Fill:
    """What a load loads.

    Attributes:
        store: that has stored it, in loops.
        loops: the outermost of these.
        subscripts: of the load, for each variable of the loops.
    """

    store: memref.StoreOp
    loops: scf.ForOp
    subscripts: Mapping[SSAValue, SSAValue]


class FilledArrays:
    """The loops of a function that fill arrays.

    Args:
        function: structured.
    """

    def __init__(self, function: func.FuncOp):
        self._positions: dict[Operation, int] = {}
        self._writers: dict[SSAValue, list[Operation]] = {}
        for op in function.body.walk():
            self._positions[op] = len(self._positions)
            for root in {root for array in written_arrays(op) for root in roots(array)}:
                self._writers.setdefault(root, []).append(op)

    def fill(self, load: memref.LoadOp) -> Fill | None:
        """The store, in loops, of what `load` loads; None if that is not known."""
        (root, *others) = roots(load.memref)
        writers = self._writers.get(root, [])
        if others or len(writers) > MOST_COMPARED:
            return None
        before = [op for op in writers if self._positions[op] < self._positions[load]]
        if not before or not isinstance(store := before[-1], memref.StoreOp) or store.memref is not load.memref:
            return None
        loops = _nest(store)
        if not loops or not self._is_last(loops[0], load, writers) or not _reach(store, loops, load):
            return None
        return Fill(store, loops[0], dict(zip(store.indices, load.indices, strict=True)))

    def _is_last(self, loops: scf.ForOp, load: memref.LoadOp, writers: Sequence[Operation]) -> bool:
        """Whether `loops`, with one of `writers`, come before `load`, and no other of these from there to it."""
        block = loops.parent
        assert block is not None
        around = block.find_ancestor_op_in_block(load)
        if around is None or self._positions[around] <= self._positions[loops]:
            return False
        others = (block.find_ancestor_op_in_block(op) for op in writers)
        first, last = self._positions[loops], self._positions[around]
        return sum(op is not None and first <= self._positions[op] <= last for op in others) == 1


def _nest(store: memref.StoreOp) -> Sequence[scf.ForOp]:
    """The loops whose variables are the subscripts of `store`, each of one, outermost first; empty if it is not so."""
    left, loops = set(store.indices), list[scf.ForOp]()
    around: Operation = store
    while left:
        parent = around.parent_op()
        if not isinstance(parent, scf.ForOp) or (variable := parent.body.block.args[0]) not in left:
            return ()
        left.remove(variable)
        loops.append(parent)
        around = parent
    return loops[::-1] if len(loops) == len(store.indices) else ()


def _reach(store: memref.StoreOp, loops: Sequence[scf.ForOp], load: memref.LoadOp) -> bool:
    """Whether `store` in `loops` is to the element of `load` too."""
    by_variable: dict[SSAValue, scf.ForOp] = {loop.body.block.args[0]: loop for loop in loops}
    extents = _extents(store.memref)
    for position, (variable, index) in enumerate(zip(store.indices, load.indices, strict=True)):
        loop = by_variable[variable]
        if extents and _runs_over(loop, extents[position]):
            continue
        own = index.block.parent_op() if isinstance(index, BlockArgument) and index.index == 0 else None
        if not isinstance(own, scf.ForOp) or not all(map(_same, own.operands[:3], loop.operands[:3])):
            return False
    return True


def _extents(array: SSAValue) -> Sequence[SSAValue | int]:
    """How many elements a local array has in each dimension; empty for another."""
    if not isinstance(array, OpResult) or not isinstance(array.op, memref.AllocaOp):
        return ()
    sizes = iter(array.op.dynamic_sizes)
    return [next(sizes) if extent == DYNAMIC_INDEX else extent for extent in array.op.memref.type.get_shape()]


def _runs_over(loop: scf.ForOp, extent: SSAValue | int) -> bool:
    if constant_integer(loop.lb) != 0 or constant_integer(loop.step) != 1:
        return False
    return constant_integer(loop.ub) == extent if isinstance(extent, int) else _same(loop.ub, extent)


def _same(one: SSAValue, other: SSAValue) -> bool:
    constant = constant_integer(one)
    return one is other or (constant is not None and constant == constant_integer(other))

"""Do not fill with zeros what is overwritten next: an array that is added to once in each element is stored to instead.

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
cleared either. What is cleared at the end of the array's life, in a loop that has just read it, stays as it is too.

The first applies where the loops behind the fill run over the whole array, in either direction and in any order of the
dimensions, each iteration of the innermost accumulates into the element of its own, and nothing else touches the array
between the fill and the end of the loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.roots import is_array, roots
from tapeflow.dialects.ad import AccumulateOp


def remove_overwritten_fills(fills: Iterable[tuple[memref.AllocaOp, Operation]]) -> None:
    """Remove what needs not be: each fill, of a local array, is an op in the block that allocates the array."""
    for array, fill in fills:
        if fill.parent is None:
            continue
        behind = [op for op in _behind(fill) if any(_touching(op, array.memref))]
        if behind and (accumulate := _overwriting(array, behind[0])) is not None:
            _store_instead(accumulate)
            Rewriter.erase_op(fill)
        elif len(behind) == 1 and (step := _step(array, behind[0])) is not None:
            _store_instead(step.accumulate)
            for op in (fill, step.clear):
                Rewriter.erase_op(op)
        if behind and (clear := _last_clear(array, behind[-1])) is not None:
            Rewriter.erase_op(clear)


def _last_clear(array: memref.AllocaOp, op: Operation) -> memref.StoreOp | None:
    """What writes to each element of `array` that `op`, which nothing that uses the array follows, has just read."""
    match [*_touching(op, array.memref)]:
        case [memref.LoadOp() as load, memref.StoreOp() as clear] if _are_at_one_element(load, clear, array):
            return clear if _elements(op, clear) is not None else None
        case _:
            return None


def _are_at_one_element(load: memref.LoadOp, clear: memref.StoreOp, array: memref.AllocaOp) -> bool:
    is_array = load.memref is array.memref and clear.memref is array.memref
    return is_array and load.parent is clear.parent and tuple(load.indices) == tuple(clear.indices)


def _store_instead(accumulate: AccumulateOp) -> None:
    store = memref.StoreOp.get(accumulate.value, accumulate.memref, list(accumulate.indices))
    store.location = accumulate.location
    Rewriter.replace_op(accumulate, store, [])


def _behind(op: Operation) -> Iterator[Operation]:
    """What comes after `op` in its block."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


@dataclass(frozen=True)
class _Step:
    """What an iteration does with an array: it adds to each of some elements, and reads and clears each later."""

    accumulate: AccumulateOp
    clear: memref.StoreOp


def _step(array: memref.AllocaOp, loop: Operation) -> _Step | None:
    """What each iteration of `loop` does with `array`, if it is that and nothing else."""
    match [*_touching(loop, array.memref)]:
        case [AccumulateOp() as accumulate, memref.LoadOp() as load, memref.StoreOp() as clear]:
            pass
        case _:
            return None
    if not isinstance(loop, scf.ForOp) or accumulate.memref is not array.memref:
        return None
    if not _are_at_one_element(load, clear, array) or not _is_zero(clear.value):
        return None
    body = loop.body.block
    adds, clears = (body.find_ancestor_op_in_block(op) for op in (accumulate, clear))
    if adds is None or clears is None or adds is clears:
        return None
    added, cleared = _elements(adds, accumulate), _elements(clears, clear)
    return _Step(accumulate, clear) if added is not None and added == cleared else None


def _elements(outermost: Operation, access: AccumulateOp | memref.StoreOp) -> Sequence[object] | None:
    """What tells which elements `access` reaches, each once, in the nest from `outermost`; None if that is unknown."""
    nest = _nest(outermost, access)
    if nest is None or len(nest) != len(access.indices):
        return None
    left, found = list(nest), list[object]()
    for index in access.indices:
        loop = next((loop for loop in left if _follows(index, loop) is not None), None)
        if loop is None:
            return None
        left.remove(loop)
        follows = _follows(index, loop)
        # The bounds, and what is counted down from, are from outside of the nest: each element has one iteration.
        counted: list[object] = [loop.lb, loop.ub, loop.step, follows]
        if any(isinstance(value, SSAValue) and outermost.is_ancestor(value.owner) for value in counted):
            return None
        found.append((loop.lb, loop.ub, loop.step, follows))
    return found


def _follows(index: SSAValue, loop: scf.ForOp) -> object | None:
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


def _overwriting(array: memref.AllocaOp, op: Operation) -> AccumulateOp | None:
    """What gives each element of `array` its first value in `op`, if one op in a nest of loops does."""
    touching = list(_touching(op, array.memref))
    if len(touching) != 1 or not isinstance(accumulate := touching[0], AccumulateOp):
        return None
    if accumulate.memref is not array.memref or accumulate.value is array.memref:
        return None
    nest = _nest(op, accumulate)
    return accumulate if nest is not None and _runs_over(nest, accumulate.indices, array) else None


def _touching(op: Operation, array: SSAValue) -> Iterator[Operation]:
    """The ops in `op` that use `array` or a view of it."""
    for inner in op.walk():
        if any(is_array(operand) and array in roots(operand) for operand in inner.operands):
            yield inner


def _nest(outermost: Operation, inside: Operation) -> Sequence[scf.ForOp] | None:
    """The loops from `outermost` to the one that runs `inside` in each iteration; None if there is a branch between."""
    loops: list[scf.ForOp] = []
    current = inside
    while current is not outermost:
        around = current.parent_op()
        if not isinstance(around, scf.ForOp):
            return None
        loops.append(around)
        current = around
    return loops


def _runs_over(nest: Sequence[scf.ForOp], indices: Sequence[SSAValue], array: memref.AllocaOp) -> bool:
    """Whether the loops of `nest`, one for each of `indices`, reach each element of `array` exactly once."""
    if len(nest) != len(indices):
        return False
    left = list(nest)
    for index, extent in zip(indices, _extents(array), strict=True):
        loop = next((loop for loop in left if _counts_all(loop, index, extent)), None)
        if loop is None:
            return False
        left.remove(loop)
    return True


def _extents(array: memref.AllocaOp) -> Iterator[SSAValue | int]:
    sizes = iter(array.dynamic_sizes)
    for extent in array.memref.type.get_shape():
        yield next(sizes) if extent == DYNAMIC_INDEX else extent


def _counts_all(loop: scf.ForOp, index: SSAValue, extent: SSAValue | int) -> bool:
    """Whether `index` is each of 0 to `extent` - 1 in one iteration of `loop`: its variable, or that from the end."""
    if constant_integer(loop.lb) != 0 or constant_integer(loop.step) != 1:
        return False
    upper = constant_integer(loop.ub)
    if loop.ub is not extent and (upper is None or upper != _known(extent)):
        return False
    variable = loop.body.block.args[0]
    if index is variable:
        return True
    if not isinstance(index, OpResult) or not isinstance(index.op, arith.SubiOp) or index.op.rhs is not variable:
        return False
    last = index.op.lhs
    if upper is not None:
        return constant_integer(last) == upper - 1
    return (
        isinstance(last, OpResult)
        and isinstance(last.op, arith.SubiOp)
        and last.op.lhs is loop.ub
        and constant_integer(last.op.rhs) == 1
    )


def _known(extent: SSAValue | int) -> int | None:
    return extent if isinstance(extent, int) else constant_integer(extent)

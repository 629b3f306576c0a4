"""Loops whose floating-point sums gcc before 14 may make wrong code of.

gcc merges the permutation of a group of loads into a sum that it must keep in order, and then counts some elements
twice (its bug 110381): `s += x[2*i + 1]; s += x[2*i]` in a loop. The sum may be a scalar or an element that stays the
same while the loop runs, and the two statements may come from a short inner loop that gcc unrolls. Such loops begin
with `TF_STEP_SUM()`, which keeps that compiler from vectorising them; they gain next to nothing by it, since sums in
order are not sped up. Other loops are left to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, SSAValue

from tapeflow.analysis.effects import is_pure
from tapeflow.backend.c_loops import integer_constant
from tapeflow.dialects import ad, spad

MOST_UNROLLED = 16
"""Iterations of the longest loop that gcc unrolls whole (its parameter max-completely-peel-times)."""

_Add = ad.AccumulateOp | memref.StoreOp
_Loop = scf.ForOp | scf.WhileOp | spad.LayerOp


def sums_in_order(loop: Operation) -> bool:
    """Whether an iteration of `loop` may add floats to what an earlier iteration added to.

    Args:
        loop: a `scf.for`, a `scf.while` in normal form, or a `spad.layer`.
    """
    if any(isinstance(result.type, AnyFloat) for result in loop.results):
        return True
    adds = list(_adds(_body(loop)))
    if any(not _varies(add, around) for add in adds for around in _unrolled_into(loop)):
        return True
    targets = Counter(add.memref for add in adds)
    repeated = [add for add in adds if targets[add.memref] > 1]
    return any(not _varies(add, around) for add in repeated for around in _loops_around(loop))


def _body(loop: Operation) -> Block:
    return loop.regions[1 if isinstance(loop, scf.WhileOp) else 0].block


def _adds(block: Block) -> Iterator[_Add]:
    """What `block` writes to arrays of floats, its branches included, its loops not."""
    for op in block.ops:
        if isinstance(op, ad.AccumulateOp | memref.StoreOp):
            if isinstance(op.value.type, AnyFloat):
                yield op
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                if region.blocks:
                    yield from _adds(region.block)


def _loops_around(loop: Operation) -> Iterator[Operation]:
    """`loop` and those that it runs in, from within."""
    current: Operation | None = loop
    while current is not None:
        if isinstance(current, _Loop):
            yield current
        current = current.parent_op()


def _unrolled_into(loop: Operation) -> Iterator[Operation]:
    """`loop`, and the loops around it whose body may come to hold all of its iterations."""
    for around in _loops_around(loop):
        yield around
        if not _is_short(around):
            return


def _is_short(loop: Operation) -> bool:
    if not isinstance(loop, scf.ForOp | spad.LayerOp):
        return False
    bounds = [integer_constant(value) for value in (loop.lb, loop.ub)]
    step = 1 if loop.step is None else integer_constant(loop.step)
    if bounds[0] is None or bounds[1] is None or step is None or step <= 0:
        return False
    return bounds[1] - bounds[0] <= MOST_UNROLLED * step


def _varies(add: _Add, loop: Operation) -> bool:
    """Whether the element that `add` writes depends on the iteration of `loop`."""
    pending: list[SSAValue] = list(add.indices)
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        inside = owner.parent_op() if isinstance(owner, Block) else owner
        if value in seen or inside is None or not loop.is_ancestor(inside):
            continue
        seen.add(value)
        if isinstance(owner, Block) or not is_pure(owner):
            return True
        pending += owner.operands
    return False

"""How often a block is expected to run: a weight for layout decisions, never something to rely on.

Trip counts are taken where the bounds are constants and guessed elsewhere; a branch counts as taken. Only
`surely_runs` is to be relied on.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, OpResult, SSAValue

USUAL_TRIPS = 64
"""Trips of a loop with run-time bounds: a guess between a loop over the parts of a thing and one over many things."""


def constant_integer(value: SSAValue) -> int | None:
    """The integer that `value` is known to be, or None."""
    if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp):
        constant = value.op.value
        return constant.value.data if isinstance(constant, IntegerAttr) else None
    return None


def expected_trips(loop: scf.ForOp) -> int:
    """The trip count of `loop`: exact for constant bounds, else the usual one."""
    lb, ub, step = (constant_integer(bound) for bound in (loop.lb, loop.ub, loop.step))
    if lb is None or ub is None or step is None or step < 1:
        return USUAL_TRIPS
    return max(-(-(ub - lb) // step), 0)


def surely_runs(loop: scf.ForOp) -> bool:
    """Whether `loop` is known to run at least one iteration."""
    lb, ub = constant_integer(loop.lb), constant_integer(loop.ub)
    return lb is not None and ub is not None and lb < ub


def expected_runs(block: Block) -> int:
    """How often `block` is expected to run in a call of its function."""
    runs, parent = 1, block.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp):
            runs *= expected_trips(parent)
        elif isinstance(parent, scf.WhileOp):
            runs *= USUAL_TRIPS
        parent = parent.parent_op()
    return runs

"""What a loop's iterations count: values that follow from the number of the iteration, and so need no tape.

The variable of a counted loop is one. So is an integer that a loop of either kind carries and changes by the same
amount in every iteration: the counter of a `while`, or of a `for` that a `break` leaves, or an index that is moved on.
Integers wrap around, so initial value plus iterations times step is what so many additions give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.loops import Loop, body_of, initial_values, yielded_values


@dataclass(frozen=True)
class Induction:
    """A carried integer that is `initial + k * step` in iteration `k`, counted from 0; minus if it counts `down`."""

    initial: SSAValue
    step: SSAValue
    down: bool


def induction_of(argument: SSAValue) -> Induction | None:
    """How a loop that carries `argument` counts it; None if it does not, or if nothing carries it."""
    if not isinstance(argument, BlockArgument) or not isinstance(loop := argument.block.parent_op(), Loop):
        return None
    position = argument.index - isinstance(loop, scf.ForOp)
    if argument.block is not body_of(loop) or position < 0:
        return None
    yielded = yielded_values(loop)[position]
    if not isinstance(yielded, OpResult) or not isinstance(yielded.op, arith.AddiOp | arith.SubiOp):
        return None
    down = isinstance(yielded.op, arith.SubiOp)
    counted, step = yielded.op.operands
    if not down and step is argument:
        counted, step = step, counted
    if counted is not argument or loop.is_ancestor(step.owner):
        return None
    return Induction(initial_values(loop)[position], step, down)


def counted_from(argument: SSAValue) -> Sequence[SSAValue] | None:
    """What a loop's `argument` follows from beside the number of the iteration, all from outside of the loop.

    None if it does not follow: what it carries must be known for each iteration.
    """
    loop = argument.block.parent_op() if isinstance(argument, BlockArgument) else None
    if isinstance(loop, scf.ForOp) and argument is loop.body.block.args[0]:
        # The last iteration of a loop that counts from 0 follows from the trip count of its mirror.
        bounds = () if constant_integer(loop.lb) == 0 else (loop.lb, loop.ub)
        return (*bounds, loop.step)
    induction = induction_of(argument)
    return None if induction is None else (induction.initial, induction.step)

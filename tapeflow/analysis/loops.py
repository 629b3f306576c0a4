"""Loops of either kind, counted (`scf.for`) and conditional (`scf.while`), asked about in one way.

A `scf.while` is in *normal form* when its `before` region has no effects and forwards exactly its own block arguments:
then the `after` region is the body, position k of operands, arguments and results is one carried value, and the
result is what the body would have been given next. `ad-prepare` brings every while into this form.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tapeflow.analysis.effects import is_pure

Loop = scf.ForOp | scf.WhileOp


def is_body(block: Block) -> bool:
    """Whether `block` runs once for each iteration of a loop."""
    return isinstance(block.parent_op(), Loop)


def condition_of(loop: scf.WhileOp) -> scf.ConditionOp:
    """What decides whether `loop` goes on."""
    last = loop.before_region.block.last_op
    assert isinstance(last, scf.ConditionOp)
    return last


def body_of(loop: Loop) -> Block:
    """The body: of a while in normal form its `after` region."""
    return loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block


def carried_arguments(loop: Loop) -> Sequence[BlockArgument]:
    """What the body starts each iteration with, in the order of the results."""
    return body_of(loop).args[1:] if isinstance(loop, scf.ForOp) else body_of(loop).args


def initial_values(loop: Loop) -> Sequence[SSAValue]:
    """What the first iteration starts with, in the order of the results."""
    return loop.iter_args if isinstance(loop, scf.ForOp) else loop.arguments


def yielded_values(loop: Loop) -> Sequence[SSAValue]:
    """What an iteration hands on, in the order of the results."""
    last = body_of(loop).last_op
    assert isinstance(last, scf.YieldOp)
    return last.operands


def has_no_effects(block: Block) -> bool:
    """Whether running `block` changes nothing, so that it may only ask."""
    harmless = (memref.LoadOp, scf.IfOp, scf.ForOp, scf.YieldOp, scf.ConditionOp)
    return all(is_pure(inner) or isinstance(inner, harmless) for op in block.ops for inner in op.walk())


def is_normal(loop: scf.WhileOp) -> bool:
    """Whether `loop` is in normal form."""
    before = loop.before_region.block
    return tuple(condition_of(loop).args) == tuple(before.args) and has_no_effects(before)


def is_carried_by_while(value: SSAValue) -> bool:
    """Whether `value` is what a while starts its test or its body with."""
    return isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), scf.WhileOp)


def innermost_loop(op: Operation) -> Loop | None:
    """The loop that `op` is in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, Loop):
        parent = parent.parent_op()
    return parent

"""The joint form of a function that is called: how it is told, and what may be relied on in it.

See `transforms/joint_form`: each of the two sweeps is in a branch that is always taken, the forward one marked.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument

SWEEP = "tapeflow.sweep"
"""The attribute of the branch that is the forward sweep."""

UNCHANGED = "tapeflow.unchanged"
"""The attribute of an array argument to which nobody writes from the call of the forward sweep to that of the other."""


def sweep_of(function: func.FuncOp) -> scf.IfOp | None:
    """The forward sweep of a function in joint form; None if it is in another."""
    return next((op for op in function.body.block.ops if isinstance(op, scf.IfOp) and SWEEP in op.attributes), None)


def changing_arguments(function: func.FuncOp) -> frozenset[BlockArgument]:
    """The array arguments that others may write to between the two sweeps of `function`: none if it is in one piece."""
    if sweep_of(function) is None or function.arg_attrs is None:
        return frozenset()
    return frozenset(
        argument
        for argument, marks in zip(function.args, function.arg_attrs, strict=True)
        if isinstance(argument.type, MemRefType) and UNCHANGED not in marks.data
    )

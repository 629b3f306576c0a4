"""What tapes, buffers and FIFOs have in common: they are handles, SSA values that name something mutable.

The cursor lives inside the handle, not in SSA, so the order of the ops on one handle is what their memory effects
say: creating is ALLOC *on the result* (so two equal creations stay two), every use that moves the cursor is
READ and WRITE on the handle, a question such as `spad.full` is READ.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Set as AbstractSet

from xdsl.dialects import scf
from xdsl.ir import Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException


class HandleType(ParametrizedAttribute, TypeAttribute):
    """Base of the types whose values are handles."""


class CreatesHandle(MemoryEffect):
    """The op allocates what its results name."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """ALLOC on each result."""
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


class MovesHandle(MemoryEffect):
    """The op reads and writes the handles among its operands."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """READ and WRITE on each handle."""
        return {
            EffectInstance(kind, operand)
            for operand in op.operands
            if isinstance(operand.type, HandleType)
            for kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        }


class AsksHandle(MemoryEffect):
    """The op only reads the handles among its operands."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """READ on each handle."""
        return {
            EffectInstance(MemoryEffectKind.READ, operand)
            for operand in op.operands
            if isinstance(operand.type, HandleType)
        }


class OrderedOp(IRDLOperation, ABC):
    """An op on handles whose order counts, so that it stands in sequential code only."""

    def verify_(self) -> None:
        """Order is kept only in sequential code."""
        for operand in self.operands:
            if isinstance(operand.type, HandleType):
                verify_not_in_parallel(self, operand)


def verify_not_in_parallel(op: Operation, handle: SSAValue) -> None:
    """Refuse `op` where an `scf.parallel` lies between it and the definition of `handle`.

    Iterations of a parallel loop run in no order, so a stack they share would be popped in another order than pushed.

    Raises:
        VerifyException: names the op and the remedy.
    """
    home = handle.owner.parent_region() if isinstance(handle.owner, Operation) else handle.owner.parent
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ParallelOp) and (home is None or not parent.is_ancestor(handle.owner)):
            raise VerifyException(
                f"'{op.name}' in an scf.parallel uses a handle from outside of it, whose order would be lost; "
                "make the loop sequential (scf.for) or create the handle inside"
            )
        parent = parent.parent_op()

"""Where adjoints are while the reverse sweep is built: one frame for each block that is being mirrored.

Adjoints of scalars are SSA values. A frame knows the adjoints of the values that its primal block defines, and of those
from outside that something in the block contributes to: in a loop the latter are carried round, in a branch they are
its results. None stands for zero, so that nothing is added to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Block, BlockArgument, SSAValue

from tapeflow.analysis.block_tree import defining_block
from tapeflow.analysis.loops import is_body
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.transforms.chain_rule import Product
from tapeflow.transforms.located_builder import LocatedBuilder


def adjoint_name(value: SSAValue) -> str | None:
    """What the adjoint of `value` is called; None if `value` has no name."""
    name = source_name(value)
    return None if name is None else f"{name}_b"


@dataclass
class Frame:
    """The mirror of one primal block, under construction."""

    primal: Block
    build: LocatedBuilder
    """Appends to the mirrored block."""

    parent: Frame | None = None
    adjoints: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The adjoint so far, by primal value; what is not there is zero, or as outside."""

    carried: dict[SSAValue, BlockArgument] = field(default_factory=dict[SSAValue, BlockArgument])
    """In a loop: the block argument that carries the adjoint of a value from outside."""

    shadows: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The shadow, by the primal array that the block defines."""

    stand_ins: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for a primal array that the block defines, where it is only handed on."""

    @property
    def block(self) -> Block:
        """The mirrored block."""
        return self.build.insertion_point.block

    @property
    def is_loop(self) -> bool:
        """Whether the block is the body of a loop."""
        return is_body(self.primal)

    def owns(self, value: SSAValue) -> bool:
        """Whether the primal block defines `value`."""
        return defining_block(value) is self.primal

    def owner(self, value: SSAValue) -> Frame:
        """The frame, this one or one around it, whose block defines `value`."""
        frame = self
        while not frame.owns(value):
            assert frame.parent is not None
            frame = frame.parent
        return frame

    def adjoint(self, value: SSAValue) -> SSAValue | None:
        """The adjoint of `value` so far, here; None for zero. In a loop, one from outside is carried from here on."""
        known = self.adjoints.get(value)
        if known is not None or self.owns(value):
            return known
        assert self.parent is not None
        if not self.is_loop:
            return self.parent.adjoint(value)
        argument = self.block.insert_arg(value.type, len(self.block.args), self.build.place)
        if (name := adjoint_name(value)) is not None:
            set_source_name(argument, name)
        self.carried[value] = argument
        self.adjoints[value] = argument
        return argument

    def contribute(self, value: SSAValue, share: Product) -> None:
        """Add `share` to the adjoint of `value`."""
        before = self.adjoint(value)
        name = adjoint_name(value)
        if before is not None:
            combine = arith.SubfOp if share.negated else arith.AddfOp
            after = self.build.value(combine(before, share.value), name)
        elif share.negated:
            after = self.build.value(arith.NegfOp(share.value), name)
        else:
            after = share.value
            if name is not None and source_name(after) is None:
                set_source_name(after, name)
        self.adjoints[value] = after

    def is_in_turn(self, value: SSAValue) -> bool:
        """Whether `value` has no adjoint yet, and no loop lies between this block and the one that defines it."""
        frame = self
        while value not in frame.adjoints:
            if frame.owns(value):
                return True
            if frame.is_loop or frame.parent is None:
                return False
            frame = frame.parent
        return False

    def from_outside(self) -> Iterator[SSAValue]:
        """The values from outside that something here contributed to."""
        for value in self.adjoints:
            if not self.owns(value):
                yield value

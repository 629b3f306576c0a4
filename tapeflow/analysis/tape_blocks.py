"""Which tapes are pushed and popped together, and so can share one record.

Reverse mode pushes a value in one block of the forward sweep and pops it in the mirror of that block. Tapes with the
same pair of blocks are pushed equally often in the same order: one record holds a value of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tapeflow.analysis.block_order import BlockOrder
from tapeflow.dialects import tape


@dataclass(frozen=True)
class TapedValue:
    """A value with a tape to itself: created, pushed and popped by one op each."""

    create: tape.CreateOp
    push: tape.PushOp
    pop: tape.PopOp

    @property
    def value(self) -> SSAValue:
        """What is pushed."""
        return self.push.value

    @property
    def blocks(self) -> tuple[Block | None, Block | None, Block | None]:
        """The blocks that create, push and pop."""
        return self.create.parent, self.push.parent, self.pop.parent


def taped_value(create: tape.CreateOp, order: BlockOrder) -> TapedValue | None:
    """The value with tape `create` to itself; None when the tape is pushed or popped in several places or escapes."""
    pushes: list[tape.PushOp] = []
    pops: list[tape.PopOp] = []
    for use in create.tape.uses:
        match use.operation:
            case tape.PushOp() as push:
                pushes.append(push)
            case tape.PopOp() as pop:
                pops.append(pop)
            case _:
                return None
    if len(pushes) != 1 or len(pops) != 1 or not order.runs_before(pushes[0], pops[0]):
        return None
    return TapedValue(create, pushes[0], pops[0])


def first_of(ops: Sequence[Operation]) -> Operation:
    """The first of `ops`, which share a block, in the order of that block."""
    chosen = set(ops)
    block = ops[0].parent
    return ops[0] if block is None else next(op for op in block.ops if op in chosen)


def taped_together(creates: Iterable[tape.CreateOp]) -> Iterator[tuple[TapedValue, ...]]:
    """Group the tapes that one record can replace, in order of their first creation; values in order of their push.

    Values that share their blocks part again where one is popped before another is pushed.
    """
    groups: defaultdict[tuple[Block | None, ...], list[TapedValue]] = defaultdict(list)
    order = BlockOrder()
    for create in creates:
        if (taped := taped_value(create, order)) is not None:
            groups[taped.blocks].append(taped)
    for group in groups.values():
        group.sort(key=lambda taped: order.position(taped.push))
        if order.runs_before(group[-1].push, first_of([taped.pop for taped in group])):
            yield tuple(group)
        else:
            yield from ((taped,) for taped in group)

"""How a region is used: where it is recorded and replayed, and which loops do so exactly once an iteration."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from tapeflow.dialects import spad, tape

LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp, spad.LayerOp)


@dataclass(frozen=True)
class UsedRegion:
    """A region whose every use is known: it is recorded and replayed here and nowhere else."""

    create: tape.CreateOp
    region_type: tape.RegionType
    records: tuple[tape.RecordOp, ...]
    replays: tuple[tape.ReplayOp, ...]

    @property
    def accesses(self) -> tuple[tape.RecordOp | tape.ReplayOp, ...]:
        """All ops that move the region's cursor."""
        return self.records + self.replays


def used_region(create: tape.CreateOp) -> UsedRegion | None:
    """The region that `create` makes; None for a bare tape, and where it is never used or escapes (to a callee)."""
    if not isinstance(create.tape.type, tape.RegionType):
        return None
    users = [use.operation for use in create.tape.uses]
    records = tuple(user for user in users if isinstance(user, tape.RecordOp))
    replays = tuple(user for user in users if isinstance(user, tape.ReplayOp))
    if not records or not replays or len(records) + len(replays) != len(users):
        return None
    return UsedRegion(create, create.tape.type, records, replays)


def is_innermost(loop: Operation) -> bool:
    """Whether no loop is nested in `loop`."""
    return not any(isinstance(op, LOOPS) for op in loop.walk() if op is not loop)


def layer_loop(region: UsedRegion, access: tape.RecordOp | tape.ReplayOp) -> scf.ForOp | None:
    """The loop that `access` makes a layer of: innermost, counted, and moving `region` once an iteration, by `access`.

    None where there is no such loop: under a branch, round an inner loop, or outside of loops.
    """
    loop = access.parent_op()
    if not isinstance(loop, scf.ForOp) or not isinstance(loop.lb.type, IndexType) or not is_innermost(loop):
        return None
    inside = [other for other in region.accesses if loop.is_ancestor(other)]
    return loop if inside == [access] else None

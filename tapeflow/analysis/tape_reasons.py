"""Why a value is taped: which of the things that it is computed from are gone when the reverse sweep needs it.

The reverse sweep can repeat an operation whose operands it has. So a value is taped because somewhere among what it is
computed from there is something that cannot be had again: what a loop carries from one iteration to the next, or an
element of an array that is overwritten. If there is no such thing, repeating the operations costs more than the tape.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from xdsl.dialects import func, memref, scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.availability import captured
from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.inductions import counted_from
from tapeflow.analysis.region_names import block_name
from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.unchanging import Unchanging
from tapeflow.errors import source_position

CHEAPER = "it is cheaper to tape than to compute again"
"""The reason where everything that a value is computed from can be had again."""


def tape_reasons(function: func.FuncOp) -> Callable[[SSAValue], str]:
    """For the taped values of `function`, a gradient: why each is taped, in a phrase."""
    return _Reasons(function).of


class _Reasons:
    def __init__(self, function: func.FuncOp):
        self._unchanging = Unchanging(function)

    def of(self, value: SSAValue) -> str:
        """What is gone that is nearest to `value`, breadth first."""
        seen, pending = {value}, deque([value])
        while pending:
            nearest = pending.popleft()
            if (gone := self._gone(nearest)) is not None:
                return gone
            for source in _sources(nearest):
                if source not in seen and not is_top_block(defining_block(source)):
                    seen.add(source)
                    pending.append(source)
        return CHEAPER

    def _gone(self, value: SSAValue) -> str | None:
        """Why `value` cannot be had again even from its operands; None if it can."""
        match value:
            case BlockArgument(block=block) if isinstance(loop := block.parent_op(), scf.ForOp | scf.WhileOp):
                if counted_from(value) is not None:
                    return None
                return f"{_named(value)} is carried from one iteration of {_loop(loop)} to the next"
            case OpResult(op=scf.ForOp() | scf.WhileOp() as loop):
                return f"{_named(value)} is what {_loop(loop)} comes to"
            case OpResult(op=memref.LoadOp() as load):
                write = self._unchanging.write_after(load)
                return write and f"{_named(load.memref)} is overwritten{_at(write)}"
            case OpResult(op=op) if not is_pure(op) and not isinstance(op, scf.IfOp):
                return f"{_named(value)} is not sure to be the same when '{op.name}' runs again"
            case _:
                return None


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """What `value` is computed from; of a branch, what its arms yield comes from."""
    if isinstance(value, OpResult):
        return [*dict.fromkeys(captured(value.op)), *_inside(value.op)]
    return counted_from(value) or ()


def _inside(op: Operation) -> list[SSAValue]:
    return [result for inner in op.walk() if inner is not op for result in inner.results]


def _named(value: SSAValue) -> str:
    return source_name(value) or "a value"


def _loop(loop: scf.ForOp | scf.WhileOp) -> str:
    if isinstance(loop, scf.WhileOp):
        return f"the while loop{_at(loop)}"
    return f"loop {block_name(loop.body.block)}{_at(loop)}"


def _at(op: Operation) -> str:
    """Where `op` is, as ` (line:column)`; nothing if that is unknown."""
    place = source_position(op.location)
    return "" if place is None else " ({}:{})".format(*place.rsplit(":", 2)[1:])

"""Meet what the reverse sweep needs of the forward sweep: have it again, or tape it.

What is taped is pushed in the innermost block that contains all its needs and lies in no loop that its definition is
outside of, and popped in the mirror of that block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.availability import Available, Placed, placements
from tapeflow.analysis.block_ends import end_of
from tapeflow.analysis.nested_sweeps import sweep_of
from tapeflow.analysis.region_names import block_name
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.value_names import value_name
from tapeflow.dialects import tape
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.mirrored_values import MirroredValues
from tapeflow.transforms.simplify import Constants
from tapeflow.transforms.tape_reservation import TapeReservation


def placeholder_for(value: SSAValue) -> UnrealizedConversionCastOp:
    """An op outside of every block whose result stands in the reverse sweep for `value`, of the forward sweep."""
    return UnrealizedConversionCastOp.get([value], [value.type])


def meet_needs(
    function: func.FuncOp,
    mirrors: Mapping[Block, Block],
    placeholders: Iterable[UnrealizedConversionCastOp],
    available: Available,
) -> None:
    """Put a value in place of each placeholder in the reverse sweep of `function`, and erase the placeholder.

    Args:
        function: that has both sweeps.
        mirrors: the mirrored block of each primal block in whose mirror there is a need, and of those around it.
        placeholders: each an op whose operand is the forward value that it stands for.
        available: what is had again. What is not, is taped.
    """
    _Needs(function, mirrors, placeholders, available).meet()


class _Needs:
    """What the reverse sweep needs of the forward sweep, and how each need is met."""

    def __init__(
        self,
        function: func.FuncOp,
        mirrors: Mapping[Block, Block],
        placeholders: Iterable[UnrealizedConversionCastOp],
        available: Available,
    ):
        self._function = function
        self._mirrors = mirrors
        self._available = available
        self._placeholders: list[UnrealizedConversionCastOp] = []
        self._needs: dict[SSAValue, list[Block]] = {}
        self._reservation = TapeReservation(function, Constants(function))
        self._names: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._starts: dict[Block, InsertPoint] = {}
        self._pushes_last = sweep_of(function) is not None
        # Of what is dead the forward sweep has nothing left, but mirrors: their needs are met in what is around.
        primals = {mirror: primal for primal, mirror in mirrors.items() if function.is_ancestor(primal)}
        for placeholder in placeholders:
            uses = placeholder.results[0].uses
            if uses:
                self._placeholders.append(placeholder)
                blocks = self._needs.setdefault(placeholder.inputs[0], [])
                blocks.extend(_mirrored_by(use.operation, primals) for use in uses)

    def meet(self) -> None:
        """Put a value in place of each placeholder: had again, or taped."""
        placed = placements(self._needs, self._available)
        made = MirroredValues(self._function, self._mirrors, self._available, self._tape).make(placed)
        for placeholder in self._placeholders:
            value = placeholder.inputs[0]
            placeholder.results[0].replace_all_uses_with(made.get(value, value))
            placeholder.erase()

    def _tape(self, item: Placed, build: LocatedBuilder) -> SSAValue:
        """Tape a value: create, push and pop; returns what is popped."""
        name = value_name(item.value)
        if source_name(item.value) is None:
            set_source_name(item.value, name)
        handle = self._reservation.tape(item.value.type, item.home, item.value, self._handle_name(name, item.home))
        push = LocatedBuilder(self._behind_definition(item), place=place_of(item.value))
        push.insert(tape.PushOp(item.value, handle))
        return build.value(tape.PopOp(handle), name)

    def _handle_name(self, name: str, home: Block) -> str:
        """A name for the tape of a value: after the value, then the block, then by number."""
        chosen = f"tape_{name}"
        if chosen in self._names:
            chosen = in_block = f"tape_{name}_{block_name(home)}"
            # Many values may have one name: the numbers that are taken are not tried again for each.
            while chosen in self._names:
                number = self._numbers[in_block] = self._numbers.get(in_block, 1) + 1
                chosen = f"{in_block}_{number}"
        self._names.add(chosen)
        return chosen

    def _behind_definition(self, item: Placed) -> InsertPoint:
        """In the block that pushes, as soon as the value is there; of a function that is called, behind all calls."""
        if self._pushes_last:
            return end_of(item.home)
        if isinstance(item.value, OpResult) and item.value.op.parent is item.home:
            return InsertPoint.after(item.value.op)
        return self._starts.setdefault(item.home, InsertPoint.at_start(item.home))


def _mirrored_by(op: Operation, primals: Mapping[Block, Block]) -> Block:
    """The innermost of the primal blocks whose mirrors `op` is in."""
    block = op.parent
    while block is not None and block not in primals:
        block = block.parent_block()
    assert block is not None
    return primals[block]

"""`tape-plan`: tape no more than is needed to have all that the reverse sweep needs.

What the reverse sweep needs is taped, or computed again from what is taped and from what is there: constants, induction
variables, values of the top block, elements of arrays that nobody writes any more, whether they were loaded or stored.
`analysis/tape_choice` says which choice is cheapest, with its prices; what is computed again is so once, in the
innermost mirrored block that contains all its needs and lies in no loop that its definition is outside of. So a load
under a branch is repeated only under that branch. A value is taped once, whatever needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tapeflow.analysis.block_order import BlockOrder
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.mirror import mirrored_blocks
from tapeflow.analysis.stored_values import stored_values
from tapeflow.analysis.tape_blocks import TapedValue, first_of, taped_value
from tapeflow.analysis.tape_choice import BYTE, DIVISION, Prices, TapeChoice, price_of_repeating
from tapeflow.analysis.trip_counts import TripCounts
from tapeflow.analysis.unchanging import Unchanging
from tapeflow.dialects import tape
from tapeflow.errors import TapeflowError
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.filled_loads import FilledLoads
from tapeflow.transforms.lower_execute_region import lower_execute_region
from tapeflow.transforms.meet_needs import meet_needs, placeholder_for
from tapeflow.transforms.nested_tapes import put_split, take_joint
from tapeflow.transforms.record_snapshots import SnapshotRecords
from tapeflow.transforms.simplify import simplify

RECOMPUTE = ("balanced", "all", "cheap")
"""What the option `recompute` can be."""

SMALLEST = Prices(byte=1 << 20)
"""Prices at which a byte is worth any arithmetic."""


def repeatable(unchanging: Unchanging, *, cheap_only: bool) -> Callable[[Operation], bool]:
    """What gives the same result when it is repeated in the reverse sweep of a function: see the rule above."""

    def by_itself(op: Operation) -> bool:
        if isinstance(op, memref.LoadOp):
            return unchanging.element(op)
        return is_pure(op) and not (cheap_only and price_of_repeating(op) >= DIVISION)

    def with_arms(op: Operation) -> bool:
        if isinstance(op, scf.IfOp):
            return all(isinstance(inner, scf.IfOp | scf.YieldOp) or by_itself(inner) for inner in op.walk())
        return by_itself(op)

    return with_arms


def plan(function: func.FuncOp, prices: Prices, *, cheap_only: bool) -> None:
    """Tape in `function` the cheapest values from which all that is taped now can be had."""
    taped = _taped_values(function)
    if not taped:
        return
    # Before placeholders, which are in no block, stand among the subscripts.
    unchanging = Unchanging(function)
    stored = stored_values(function, unchanging)
    mirrors = mirrored_blocks(taped, TripCounts(function))
    planned = [it for it in taped if it.push.parent in mirrors]
    placeholders = [placeholder_for(it.value) for it in planned]
    _forget({it: needed.results[0] for it, needed in zip(planned, placeholders, strict=True)})
    needed = [placeholder.inputs[0] for placeholder in placeholders if placeholder.results[0].uses]
    again = repeatable(unchanging, cheap_only=cheap_only)
    filled = FilledLoads(function, again)
    snapshots = SnapshotRecords(function, unchanging, mirrors)
    choice = TapeChoice(function, needed, again, filled, stored, snapshots.by_value, prices)
    restored = snapshots.record(choice.recorded_once)
    choice.load_from(restored)
    meet_needs(function, mirrors, placeholders, choice)
    for store in restored.values():
        store.erase()
    filled.drop()
    lower_execute_region(function)
    _share([it for it in taped if it.push.parent not in mirrors])
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)


def _taped_values(function: func.FuncOp) -> list[TapedValue]:
    creates = (op for op in function.body.walk() if isinstance(op, tape.CreateOp))
    order = BlockOrder()
    return [value for create in creates if (value := taped_value(create, order)) is not None]


def _share(taped: Iterable[TapedValue]) -> None:
    """Keep one of the tapes that remember the same value of the same runs of a block."""
    groups: dict[tuple[object, ...], list[TapedValue]] = {}
    for it in taped:
        groups.setdefault((it.value, *it.blocks), []).append(it)
    for group in groups.values():
        if len(group) > 1:
            first = first_of([it.pop for it in group])
            _forget({it: first.results[0] for it in group if it.pop is not first})


def _forget(replacements: Mapping[TapedValue, SSAValue]) -> None:
    """Remove tapes, with a value in place of what each gives back."""
    for it, value in replacements.items():
        it.pop.value.replace_all_uses_with(value)
        for op in (it.pop, it.push, it.create):
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class TapePlanPass(ModulePass):
    """Tape nothing that can be had again."""

    name = "tape-plan"

    recompute: str = "balanced"
    """What is computed again: where taping costs more (`balanced`), all that saves a byte of tape (`all`), or all that
    does and is `cheap`: no divisions, square roots or functions of math."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan the tapes of every function in `op`, in place."""
        if self.recompute not in RECOMPUTE:
            raise TapeflowError(f"tape-plan: recompute is {', '.join(RECOMPUTE)}; not '{self.recompute}'")
        prices = Prices(BYTE) if self.recompute == "balanced" else SMALLEST
        joints = take_joint(op)
        for function in op.walk():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                plan(function, prices, cheap_only=self.recompute == "cheap")
        put_split(op, joints)

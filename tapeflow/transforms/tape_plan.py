"""`tape-plan`: tape nothing that can be had again.

First rule: constants, induction variables, values of the top block, loads from arrays that nobody writes any more, and
pure arithmetic on these are computed again in the reverse sweep, each once, in the innermost mirrored block that
contains all its needs and lies in no loop that its definition is outside of. So a load under a branch is repeated only
under that branch. Second: a value that two tapes remember is remembered by one.

Pure arithmetic is all of `arith` and `math`, `exp` as well as `+`; the option `recompute=cheap` leaves divisions and
transcendental functions on their tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tapeflow.analysis.availability import Availability, Placed, placements
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.mirror import mirrored_blocks
from tapeflow.analysis.roots import roots, written_arrays
from tapeflow.analysis.tape_blocks import TapedValue, first_of, taped_value
from tapeflow.analysis.trip_counts import TripCounts
from tapeflow.dialects import tape
from tapeflow.errors import TapeflowError
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.mirrored_values import MirroredValues
from tapeflow.transforms.simplify import simplify

CHEAP_FUNCTIONS = (
    math.AbsFOp,
    math.AbsIOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.RoundOp,
    math.TruncOp,
)
"""The functions of `math` that cost about as much as an addition."""


def is_cheap(op: Operation) -> bool:
    """Whether `op` costs about as much as an addition or a multiplication."""
    if op.name.startswith("math."):
        return isinstance(op, CHEAP_FUNCTIONS)
    return not isinstance(op, arith.DivfOp)


class Unchanging:
    """Which loads of a function give the same value whenever they are repeated later."""

    def __init__(self, function: func.FuncOp):
        self._positions: dict[Operation, int] = {}
        self._last_writes: dict[SSAValue, int] = {}
        for position, op in enumerate(function.body.block.ops):
            for inner in op.walk():
                if isinstance(inner, memref.LoadOp):
                    self._positions[inner] = position
                for array in written_arrays(inner):
                    self._last_writes |= dict.fromkeys(roots(array), position)

    def load(self, op: memref.LoadOp) -> bool:
        """Whether nobody writes to the array of `op` any more once it runs."""
        return all(self._last_writes.get(root, -1) < self._positions[op] for root in roots(op.memref))


def repeatable(function: func.FuncOp, *, cheap_only: bool) -> Callable[[Operation], bool]:
    """What gives the same result when it is repeated in the reverse sweep of `function`: see the rule above."""
    unchanging = Unchanging(function)

    def by_itself(op: Operation) -> bool:
        if isinstance(op, memref.LoadOp):
            return unchanging.load(op)
        return is_pure(op) and (is_cheap(op) or not cheap_only)

    def with_arms(op: Operation) -> bool:
        if isinstance(op, scf.IfOp):
            return all(isinstance(inner, scf.IfOp | scf.YieldOp) or by_itself(inner) for inner in op.walk())
        return by_itself(op)

    return with_arms


def plan(function: func.FuncOp, *, cheap_only: bool) -> None:
    """Take off the tapes of `function` what can be had again, and what another tape remembers."""
    taped = _taped_values(function)
    if not taped:
        return
    # A branch can be repeated once nothing in it is taped, so what comes out of it may take another round.
    while taped and _have_again(function, taped, repeatable(function, cheap_only=cheap_only)):
        taped = _taped_values(function)
    _share(taped)
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)


def _taped_values(function: func.FuncOp) -> list[TapedValue]:
    creates = (op for op in function.body.walk() if isinstance(op, tape.CreateOp))
    return [value for create in creates if (value := taped_value(create)) is not None]


def _have_again(function: func.FuncOp, taped: Sequence[TapedValue], repeats: Callable[[Operation], bool]) -> bool:
    """Take off their tapes those of `taped` that can be had again; whether there were any."""
    mirrors = mirrored_blocks(taped, TripCounts(function))
    available = Availability(function, repeats, others_are_taped=False)
    again = [it for it in taped if it.push.parent in mirrors and it.value in available]
    needs: dict[SSAValue, list[Block]] = {}
    for it in again:
        assert it.push.parent is not None
        needs.setdefault(it.value, []).append(it.push.parent)
    made = MirroredValues(function, mirrors, available, _never).make(placements(needs, available))
    _forget({it: made.get(it.value, it.value) for it in again})
    return bool(again)


def _never(item: Placed, build: LocatedBuilder) -> SSAValue:
    raise AssertionError(f"{item.value} cannot be had again, but something is computed from it")


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

    recompute: str = "all"
    """What is computed again: `all` pure arithmetic, or only what is `cheap`: no divisions, no functions of math."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan the tapes of every function in `op`, in place."""
        if self.recompute not in ("all", "cheap"):
            raise TapeflowError(f"tape-plan: recompute is 'all' or 'cheap', not '{self.recompute}'")
        for function in op.walk():
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                plan(function, cheap_only=self.recompute == "cheap")

"""Accumulate the adjoint of an element that a loop reads in every iteration in a register, and add it once, behind.

```mlir
scf.for %j_r = %c0 to %n step %c1 {            %sum = scf.for %j_r = %c0 to %n step %c1 iter_args(%acc = %zero) {
  ...                                            ...
  ad.accumulate %v into %x_b[%i]          ->     %acc_new = arith.addf %acc, %v
}                                                scf.yield %acc_new
                                               }
                                               %runs = arith.cmpi slt, %c0, %n
                                               scf.if %runs { ad.accumulate %sum into %x_b[%i] }
```

Applies where array and subscripts are from outside of the loop, the accumulation runs in each iteration, and all else
that the loop does with the array is accumulating too: then nobody reads the element in between. The order of additions
is changed, here and nowhere later. Behind a loop that may run no iteration there is a branch, since the element may not
exist then; the next loop around takes the sum out of it in turn, if array and subscripts are from outside of it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.block_runs import surely_runs
from tapeflow.analysis.roots import is_array, roots
from tapeflow.analysis.source_names import set_result_names, set_source_name, source_name
from tapeflow.dialects.ad import AccumulateOp
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.mirrored_values import outermost_home, point_before
from tapeflow.transforms.simplify import Constants

Element = tuple[SSAValue, ...]
"""An element of an array: the array, and the subscripts."""


def accumulate_in_registers(function: func.FuncOp) -> frozenset[AccumulateOp]:
    """Do so in all loops of `function`, a gradient; inner loops first, so that a sum goes out of several.

    Returns the accumulations in branches that were made: what they add is zero where they do not run.
    """
    constants = Constants(function)
    guards: set[Operation] = set()
    for loop in reversed([op for op in function.body.walk() if isinstance(op, scf.ForOp)]):
        _Promotion(loop, constants, guards).apply()
    return frozenset(op for guard in guards for op in guard.walk() if isinstance(op, AccumulateOp))


def _element(op: AccumulateOp) -> Element:
    return (op.memref, *op.indices)


@dataclass
class _Promotion:
    """The sums of one loop."""

    loop: scf.ForOp
    constants: Constants
    guards: set[Operation]
    """The branches made here behind loops that may not run: their sums are zero if they do not."""

    def apply(self) -> None:
        sums = self._sums()
        if not sums:
            return
        guarded = {element: self._conditions(accumulates) for element, accumulates in sums.items()}
        outer = self._extended(sums)
        totals = dict(zip(sums, outer.results[-len(sums) :], strict=True))
        build = LocatedBuilder(InsertPoint.after(outer), place=place_of(outer))
        for conditions in dict.fromkeys(guarded.values()):
            guard = self._guard(outer, conditions, build)
            inside = build if guard is None else build.into(guard)
            for element in (element for element in sums if guarded[element] == conditions):
                with inside.at(sums[element][0]):
                    inside.insert(AccumulateOp(totals[element], element[0], list(element[1:])))
            if guard is not None:
                inside.insert(scf.YieldOp())
        for accumulates in sums.values():
            for op in accumulates:
                around = op.parent_op()
                Rewriter.erase_op(op)
                assert around is not None
                if around in self.guards and around.regions[0].block.first_op is around.regions[0].block.last_op:
                    self.guards.discard(around)
                    Rewriter.erase_op(around)

    def _conditions(self, accumulates: Sequence[AccumulateOp]) -> tuple[SSAValue, ...]:
        """One of these holds if an iteration runs one of `accumulates`, so that the element exists; none: it does."""
        found = list[SSAValue]()
        for op in accumulates:
            around = op.parent_op()
            if not isinstance(around, scf.IfOp):
                return ()
            found.append(around.cond)
        return tuple(dict.fromkeys(found))

    def _sums(self) -> dict[Element, list[AccumulateOp]]:
        """The accumulations that each iteration runs, by the element, if that is the same in all."""
        found: dict[Element, list[AccumulateOp]] = {}
        for op in self._in_each_iteration():
            if not any(self.loop.is_ancestor(part.owner) for part in _element(op)):
                found.setdefault(_element(op), []).append(op)
        if not found:
            return found
        used = {root for array in _used_otherwise(self.loop) for root in roots(array)}
        return {element: ops for element, ops in found.items() if not roots(element[0]) & used}

    def _in_each_iteration(self) -> Iterator[AccumulateOp]:
        for op in self.loop.body.block.ops:
            if isinstance(op, AccumulateOp):
                yield op
            elif isinstance(op, scf.IfOp) and op in self.guards and not self.loop.is_ancestor(op.cond.owner):
                yield from (inner for inner in op.true_region.block.ops if isinstance(inner, AccumulateOp))

    def _extended(self, sums: dict[Element, list[AccumulateOp]]) -> scf.ForOp:
        """The loop in place of itself, carrying a sum for each element."""
        loop, body = self.loop, self.loop.body.block
        end = body.last_op
        assert end is not None
        names = [source_name(result) for result in loop.results]
        inits, after, sum_names = list[SSAValue](), list[SSAValue](), list[str | None]()
        for ops in sums.values():
            value = ops[0].value
            argument: SSAValue = body.insert_arg(value.type, len(body.args), place_of(ops[0]))
            name = source_name(ops[0].memref)
            if name is not None:
                set_source_name(argument, name)
            inits.append(self.constants.float(0.0, value.type))
            for op in ops:
                around = op.parent_op()
                assert around is not None
                build = LocatedBuilder(InsertPoint.before(op if around is loop else around), place=place_of(op))
                argument = build.value(arith.AddfOp(argument, op.value), name)
            after.append(argument)
            sum_names.append(name)
        end.operands = [*end.operands, *after]
        extended = scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, *inits], loop.detach_region(loop.body))
        extended.location = loop.location
        extended.attributes |= loop.attributes
        assert loop.parent is not None
        loop.parent.insert_op_before(extended, loop)
        for old, new in zip(loop.results, extended.results[: len(names)], strict=True):
            old.replace_all_uses_with(new)
        set_result_names(extended, [*names, *sum_names])
        Rewriter.erase_op(loop)
        return extended

    def _guard(self, loop: scf.ForOp, conditions: Sequence[SSAValue], build: LocatedBuilder) -> Block | None:
        """The arm of a branch behind `loop` taken if it ran, and one of `conditions` held; None if that is sure."""
        needed = list[SSAValue]()
        if conditions:
            needed.append(self._joined(loop, conditions, arith.OrIOp))
        if not surely_runs(loop):
            needed.append(self._in_front(loop, arith.CmpiOp(loop.lb, loop.ub, "slt")))
        if not needed:
            return None
        block = build.block()
        self.guards.add(build.insert(scf.IfOp(self._joined(loop, needed, arith.AndIOp), [], Region(block), Region())))
        return block

    def _joined(
        self, loop: scf.ForOp, conditions: Sequence[SSAValue], join: type[arith.AndIOp | arith.OrIOp]
    ) -> SSAValue:
        joined = conditions[0]
        for other in conditions[1:]:
            joined = self._in_front(loop, join(joined, other))
        return joined

    def _in_front(self, loop: scf.ForOp, op: Operation) -> SSAValue:
        """`op` before `loop`, and out of the loops and branches that its operands are not in."""
        block = loop.parent
        assert block is not None
        home = outermost_home(op, block)
        point = InsertPoint.before(loop) if home is block else point_before(home, block)
        return LocatedBuilder(point, place=place_of(loop)).value(op)


def _used_otherwise(loop: scf.ForOp) -> Iterator[SSAValue]:
    """The arrays that something in `loop` uses in another way than by accumulating."""
    for op in loop.walk():
        if not isinstance(op, AccumulateOp):
            yield from filter(is_array, op.operands)

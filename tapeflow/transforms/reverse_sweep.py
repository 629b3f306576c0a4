"""The reverse sweep: the mirror of each primal block, undone from its end, with the adjoint of each operation.

Blocks mirror blocks: a loop is mirrored by one that runs equally often, a branch by one with the same condition. What
the sweep must know of the forward sweep stands in it as a placeholder, an op outside of every block; once all is built,
and what turned out to be unneeded is gone, `mirrored_values` decides how each is had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, SymbolRefAttr, UnitAttr, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tapeflow.analysis.activity import Activity, Request, is_float
from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.derivative_rules import rule_of
from tapeflow.analysis.kept_calls import is_kept, keep_call, mark_derivatives, pair_calls, written_operands
from tapeflow.analysis.known_elements import MOST_COMPARED, element_of, surely_apart
from tapeflow.analysis.loops import Loop, body_of, carried_arguments, initial_values, yielded_values
from tapeflow.analysis.roots import is_array, roots
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.user_rules import check_arrays_apart, check_arrays_last, rule_of_call
from tapeflow.dialects.ad import AccumulateOp, can_be_active
from tapeflow.transforms.adjoint_frames import Frame, adjoint_name
from tapeflow.transforms.chain_rule import ChainRule, Product
from tapeflow.transforms.meet_needs import placeholder_for
from tapeflow.transforms.rule_calls import DERIVATIVE
from tapeflow.transforms.simplify import Constants
from tapeflow.transforms.zero_arrays import fill_with_zeros, zeros_like


class SplitNames(Protocol):
    """Names the two functions that a callee is split into."""

    @property
    def members(self) -> int | None:
        """How many cotangents they take at once; None for one alone."""
        ...

    def __call__(self, callee: str, request: Request) -> tuple[str, str]:
        """Of the forward sweep and of the reverse sweep of `callee`, differentiated as `request` says."""
        ...


@dataclass(eq=False)
class Cleared:
    """An element of a shadow that the mirror of a store has set to zero, and that nothing has touched since."""

    frame: Frame
    array: SSAValue
    """The primal array."""
    indices: tuple[SSAValue, ...]
    """The primal subscripts."""
    store: memref.StoreOp
    adjoint: SSAValue | None
    """What was there before."""

    def is_at(self, array: SSAValue, indices: Sequence[SSAValue]) -> bool:
        """Whether it is this element."""
        return self.array is array and self.indices == tuple(indices)

    def is_apart_from(self, array: SSAValue, indices: Sequence[SSAValue]) -> bool:
        """Whether it is surely not this element."""
        if self.array is array:
            return surely_apart(element_of(array, self.indices), element_of(array, indices))
        return not roots(self.array) & roots(array)


@dataclass
class _Slot:
    """A value that a mirrored loop carries: its argument in the body, and what it starts as; None for zero."""

    argument: BlockArgument
    init: SSAValue | None


class ReverseSweep:
    """Builds the reverse sweep of a prepared function.

    Args:
        activity: what has an adjoint.
        written: the roots of the arrays that the function writes to.
        constants: of the function.
        shadows: the shadow argument of each active array argument.
        counted: for each while its result that is its trip count.
        split: names what a callee is split into.
    """

    def __init__(
        self,
        activity: Activity,
        written: frozenset[SSAValue],
        constants: Constants,
        shadows: Mapping[SSAValue, SSAValue],
        counted: Mapping[scf.WhileOp, SSAValue],
        split: SplitNames,
    ):
        self._split = split
        self._activity = activity
        self._written = written
        self._constants = constants
        self._argument_shadows = shadows
        self._counted = counted
        self._placeholders: dict[SSAValue, SSAValue] = {}
        self._cleared: list[Cleared] = []
        self._pairs = 0
        self.mirrors: dict[Block, Block] = {}
        """The mirrored block of each primal block that has one."""
        self.trip_counts: list[Operation] = []
        """The ops that compute the trip counts of mirrored loops."""
        self.fills: list[tuple[memref.AllocaOp, Operation]] = []
        """The shadows of local arrays, each with what fills it with zeros, if that is a loop."""

    def build(self, frame: Frame) -> None:
        """Undo the block of `frame`, whose adjoints at the end are in the frame."""
        self.mirrors[frame.primal] = frame.block
        for op in reversed(list(frame.primal.ops)):
            with frame.build.at(op):
                self._undo(frame, op)

    def placeholders(self) -> Iterator[UnrealizedConversionCastOp]:
        """The placeholders, each an op whose operand is the forward value that it stands for."""
        for placeholder in self._placeholders.values():
            assert isinstance(placeholder.owner, UnrealizedConversionCastOp)
            yield placeholder.owner

    def needed(self, value: SSAValue) -> SSAValue:
        """`value`, of the forward sweep, for use in the reverse sweep."""
        if is_top_block(defining_block(value)):
            return value
        if value not in self._placeholders:
            self._placeholders[value] = placeholder_for(value).results[0]
        return self._placeholders[value]

    def _undo(self, frame: Frame, op: Operation) -> None:
        match op:
            case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                outside = self._cleared[-MOST_COMPARED:]
                if isinstance(op, scf.IfOp):
                    self._undo_branch(frame, op)
                else:
                    self._undo_loop(frame, op)
                untouched = set(self._cleared)
                self._cleared = [it for it in outside if it in untouched]
            case memref.LoadOp():
                adjoint = frame.adjoints.get(op.res)
                if adjoint is not None and self._activity.view(op.memref):
                    self._accumulate(frame, adjoint, op.memref, op.indices)
            case memref.StoreOp():
                if self._activity.view(op.memref):
                    self._undo_store(frame, op)
            case func.CallOp() if (rule := rule_of_call(op)) is not None:
                assert rule.vjp is not None
                self._undo_ruled_call(frame, op, rule.vjp)
            case func.CallOp() if is_kept(op):
                self._undo_kept_call(frame, op)
            case _ if rule_of(op) is not None:
                self._undo_arithmetic(frame, op)
            case _:
                pass

    # Arithmetic

    def _undo_arithmetic(self, frame: Frame, op: Operation) -> None:
        adjoint = frame.adjoints.get(op.results[0])
        if adjoint is None:
            return
        rule = ChainRule(op, frame.build, self._constants, self.needed)
        for operand, share in rule.adjoints(adjoint):
            if self._activity.value(operand) and (product := share()) is not None:
                frame.contribute(operand, product)

    def _undo_ruled_call(self, frame: Frame, call: func.CallOp, vjp: str) -> None:
        """A call of a function whose derivative the user gives: of its arguments, seeds and shadows."""
        floats = [result for result in call.results if is_float(result)]
        changed = any(self._activity.view(array) for array in written_operands(call))
        if self._activity.call(call) is None or not (changed or any(it in frame.adjoints for it in floats)):
            return
        check_arrays_apart(call)
        check_arrays_last(call)
        seeds = [self._zero_or(frame.adjoints.get(result), result) for result in floats]
        scalars = [argument for argument in call.arguments if is_float(argument)]
        arguments = [
            self._array(frame, argument) if is_array(argument) else self.needed(argument) for argument in call.arguments
        ]
        shadows = [
            self._shadow(frame, argument)
            if self._activity.view(argument)
            else zeros_like(frame.build, self._constants, given, adjoint_name(argument)).value
            for argument, given in zip(call.arguments, arguments, strict=True)
            if is_array(argument) and can_be_active(argument.type)
        ]
        derivative = func.CallOp(vjp, [*arguments, *seeds, *shadows], [operand.type for operand in scalars])
        ahead = len(arguments) + len(seeds)
        keep_call(derivative, range(ahead, ahead + len(shadows)))
        derivative.attributes[DERIVATIVE] = UnitAttr()
        frame.build.insert(derivative)
        self._cleared.clear()
        for argument, share in zip(scalars, derivative.results, strict=True):
            if self._activity.value(argument):
                frame.contribute(argument, Product(share))

    def _undo_kept_call(self, frame: Frame, call: func.CallOp) -> None:
        """A call that stays one: the forward sweep calls that of the callee, the reverse sweep its reverse sweep.

        What the callee tapes is no concern of this function, beyond handing on the tapes: see `nested_tapes`.
        """
        request = self._activity.call(call)
        if request is None:
            return
        forward, reverse = self._split(call.callee.string_value(), request)
        call.callee = SymbolRefAttr(forward)
        active = [argument for argument, mark in zip(call.arguments, request.arguments, strict=True) if mark]
        scalars = [argument for argument in active if is_float(argument)]
        results = [result for result, mark in zip(call.results, request.results, strict=True) if mark]
        arguments = [
            self._array(frame, argument) if is_array(argument) else self.needed(argument) for argument in call.arguments
        ]
        seeds = [self._zero_or(frame.adjoints.get(result), result) for result in results]
        shadows = [self._shadow(frame, argument) for argument in active if is_array(argument)]
        undone = func.CallOp(reverse, [*arguments, *seeds, *shadows], [argument.type for argument in scalars])
        ahead = len(arguments) + len(seeds)
        keep_call(undone, range(ahead, ahead + len(shadows)))
        pair_calls(call, undone, f"{forward}:{self._pairs}")
        self._pairs += 1
        mark_derivatives(undone, range(len(arguments), ahead + len(shadows)), range(len(scalars)))
        frame.build.named(undone, *map(adjoint_name, scalars))
        self._cleared.clear()
        for argument, share in zip(scalars, undone.results, strict=True):
            frame.contribute(argument, Product(share))

    # Arrays

    def _undo_store(self, frame: Frame, op: memref.StoreOp) -> None:
        """`A[k] = v`: v takes the adjoint of the element, which before the store has none."""
        shadow = self._shadow(frame, op.memref)
        indices = [self.needed(index) for index in op.indices]
        self._touch(op.memref, op.indices)
        adjoint = None
        if self._activity.value(op.value):
            adjoint = frame.build.value(memref.LoadOp.get(shadow, indices), adjoint_name(op.value))
        zero = self._constants.float(0.0, op.value.type)
        store = frame.build.insert(memref.StoreOp.get(zero, shadow, indices))
        self._cleared.append(Cleared(frame, op.memref, tuple(op.indices), store, adjoint))
        if adjoint is not None:
            frame.contribute(op.value, Product(adjoint))

    def _accumulate(self, frame: Frame, adjoint: SSAValue, array: SSAValue, indices: Sequence[SSAValue]) -> None:
        """`v = A[k]`: the element takes the adjoint of v too. Added to what was just set to zero, it is stored."""
        cleared = next((it for it in self._cleared if it.frame is frame and it.is_at(array, indices)), None)
        self._touch(array, indices)
        shadow = self._shadow(frame, array)
        needed = [self.needed(index) for index in indices]
        if cleared is None:
            frame.build.insert(AccumulateOp(adjoint, shadow, needed))
            return
        cleared.store.detach()
        cleared.store.erase()
        if adjoint is not cleared.adjoint:
            frame.build.insert(memref.StoreOp.get(adjoint, shadow, needed))

    def _touch(self, array: SSAValue, indices: Sequence[SSAValue]) -> None:
        """An element of the shadow of `array` is read or written: it may be one that was just set to zero."""
        self._cleared = [it for it in self._cleared if it.is_apart_from(array, indices)]

    def _shadow(self, frame: Frame, array: SSAValue) -> SSAValue:
        """The shadow of an active array, made where it is first needed in the mirror of the block that defines it."""
        if array in self._argument_shadows:
            return self._argument_shadows[array]
        home = frame.owner(array)
        if array not in home.shadows:
            if isinstance(array, BlockArgument):
                home.shadows[array] = self._make_scratch(home, array)
                return home.shadows[array]
            assert isinstance(array, OpResult)
            with home.build.at(array.op):
                home.shadows[array] = self._make_shadow(home, array.op)
        return home.shadows[array]

    def _array(self, frame: Frame, array: SSAValue) -> SSAValue:
        """A primal array for the reverse sweep of a callee, which relies only on arrays that nobody writes.

        A view of one that lives still is made again. One that lives in a loop or branch does not live any more; an
        array like it stands for it: its shadow, unless that has room for the members of a batch.
        """
        if is_top_block(defining_block(array)):
            return array
        lives = all(is_top_block(defining_block(root)) for root in roots(array))
        if not lives and self._activity.view(array) and self._split.members is None:
            return self._shadow(frame, array)
        home = frame.owner(array)
        if array not in home.stand_ins:
            assert isinstance(array, OpResult)
            op = array.op
            with home.build.at(op):
                again = op.clone()
                for position, operand in enumerate(op.operands):
                    again.operands[position] = self._array(home, operand) if is_array(operand) else self.needed(operand)
                home.stand_ins[array] = home.build.value(again, source_name(array))
        return home.stand_ins[array]

    def _make_scratch(self, home: Frame, argument: SSAValue) -> SSAValue:
        """The shadow of an array that only the kernel works in, so that nobody gives one."""
        zeros = zeros_like(home.build, self._constants, argument, adjoint_name(argument))
        if zeros.allocation.memref.type.get_num_dims():
            self.fills.append((zeros.allocation, zeros.fill))
        return zeros.value

    def _make_shadow(self, home: Frame, op: Operation) -> SSAValue:
        shadow = op.clone()
        for position, operand in enumerate(op.operands):
            shadow.operands[position] = self._shadow(home, operand) if is_array(operand) else self.needed(operand)
        result = home.build.value(shadow, adjoint_name(op.results[0]))
        if isinstance(shadow, memref.AllocaOp):
            self._fill_with_zeros(home, shadow)
        return result

    def _fill_with_zeros(self, home: Frame, shadow: memref.AllocaOp) -> None:
        type_ = shadow.memref.type
        sizes = iter(shadow.dynamic_sizes)
        extents = [
            next(sizes) if extent == DYNAMIC_INDEX else self._constants.index(extent) for extent in type_.get_shape()
        ]
        fill = fill_with_zeros(home.build, self._constants, shadow.memref, extents)
        if extents:
            self.fills.append((shadow, fill))

    # Loops

    def _undo_loop(self, frame: Frame, loop: Loop) -> None:
        body, arguments, yielded = body_of(loop), carried_arguments(loop), yielded_values(loop)
        variable = source_name(body.args[0]) if isinstance(loop, scf.ForOp) else "while"
        mirror = frame.build.block([(IndexType(), None if variable is None else f"{variable}_r")])
        inner = Frame(body, frame.build.into(mirror), frame)
        carried = [k for k in range(len(loop.results)) if self._activity.value(arguments[k])]
        slots = [_Slot(self._carry(inner, arguments[k]), frame.adjoints.get(loop.results[k])) for k in carried]
        for k, slot in zip(carried, slots, strict=True):
            if self._activity.value(yielded[k]):
                inner.contribute(yielded[k], Product(slot.argument))
        self.build(inner)
        after = [inner.adjoints.get(arguments[k]) for k in carried]
        outside = dict(inner.carried)
        slots += [_Slot(argument, frame.adjoint(value)) for value, argument in outside.items()]
        after += [inner.adjoints[value] for value in outside]
        results = self._close_loop(frame, loop, inner, slots, after)
        for value, result in zip(outside, results[len(carried) :], strict=True):
            if result is not None:
                frame.adjoints[value] = result
        # After those: a value may be used in the loop and be what a carried value starts as.
        for k, result in zip(carried, results[: len(carried)], strict=True):
            if result is not None and self._activity.value(initial_values(loop)[k]):
                frame.contribute(initial_values(loop)[k], Product(result))

    def _carry(self, inner: Frame, argument: SSAValue) -> BlockArgument:
        """An argument of the mirrored body for the adjoint of a value that the primal body carries."""
        block = inner.block
        carried = block.insert_arg(argument.type, len(block.args), inner.build.place)
        if (name := adjoint_name(argument)) is not None:
            set_source_name(carried, name)
        return carried

    def _close_loop(
        self, frame: Frame, loop: Loop, inner: Frame, slots: Sequence[_Slot], after: Sequence[SSAValue | None]
    ) -> list[SSAValue | None]:
        """End the mirrored body, put it into a loop, and return what each slot is then; None for zero.

        A slot that the body leaves as it is needs not be carried, and a loop that does nothing not be there.
        """
        mirror = inner.block
        with_zero = [self._zero_or(it, slot.argument) for it, slot in zip(after, slots, strict=True)]
        end = inner.build.insert(scf.YieldOp(*with_zero))
        results = [slot.init for slot in slots]
        changed: list[int] = []
        for position, slot in enumerate(slots):
            if end.operands[position] is slot.argument:
                slot.argument.replace_all_uses_with(self._zero_or(slot.init, slot.argument))
                mirror.erase_arg(slot.argument)
            else:
                changed.append(position)
        end.operands = [end.operands[position] for position in changed]
        if mirror.first_op is end and not changed:
            _discard(mirror)
            del self.mirrors[inner.primal]
            return results
        inits = [self._zero_or(slots[position].init, slots[position].argument) for position in changed]
        bounds = self._constants.index(0), self._trip_count(frame, loop), self._constants.index(1)
        mirrored = frame.build.insert(scf.ForOp(*bounds, inits, Region(mirror)))
        for result, position in zip(mirrored.results, changed, strict=True):
            result.name_hint = slots[position].argument.name_hint
            results[position] = result
        return results

    def _zero_or(self, value: SSAValue | None, like: SSAValue) -> SSAValue:
        return self._constants.float(0.0, like.type) if value is None else value

    def _trip_count(self, frame: Frame, loop: Loop) -> SSAValue:
        """How often `loop` runs, as the upper bound of a loop from 0 in steps of 1; it may be negative."""
        if isinstance(loop, scf.WhileOp):
            return self.needed(self._counted[loop])
        step = constant_integer(loop.step)
        name = f"{source_name(loop.body.block.args[0]) or 'loop'}_trips"
        count = self.needed(loop.ub)
        if constant_integer(loop.lb) != 0:
            count = self._counting(frame, name, arith.SubiOp(count, self.needed(loop.lb)))
        if step == 1:
            return count
        one, divisor = self._constants.index(1), self.needed(loop.step)
        if step is None:
            # A loop that does not run may have any step.
            divisor = self._counting(frame, None, arith.MaxSIOp(divisor, one))
            below = self._counting(frame, None, arith.SubiOp(divisor, one))
        else:
            below = self._constants.index(step - 1)
        count = self._counting(frame, None, arith.AddiOp(count, below))
        return self._counting(frame, name, arith.DivSIOp(count, divisor))

    def _counting(self, frame: Frame, name: str | None, op: Operation) -> SSAValue:
        self.trip_counts.append(op)
        return frame.build.value(op, name)

    # Branches

    def _undo_branch(self, frame: Frame, branch: scf.IfOp) -> None:
        arms = [self._undo_arm(frame, branch, region) for region in branch.regions]
        for arm in arms:
            if isinstance(arm, Frame):
                self._accumulate_inside(frame, arm)
        values = dict.fromkeys(value for arm in arms if isinstance(arm, Frame) for value in arm.from_outside())
        pairs: dict[SSAValue, list[SSAValue]] = {}
        for value in values:
            before = frame.adjoint(value)
            after = [arm.adjoints.get(value, before) if isinstance(arm, Frame) else before for arm in arms]
            pairs[value] = [self._zero_or(it, value) for it in after]
        same = {value: pair[0] for value, pair in pairs.items() if pair[0] is pair[1]}
        frame.adjoints |= same
        pairs = {value: pair for value, pair in pairs.items() if value not in same}
        blocks = [arm.block if isinstance(arm, Frame) else arm for arm in arms]
        if all(block.is_empty for block in blocks):
            self._select(frame, branch, pairs)
            for arm in arms:
                if isinstance(arm, Frame):
                    del self.mirrors[arm.primal]
            return
        for position, block in enumerate(blocks):
            end = scf.YieldOp(*(pair[position] for pair in pairs.values()))
            end.location = frame.build.place
            block.add_op(end)
        regions = [Region(block) for block in blocks]
        if not pairs and blocks[1].first_op is blocks[1].last_op:
            regions[1] = Region()
        types = [value.type for value in pairs]
        mirrored = scf.IfOp(self.needed(branch.cond), types, regions[0], regions[1])
        results = frame.build.named(mirrored, *map(adjoint_name, pairs))
        frame.adjoints |= dict(zip(pairs, results, strict=True))

    def _undo_arm(self, frame: Frame, branch: scf.IfOp, region: Region) -> Frame | Block:
        """The mirror of an arm; a bare empty block for an arm that is not there."""
        mirror = frame.build.block()
        if not region.blocks:
            return mirror
        arm = Frame(region.block, frame.build.into(mirror), frame)
        last = arm.primal.last_op
        assert last is not None
        for result, yielded in zip(branch.results, last.operands, strict=True):
            adjoint = frame.adjoints.get(result)
            if adjoint is not None and self._activity.value(yielded):
                arm.contribute(yielded, Product(adjoint))
        self.build(arm)
        return arm

    def _accumulate_inside(self, frame: Frame, arm: Frame) -> None:
        """Accumulate in `arm` the adjoints of elements that are loaded outside of it but used only in it.

        So nothing is added where the arm does not run. The array must be one that nobody writes: its shadow is only
        ever added to, so that the place does not matter.
        """
        for value in list(arm.from_outside()):
            if not (isinstance(value, OpResult) and isinstance(load := value.op, memref.LoadOp)):
                continue
            if self._is_only_read(load.memref) and self._is_only_used_in(value, arm.primal) and frame.is_in_turn(value):
                with arm.build.at(load):
                    self._accumulate(arm, arm.adjoints.pop(value), load.memref, load.indices)

    def _is_only_read(self, array: SSAValue) -> bool:
        return self._activity.view(array) and not roots(array) & self._written

    def _is_only_used_in(self, value: SSAValue, block: Block) -> bool:
        """Whether all operations that `value` has an adjoint from are inside of `block`."""
        return all(
            block.find_ancestor_op_in_block(use.operation) is not None
            or (
                not any(map(self._activity.value, use.operation.results))
                and not isinstance(use.operation, scf.YieldOp | memref.StoreOp)
            )
            for use in value.uses
        )

    def _select(self, frame: Frame, branch: scf.IfOp, pairs: dict[SSAValue, list[SSAValue]]) -> None:
        """For a mirrored branch that only chooses: choose without branching."""
        for value, (chosen, other) in pairs.items():
            select = arith.SelectOp(self.needed(branch.cond), chosen, other)
            frame.adjoints[value] = frame.build.value(select, adjoint_name(value))


def _discard(block: Block) -> None:
    """Drop a block that is in no region, and its uses of what is outside."""
    block.drop_all_references()
    for op in list(block.ops):
        op.erase(safe_erase=False, drop_references=False)

"""The forward sweep: beside each operation of a function the one that computes the tangent of its result.

A value has a tangent where the activity analysis says so; elsewhere it is zero and nothing is computed. Arrays have
tangent arrays, which are written where the array is written. Loops and branches carry the tangents of what they carry;
how often they run depends on no tangent. Nothing is remembered that the function itself does not remember: what a
gradient function pushes on a tape has its tangent pushed on a tape beside it, so that a Hessian-vector product is the
forward sweep of a gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.activity import Activity, Request, is_float
from tapeflow.analysis.derivative_rules import rule_of
from tapeflow.analysis.kept_calls import (
    forward_half,
    is_kept,
    keep_call,
    kept_calls,
    mark_derivatives,
    reverse_half,
    written_operands,
    written_positions,
)
from tapeflow.analysis.roots import VIEWS, is_array
from tapeflow.analysis.source_names import set_result_names, set_source_name, source_name, unnamed
from tapeflow.analysis.user_rules import check_arrays_apart, forget_rule, rule_of_call
from tapeflow.dialects import tape
from tapeflow.dialects.ad import AccumulateOp, can_be_active
from tapeflow.transforms.chain_rule import ChainRule
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.rule_calls import DERIVATIVE
from tapeflow.transforms.simplify import Constants
from tapeflow.transforms.zero_arrays import zeros_like


def tangent_name(value: SSAValue) -> str | None:
    """What the tangent of `value` is called; None if `value` has no name."""
    name = source_name(value)
    return None if name is None else f"{name}_d"


class TangentNames(Protocol):
    """Names the tangent functions of callees."""

    def __call__(self, call: func.CallOp, request: Request) -> str:
        """Of what `call` calls, differentiated as `request` says."""
        ...


class ForwardSweep:
    """Adds tangents to a function, in place.

    Args:
        function: that is to have tangents.
        activity: of the function as it is: what has a tangent.
        constants: of the function.
        tangents: those of the active arguments; of an array its tangent array.
        nested: names the tangent functions of what is called.
    """

    def __init__(
        self,
        function: func.FuncOp,
        activity: Activity,
        constants: Constants,
        tangents: Mapping[SSAValue, SSAValue],
        nested: TangentNames,
    ):
        self._nested = nested
        # Asked now: what the sweep puts in place of an operand is not what the analysis knows.
        calls = kept_calls(function)
        self._requests = {call: activity.call(call) for call in calls}
        halves = ((forward_half(call), call) for call in calls)
        self._forward_arguments = {key: len(call.arguments) for key, call in halves if key is not None}
        self._activity = activity
        self._constants = constants
        self._tangents: dict[SSAValue, SSAValue] = dict(tangents)

    def block(self, block: Block) -> None:
        """Add the tangents of all that `block` computes."""
        for op in list(block.ops):
            self._double(op)

    def tangent(self, value: SSAValue) -> SSAValue:
        """The tangent of `value`, which is a float; the constant 0 if it has none."""
        known = self._tangents.get(value)
        return self._constants.float(0.0, value.type) if known is None else known

    def _double(self, op: Operation) -> None:
        build = LocatedBuilder(InsertPoint.after(op), place=place_of(op))
        match op:
            case scf.ForOp():
                self._loop(op)
            case scf.WhileOp():
                self._while(op)
            case scf.IfOp():
                self._branch(op)
            case memref.LoadOp():
                if self._activity.value(op.res):
                    load = memref.LoadOp.get(self._tangents[op.memref], op.indices)
                    self._tangents[op.res] = build.value(load, tangent_name(op.res))
            case memref.StoreOp():
                if self._activity.view(op.memref):
                    build.insert(memref.StoreOp.get(self.tangent(op.value), self._tangents[op.memref], op.indices))
            case AccumulateOp():
                if self._activity.view(op.memref) and (share := self._tangents.get(op.value)) is not None:
                    build.insert(AccumulateOp(share, self._tangents[op.memref], op.indices))
            case memref.AllocaOp() | memref.AllocOp() | arith.SelectOp() if is_array(op.results[0]):
                self._array(op, build)
            case _ if isinstance(op, VIEWS):
                self._array(op, build)
            case func.CallOp() if is_kept(op):
                self._call(op)
            case tape.CreateOp() | tape.PushOp() | tape.PopOp():
                self._remember(op, build)
            case _ if rule_of(op) is not None:
                self._arithmetic(op, build)
            case _:
                pass

    def _arithmetic(self, op: Operation, build: LocatedBuilder) -> None:
        result = op.results[0]
        if not self._activity.value(result):
            return
        tangent = ChainRule(op, build, self._constants, lambda value: value).tangent(self._tangents)
        if tangent is None:
            return
        self._tangents[result] = tangent
        if source_name(tangent) is None and (name := tangent_name(result)) is not None:
            set_source_name(tangent, name)

    def _array(self, op: Operation, build: LocatedBuilder) -> None:
        """An array that `op` makes, or views, has a tangent array made in the same way.

        A local array's contents are undefined until they are stored, and so is that of its tangent array.
        """
        array = op.results[0]
        if self._activity.view(array):
            tangent = op.clone({operand: self._tangents[operand] for operand in op.operands if is_array(operand)})
            self._tangents[array] = build.value(tangent, tangent_name(array))

    # Calls

    def _call(self, call: func.CallOp) -> None:
        """A call that stays one becomes one of the callee's tangent function, which gives what the callee gives too."""
        request = self._requests[call]
        if request is None:
            return
        if (rule := rule_of_call(call)) is not None:
            assert rule.jvp is not None
            self._ruled_call(call, rule.jvp)
            return
        self._put_call(call, self._nested(call, request), request)

    def _put_call(self, call: func.CallOp, name: str, request: Request) -> None:
        """A call of `name` in place of `call`, with the tangents of what is active behind the others.

        Of a reverse sweep those of what the forward sweep is given, too, are behind that, and the rest follows.
        """
        results = request.results[-len(call.results) :] if call.results else ()
        ends = [len(call.arguments)]
        if (key := reverse_half(call)) is not None:
            ends = [self._forward_arguments[key], len(call.arguments)]
        elif (key := forward_half(call)) is not None:
            results = request.results[: len(call.results)]
        build = LocatedBuilder(InsertPoint.before(call), place=place_of(call))
        before, operands, written, derivatives = written_positions(call), list[SSAValue](), list[int](), list[int]()
        for start, end in zip((0, *ends), ends, strict=False):
            for position in range(start, end):
                if position in before:
                    written.append(len(operands))
                operands.append(call.arguments[position])
            active = [position for position in range(start, end) if request.arguments[position]]
            for position in sorted(active, key=lambda it: is_array(call.arguments[it])):
                if position in before:
                    written.append(len(operands))
                derivatives.append(len(operands))
                operands.append(self._handed(call.arguments[position], build))
        chosen = [position for position, mark in enumerate(results) if mark]
        types = [*call.result_types, *(call.results[position].type for position in chosen)]
        names, count = _names(call.results, chosen), len(call.results)
        larger = func.CallOp(name, operands, types)
        self._replace(call, larger, chosen, names)
        keep_call(larger, written)
        mark_derivatives(larger, derivatives, range(count, len(types)))

    def _handed(self, argument: SSAValue, build: LocatedBuilder) -> SSAValue:
        """The tangent of what a call is given, zeros if it has none: it may be active for the other sweep alone."""
        if not is_array(argument):
            return self.tangent(argument)
        if argument in self._tangents:
            return self._tangents[argument]
        return zeros_like(build, self._constants, argument, tangent_name(argument)).value

    def _ruled_call(self, call: func.CallOp, jvp: str) -> None:
        """A call of a function whose derivative the user gives: of its arguments and the tangents of all floats."""
        check_arrays_apart(call)
        build = LocatedBuilder(InsertPoint.before(call), place=place_of(call))
        scalars = [argument for argument in call.arguments if is_float(argument)]
        arrays = [argument for argument in call.arguments if is_array(argument) and can_be_active(argument.type)]
        tangents = [self._handed(array, build) for array in arrays]
        chosen = [position for position, result in enumerate(call.results) if is_float(result)]
        types = [*call.result_types, *(call.results[position].type for position in chosen)]
        larger = func.CallOp(jvp, [*call.arguments, *map(self.tangent, scalars), *tangents], types)
        names = _names(call.results, chosen)
        before, changed = len(call.arguments) + len(scalars), written_operands(call)
        self._replace(call, larger, chosen, names)
        forget_rule(larger, keep=True)
        larger.attributes[DERIVATIVE] = UnitAttr()
        written = [before + position for position, array in enumerate(arrays) if array in changed]
        keep_call(larger, [*written_positions(larger), *written])

    # Tapes

    def _remember(self, op: tape.CreateOp | tape.PushOp | tape.PopOp, build: LocatedBuilder) -> None:
        """A tape of tangents beside each tape of active values, pushed and popped where that is."""
        match op:
            case tape.CreateOp() if self._activity.array(op.tape):
                self._tangents[op.tape] = build.value(tape.CreateOp(op.tape.type, op.reserve), tangent_name(op.tape))
            case tape.PushOp() if op.tape in self._tangents:
                tangent = self.tangent(op.value)
                build.insert(tape.PushOp(tangent, self._tangents[op.tape]))
            case tape.PopOp() if op.tape in self._tangents:
                self._tangents[op.value] = build.value(tape.PopOp(self._tangents[op.tape]), tangent_name(op.value))
            case _:
                pass

    # Structure

    def _loop(self, loop: scf.ForOp) -> None:
        body = loop.body.block
        carried = [k for k in range(len(loop.results)) if self._activity.value(body.args[1 + k])]
        starts = [self.tangent(loop.iter_args[k]) for k in carried]
        self._carry(body, body.args[1:], carried)
        self.block(body)
        self._hand_on(_end(body), carried)
        if carried:
            names = _names(loop.results, carried)
            inits = [*loop.iter_args, *starts]
            larger = scf.ForOp(loop.lb, loop.ub, loop.step, inits, loop.detach_region(loop.body))
            self._replace(loop, larger, carried, names)

    def _while(self, loop: scf.WhileOp) -> None:
        """A loop in normal form: the test hands on exactly what it is given, and computes nothing that is active."""
        test, body = loop.before_region.block, loop.after_region.block
        carried = [k for k, result in enumerate(loop.results) if self._is_carried(test, body, result, k)]
        starts = [self.tangent(loop.arguments[k]) for k in carried]
        for block in (test, body):
            self._carry(block, block.args, carried)
        condition = _end(test)
        condition.operands = [*condition.operands, *test.args[len(loop.results) :]]
        self.block(body)
        self._hand_on(_end(body), carried)
        if carried:
            names = _names(loop.results, carried)
            regions = [loop.detach_region(region) for region in (loop.before_region, loop.after_region)]
            types = [*loop.result_types, *(start.type for start in starts)]
            self._replace(loop, scf.WhileOp([*loop.arguments, *starts], types, *regions), carried, names)

    def _is_carried(self, test: Block, body: Block, result: SSAValue, position: int) -> bool:
        return any(map(self._activity.value, (test.args[position], body.args[position], result)))

    def _branch(self, branch: scf.IfOp) -> None:
        chosen = [k for k, result in enumerate(branch.results) if self._activity.value(result)]
        for region in branch.regions:
            if region.blocks:
                self.block(region.block)
                self._hand_on(_end(region.block), chosen)
        if chosen:
            names = _names(branch.results, chosen)
            arms: list[Region] = [branch.detach_region(region) for region in tuple(branch.regions)]
            types: list[Attribute] = [*branch.result_types, *(branch.results[k].type for k in chosen)]
            self._replace(branch, scf.IfOp(branch.cond, types, arms[0], arms[1]), chosen, names)

    def _carry(self, block: Block, values: Sequence[BlockArgument], positions: Sequence[int]) -> None:
        """New arguments of `block` for the tangents of those of `values` at `positions`."""
        for value in [values[k] for k in positions]:
            argument = block.insert_arg(value.type, len(block.args), place_of(value))
            if (name := tangent_name(value)) is not None:
                set_source_name(argument, name)
            self._tangents[value] = argument

    def _hand_on(self, end: Operation, positions: Sequence[int]) -> None:
        end.operands = [*end.operands, *(self.tangent(end.operands[k]) for k in positions)]

    def _replace(
        self, old: Operation, larger: Operation, positions: Sequence[int], names: Sequence[str | None]
    ) -> None:
        """Put `larger`, which has the tangents of the results at `positions` behind the results, in place of `old`."""
        block = old.parent
        assert block is not None
        larger.attributes |= old.attributes
        larger.location = unnamed(old.location)
        set_result_names(larger, names)
        block.insert_op_before(larger, old)
        count = len(old.results)
        for ours, theirs in zip(old.results, larger.results[:count], strict=True):
            ours.replace_all_uses_with(theirs)
        for position, tangent in zip(positions, larger.results[count:], strict=True):
            self._tangents[larger.results[position]] = tangent
        old.detach()
        old.erase()


def _names(results: Sequence[SSAValue], positions: Sequence[int]) -> list[str | None]:
    """What `results` and the tangents of those at `positions` are called."""
    return [*map(source_name, results), *(tangent_name(results[k]) for k in positions)]


def _end(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last

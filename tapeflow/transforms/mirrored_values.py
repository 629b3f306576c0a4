"""Have forward values again in the reverse sweep: repeat what can be repeated, at the start of the mirrored block.

Integer arithmetic is put where its operands are, out of loops and branches, as it costs nothing there; everything else
runs only where the mirrored block that it is placed in runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.availability import INTEGER_DIVISIONS, Available, Placed, is_integer_arithmetic
from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.block_tree import defining_block, enclosing
from tapeflow.analysis.inductions import Induction, induction_of
from tapeflow.analysis.source_names import source_name
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.simplify import Constants


def can_be_hoisted(op: Operation) -> bool:
    """Whether `op` is integer arithmetic that may run more often than the source runs it."""
    return is_integer_arithmetic(op) and not isinstance(op, INTEGER_DIVISIONS)


def outermost_home(op: Operation, block: Block) -> Block:
    """The outermost block around `block` in which all operands of `op` can be had."""
    homes = {defining_block(operand) for operand in op.operands}
    around = list(enclosing(block))
    return next((candidate for candidate in around if candidate in homes), around[-1])


def point_before(block: Block, inside: Block) -> InsertPoint:
    """In `block`, just before the op that contains the block `inside`."""
    current = inside
    while True:
        parent = current.parent_op()
        assert parent is not None
        if parent.parent is block:
            return InsertPoint.before(parent)
        assert parent.parent is not None
        current = parent.parent


def hoist_integer_arithmetic(ops: Iterable[Operation]) -> None:
    """Move each of `ops`, operands first, out of the loops and branches that none of its operands is in."""
    for op in ops:
        block = op.parent
        if block is None or not (can_be_hoisted(op) or _divides_by_constant(op)):
            continue
        home = outermost_home(op, block)
        if home is not block:
            before = point_before(home, block).insert_before
            assert before is not None
            op.detach()
            home.insert_op_before(op, before)


def _divides_by_constant(op: Operation) -> bool:
    return isinstance(op, arith.DivSIOp) and constant_integer(op.rhs) is not None


class MirroredValues:
    """Makes forward values in mirrored blocks.

    Args:
        function: that has both sweeps.
        mirrors: the mirrored block of each primal block.
        available: what can be had again.
        remembered: makes, with the builder given, a value that cannot be had again and must have been taped.
    """

    def __init__(
        self,
        function: func.FuncOp,
        mirrors: Mapping[Block, Block],
        available: Available,
        remembered: Callable[[Placed, LocatedBuilder], SSAValue],
    ):
        self._constants = Constants(function)
        self._mirrors = mirrors
        self._available = available
        self._remembered = remembered
        self._values: dict[SSAValue, SSAValue] = {}
        self._starts: dict[Block, InsertPoint] = {}

    def make(self, placed: Iterable[Placed]) -> Mapping[SSAValue, SSAValue]:
        """Make each value of `placed`, which are in order of computation; returns what each has become."""
        for item in placed:
            value, mirror = item.value, self._mirrors[item.home]
            if value not in self._available:
                made = self._remembered(item, self._at_start(mirror, value))
            else:
                made = self._had(value, mirror)
            self._values[value] = made
        return self._values

    def _had(self, value: SSAValue, mirror: Block) -> SSAValue:
        """What gives `value` without a tape of its own, in `mirror`."""
        again = self._available.again(value)
        if isinstance(again, memref.StoreOp):
            return self._load(value, again, mirror)
        if again is not None:
            assert isinstance(value, OpResult)
            return self._repeat(again, mirror)[value.index]
        assert isinstance(value, BlockArgument)
        induction = induction_of(value)
        return self._induction_variable(value, mirror) if induction is None else self._counted(value, induction, mirror)

    def _load(self, value: SSAValue, store: memref.StoreOp, mirror: Block) -> SSAValue:
        """What `store` has put into its array."""
        indices = [self._read(index) for index in store.indices]
        load = memref.LoadOp.get(self._read(store.memref), indices)
        return self._at_start(mirror, value).value(load, source_name(value))

    def _read(self, value: SSAValue) -> SSAValue:
        """`value`, or the forward value that it is a placeholder for, as it is had in the reverse sweep."""
        if isinstance(value.owner, UnrealizedConversionCastOp):
            value = value.owner.inputs[0]
        return self._values.get(value, value)

    def _at_start(self, mirror: Block, origin: SSAValue) -> LocatedBuilder:
        """A builder at the start of `mirror`, behind what it has made there before."""
        if mirror not in self._starts:
            self._starts[mirror] = InsertPoint.at_start(mirror)
        return LocatedBuilder(self._starts[mirror], place=place_of(origin))

    def _repeat(self, op: Operation, mirror: Block) -> tuple[SSAValue, ...]:
        again = op.clone({operand: self._read(operand) for inner in op.walk() for operand in inner.operands})
        build = self._at_start(mirror, op.results[0])
        if can_be_hoisted(again) and (home := outermost_home(again, mirror)) is not mirror:
            build.insertion_point = point_before(home, mirror)
        return tuple(build.insert(again).results)

    def _induction_variable(self, variable: BlockArgument, mirror: Block) -> SSAValue:
        """The iteration that the mirrored loop undoes: lower + (trips - 1 - i_r) * step."""
        loop, mirrored = variable.block.parent_op(), mirror.parent_op()
        assert isinstance(loop, scf.ForOp) and isinstance(mirrored, scf.ForOp)
        name = source_name(variable)
        lower, step = self._read(loop.lb), self._read(loop.step)
        trips = self._read(mirrored.ub)
        upper = trips if constant_integer(lower) == 0 else self._read(loop.ub)
        build = self._at_start(mirror, variable)
        behind, one = mirror.args[0], self._constants.index(1)
        if constant_integer(step) == 1:
            last = self._before_loop(mirrored, arith.SubiOp(upper, one))
        else:
            span = arith.SubiOp(trips, one)
            span = arith.MuliOp(self._before_loop(mirrored, span), step)
            last = self._before_loop(mirrored, span)
            if constant_integer(lower) != 0:
                last = self._before_loop(mirrored, arith.AddiOp(lower, last))
            behind = build.value(arith.MuliOp(behind, step))
        last.name_hint = name and f"{name}_last"
        return build.value(arith.SubiOp(last, behind), name)

    def _counted(self, argument: BlockArgument, induction: Induction, mirror: Block) -> SSAValue:
        """What is counted in the iteration that the mirrored loop undoes: initial + (trips - 1 - i_r) * step."""
        mirrored, type_ = mirror.parent_op(), argument.type
        assert isinstance(mirrored, scf.ForOp)
        # The trip count of a while comes after what is counted in it, and may be a placeholder here still.
        last = LocatedBuilder(InsertPoint.before(mirrored), place=place_of(argument)).value(
            arith.SubiOp(mirrored.ub, self._constants.index(1))
        )
        build = self._at_start(mirror, argument)
        iterations = build.value(arith.SubiOp(last, mirror.args[0]))
        if not isinstance(type_, IndexType):
            iterations = build.value(arith.IndexCastOp(iterations, type_))
        if constant_integer(induction.step) != 1:
            iterations = build.value(arith.MuliOp(iterations, self._read(induction.step)))
        combine = arith.SubiOp if induction.down else arith.AddiOp
        return build.value(combine(self._read(induction.initial), iterations), source_name(argument))

    def _before_loop(self, loop: scf.ForOp, op: Operation) -> SSAValue:
        """`op`, put before `loop` and out of the loops and branches around that its operands are not in."""
        block = loop.parent
        assert block is not None
        build = LocatedBuilder(InsertPoint.before(loop), place=place_of(loop))
        home = outermost_home(op, block)
        if home is not block:
            build.insertion_point = point_before(home, block)
        return build.value(op)

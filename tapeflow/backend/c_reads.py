"""What a printed operation reads, and what flows where between blocks.

In C a loop reads the terms of its bounds rather than its operands, an access reads the extents that its address takes,
and what a branch or an iteration yields is an assignment. The rest of the backend asks here and not the operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.backend.c_arrays import Arrays
from tapeflow.backend.c_loops import LinearForms, LoopForm, loop_form
from tapeflow.backend.c_regions import Regions
from tapeflow.dialects import spad, tape
from tapeflow.dialects.handle import HandleType


@dataclass(frozen=True)
class Read:
    """A scalar that an operation reads.

    Attributes:
        value: what is read.
        throughout: whether it is read as long as the operation runs (a loop's bound), and not only as it begins.
    """

    value: SSAValue
    throughout: bool = False


@dataclass(eq=False)
class Merge:
    """A place where control flow joins: one value that is assigned in several blocks.

    Attributes:
        op: the loop or branch.
        result: of `op`, what it is afterwards.
        carried: in the body of a loop, and in the test of a while, the same at the start of an iteration.
        initial: of a loop, what it is before the first.
        yields: the terminators that assign it, and what they assign.
    """

    op: Operation
    result: SSAValue
    carried: tuple[BlockArgument, ...]
    initial: SSAValue | None
    yields: tuple[tuple[Operation, SSAValue], ...]


def terminator(block: Block) -> Operation:
    """The last operation of a block that has one."""
    assert block.last_op is not None
    return block.last_op


def merges_of(op: Operation) -> list[Merge]:
    """The values that `op`, a loop or a branch, merges."""
    match op:
        case scf.ForOp() | spad.LayerOp():
            end = terminator(op.body.block)
            return [
                Merge(op, result, (carried,), initial, ((end, end.operands[index]),))
                for index, (result, carried, initial) in enumerate(
                    zip(op.res, op.body.block.args[1:], op.iter_args, strict=True)
                )
            ]
        case scf.WhileOp():
            end = terminator(op.after_region.block)
            return [
                Merge(op, result, (tested, carried), initial, ((end, end.operands[index]),))
                for index, (result, tested, carried, initial) in enumerate(
                    zip(op.res, op.before_region.block.args, op.after_region.block.args, op.arguments, strict=True)
                )
            ]
        case scf.IfOp():
            ends = [terminator(region.block) for region in (op.true_region, op.false_region) if region.blocks]
            return [
                Merge(op, result, (), None, tuple((end, end.operands[index]) for end in ends))
                for index, result in enumerate(op.output)
            ]
        case _:
            return []


@dataclass
class Reads:
    """What the operations of one function read and merge."""

    function: func.FuncOp
    arrays: Arrays
    regions: Regions
    forms: dict[Operation, LoopForm] = field(default_factory=dict[Operation, LoopForm])
    merges: dict[Operation, list[Merge]] = field(default_factory=dict[Operation, list[Merge]])
    loop_of: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """The loop whose C variable a value is: induction variables, and what takes their place."""

    _known: dict[Operation, tuple[Read, ...]] = field(default_factory=dict[Operation, tuple[Read, ...]])

    def __post_init__(self) -> None:
        linear = LinearForms()
        for op in self.function.walk():
            if merges := merges_of(op):
                self.merges[op] = merges
            if isinstance(op, scf.ForOp | spad.LayerOp):
                self.forms[op] = form = loop_form(op, linear)
                self.loop_of |= dict.fromkeys((form.variable, *form.aliases), op)

    def of(self, op: Operation) -> tuple[Read, ...]:
        """The scalars that `op` itself reads: not its merges, and not what its regions read."""
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = tuple(self._of(op))
        return known

    def _of(self, op: Operation) -> Iterator[Read]:
        match op:
            case scf.ForOp() | spad.LayerOp():
                form = self.forms[op]
                yield from (Read(atom) for atom in form.start.terms)
                yield from (Read(atom, True) for atom in form.bound.terms)
                if isinstance(form.step, SSAValue):
                    yield Read(form.step, True)
            case scf.ConditionOp():
                yield Read(op.condition)
            case scf.YieldOp() | spad.YieldOp() | scf.WhileOp():
                return
            case memref.DimOp():
                extent = self.arrays.extent(op)
                if isinstance(extent, SSAValue):
                    yield Read(extent)
            case memref.CastOp() | memref.SubviewOp() | memref.DeallocOp():
                return
            case memref.CopyOp():
                for value in (op.source, op.destination):
                    extents = self.arrays.of(value).extents
                    yield from (Read(extent, True) for extent in extents if isinstance(extent, SSAValue))
            case func.CallOp():
                yield from self._of_operands(op)
                for array in (operand for operand in op.arguments if isinstance(operand.type, MemRefType)):
                    extents = self.arrays.of(array).extents
                    yield from (Read(extent) for extent in extents if isinstance(extent, SSAValue))
            case _:
                yield from self._of_operands(op)

    def _of_operands(self, op: Operation) -> Iterator[Read]:
        for operand in op.operands:
            if isinstance(operand.type, MemRefType):
                yield from (Read(value) for value in self.arrays.reads(operand))
            elif not isinstance(operand.type, HandleType):
                yield Read(operand)

    def is_loop_variable(self, value: SSAValue) -> bool:
        """Whether `value` is the C variable of a loop."""
        return value in self.loop_of

    def is_field(self, value: SSAValue) -> bool:
        """Whether `value` is a field of a record that was read as a struct."""
        if not isinstance(value, OpResult) or not isinstance(value.op, tape.ReplayOp | spad.ReadOp):
            return False
        return self.regions.of(value.op.operands[0]).is_struct

"""Which pure operations are printed within the statement that uses them, and which get a name of their own.

A value that is used once is printed where it is used, if that is in the same block, so that nothing is computed more
often or under other conditions than the IR says, and if the statement stays readable. Constants, conversions and sums
of an index and a constant are printed wherever they are used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, NameLoc
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tapeflow.backend.c_expressions import is_expression
from tapeflow.backend.c_loops import integer_constant
from tapeflow.backend.c_needs import Needs
from tapeflow.backend.c_reads import Reads
from tapeflow.dialects import spad, stream, tape

_MOST_OPERATIONS = 6
"""In one statement, unless one operation has more operands."""

_CONVERSIONS = arith.IndexCastOp | arith.ExtSIOp | arith.SIToFPOp | arith.ExtFOp
"""What C mostly does by itself."""

_COUNTED_ONCE = (tape.CreateOp, stream.CreateOp, memref.AllocOp, memref.AllocaOp)
"""What they read is printed twice, in the reservation and in the opening, so it needs a name."""


@dataclass(frozen=True)
class Use:
    """One needed use of a value.

    Attributes:
        op: whose statement reads the value.
        nested: whether it may be printed within that statement.
    """

    op: Operation
    nested: bool


@dataclass
class Inlining:
    """How the needed pure operations of a function are printed."""

    reads: Reads
    needs: Needs
    uses: defaultdict[SSAValue, list[Use]] = field(default_factory=lambda: defaultdict[SSAValue, list[Use]](list))
    """Of values that are not free: the needed uses, also those through free ones."""

    nested: set[Operation] = field(default_factory=set[Operation])
    """The operations that are printed within another's statement, free ones apart."""

    _free: dict[Operation, bool] = field(default_factory=dict[Operation, bool])

    def __post_init__(self) -> None:
        for op in self.reads.function.walk():
            if isinstance(op, scf.YieldOp | spad.YieldOp):
                continue
            if op in self.needs.ops and not self.is_free(op):
                self._add_uses(op)
        blocks: set[Block] = {op.parent for op in self.needs.ops if op.parent is not None}
        for block in blocks:
            self._nest(block)

    def _add_uses(self, op: Operation) -> None:
        for read in self.reads.of(op):
            nested = not read.throughout and not isinstance(op, _COUNTED_ONCE)
            for leaf in self._through_free(read.value):
                self.uses[leaf].append(Use(op, nested))
        for merge in self.needs.merges(op):
            if merge.initial is not None:
                for leaf in self._through_free(merge.initial):
                    self.uses[leaf].append(Use(op, True))
            for end, assigned in merge.yields:
                for leaf in self._through_free(assigned):
                    self.uses[leaf].append(Use(end, False))

    def is_free(self, op: Operation) -> bool:
        """Whether `op` is printed wherever it is used: it is a constant, a conversion, or as good as one."""
        known = self._free.get(op)
        if known is None:
            known = self._free[op] = self._is_free(op)
        return known

    def _is_free(self, op: Operation) -> bool:
        match op:
            case arith.ConstantOp() | memref.DimOp():
                return True
            case _ if isinstance(op, _CONVERSIONS):
                return not self._is_compound(op.operands[0])
            case arith.AddiOp() | arith.SubiOp() if isinstance(op.result.type, IndexType):
                constants = [integer_constant(operand) is not None for operand in op.operands]
                return any(constants) and not any(map(self._is_compound, op.operands))
            case _:
                return False

    def _is_compound(self, value: SSAValue) -> bool:
        """Whether `value` is printed with operators if it is printed in place."""
        if not isinstance(value, OpResult) or self.reads.is_loop_variable(value):
            return False
        return is_expression(value.op) and not isinstance(value.op, arith.ConstantOp | _CONVERSIONS)

    def _through_free(self, value: SSAValue) -> Iterator[SSAValue]:
        if isinstance(value, OpResult) and not self.reads.is_loop_variable(value) and self.is_free(value.op):
            for read in self.reads.of(value.op):
                yield from self._through_free(read.value)
        else:
            yield value

    def leaves(self, value: SSAValue) -> Iterator[SSAValue]:
        """The variables that the expression of `value` reads."""
        for leaf in self._through_free(value):
            if isinstance(leaf, OpResult) and leaf.op in self.nested:
                for read in self.reads.of(leaf.op):
                    yield from self.leaves(read.value)
            else:
                yield leaf

    def _nest(self, block: Block) -> None:
        """Decide for the operations of `block`, operands first, so that statements can be measured."""
        weights: dict[Operation, int] = {}
        for op in block.ops:
            if op not in self.needs.ops or self.is_free(op):
                continue
            inner = [operand for operand in self._operands(op) if self._can_nest(operand, op)]
            total = len(inner) and sum(weights[operand] for operand in inner)
            # Names from the source stay first, then what is longest.
            inner.sort(key=lambda operand: (_is_named(operand), weights[operand]))
            own = 1 if is_expression(op) else 0
            while inner and total + own > _MOST_OPERATIONS:
                total -= weights[inner.pop()]
            self.nested.update(inner)
            weights[op] = total + own

    def _operands(self, op: Operation) -> list[Operation]:
        values = [read.value for read in self.reads.of(op)]
        values += [merge.initial for merge in self.needs.merges(op) if merge.initial is not None]
        leaves = [leaf for value in values for leaf in self._through_free(value)]
        return list(dict.fromkeys(leaf.op for leaf in leaves if isinstance(leaf, OpResult)))

    def _can_nest(self, op: Operation, user: Operation) -> bool:
        if isinstance(op, spad.FullOp | spad.EmptyOp):
            if not isinstance(user, scf.IfOp) or not _follows_at_once(op, user):
                return False
        elif not is_expression(op):
            return False
        if op.parent is not user.parent or self.reads.is_loop_variable(op.results[0]):
            return False
        uses = self.uses[op.results[0]]
        return len(uses) == 1 and uses[0].op is user and uses[0].nested


def _follows_at_once(op: Operation, user: Operation) -> bool:
    """Whether nothing between `op` and `user` could change what a question about a buffer answers."""
    between = op.next_op
    while between is not None and between is not user and is_expression(between):
        between = between.next_op
    return between is user


def _is_named(op: Operation) -> bool:
    return isinstance(op.location, NameLoc)

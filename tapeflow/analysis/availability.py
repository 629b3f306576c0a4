"""What can be had again in the reverse sweep, and where it is best had.

A mirrored block undoes one run of a primal block. In it the values of the function's top block are there as they are,
an induction variable follows from the mirrored loop's, and an operation whose operands can be had can be repeated, if
it gives the same result then. Everything else must be taped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from tapeflow.analysis.block_tree import defining_block, home_of, is_top_block
from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.inductions import counted_from
from tapeflow.analysis.loops import Loop, body_of


def is_integer(value: SSAValue) -> bool:
    """Whether `value` is an integer, an index or a condition."""
    return isinstance(value.type, IntegerType | IndexType)


INTEGER_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.FloorDivSIOp,
)
"""Integer operations that trap on a zero divisor: they are not to be run where the source does not run them."""


def is_integer_arithmetic(op: Operation) -> bool:
    """Whether `op` computes integers from integers, and nothing else."""
    return is_pure(op) and all(map(is_integer, op.operands)) and all(map(is_integer, op.results))


def _bits(type_: Attribute) -> int:
    return type_.bitwidth if isinstance(type_, IntegerType | AnyFloat) else 64


def widens(op: Operation) -> bool:
    """Whether `op` converts a value to a wider type, and so loses nothing."""
    conversions = (arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.ExtFOp, arith.SIToFPOp, arith.UIToFPOp)
    return isinstance(op, conversions) and _bits(op.operands[0].type) < _bits(op.results[0].type)


def captured(op: Operation) -> Iterator[SSAValue]:
    """What `op` uses from outside of it: its operands, and those of the ops in its regions."""
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            if inner is op or not op.is_ancestor(owner):
                yield operand


class Available(Protocol):
    """What can be had again, by whatever rule."""

    def __contains__(self, value: SSAValue, /) -> bool:
        """Whether `value` can be had again; all of the function's top block are."""
        ...

    def again(self, value: SSAValue, /) -> Operation | None:
        """What gives `value` again: an op to repeat, or a store to load it from; None for what a loop counts."""
        ...

    def order(self, value: SSAValue) -> int:
        """A number that is larger than those of all values that `value` is computed from."""
        ...


class Availability:
    """Which values of a function's forward sweep can be had again.

    Args:
        function: structured; the values asked about come before their needs in it.
        repeatable: whether an operation gives the same result when it is repeated in the mirror of its block.
        others_are_taped: whether what cannot be had again is there all the same, since it gets taped: then the
            variable of any loop can be had, what a loop counts too, and what a conversion widens is taped in its narrow
            form.
    """

    def __init__(self, function: func.FuncOp, repeatable: Callable[[Operation], bool], *, others_are_taped: bool):
        self._order: dict[SSAValue, int] = {argument: index for index, argument in enumerate(function.args)}
        self._again: set[SSAValue] = set()
        for op in function.body.walk():
            if (others_are_taped and widens(op)) or (repeatable(op) and all(map(self.__contains__, captured(op)))):
                self._again.update(op.results)
            for result in op.results:
                self._order[result] = len(self._order)
            for region in op.regions:
                for argument in region.blocks[0].args if region.blocks else ():
                    self._order[argument] = len(self._order)
            if isinstance(op, Loop):
                for argument in body_of(op).args:
                    sources = counted_from(argument)
                    if sources is not None and (others_are_taped or all(map(self.__contains__, sources))):
                        self._again.add(argument)

    def __contains__(self, value: SSAValue) -> bool:
        """Whether `value` can be had again."""
        return value in self._again or (value in self._order and is_top_block(defining_block(value)))

    def again(self, value: SSAValue) -> Operation | None:
        """The op that gives `value`; None for what a loop counts."""
        return value.op if isinstance(value, OpResult) else None

    def order(self, value: SSAValue) -> int:
        """A number that is larger than those of all values that `value` is computed from."""
        return self._order[value]


@dataclass(frozen=True)
class Placed:
    """A value that the reverse sweep needs, and the primal block in whose mirror it is best had."""

    value: SSAValue
    home: Block


def placements(needs: Mapping[SSAValue, Iterable[Block]], available: Available) -> list[Placed]:
    """Where to have the values in `needs` and what those are computed from, in order of computation.

    Args:
        needs: the primal blocks in whose mirrors each value is needed.
        available: what can be had again. What cannot is placed too, but nothing it is computed from.

    Values of the top block are not placed: they are there.
    """
    blocks: dict[SSAValue, set[Block]] = {}
    pending: list[tuple[int, SSAValue]] = []

    def need(value: SSAValue, block: Block) -> None:
        if is_top_block(defining_block(value)):
            return
        if value not in blocks:
            blocks[value] = set()
            heapq.heappush(pending, (-available.order(value), value))
        blocks[value].add(block)

    for value, needing in needs.items():
        for block in needing:
            need(value, block)
    placed: list[Placed] = []
    while pending:
        # Users come first, so that all needs of a value are known when its turn comes.
        _, value = heapq.heappop(pending)
        defined = defining_block(value)
        # What a loop counts follows from the argument of its mirrored body, and costs nothing.
        is_counted = value in available and available.again(value) is None
        home = defined if is_counted else home_of(defined, blocks[value])
        placed.append(Placed(value, home))
        if value in available:
            for source, at in _sources(value, home, available.again(value)):
                need(source, at)
    return placed[::-1]


def _sources(value: SSAValue, home: Block, again: Operation | None) -> Iterator[tuple[SSAValue, Block]]:
    """What `value`, had in the mirror of `home`, is computed from, and in the mirrors of which blocks."""
    if isinstance(again, memref.StoreOp):
        yield again.memref, home
        for index in again.indices:
            yield index, home
    elif again is not None:
        for operand in captured(again):
            yield operand, home
    else:
        outside, sources = defining_block(value).parent_block(), counted_from(value)
        assert outside is not None and sources is not None
        for source in sources:
            yield source, outside

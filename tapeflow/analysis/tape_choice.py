"""Which values to tape: the cheapest set from which all that the reverse sweep needs can be had.

A value that the reverse sweep needs is taped, or the operation that gives it is repeated on operands that are had in
turn. Both have a price for each run of the block that defines the value; the sum of the prices is least at a minimum
cut. In the network each value has two nodes: on the side of the sink, `repeated` means that its operation is repeated,
`had` that it is had. Its edges say

- `repeated` -> `had`, with the price of taping, or of a load where the value stands in an array until the reverse
  sweep, or of a load and of taping each element once where a snapshot serves (`analysis/snapshots`): what is had and
  not repeated is taped or loaded;
- source -> `repeated`, with the price of repeating, infinite for what gives something else when it is repeated;
- `had` of each operand -> `repeated`, infinite: what is repeated needs its operands;
- `had` -> sink, infinite, for what is needed.

**Prices** are in units of an addition. A byte that is taped costs `BYTE`: more than it takes to write it and read it
back from a cache, as memory is what runs out, and on machines that stream the tape a byte from DRAM costs the energy of
several additions. So a double is worth 32 additions, five divisions or one `exp`, and a condition, of one byte, a load
and a comparison. Index arithmetic is free: it ends up in addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tapeflow.analysis.availability import INTEGER_DIVISIONS, captured
from tapeflow.analysis.block_runs import expected_runs
from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.inductions import counted_from
from tapeflow.analysis.minimum_cut import Edge, minimum_cut
from tapeflow.analysis.roots import is_array
from tapeflow.analysis.snapshots import Snapshot
from tapeflow.analysis.stored_values import counted_behind
from tapeflow.dialects.record import field_bytes

BYTE = 4
"""The price of a byte that is taped, in additions."""

ADDITION = 1
"""The price of an operation that costs about as much as an addition, a multiplication for one."""

LOAD = 2
"""The price of a load that is repeated."""

DIVISION = 6
"""The price of a division, a remainder or a square root."""

FUNCTION = 20
"""The price of a function of `math` that is a call."""

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

_DIVISIONS = (*INTEGER_DIVISIONS, arith.DivfOp, math.SqrtOp, math.RsqrtOp)


def price_of_repeating(op: Operation) -> int:
    """What `op`, with all that is in its regions, costs when it is repeated, in additions."""
    return sum(map(_price_by_itself, op.walk()))


def _price_by_itself(op: Operation) -> int:
    match op:
        case memref.LoadOp():
            return LOAD
        case arith.ConstantOp() | arith.IndexCastOp() | scf.ExecuteRegionOp() | scf.YieldOp():
            return 0
        case _ if isinstance(op, _DIVISIONS):
            return DIVISION
        case _ if op.results and all(isinstance(result.type, IndexType) for result in op.results):
            return 0
        case _ if op.name.startswith("math.") and not isinstance(op, CHEAP_FUNCTIONS):
            return FUNCTION
        case _:
            return ADDITION


@dataclass(frozen=True)
class Prices:
    """What the reverse sweep pays for a value that it needs.

    Attributes:
        byte: for each byte that is taped, in additions.
    """

    byte: int

    def taping(self, value: SSAValue) -> int | None:
        """What it costs to tape `value` once; None if it cannot be taped: an array."""
        return None if is_array(value) else self.byte * field_bytes(value.type)


@dataclass(frozen=True)
class _Repeated:
    """The node of a step that is repeated: an operation, or the counting of a loop's variable."""

    step: Operation | SSAValue


@dataclass(frozen=True)
class _Had:
    """The node of a value that is had."""

    value: SSAValue


_Node = _Repeated | _Had | str
_SOURCE, _SINK = "source", "sink"


class TapeChoice:
    """The values of a function's forward sweep that are best repeated; the other ones that are needed are best taped.

    Args:
        function: structured; the values asked about come before their needs in it.
        needed: the values that the reverse sweep needs.
        repeatable: whether an operation gives the same result when it is repeated in the mirror of its block.
        instead: what gives the result of an operation again that is not repeatable; None if nothing does.
        stored: the values that can be loaded again, each with the store to load it from, as of `stored_values`.
        snapshots: the loaded values that a snapshot can serve.
        prices: what taping costs.
    """

    def __init__(
        self,
        function: func.FuncOp,
        needed: Iterable[SSAValue],
        repeatable: Callable[[Operation], bool],
        instead: Callable[[Operation], Operation | None],
        stored: Mapping[SSAValue, memref.StoreOp],
        snapshots: Mapping[SSAValue, Snapshot],
        prices: Prices,
    ):
        self._order = dict(_in_order(function))
        self._repeatable = repeatable
        self._instead = instead
        self._again: dict[Operation, Operation | None] = {}
        self._stored = stored
        self._snapshots = snapshots
        self._prices = prices
        self._runs: dict[Block, int] = {}
        self._loaded: Mapping[SSAValue, memref.StoreOp] = {}
        cut = minimum_cut(self._edges(needed), _SOURCE, _SINK)
        self._repeated = {node.step for node in cut.sink_side if isinstance(node, _Repeated)}
        reached = [node.value for node in cut.sink_side if isinstance(node, _Had)]
        self._loaded = {value: stored[value] for value in reached if value in stored and value not in self}
        self.recorded_once = [value for value in reached if value not in self and self._is_recorded_once(value)]
        """The values of which a snapshot is best taped: to be handed to `load_from` then."""
        # Nothing else may be in need of their subscripts, which cost nothing.
        subscripts = (counted_behind(store.indices) or () for store in self._loaded.values())
        self._repeated.update(_step_of(value) for values in subscripts for value in values)
        axes = (axis.variable for value in self.recorded_once for axis in snapshots[value].axes)
        self._repeated.update(map(_step_of, counted_behind(axes) or ()))
        self.price = cut.cost
        """What the choice costs in a call, in additions, with loops of unknown length run a usual number of times."""

    def __contains__(self, value: SSAValue) -> bool:
        """Whether `value` is had without a tape of its own."""
        if is_top_block(defining_block(value)):
            return True
        return _step_of(value) in self._repeated or value in self._loaded

    def again(self, value: SSAValue) -> Operation | None:
        """What gives `value` again: an op to repeat, or a store to load it from; None for what a loop counts."""
        return self._loaded.get(value) or (self._repeating(value.op) if isinstance(value, OpResult) else None)

    def load_from(self, stores: Mapping[SSAValue, memref.StoreOp]) -> None:
        """Have each value of `stores` by a load from where its store has put it."""
        self._loaded = {**self._loaded, **stores}

    def order(self, value: SSAValue) -> int:
        """A number that is larger than those of all values that `value` is computed from."""
        return self._order[value]

    def _edges(self, needed: Iterable[SSAValue]) -> Iterator[Edge[_Node]]:
        pending = [value for value in dict.fromkeys(needed) if not is_top_block(defining_block(value))]
        for value in pending:
            yield Edge(_Had(value), _SINK, None)
        reached = set(pending)
        steps: set[Operation | SSAValue] = set()
        while pending:
            value = pending.pop()
            step = _step_of(value)
            runs = self._runs_of(defining_block(value))
            yield Edge(_Repeated(step), _Had(value), self._price_of_keeping(value, runs))
            if step in steps:
                continue
            steps.add(step)
            again = self._repeating(step) if isinstance(step, Operation) else None
            sources = counted_from(step) if isinstance(step, SSAValue) else again and dict.fromkeys(captured(again))
            if sources is None:
                yield Edge(_SOURCE, _Repeated(step), None)
                continue
            if again is not None:
                yield Edge(_SOURCE, _Repeated(step), price_of_repeating(again) * runs)
            for source in sources:
                if is_top_block(defining_block(source)):
                    continue
                yield Edge(_Had(source), _Repeated(step), None)
                if source not in reached:
                    reached.add(source)
                    pending.append(source)

    def _price_of_keeping(self, value: SSAValue, runs: int) -> int | None:
        """What it costs to have `value` other than by repeating, in so many runs of its block; None if it cannot be."""
        if value in self._stored:
            return LOAD * runs
        taping = self._prices.taping(value)
        if taping is None or not self._has_snapshot(value):
            return None if taping is None else taping * runs
        return min(taping * runs, self._price_of_snapshot(value, taping, runs))

    def _has_snapshot(self, value: SSAValue) -> bool:
        """Whether a snapshot can serve `value`, and nothing gives it again without a tape of its own."""
        return value in self._snapshots and isinstance(value, OpResult) and self._repeating(value.op) is None

    def _price_of_snapshot(self, value: SSAValue, taping: int, runs: int) -> int:
        return taping * self._snapshots[value].expected_records + LOAD * runs

    def _is_recorded_once(self, value: SSAValue) -> bool:
        """Whether a snapshot of `value` costs less than a record each time."""
        taping = self._prices.taping(value)
        if taping is None or value in self._stored or not self._has_snapshot(value):
            return False
        runs = self._runs_of(defining_block(value))
        return self._price_of_snapshot(value, taping, runs) < taping * runs

    def _repeating(self, op: Operation) -> Operation | None:
        """What is repeated to have the results of `op` again; None if nothing gives them."""
        if op not in self._again:
            self._again[op] = op if self._repeatable(op) else self._instead(op)
        return self._again[op]

    def _runs_of(self, block: Block) -> int:
        if block not in self._runs:
            # Blocks that never run are planned as well, as if they did.
            self._runs[block] = max(expected_runs(block), 1)
        return self._runs[block]


def _step_of(value: SSAValue) -> Operation | SSAValue:
    """What is repeated to have `value` again."""
    return value.op if isinstance(value, OpResult) else value


def _in_order(function: func.FuncOp) -> Iterator[tuple[SSAValue, int]]:
    """Each value of `function` with its position."""
    position = 0
    for argument in function.args:
        yield argument, position
        position += 1
    for op in function.body.walk():
        inner = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *inner):
            yield value, position
            position += 1

"""Compute in an arm of a branch what that arm alone uses, if its derivative may be infinite where the arm is not taken.

```mlir
%q = arith.divf %one, %x : f64                     %r = scf.if %nonzero -> (f64) {
%r = arith.select %nonzero, %q, %zero : f64   ->     %q = arith.divf %one, %x : f64
                                                     scf.yield %q : f64
                                                   } else { scf.yield %zero : f64 }
```

Where `x` is 0 the adjoint of `%q` is 0, but 0 times the infinite partial of the division is not a number. In an arm the
adjoint is computed only where the arm runs. Applies to the pure operations of the block that the choice or branch is
in, if there is a division, root or function among them; the choice becomes a branch.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.tape_choice import CHEAP_FUNCTIONS
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


def sink_into_arms(function: func.FuncOp) -> None:
    """Move operations into arms, everywhere in `function`, a structured one."""
    if any(map(_may_be_infinite, function.walk())):
        _sink_in(function.body.block)


def _may_be_infinite(op: Operation) -> bool:
    """Whether a partial of `op` may be infinite, or not a number, for operands that are finite."""
    if isinstance(op, arith.DivfOp | func.CallOp):
        return is_pure(op)
    return op.name.startswith("math.") and not isinstance(op, CHEAP_FUNCTIONS)


def _sink_in(block: Block) -> None:
    positions = {op: number for number, op in enumerate(block.ops)}
    for op in reversed(list(block.ops)):
        match op:
            case arith.SelectOp() if op.parent is block and isinstance(op.result.type, AnyFloat):
                _branch(op, positions)
            case scf.IfOp():
                for region in op.regions:
                    _into(region, positions)
            case _:
                pass
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                _sink_in(inner)


def _branch(op: arith.SelectOp, positions: Mapping[Operation, int]) -> None:
    """Make a branch of a choice if something is to be moved into one of its arms."""
    arms = [
        _used_only_by(lambda use, position=position: use.operation is op and use.index == position, [value], positions)
        for position, value in ((1, op.lhs), (2, op.rhs))
    ]
    if not any(_may_be_infinite(moved) for arm in arms for moved in arm):
        return
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    blocks: list[Block] = []
    for arm, value in zip(arms, (op.lhs, op.rhs), strict=True):
        block = Block()
        _move(arm, block)
        build.into(block).insert(scf.YieldOp(value))
        blocks.append(block)
    branch = build.insert(scf.IfOp(op.cond, [op.result.type], Region(blocks[0]), Region(blocks[1])))
    if (name := source_name(op.result)) is not None:
        set_source_name(branch.results[0], name)
    Rewriter.replace_op(op, [], branch.results)


def _into(region: Region, positions: Mapping[Operation, int]) -> None:
    """Move into the arm `region` what is computed before its branch for it alone, if that may be infinite."""
    branch = region.parent_op()
    if branch is None or not region.blocks:
        return
    outside = [
        operand
        for inner in region.walk()
        for operand in inner.operands
        if operand.owner.parent_block() is branch.parent
    ]
    arm = _used_only_by(lambda use: region.is_ancestor(use.operation), outside, positions)
    if any(map(_may_be_infinite, arm)):
        _move(arm, region.blocks[0])


def _used_only_by(
    is_own: Callable[[Use], bool], values: Iterable[SSAValue], positions: Mapping[Operation, int]
) -> list[Operation]:
    """The pure operations in `positions` that lead to `values` and whose uses are all its own or of one another."""
    found: dict[Operation, None] = {}
    seen: set[Operation] = set()
    pending: list[tuple[int, Operation]] = []

    def reach(value: SSAValue) -> None:
        op = value.owner
        # Constants stay at the top.
        if isinstance(op, Operation) and op.operands and op in positions and op not in seen and is_pure(op):
            seen.add(op)
            heapq.heappush(pending, (-positions[op], op))

    for value in values:
        reach(value)
    while pending:
        # Users come first, so that they are found before what they use is looked at.
        _, op = heapq.heappop(pending)
        if all(use.operation in found or is_own(use) for result in op.results for use in result.uses):
            found[op] = None
            for operand in op.operands:
                reach(operand)
    return list(found)


def _move(ops: Iterable[Operation], block: Block) -> None:
    """Put `ops`, users first, at the beginning of `block`."""
    for op in ops:
        op.detach()
        if block.first_op is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, block.first_op)

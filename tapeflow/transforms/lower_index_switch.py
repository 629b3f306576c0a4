"""Lower `scf.index_switch` to a chain of `scf.if`: one case after the other, else the default."""

from __future__ import annotations

from xdsl.dialects import arith, func, scf
from xdsl.ir import Region
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import index_constant
from tapeflow.transforms.move_body import move_body


def lower_index_switch(function: func.FuncOp) -> None:
    """Replace every `scf.index_switch` of `function`, also nested ones."""
    for op in [op for op in function.body.walk() if isinstance(op, scf.IndexSwitchOp)]:
        _lower(op)


def _lower(op: scf.IndexSwitchOp) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    pairs = zip(op.cases.iter_values(), op.case_regions, strict=True)
    cases = [(int(number), region.detach_block(0)) for number, region in pairs]
    otherwise = op.default_region.detach_block(0)
    # From the last case to the first: each chain is in the `else` of the one before.
    while len(cases) > 1:
        number, body = cases.pop()
        block = build.block()
        inner = build.into(block)
        chain = _if(op, number, Region(body), Region(otherwise), inner)
        inner.insert(scf.YieldOp(*chain.results))
        otherwise = block
    if cases:
        number, body = cases.pop()
        results = _if(op, number, Region(body), Region(otherwise), build).results
    else:
        results = move_body(otherwise, (), build)
    for before, after in zip(op.results, results, strict=True):
        before.replace_all_uses_with(after)
    Rewriter.erase_op(op)


def _if(op: scf.IndexSwitchOp, number: int, then: Region, otherwise: Region, build: LocatedBuilder) -> scf.IfOp:
    """The choice between a case and what follows it, with the names and the place of the switch."""
    is_case = build.value(arith.CmpiOp(op.arg, index_constant(number, build), "eq"))
    choice = scf.IfOp(is_case, [result.type for result in op.results], then, otherwise)
    choice.location = op.location
    build.insert(choice)
    for before, after in zip(op.results, choice.results, strict=True):
        after.name_hint = before.name_hint
    return choice

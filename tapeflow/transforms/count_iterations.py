"""Have every `scf.while` count its iterations: the reverse sweep runs as often, in a counted loop.

A while that counts already, from 0 in steps of 1, is left as it is; any other carries one more integer, `trips`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.block_runs import constant_integer
from tapeflow.analysis.loops import condition_of, yielded_values
from tapeflow.analysis.source_names import set_result_names, set_source_name, source_name
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.simplify import Constants


def counter_of(loop: scf.WhileOp) -> SSAValue | None:
    """The result of `loop`, in normal form, that is an index counted from 0 in steps of 1; None if there is none."""
    body = loop.after_region.block
    for result, argument, initial, yielded in zip(
        loop.results, body.args, loop.arguments, yielded_values(loop), strict=True
    ):
        if not isinstance(result.type, IndexType) or constant_integer(initial) != 0:
            continue
        if isinstance(yielded, OpResult) and isinstance(yielded.op, arith.AddiOp):
            left, right = yielded.op.operands
            if (left is argument and constant_integer(right) == 1) or (
                right is argument and constant_integer(left) == 1
            ):
                return result
    return None


def count_iterations(function: func.FuncOp) -> Mapping[scf.WhileOp, SSAValue]:
    """Have all whiles of `function`, in normal form, count their iterations; the result of each that is its count."""
    constants = Constants(function)
    counted: dict[scf.WhileOp, SSAValue] = {}
    for loop in [op for op in function.body.walk() if isinstance(op, scf.WhileOp)]:
        known = counter_of(loop)
        if known is not None:
            counted[loop] = known
        else:
            counting = _with_counter(loop, constants)
            counted[counting] = counting.results[-1]
    return counted


def _with_counter(loop: scf.WhileOp, constants: Constants) -> scf.WhileOp:
    before, after = loop.before_region.block, loop.after_region.block
    condition, end = condition_of(loop), after.last_op
    block = loop.parent
    assert end is not None and block is not None
    place = place_of(loop)
    for part in (before, after):
        set_source_name(part.insert_arg(IndexType(), len(part.args), place), "trips")
    condition.operands = [*condition.operands, before.args[-1]]
    build = LocatedBuilder(InsertPoint.before(end), place=place)
    counted = build.value(arith.AddiOp(after.args[-1], constants.index(1)))
    end.operands = [*end.operands, counted]
    names = [source_name(result) for result in loop.results]
    inits = [*loop.arguments, constants.index(0)]
    types = [*loop.result_types, IndexType()]
    before_region, after_region = (loop.detach_region(region) for region in tuple(loop.regions))
    counting = scf.WhileOp(inits, types, before_region, after_region)
    counting.location = loop.location
    counting.attributes |= loop.attributes
    block.insert_op_before(counting, loop)
    for old, new in zip(loop.results, counting.results[:-1], strict=True):
        old.replace_all_uses_with(new)
    set_result_names(counting, [*names, "trips"])
    loop.detach()
    loop.erase()
    return counting

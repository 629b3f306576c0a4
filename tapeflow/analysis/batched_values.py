"""What differs between the members of a batch: all that depends on a seed, and the arrays and tapes that hold it.

Everything else, the primal with its loops, conditions and tapes, and the partial derivatives, is the same for each
member and there once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.kept_calls import derivative_operands, derivative_results, has_derivatives
from tapeflow.analysis.loops import carried_arguments, initial_values, yielded_values
from tapeflow.analysis.roots import VIEWS, is_array
from tapeflow.dialects import ad, tape

_Flow = tuple[SSAValue, SSAValue]


def batched_values(function: func.FuncOp, seeds: Collection[SSAValue]) -> frozenset[SSAValue]:
    """The values of `function`, scalars, arrays and tapes, that are not the same for each member of a batch.

    Args:
        function: a derivative; loops and branches are the only operations with regions.
        seeds: its arguments that differ: seeds and shadows, tangents and tangent arrays.
    """
    targets: dict[SSAValue, list[SSAValue]] = {}
    for op in function.body.walk():
        for source, target in _flows(op):
            targets.setdefault(source, []).append(target)
    found = {*seeds, *_of_calls(function)}
    pending = list(found)
    while pending:
        for target in targets.get(pending.pop(), ()):
            if target not in found:
                found.add(target)
                pending.append(target)
    return frozenset(found)


def _of_calls(function: func.FuncOp) -> Iterator[SSAValue]:
    """The derivatives that calls which stay calls take and give: all members have them, as the callee is made so."""
    for op in function.body.walk():
        if has_derivatives(op):
            yield from filter(is_array, (op.arguments[position] for position in derivative_operands(op)))
            yield from (op.results[position] for position in derivative_results(op))


def _flows(op: Operation) -> Iterator[_Flow]:
    """How what differs spreads through `op`: from operands to results, and both ways between an array and its views."""
    match op:
        case scf.ForOp() | scf.WhileOp():
            yield from _round(op)
        case scf.IfOp():
            for k, result in enumerate(op.results):
                for region in op.regions:
                    last = region.block.last_op
                    assert last is not None
                    yield from _same(last.operands[k], result)
        case memref.LoadOp():
            yield op.memref, op.res
        case memref.StoreOp() | ad.AccumulateOp():
            yield op.value, op.memref
        case tape.PushOp():
            yield op.value, op.tape
        case tape.PopOp():
            yield op.tape, op.value
        case memref.DimOp():
            pass
        case func.CallOp() if has_derivatives(op):
            pass
        case arith.SelectOp() if is_array(op.result):
            for chosen in (op.lhs, op.rhs):
                yield from _same(chosen, op.result)
        case _ if isinstance(op, VIEWS):
            yield from _same(op.operands[0], op.results[0])
        case _:
            for result in op.results:
                for operand in op.operands:
                    yield operand, result


def _round(loop: scf.ForOp | scf.WhileOp) -> Iterator[_Flow]:
    arguments, initial, yielded = carried_arguments(loop), initial_values(loop), yielded_values(loop)
    for k, result in enumerate(loop.results):
        for source in (initial[k], yielded[k]):
            yield from _same(source, arguments[k])
        yield from _same(arguments[k], result)
        if isinstance(loop, scf.WhileOp):
            yield from _same(arguments[k], loop.before_region.block.args[k])


def _same(source: SSAValue, target: SSAValue) -> Iterator[_Flow]:
    yield source, target
    if is_array(source):
        yield target, source

"""A nest of `scf.for` for a loop whose iterations may run in any order: in sequence, in the order of its dimensions.

What the loop reduces is carried through the nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue

from tapeflow.analysis.source_names import source_name
from tapeflow.errors import remark
from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.move_body import move_body

Combine: TypeAlias = Callable[[SSAValue, SSAValue, LocatedBuilder], SSAValue]
"""Makes of what a reduction is so far and of the value of an iteration what it is then."""


@dataclass(frozen=True)
class Dimension:
    """`for variable from lower until upper by step`."""

    variable: SSAValue
    lower: SSAValue
    upper: SSAValue
    step: SSAValue


def replace_by_nest(
    op: Operation,
    dimensions: Sequence[Dimension],
    initial: Sequence[SSAValue],
    combines: Sequence[Combine],
    build: LocatedBuilder,
) -> None:
    """Put a nest in place of the parallel loop `op`, whose one region yields a value for each result. A remark tells.

    Args:
        op: the loop; its results are what it reduces.
        dimensions: from the outermost; their variables are arguments of the loop's body.
        initial: of each reduction, the value before the first iteration.
        combines: of each reduction.
        build: where the nest goes.
    """
    remark(f"'{op.name}' is differentiated in sequence, in the order of its dimensions", op.location)
    reductions = [(result.type, source_name(result)) for result in op.results]
    inner, carried, variables = build, initial, list[SSAValue]()
    outermost: scf.ForOp | None = None
    for dimension in dimensions:
        body = inner.block([(IndexType(), source_name(dimension.variable)), *reductions])
        loop = inner.insert(scf.ForOp(dimension.lower, dimension.upper, dimension.step, carried, Region(body)))
        if outermost is None:
            outermost = loop
            loop.location = op.location
        else:
            inner.insert(scf.YieldOp(*loop.results))
        variables.append(body.args[0])
        carried = body.args[1:]
        inner = inner.into(body)
    values = move_body(op.regions[0].detach_block(0), variables, inner)
    combined: Sequence[SSAValue] = [
        combine(so_far, value, inner) for combine, so_far, value in zip(combines, carried, values, strict=True)
    ]
    if outermost is not None:
        inner.insert(scf.YieldOp(*combined))
        combined = outermost.results
    for before, after in zip(op.results, combined, strict=True):
        after.name_hint = after.name_hint or before.name_hint
        before.replace_all_uses_with(after)

"""Lower `affine` to `scf`, `arith` and `memref`, with affine's own meaning of division and of bounds.

`a floordiv c`, `a ceildiv c` and `a mod c` round towards minus infinity, plus infinity, and to 0 <= r < c, also for
negative a. Of several lower bounds the largest holds, of several upper bounds the smallest. `affine.parallel` becomes
a nest of sequential loops, in the order of its dimensions, with a remark; its reductions are carried through the nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects import affine, arith, func, memref, scf
from xdsl.dialects.builtin import (
    AffineSetAttr,
    AnyFloat,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.source_names import source_name
from tapeflow.dialects.affine_more import DelinearizeIndexOp, MaxOp, ParallelOp, PrefetchOp
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.parallel_nest import Combine, Dimension, replace_by_nest


def lower_affine(function: func.FuncOp) -> None:
    """Replace every `affine` operation of `function`.

    Raises:
        TapeflowError: one has no lowering: a vector access, or a reduction that is not known.
    """
    found = [op for op in function.body.walk() if op.name.startswith("affine.")]
    # Bodies end as those of scf before what they are bodies of is replaced.
    for op in sorted(found, key=lambda op: not isinstance(op, affine.YieldOp)):
        _lower(op)


def _lower(op: Operation) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    match op:
        case affine.ApplyOp():
            (value,) = expand_map(op.map.data, op.mapOperands, build)
            _replace(op, [value])
        case affine.MinOp():
            _replace(op, [_extreme(arith.MinSIOp, op.map.data, op.arguments, build)])
        case MaxOp():
            _replace(op, [_extreme(arith.MaxSIOp, op.map.data, op.arguments, build)])
        case affine.LoadOp():
            indices = expand_map(op.map.data, op.indices, build)
            _replace(op, [build.value(memref.LoadOp.get(op.memref, indices), source_name(op.result))])
        case affine.StoreOp():
            indices = expand_map(op.map.data, op.indices, build)
            build.insert(memref.StoreOp.get(op.value, op.memref, indices))
            _replace(op, [])
        case PrefetchOp():
            _replace(op, [])
        case DelinearizeIndexOp():
            _replace(op, _subscripts(op, build))
        case affine.ForOp():
            _lower_for(op, build)
        case affine.IfOp():
            _lower_if(op, build)
        case ParallelOp():
            _lower_parallel(op, build)
        case affine.YieldOp():
            build.insert(scf.YieldOp(*op.arguments))
            _replace(op, [])
        case _:
            raise TapeflowError(
                f"'{op.name}' cannot be differentiated yet",
                location=op.location,
                hint="access single elements, with affine.load and affine.store",
            )


def _replace(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _subscripts(op: DelinearizeIndexOp, build: LocatedBuilder) -> Sequence[SSAValue]:
    """What `op` results in: the remainder by each extent, the last first, and what is left for the first."""
    left, found = op.linear_index, list[SSAValue]()
    for extent in reversed(op.basis[1:]):
        found.append(_modulo(left, extent, build))
        left = build.value(arith.FloorDivSIOp(left, extent))
    return [left, *reversed(found)]


# Maps


def expand_map(map_: AffineMap, operands: Sequence[SSAValue], build: LocatedBuilder) -> list[SSAValue]:
    """The results of a map of `operands`, its dimensions first, then its symbols, as `index` values."""
    return [expand(result, operands[: map_.num_dims], operands[map_.num_dims :], build) for result in map_.results]


def expand(
    expression: AffineExpr, dimensions: Sequence[SSAValue], symbols: Sequence[SSAValue], build: LocatedBuilder
) -> SSAValue:
    """The value of an affine expression, as `index`."""
    match expression:
        case AffineConstantExpr(value=value):
            return _constant(value, build)
        case AffineDimExpr(position=position):
            return dimensions[position]
        case AffineSymExpr(position=position):
            return symbols[position]
        case AffineBinaryOpExpr(kind=kind, lhs=left, rhs=right):
            x, y = (expand(side, dimensions, symbols, build) for side in (left, right))
            return _BINARY[kind](x, y, build)
        case _:
            raise AssertionError(f"no such affine expression: {expression}")


def _constant(value: int, build: LocatedBuilder) -> SSAValue:
    return build.value(arith.ConstantOp(IntegerAttr(value, IndexType())))


def _modulo(x: SSAValue, y: SSAValue, build: LocatedBuilder) -> SSAValue:
    """The remainder that is not negative: x - y * floor(x / y)."""
    whole = build.value(arith.MuliOp(build.value(arith.FloorDivSIOp(x, y)), y))
    return build.value(arith.SubiOp(x, whole))


def _simply(op: Callable[[SSAValue, SSAValue], Operation]) -> Callable[[SSAValue, SSAValue, LocatedBuilder], SSAValue]:
    return lambda x, y, build: build.value(op(x, y))


_BINARY: dict[AffineBinaryOpKind, Callable[[SSAValue, SSAValue, LocatedBuilder], SSAValue]] = {
    AffineBinaryOpKind.Add: _simply(arith.AddiOp),
    AffineBinaryOpKind.Mul: _simply(arith.MuliOp),
    AffineBinaryOpKind.FloorDiv: _simply(arith.FloorDivSIOp),
    AffineBinaryOpKind.CeilDiv: _simply(arith.CeilDivSIOp),
    AffineBinaryOpKind.Mod: _modulo,
}


def _extreme(
    choose: Callable[[SSAValue, SSAValue], Operation],
    map_: AffineMap,
    operands: Sequence[SSAValue],
    build: LocatedBuilder,
) -> SSAValue:
    """The largest or smallest of the results of a map."""
    first, *others = expand_map(map_, operands, build)
    for other in others:
        first = build.value(choose(first, other))
    return first


# Loops and branches


def _lower_for(op: affine.ForOp, build: LocatedBuilder) -> None:
    lower = _extreme(arith.MaxSIOp, op.lowerBoundMap.data, op.lowerBoundOperands, build)
    upper = _extreme(arith.MinSIOp, op.upperBoundMap.data, op.upperBoundOperands, build)
    step = _constant(op.step.value.data, build)
    body = op.body.detach_block(0)
    if body.last_op is None or not isinstance(body.last_op, scf.YieldOp):
        build.into(body).insert(scf.YieldOp())
    loop = build.insert(scf.ForOp(lower, upper, step, op.inits, Region(body)))
    _keep_names(op, loop)
    _replace(op, loop.results)


def _lower_if(op: affine.IfOp, build: LocatedBuilder) -> None:
    condition = _holds(op.condition, op.args, build)
    regions = [_branch(region, build) for region in (op.then_region, op.else_region)]
    branch = build.insert(scf.IfOp(condition, [result.type for result in op.results], regions[0], regions[1]))
    _keep_names(op, branch)
    _replace(op, branch.results)


def _branch(region: Region, build: LocatedBuilder) -> Region:
    if not region.blocks:
        return Region()
    block = region.detach_block(0)
    if not isinstance(block.last_op, scf.YieldOp):
        build.into(block).insert(scf.YieldOp())
    return Region(block)


def _keep_names(old: Operation, new: Operation) -> None:
    new.location = old.location
    for before, after in zip(old.results, new.results, strict=True):
        after.name_hint = before.name_hint


def _holds(condition: AffineSetAttr, operands: Sequence[SSAValue], build: LocatedBuilder) -> SSAValue:
    """Whether `operands` are in a set: all its constraints hold."""
    set_ = condition.data
    holds: SSAValue | None = None
    for constraint in set_.constraints:
        left, right = (
            expand(side, operands[: set_.num_dims], operands[set_.num_dims :], build)
            for side in (constraint.lhs, constraint.rhs)
        )
        predicate = _PREDICATES[constraint.kind]
        one = build.value(arith.CmpiOp(left, right, predicate))
        holds = one if holds is None else build.value(arith.AndIOp(holds, one))
    return build.value(arith.ConstantOp(IntegerAttr(1, IntegerType(1)))) if holds is None else holds


_PREDICATES = {AffineConstraintKind.ge: "sge", AffineConstraintKind.le: "sle", AffineConstraintKind.eq: "eq"}


# Parallel loops


def _lower_parallel(op: ParallelOp, build: LocatedBuilder) -> None:
    lowers, uppers = _bounds(op, build)
    steps = [_constant(step.value.data, build) for step in op.steps]
    dimensions = [Dimension(*one) for one in zip(op.body.block.args, lowers, uppers, steps, strict=True)]
    reductions = [
        _reduction(attribute, result.type, op) for attribute, result in zip(op.reductions, op.results, strict=True)
    ]
    neutral = [build.value(neutral) for neutral, _ in reductions]
    replace_by_nest(op, dimensions, neutral, [_combining(make) for _, make in reductions], build)
    Rewriter.erase_op(op)


def _combining(make: Callable[[SSAValue, SSAValue], Operation]) -> Combine:
    return lambda so_far, value, build: build.value(make(so_far, value))


def _bounds(op: ParallelOp, build: LocatedBuilder) -> tuple[list[SSAValue], list[SSAValue]]:
    """The lower and upper bound of each dimension."""
    below = op.lower_bounds_map.data.num_dims + op.lower_bounds_map.data.num_symbols
    lower = expand_map(op.lower_bounds_map.data, op.map_operands[:below], build)
    upper = expand_map(op.upper_bounds_map.data, op.map_operands[below:], build)
    return (
        list(_grouped(lower, op.lower_bounds_groups.get_values(), arith.MaxSIOp, build)),
        list(_grouped(upper, op.upper_bounds_groups.get_values(), arith.MinSIOp, build)),
    )


def _grouped(
    values: Sequence[SSAValue],
    groups: Sequence[int],
    choose: Callable[[SSAValue, SSAValue], Operation],
    build: LocatedBuilder,
) -> Iterator[SSAValue]:
    """Of each group of `values` the extreme one."""
    rest = iter(values)
    for size in groups:
        first = next(rest)
        for _ in range(size - 1):
            first = build.value(choose(first, next(rest)))
        yield first


_REDUCTIONS: dict[str, tuple[float, Callable[[SSAValue, SSAValue], Operation]]] = {
    "addf": (0.0, arith.AddfOp),
    "mulf": (1.0, arith.MulfOp),
    "maximumf": (float("-inf"), arith.MaximumfOp),
    "maxnumf": (float("-inf"), arith.MaxnumfOp),
    "minimumf": (float("inf"), arith.MinimumfOp),
    "minnumf": (float("inf"), arith.MinnumfOp),
    "addi": (0, arith.AddiOp),
    "muli": (1, arith.MuliOp),
    "ori": (0, arith.OrIOp),
    "andi": (-1, arith.AndIOp),
}
"""The neutral value and the operation of each reduction, as `affine.parallel` spells it."""

_NUMBERED = (
    *("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli"),
    *("ori", "andi", "maxnumf", "minnumf"),
)
"""MLIR's atomic kinds, in the order of the numbers that stand for them in generic text."""


def _reduction(
    attribute: Attribute, type_: Attribute, op: Operation
) -> tuple[Operation, Callable[[SSAValue, SSAValue], Operation]]:
    """The op that makes the neutral value of a reduction, and what makes the op that combines."""
    name = _NUMBERED[attribute.value.data] if isinstance(attribute, IntegerAttr) else cast(StringAttr, attribute).data
    if name not in _REDUCTIONS:
        raise TapeflowError(
            f"'affine.parallel' with the reduction '{name}' cannot be differentiated yet",
            location=op.location,
            hint=f"these can: {', '.join(_REDUCTIONS)}; or reduce in an affine.for with iter_args",
        )
    neutral, combine = _REDUCTIONS[name]
    if isinstance(type_, AnyFloat):
        return arith.ConstantOp(FloatAttr(float(neutral), cast(Float64Type, type_))), combine
    return arith.ConstantOp(IntegerAttr(int(neutral), cast(IndexType, type_))), combine

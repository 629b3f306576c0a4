"""Lower views of another shape to subscripts of what they are views of, and questions about views to their answers.

`memref.collapse_shape`, `expand_shape`, `transpose`, `reinterpret_cast` and `memory_space_cast` go: a load or store
through one, and through the subviews and casts of one, becomes one of the root. `memref.dim` of a view is the size that
the view was made with, `memref.rank` a number. The body of `memref.alloca_scope` is done in place,
`memref.atomic_rmw` and `generic_atomic_rmw` are a load and a store, and hints (`memref.assume_alignment`,
`memref.prefetch`) go.

A view of another shape that is carried by a loop, selected or passed on has no such subscripts, and is refused; so is
one of an array that is not stored row by row from its first element on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.source_names import source_name
from tapeflow.analysis.views import Size, chain, groups_of, is_root, kept_dimensions, mixed, shape_of
from tapeflow.dialects.memref_more import GenericAtomicRMWOp, PrefetchOp, TransposeOp
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import index_constant
from tapeflow.transforms.move_body import move_body
from tapeflow.transforms.sizes import as_value, plus, times

_RESHAPING = (
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    TransposeOp,
    memref.ReinterpretCastOp,
    memref.MemorySpaceCastOp,
)
"""Views that are lowered."""

_VIEWS = (*_RESHAPING, memref.CastOp, memref.SubviewOp)


def lower_views(function: func.FuncOp) -> None:
    """Leave of the views of `function` only subviews and casts, and of questions only those about roots.

    Raises:
        TapeflowError: a view is used or made in a way that has no subscripts.
    """
    for op in list(function.body.walk()):
        match op:
            case memref.AllocaScopeOp() if len(op.scope.blocks) == 1:
                _inline_scope(op)
            case memref.AtomicRMWOp():
                _lower_atomic(op)
            case GenericAtomicRMWOp():
                _lower_generic_atomic(op)
            case memref.AssumeAlignmentOp():
                _replace(op, op.memref)
            case PrefetchOp():
                Rewriter.erase_op(op)
            case memref.RankOp():
                build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
                _replace(op, index_constant(len(shape_of(op.source)), build))
            case memref.DimOp():
                _lower_dim(op)
            case memref.LoadOp() | memref.StoreOp():
                _lower_access(op)
            case _:
                pass
    for op in reversed([op for op in function.body.walk() if isinstance(op, _VIEWS)]):
        _remove(op)


def _replace(op: Operation, value: SSAValue) -> None:
    """Use `value` for the one result of `op`, which goes."""
    (result,) = op.results
    if source_name(value) is None:
        value.name_hint = result.name_hint
    result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _remove(op: Operation) -> None:
    """Erase a view that nothing uses any more; refuse one of another shape that something does."""
    (result,) = op.results
    use = next(iter(result.uses), None)
    if use is None:
        if isinstance(op, _RESHAPING) or any(isinstance(each, _RESHAPING) for each in chain(op.operands[0], _VIEWS)):
            Rewriter.erase_op(op)
    elif isinstance(op, _RESHAPING):
        raise TapeflowError(
            f"a view that '{op.name}' makes is handed on by '{use.operation.name}', "
            "so its elements are not known to be those of one array",
            location=op.location,
            hint="load and store through the view where it is made, or copy it to an array with memref.copy",
        )


def _inline_scope(op: memref.AllocaScopeOp) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    for result, value in zip(op.results, move_body(op.scope.detach_block(0), (), build), strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


_COMBINERS: Mapping[int, Callable[[SSAValue, SSAValue], Operation]] = {
    0: arith.AddfOp,
    1: arith.AddiOp,
    2: lambda _, value: arith.OrIOp(value, value),
    3: arith.MaximumfOp,
    4: arith.MaxSIOp,
    5: arith.MaxUIOp,
    6: arith.MinimumfOp,
    7: arith.MinSIOp,
    8: arith.MinUIOp,
    9: arith.MulfOp,
    10: arith.MuliOp,
    11: arith.OrIOp,
    12: arith.AndIOp,
    13: arith.MaxnumfOp,
    14: arith.MinnumfOp,
}
"""What the numbers that MLIR writes for kinds of atomic updates do with the element and the value."""

_ASSIGN = 2


def _lower_atomic(op: memref.AtomicRMWOp) -> None:
    """A load, the operation and a store: nothing runs at the same time. The result is what is stored."""
    kind = op.kind.value.data
    if kind not in _COMBINERS:
        raise TapeflowError(
            f"'memref.atomic_rmw' of kind {kind} is not known",
            location=op.location,
            hint="load the element, compute and store it",
        )
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    updated = op.value
    if kind != _ASSIGN:
        element = build.insert(memref.LoadOp.get(op.memref, op.indices))
        updated = build.value(_COMBINERS[kind](element.res, op.value))
        _lower_access(element)
    _store_updated(op, updated, build)


def _lower_generic_atomic(op: GenericAtomicRMWOp) -> None:
    """The same, where the operation is a body."""
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    element = build.insert(memref.LoadOp.get(op.memref, op.indices))
    (updated,) = move_body(op.body.block, [element.res], build)
    _lower_access(element)
    _store_updated(op, updated, build)


def _store_updated(op: memref.AtomicRMWOp | GenericAtomicRMWOp, updated: SSAValue, build: LocatedBuilder) -> None:
    _lower_access(build.insert(memref.StoreOp.get(updated, op.memref, op.indices)))
    _replace(op, updated)


# Sizes


def _lower_dim(op: memref.DimOp) -> None:
    """Answer `op` where it asks about a view, or with a dimension that is not constant."""
    array, asked = op.source, op.index
    constant = asked.op.value if isinstance(asked, OpResult) and isinstance(asked.op, arith.ConstantOp) else None
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    if isinstance(constant, IntegerAttr):
        if isinstance(array.owner, _VIEWS):
            _check_dimension(op, constant.value.data)
            _replace(op, as_value(_extent(array, constant.value.data, build), build))
        return
    sizes = [as_value(_extent(array, each, build), build) for each in range(len(shape_of(array)))]
    if not sizes:
        _check_dimension(op, 0)
    chosen = sizes[-1]
    for dimension, size in reversed(list(enumerate(sizes[:-1]))):
        is_asked = build.value(arith.CmpiOp(asked, index_constant(dimension, build), "eq"))
        chosen = build.value(arith.SelectOp(is_asked, size, chosen))
    _replace(op, chosen)


def _check_dimension(op: memref.DimOp, dimension: int) -> None:
    rank = len(shape_of(op.source))
    if not 0 <= dimension < rank:
        raise TapeflowError(
            f"'memref.dim' asks for dimension {dimension} of {op.source.type}, which has {rank}",
            location=op.location,
            hint=f"ask for one of 0 to {rank - 1}" if rank else "an array of rank 0 has one element",
        )


def _extent(array: SSAValue, dimension: int, build: LocatedBuilder) -> Size:
    """How many elements `array` has along `dimension`."""
    static = shape_of(array)[dimension]
    if static != DYNAMIC_INDEX:
        return static
    match array.owner:
        case memref.CastOp() | memref.MemorySpaceCastOp() as op:
            return _extent(op.source, dimension, build)
        case memref.SubviewOp() as op:
            kept = [
                size for size, keeps in zip(mixed(op, "sizes", op.sizes), kept_dimensions(op), strict=True) if keeps
            ]
            return kept[dimension]
        case memref.ReinterpretCastOp() as op:
            return mixed(op, "sizes", op.sizes)[dimension]
        case memref.ExpandShapeOp() as op:
            return mixed(op, "output_shape", op.output_shape)[dimension]
        case memref.CollapseShapeOp() as op:
            total: Size = 1
            for each in groups_of(op)[dimension]:
                total = times(total, _extent(op.src, each, build), build)
            return total
        case TransposeOp() as op:
            return _extent(op.source, op.dimensions[dimension], build)
        case _:
            return build.value(memref.DimOp(array, index_constant(dimension, build)))


# Places


def _quotient(left: Size, right: Size, build: LocatedBuilder) -> tuple[Size, Size]:
    """Of numbers that are not negative: `left / right` and `left % right`."""
    if right == 1:
        return left, 0
    if isinstance(left, int) and isinstance(right, int):
        return divmod(left, right)
    operands = as_value(left, build), as_value(right, build)
    return build.value(arith.DivSIOp(*operands)), build.value(arith.RemSIOp(*operands))


def _linear(indices: Sequence[Size], extents: Sequence[Size], build: LocatedBuilder) -> Size:
    """The number of an element in an array of `extents` that is stored row by row."""
    place: Size = 0
    for index, extent in zip(indices, extents, strict=True):
        place = plus(times(place, extent, build), index, build)
    return place


def _subscripts(place: Size, extents: Sequence[Size], build: LocatedBuilder) -> list[Size]:
    """The subscripts of the element of a number: the inverse of `_linear`."""
    subscripts: list[Size] = []
    for extent in reversed(extents[1:]):
        place, last = _quotient(place, extent, build)
        subscripts.append(last)
    return [*([place] if extents else []), *reversed(subscripts)]


def _lower_access(op: memref.LoadOp | memref.StoreOp) -> None:
    """Let `op` access the root if a view on the way there has another shape."""
    if not any(isinstance(each, _RESHAPING) for each in chain(op.memref, _VIEWS)):
        return
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    array, place = op.memref, list[Size](op.indices)
    while isinstance(array.owner, _VIEWS):
        array, place = _in_source(array.owner, place, build)
    indices = [as_value(each, build) for each in place]
    if isinstance(op, memref.LoadOp):
        fresh = memref.LoadOp.get(array, indices)
        fresh.location = op.location
        _replace(op, build.value(fresh))
    else:
        build.insert(memref.StoreOp.get(op.value, array, indices))
        Rewriter.erase_op(op)


def _in_source(op: Operation, place: Sequence[Size], build: LocatedBuilder) -> tuple[SSAValue, list[Size]]:
    """The array that an element of the view `op` is one of, and its subscripts there."""
    match op:
        case memref.SubviewOp():
            offsets, strides = mixed(op, "offsets", op.offsets), mixed(op, "strides", op.strides)
            rest = iter(place)
            along = [next(rest) if keeps else 0 for keeps in kept_dimensions(op)]
            return op.source, [
                plus(offset, times(index, stride, build), build)
                for offset, index, stride in zip(offsets, along, strides, strict=True)
            ]
        case TransposeOp():
            permuted = dict(zip(op.dimensions, place, strict=True))
            return op.source, [permuted[dimension] for dimension in range(len(place))]
        case memref.ExpandShapeOp():
            sizes = mixed(op, "output_shape", op.output_shape)
            return op.src, [
                _linear([place[each] for each in group], [sizes[each] for each in group], build)
                for group in groups_of(op)
            ]
        case memref.CollapseShapeOp():
            # What belongs to no group has one element.
            subscripts: list[Size] = [0] * len(shape_of(op.src))
            for index, group in zip(place, groups_of(op), strict=True):
                extents = [_extent(op.src, each, build) for each in group]
                for each, subscript in zip(group, _subscripts(index, extents, build), strict=True):
                    subscripts[each] = subscript
            return op.src, subscripts
        case memref.ReinterpretCastOp():
            return _in_root(op, place, build)
        case _:
            return op.operands[0], list(place)


def _in_root(op: memref.ReinterpretCastOp, place: Sequence[Size], build: LocatedBuilder) -> tuple[SSAValue, list[Size]]:
    """The element of the root: offsets count from its first one, whatever view of it is reinterpreted."""
    root = op.source
    for view in chain(op.source, _VIEWS):
        root = view.operands[0]
    if not is_root(root) or not isinstance(cast(MemRefType[Attribute], root.type).layout, NoneAttr):
        raise TapeflowError(
            f"'{op.name}' of {root.type}, of which it is not known where its elements lie",
            location=op.location,
            hint="reinterpret an argument or an allocation without a layout, or use memref.subview",
        )
    (number,) = mixed(op, "offsets", op.offsets)
    for index, stride in zip(place, mixed(op, "strides", op.strides), strict=True):
        number = plus(number, times(index, stride, build), build)
    extents = [_extent(root, each, build) for each in range(len(shape_of(root)))]
    return root, _subscripts(number, extents, build)

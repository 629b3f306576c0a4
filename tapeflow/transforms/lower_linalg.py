"""Lower `linalg` on arrays to loops: `linalg.generic`, and the named operations that xDSL knows the bodies of.

One loop an iterator, in order, whatever its kind: parallel ones run in sequence. The extent of a loop is that of a
dimension of an operand that it alone runs along. In the innermost body each operand's element is loaded, the body of
the operation computes on them, and what it yields is stored to the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.roots import is_array
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import extent, loop_nest
from tapeflow.transforms.lower_affine import expand_map


def lower_linalg(function: func.FuncOp) -> None:
    """Replace every structured `linalg` operation of `function`.

    Raises:
        TapeflowError: an operation works on tensors, or has an iterator whose extent no operand tells.
    """
    for op in [op for op in function.body.walk() if isinstance(op, LinalgStructuredOperation)]:
        _lower(op)


def _lower(op: LinalgStructuredOperation) -> None:
    if op.results or any(isinstance(operand.type, TensorType) for operand in op.operands):
        raise TapeflowError(
            f"'{op.name}' on tensors cannot be differentiated",
            location=op.location,
            hint="bufferize it first, with mlir-opt --one-shot-bufferize=bufferize-function-boundaries",
        )
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    maps = [attribute.data for attribute in op.get_indexing_maps()]
    loops = len(op.get_iterator_types())
    inner, variables = loop_nest([_extent(op, maps, loop, build) for loop in range(loops)], build)
    body = op.body.block
    places = [_place(operand, map_, variables, inner) for operand, map_ in zip(op.operands, maps, strict=True)]
    values: dict[SSAValue, SSAValue] = {}
    for argument, operand, place in zip(body.args, op.operands, places, strict=True):
        if argument.uses:
            values[argument] = inner.value(memref.LoadOp.get(operand, place)) if is_array(operand) else operand
    yielded = _copy_body(body, values, variables, inner)
    inputs = len(op.inputs)
    for value, output, place in zip(yielded, op.outputs, places[inputs:], strict=True):
        inner.insert(memref.StoreOp.get(value, output, place))
    Rewriter.erase_op(op)


def _extent(op: LinalgStructuredOperation, maps: Sequence[AffineMap], loop: int, build: LocatedBuilder) -> SSAValue:
    """How often the loop of a number runs."""
    for operand, map_ in zip(op.operands, maps, strict=True):
        for dimension, result in enumerate(map_.results):
            if result == AffineDimExpr(loop) and is_array(operand):
                return extent(operand, dimension, build)
    raise TapeflowError(
        f"no operand of this '{op.name}' tells how often its iterator {loop} runs",
        location=op.location,
        hint="give it an operand that is indexed by that iterator alone",
    )


def _place(operand: SSAValue, map_: AffineMap, variables: Sequence[SSAValue], build: LocatedBuilder) -> list[SSAValue]:
    return expand_map(map_, variables, build) if is_array(operand) else []


def _copy_body(
    body: Block, values: dict[SSAValue, SSAValue], variables: Sequence[SSAValue], build: LocatedBuilder
) -> list[SSAValue]:
    """Copy `body` for the `values` of its arguments; returns what it yields."""
    for op in body.ops:
        match op:
            case IndexOp():
                values[op.result] = variables[op.dim.value.data]
            case YieldOp():
                return [values.get(operand, operand) for operand in op.operands]
            case _:
                build.insert(op.clone(values))
    raise AssertionError("a body of linalg ends with linalg.yield")

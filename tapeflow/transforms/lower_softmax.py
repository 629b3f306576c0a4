"""Lower `linalg.softmax` to loops over each line: its largest element, the exponentials and their sum, the quotients.

The largest element is subtracted before `exp`, so that no exponential overflows; its adjoint is a sum that is 0 but for
rounding, as softmax does not change when every element grows by the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, MemRefType
from xdsl.ir import Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.roots import is_array
from tapeflow.dialects.linalg_more import SoftmaxOp
from tapeflow.errors import TapeflowError
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.loop_nest import extent, index_constant, loop_nest


def lower_softmax(function: func.FuncOp) -> None:
    """Replace every `linalg.softmax` of `function`.

    Raises:
        TapeflowError: one works on tensors.
    """
    for op in [op for op in function.body.walk() if isinstance(op, SoftmaxOp)]:
        if not (is_array(op.input) and is_array(op.output)):
            raise TapeflowError(
                f"'{op.name}' on tensors cannot be differentiated",
                location=op.location,
                hint="bufferize it first, with mlir-opt --one-shot-bufferize=bufferize-function-boundaries",
            )
        _lower(op)


def _lower(op: SoftmaxOp) -> None:
    build = LocatedBuilder(InsertPoint.before(op), place=place_of(op))
    along = op.dimension.value.data
    type_ = cast(MemRefType[AnyFloat], op.input.type)
    element = type_.element_type
    others = [extent(op.input, each, build) for each in range(type_.get_num_dims()) if each != along]
    length = extent(op.input, along, build)
    inner, variables = loop_nest(others, build)
    zero, one = index_constant(0, inner), index_constant(1, inner)

    def line(start: float, step: Callable[[LocatedBuilder, list[SSAValue], SSAValue], SSAValue]) -> SSAValue:
        """A loop along the line that hands a value on from `start`; returns the last."""
        first = inner.value(arith.ConstantOp(FloatAttr(start, element)))
        body = inner.block([(zero.type, None), (element, None)])
        made = inner.into(body)
        place = [*variables[:along], body.args[0], *variables[along:]]
        made.insert(scf.YieldOp(step(made, place, body.args[1])))
        return inner.value(scf.ForOp(zero, length, one, [first], Region(body)))

    def larger(made: LocatedBuilder, place: list[SSAValue], so_far: SSAValue) -> SSAValue:
        return made.value(arith.MaximumfOp(so_far, made.value(memref.LoadOp.get(op.input, place))))

    largest = line(float("-inf"), larger)

    def exponential(made: LocatedBuilder, place: list[SSAValue], so_far: SSAValue) -> SSAValue:
        less = made.value(arith.SubfOp(made.value(memref.LoadOp.get(op.input, place)), largest))
        made.insert(memref.StoreOp.get(power := made.value(math.ExpOp(less)), op.output, place))
        return made.value(arith.AddfOp(so_far, power))

    total = line(0.0, exponential)
    body = inner.block([(zero.type, None)])
    made = inner.into(body)
    place = [*variables[:along], body.args[0], *variables[along:]]
    quotient = made.value(arith.DivfOp(made.value(memref.LoadOp.get(op.output, place)), total))
    made.insert(memref.StoreOp.get(quotient, op.output, place))
    made.insert(scf.YieldOp())
    inner.insert(scf.ForOp(zero, length, one, [], Region(body)))
    Rewriter.erase_op(op)

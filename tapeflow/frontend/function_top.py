"""What the builders of the frontends have in common: the top of a function, constants, how deep blocks may nest."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, complex
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.complex_pairs import complex_part

DEEPEST_NESTING = 64
"""xDSL recurses over nested regions; far deeper ones would overflow Python's stack."""

NESTED_TOO_DEEP = (
    f"blocks are nested more than {DEEPEST_NESTING} deep, which is not supported",
    "move the inner blocks to a function of their own",
)
"""The refusal of deeper ones, and its hint."""


class FunctionTop:
    """What stands at the top of a function, before all else, in the order in which it is put there.

    Args:
        entry: the function's entry block.
    """

    def __init__(self, entry: Block):
        self._entry = entry
        self._last: Operation | None = None

    @property
    def end(self) -> InsertPoint:
        """Just behind what stands there."""
        return InsertPoint.at_start(self._entry) if self._last is None else InsertPoint.after(self._last)

    def add(self, op: Operation) -> None:
        """Put `op` behind what stands there already."""
        Rewriter.insert_op(op, self.end)
        self._last = op


def constant(real: float, imaginary: float, ir: Attribute) -> Operation:
    """The constant of a float, integer or complex type, of which only a complex one has an imaginary part."""
    if (part := complex_part(ir)) is not None:
        parts = ArrayAttr([FloatAttr(float(each), part) for each in (real, imaginary)])
        return complex.ConstantOp(parts, ComplexType(part))
    if isinstance(ir, Float32Type | Float64Type):
        return arith.ConstantOp(FloatAttr(float(real), ir))
    # The frontends have no other types of numbers.
    return arith.ConstantOp(IntegerAttr(int(real), cast(IntegerType | IndexType, ir)))

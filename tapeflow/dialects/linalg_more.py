"""What xDSL 0.75's linalg dialect lacks of MLIR's: `linalg.softmax`, and the attributes that name functions.

```mlir
linalg.softmax dimension(1) ins(%x : memref<?x?xf64>) outs(%y : memref<?x?xf64>)
linalg.elemwise_unary {cast = #linalg.type_fn<cast_signed>, fun = #linalg.unary_fn<tanh>} ...
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerAttr, MemRefType, ShapedType, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException


class _NameAttr(Data[str]):
    """One of some names, written as `#linalg.unary_fn<tanh>`."""

    names: ClassVar[Sequence[str]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """What stands between the brackets."""
        with parser.in_angle_brackets():
            position = parser.pos
            name = parser.parse_identifier()
            if name not in cls.names:
                parser.raise_error(f"expected one of {', '.join(cls.names)}", position)
            return name

    def print_parameter(self, printer: Printer) -> None:
        """The same, with the brackets."""
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_attr_definition
class UnaryFunctionAttr(_NameAttr):
    """What `linalg.elemwise_unary` computes."""

    name = "linalg.unary_fn"
    names = (
        *("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round", "sqrt", "rsqrt", "square", "tanh"),
        "erf",
    )


@irdl_attr_definition
class BinaryFunctionAttr(_NameAttr):
    """What `linalg.elemwise_binary` computes."""

    name = "linalg.binary_fn"
    names = (
        *("add", "sub", "mul", "div", "div_unsigned", "max_signed", "min_signed", "max_unsigned", "min_unsigned"),
        "powf",
    )


@irdl_attr_definition
class TypeFunctionAttr(_NameAttr):
    """How integers are brought to the type of an output's elements."""

    name = "linalg.type_fn"
    names = ("cast_signed", "cast_unsigned")


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """`exp(x - max(x)) / sum(exp(x - max(x)))` of each line along `dimension`; input and output may be one array."""

    name = "linalg.softmax"

    input = operand_def(ShapedType)
    output = operand_def(ShapedType)
    dimension = prop_def(IntegerAttr)
    res = var_result_def(TensorType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        """Check that there is such a dimension, and that elements are floats of one type."""
        elements: set[Attribute] = set()
        shapes: list[Sequence[int]] = []
        for type_ in (self.input.type, self.output.type):
            if not isinstance(type_, MemRefType | TensorType):
                raise VerifyException("expected arrays or tensors")
            type_ = cast(MemRefType[Attribute] | TensorType[Attribute], type_)
            elements.add(type_.element_type)
            shapes.append(type_.get_shape())
        if len(elements) != 1 or not all(isinstance(element, AnyFloat) for element in elements):
            raise VerifyException("expected an input and an output of one floating point type")
        of_input, of_output = shapes
        if len(of_input) != len(of_output) or not 0 <= self.dimension.value.data < len(of_input):
            raise VerifyException("expected arrays of one rank, and the number of a dimension of theirs")
        if any(len({m, n} - {DYNAMIC_INDEX}) > 1 for m, n in zip(of_input, of_output, strict=True)):
            raise VerifyException("expected an input and an output of one shape")


ATTRIBUTES = [UnaryFunctionAttr, BinaryFunctionAttr, TypeFunctionAttr]

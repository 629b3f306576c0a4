"""What the named `linalg` operations compute on single elements, as MLIR's own generalization of them does.

The elements of inputs are cast to the type of the output's first, where the operation does that at all. A function
stands for one operation on floats, one on integers, one on complex numbers; on `i1` sums are `or`, products `and`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, complex, math
from xdsl.dialects.builtin import AnyFloat, ComplexType, FloatAttr, IntegerType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

Values = Sequence[SSAValue]
Cast = Callable[[SSAValue], SSAValue]
"""Brings an element of an input to the type of the output's elements."""
Body = Callable[[Values, Cast], SSAValue]
"""From the elements of the operands, the output's last, what is stored; it makes the operations of the body."""
Operator = Callable[..., Operation]


class Function(NamedTuple):
    """The operations that one function of elements is, by what it is of; None where there is none."""

    of_floats: Operator | None = None
    of_integers: Operator | None = None
    of_complex: Operator | None = None
    of_booleans: Operator | None = None

    def __call__(self, *values: SSAValue) -> SSAValue:
        """The value of the function, made where the implicit builder is."""
        operator = self._operator(values[-1].type)
        if operator is None:
            raise VerifyException(f"it is not for elements of type {values[-1].type}")
        return operator(*values).results[0]

    def _operator(self, type_: Attribute) -> Operator | None:
        if isinstance(type_, ComplexType):
            return self.of_complex
        if isinstance(type_, AnyFloat):
            return self.of_floats
        if type_ == IntegerType(1) and self.of_booleans is not None:
            return self.of_booleans
        return self.of_integers if isinstance(type_, IntegerType) else None


def _reciprocal(value: SSAValue) -> Operation:
    one = arith.ConstantOp(FloatAttr(1.0, cast(AnyFloat, value.type)))
    return arith.DivfOp(one, value)


def _twice(operator: Operator) -> Operator:
    def apply_twice(value: SSAValue) -> Operation:
        return operator(value, value)

    return apply_twice


ADD = Function(arith.AddfOp, arith.AddiOp, complex.AddOp, arith.OrIOp)
SUBTRACT = Function(arith.SubfOp, arith.SubiOp, complex.SubOp)
MULTIPLY = Function(arith.MulfOp, arith.MuliOp, complex.MulOp, arith.AndIOp)

UNARY: Mapping[str, Function] = {
    "exp": Function(math.ExpOp),
    "log": Function(math.LogOp),
    "abs": Function(math.AbsFOp, math.AbsIOp),
    "ceil": Function(math.CeilOp),
    "floor": Function(math.FloorOp),
    "negf": Function(arith.NegfOp),
    "reciprocal": Function(_reciprocal),
    "round": Function(math.RoundOp),
    "sqrt": Function(math.SqrtOp),
    "rsqrt": Function(math.RsqrtOp),
    "square": Function(_twice(arith.MulfOp), _twice(arith.MuliOp)),
    "tanh": Function(math.TanhOp),
    "erf": Function(math.ErfOp),
}
"""By the name in `#linalg.unary_fn`."""

BINARY: Mapping[str, Function] = {
    "add": ADD,
    "sub": SUBTRACT,
    "mul": MULTIPLY,
    "div": Function(arith.DivfOp, arith.DivSIOp, complex.DivOp),
    "div_unsigned": Function(of_integers=arith.DivUIOp),
    "max_signed": Function(arith.MaximumfOp, arith.MaxSIOp),
    "min_signed": Function(arith.MinimumfOp, arith.MinSIOp),
    "max_unsigned": Function(arith.MaximumfOp, arith.MaxUIOp),
    "min_unsigned": Function(arith.MinimumfOp, arith.MinUIOp),
    "powf": Function(math.PowFOp),
}
"""By the name in `#linalg.binary_fn`."""


def multiply_and_add(values: Values, to_output: Cast) -> SSAValue:
    """A term of a contraction or convolution, on top of the output."""
    x, y, sum_ = values
    return ADD(sum_, MULTIPLY(to_output(x), to_output(y)))


def multiply_and_add_quantized(values: Values, to_output: Cast) -> SSAValue:
    """The same of what is left of each factor above the zero that stands for it."""
    x, y, x_zero, y_zero, sum_ = values
    factors = [SUBTRACT(to_output(value), to_output(zero)) for value, zero in ((x, x_zero), (y, y_zero))]
    return ADD(sum_, MULTIPLY(*factors))


def pool(function: Function) -> Body:
    """The output and one element under the window, whose own elements are not read."""
    return lambda values, to_output: function(values[-1], to_output(values[0]))


def cast_and_apply(function: Function) -> Body:
    """A function of elements that may be of another type than the output's."""
    return lambda values, to_output: function(*map(to_output, values[:-1]))


def apply(function: Function) -> Body:
    """A function of elements that are all of one type."""

    def body(values: Values, _to_output: Cast) -> SSAValue:
        if len({value.type for value in values}) != 1:
            raise VerifyException(
                "its arrays have different element types, which only linalg.elemwise_unary and elemwise_binary cast"
            )
        return function(*values[:-1])

    return body


def copy(values: Values, to_output: Cast) -> SSAValue:
    """The element itself."""
    return to_output(values[0])


def select(values: Values, _to_output: Cast) -> SSAValue:
    """The second element where the first is true, the third elsewhere."""
    condition, true, false, output = values
    if not (condition.type == IntegerType(1) and true.type == false.type == output.type):
        raise VerifyException("expected an array of i1 and three of one element type")
    return arith.SelectOp(condition, true, false).result


def body_of(elements: Sequence[Attribute], body: Body, unsigned: bool) -> Region:
    """The region of an operation on operands with such `elements`; `unsigned` integers are cast as such."""
    block = Block(arg_types=elements)
    with ImplicitBuilder(block):
        YieldOp(body(block.args, lambda value: _cast(value, elements[-1], unsigned)))
    return Region(block)


def _cast(value: SSAValue, to: Attribute, unsigned: bool) -> SSAValue:
    if value.type == to:
        return value
    of = value.type
    if isinstance(of, AnyFloat) and isinstance(to, AnyFloat):
        operator = arith.ExtFOp if to.bitwidth > of.bitwidth else arith.TruncFOp
    elif isinstance(of, IntegerType) and isinstance(to, AnyFloat):
        operator = arith.UIToFPOp if unsigned else arith.SIToFPOp
    elif isinstance(of, AnyFloat) and isinstance(to, IntegerType):
        operator = arith.FPToUIOp if unsigned else arith.FPToSIOp
    elif isinstance(of, IntegerType) and isinstance(to, IntegerType):
        extend = arith.ExtUIOp if unsigned else arith.ExtSIOp
        operator = extend if to.bitwidth > of.bitwidth else arith.TruncIOp
    else:
        raise VerifyException(f"an element of type {of} cannot be cast to {to}")
    return cast(Operator, operator)(value, to).results[0]

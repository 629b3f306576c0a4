"""The inverse circular and hyperbolic functions of complex numbers, with the branch cuts of Annex G of C.

The formulas are those of W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit"
(in The State of the Art in Numerical Analysis, 1987): square roots of 1 + z and 1 - z, of which each keeps the sign of
a zero, so that a cut is met from the side that the sign says; and real functions of their parts that lose no digits.
`catanh`, odd, is computed for the side on which nothing cancels, near its poles by logarithms that do not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.dialects import arith, complex, math
from xdsl.dialects.builtin import ComplexType, Float32Type
from xdsl.ir import Attribute, Operation, SSAValue

from tapeflow.frontend.c_builder import IRBuilder
from tapeflow.frontend.clang_tree import Node

Pair = tuple[SSAValue, SSAValue]
"""The real and the imaginary part of a number."""


class _Parts:
    """Makes arithmetic on the parts of complex numbers of type `type_`, for the call `node`."""

    def __init__(self, build: IRBuilder, type_: ComplexType[Any], node: Node):
        self._build = build
        self._type = type_
        self._node = node

    @property
    def real_type(self) -> Attribute:
        return self._type.element_type

    def make(self, op: Operation) -> SSAValue:
        return self._build.compute(op, self._node)

    def number(self, value: float) -> SSAValue:
        return self._build.constant(value, self._type.element_type, self._node)

    def of(self, z: SSAValue) -> Pair:
        return self.make(complex.ReOp(z)), self.make(complex.ImOp(z))

    def whole(self, pair: Pair) -> SSAValue:
        return self.make(complex.CreateOp(*pair, self._type))

    def minus(self, value: SSAValue) -> SSAValue:
        return self.make(arith.NegfOp(value))

    def plus_one(self, value: SSAValue) -> SSAValue:
        return self.make(arith.AddfOp(value, self.number(1.0)))

    def one_minus(self, value: SSAValue) -> SSAValue:
        return self.make(arith.SubfOp(self.number(1.0), value))

    def root(self, real: SSAValue, imaginary: SSAValue) -> Pair:
        return self.of(self.make(complex.SqrtOp(self.whole((real, imaginary)))))

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.make(arith.SelectOp(condition, then, otherwise))

    def products(self, a: SSAValue, b: SSAValue, c: SSAValue, d: SSAValue, *, less: bool = True) -> SSAValue:
        """`a b - c d`, or their sum."""
        first, second = self.make(arith.MulfOp(a, b)), self.make(arith.MulfOp(c, d))
        return self.make((arith.SubfOp if less else arith.AddfOp)(first, second))

    def times(self, factor: float, value: SSAValue) -> SSAValue:
        return self.make(arith.MulfOp(self.number(factor), value))


def _acos(parts: _Parts, x: SSAValue, y: SSAValue) -> Pair:
    below, above = parts.root(parts.one_minus(x), parts.minus(y)), parts.root(parts.plus_one(x), y)
    real = parts.times(2.0, parts.make(math.Atan2Op(below[0], above[0])))
    return real, parts.make(math.AsinhOp(parts.products(above[0], below[1], above[1], below[0])))


def _acosh(parts: _Parts, x: SSAValue, y: SSAValue) -> Pair:
    below, above = parts.root(parts.make(arith.SubfOp(x, parts.number(1.0))), y), parts.root(parts.plus_one(x), y)
    real = parts.make(math.AsinhOp(parts.products(below[0], above[0], below[1], above[1], less=False)))
    return real, parts.times(2.0, parts.make(math.Atan2Op(below[1], above[0])))


def _asinh(parts: _Parts, x: SSAValue, y: SSAValue) -> Pair:
    below, above = parts.root(parts.plus_one(y), parts.minus(x)), parts.root(parts.one_minus(y), x)
    real = parts.make(math.AsinhOp(parts.products(above[0], below[1], below[0], above[1])))
    return parts.minus(real), parts.make(math.Atan2Op(y, parts.products(above[0], below[0], above[1], below[1])))


def _atanh(parts: _Parts, x: SSAValue, y: SSAValue) -> Pair:
    """The real part is `log1p(4 x / d^2) / 4` for positive x, where d is the distance to 1.

    Where d^2 may be too small, it is `(log|1 + z| - log d) / 2`: nothing cancels there. The imaginary part is
    `atan2(2 y, (1 - x) (1 + x) - y^2) / 2`: nothing cancels in its derivative either.
    """
    negative = parts.make(arith.CmpfOp(x, parts.number(0.0), "olt"))
    # The same but for its sign on either side of 0: for the side of the pole at 1, away from that at -1.
    right = parts.select(negative, parts.minus(x), x)
    distance = parts.make(complex.AbsOp(parts.whole((parts.one_minus(right), y))))
    one = parts.number(1.0)
    near = parts.make(arith.CmpfOp(distance, parts.number(0.5), "olt"))
    # Each formula gets a distance that it and its derivative are finite for.
    far_distance, near_distance = parts.select(near, one, distance), parts.select(near, distance, one)
    once = parts.make(arith.DivfOp(right, parts.times(0.25, far_distance)))
    far = parts.times(0.25, parts.make(math.Log1pOp(parts.make(arith.DivfOp(once, far_distance)))))
    to_other = parts.make(complex.AbsOp(parts.whole((parts.plus_one(right), y))))
    logarithm, logarithm_near = (parts.make(math.LogOp(each)) for each in (to_other, near_distance))
    close = parts.times(0.5, parts.make(arith.SubfOp(logarithm, logarithm_near)))
    size = parts.select(near, close, far)
    real = parts.select(negative, parts.minus(size), size)
    # Both operands of the arctangent times a number that keeps the squares in them finite.
    largest = float(np.finfo(np.float32 if isinstance(parts.real_type, Float32Type) else np.float64).max)
    size = parts.make(complex.AbsOp(parts.whole((x, y))))
    is_large = parts.make(arith.CmpfOp(size, parts.number(largest**0.25), "ogt"))
    scale = parts.select(is_large, parts.number(0.125 / largest), one)
    x_scaled, y_scaled = (parts.make(arith.MulfOp(part, scale)) for part in (parts.one_minus(x), y))
    cosine = parts.products(x_scaled, parts.plus_one(x), y_scaled, y)
    return real, parts.times(0.5, parts.make(math.Atan2Op(parts.times(2.0, y_scaled), cosine)))


def _turned(function: Callable[[_Parts, SSAValue, SSAValue], Pair]) -> Callable[[_Parts, SSAValue, SSAValue], Pair]:
    """`-i f(i z)`."""

    def of_turned(parts: _Parts, x: SSAValue, y: SSAValue) -> Pair:
        real, imaginary = function(parts, parts.minus(y), x)
        return imaginary, parts.minus(real)

    return of_turned


_INVERSES: Mapping[str, Callable[[_Parts, SSAValue, SSAValue], Pair]] = {
    "cacos": _acos,
    "cacosh": _acosh,
    "casin": _turned(_asinh),
    "casinh": _asinh,
    "catan": _turned(_atanh),
    "catanh": _atanh,
}

NAMES = frozenset(_INVERSES)
"""The functions of <complex.h> that are here, for `double`."""


def inverse(name: str, build: IRBuilder, z: SSAValue, type_: ComplexType[Any], node: Node) -> SSAValue:
    """The value of the function `name`, one of `NAMES`, at `z`, of `type_`."""
    parts = _Parts(build, type_, node)
    return parts.whole(_INVERSES[name](parts, *parts.of(z)))

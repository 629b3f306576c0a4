"""Complex arithmetic on pairs of floats: what each operation of the `complex` dialect computes, part by part.

Which formulas are naive, and which are careful of overflow and cancellation:

| operation     | formula                                                                                           |
|---------------|---------------------------------------------------------------------------------------------------|
| mul           | naive, as NumPy: infinities are not recovered as in Annex G of C99                                |
| div           | Smith's: the larger part of the divisor is divided by, nothing is squared; z/0 is z's parts over 0 |
| abs           | `hypot`: does not overflow before the result does                                                 |
| exp, sin, cos | naive: exp, sinh or cosh of one part times sine or cosine of the other                            |
| log           | `log(hypot(x, y))`: where |z| is near 1 the real part has an absolute error of one unit of 1      |
| log1p         | `log1p(x(2 + x) + y^2)/2` where |z| < 1/2: exact for small z; else the log of 1 + z               |
| expm1         | `expm1(x) cos(y) - 2 sin(y/2)^2`: exact for small z                                               |
| sqrt          | by `sqrt((|x| + |z|)/2)`: no cancellation; the cut is that of C: `sqrt(-1 - 0i)` is -i           |
| rsqrt         | 1/sqrt(z)                                                                                         |
| tan, tanh     | by the real tan and tanh: neither overflows                                                       |
| pow           | exp(w log z); at z = 0: 1 for w = 0, 0 for other w with a positive real part                      |
| sign          | z/|z|, 0 at 0                                                                                     |
| atan2         | -i log((x + iy)/sqrt(x^2 + y^2)), as MLIR defines it                                              |

Derivatives are those of the formulas. Where one would be lost in a branch that is not taken, the branch gets operands
that it is defined for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import arith, complex, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import library_call
from tapeflow.transforms.located_builder import LocatedBuilder


@dataclass(frozen=True)
class Real:
    """A float value in the IR; Python's operators build operations on it."""

    value: SSAValue
    build: LocatedBuilder

    def of(self, op: Operation) -> Real:
        """The result of `op`, inserted where this value's operations are."""
        return Real(self.build.value(op), self.build)

    def constant(self, number: float) -> Real:
        """A number of this value's type."""
        return self.of(arith.ConstantOp(FloatAttr(number, cast(AnyFloat, self.value.type))))

    def _other(self, other: Real | float) -> SSAValue:
        return other.value if isinstance(other, Real) else self.constant(other).value

    def __add__(self, other: Real | float) -> Real:
        return self.of(arith.AddfOp(self.value, self._other(other)))

    def __sub__(self, other: Real | float) -> Real:
        return self.of(arith.SubfOp(self.value, self._other(other)))

    def __mul__(self, other: Real | float) -> Real:
        return self.of(arith.MulfOp(self.value, self._other(other)))

    def __truediv__(self, other: Real | float) -> Real:
        return self.of(arith.DivfOp(self.value, self._other(other)))

    def __neg__(self) -> Real:
        return self.of(arith.NegfOp(self.value))

    def compare(self, predicate: str, other: Real | float) -> SSAValue:
        """An i1: `predicate`, as of `arith.cmpf`, of this and `other`."""
        return self.build.value(arith.CmpfOp(self.value, self._other(other), predicate))

    def choose(self, condition: SSAValue, other: Real | float) -> Real:
        """This where `condition` holds, else `other`."""
        return self.of(arith.SelectOp(condition, self.value, self._other(other)))


Pair: TypeAlias = tuple[Real, Real]
"""A complex number: its real and its imaginary part."""


def _apply(function: Callable[[SSAValue], Operation], x: Real) -> Real:
    return x.of(function(x.value))


def _hypot(x: Real, y: Real) -> Real:
    return x.of(library_call("hypot", x.value, y.value))


def _arctangent(y: Real, x: Real) -> Real:
    return x.of(math.Atan2Op(y.value, x.value))


def _both(x: Real, condition: SSAValue, other: SSAValue) -> SSAValue:
    return x.build.value(arith.AndIOp(condition, other))


def _is_zero(z: Pair) -> SSAValue:
    x, y = z
    return _both(x, x.compare("oeq", 0.0), y.compare("oeq", 0.0))


def real_part(z: Pair) -> Real:
    """`x`."""
    return z[0]


def imaginary_part(z: Pair) -> Real:
    """`y`."""
    return z[1]


def add(z: Pair, w: Pair) -> Pair:
    """`z + w`."""
    return z[0] + w[0], z[1] + w[1]


def subtract(z: Pair, w: Pair) -> Pair:
    """`z - w`."""
    return z[0] - w[0], z[1] - w[1]


def multiply(z: Pair, w: Pair) -> Pair:
    """`z w`, naively."""
    (a, b), (c, d) = z, w
    return a * c - b * d, a * d + b * c


def divide(z: Pair, w: Pair) -> Pair:
    """`z / w` by the method of R. L. Smith, Communications of the ACM 5 (1962), 435."""
    (a, b), (c, d) = z, w
    by_real = _apply(math.AbsFOp, c).compare("oge", _apply(math.AbsFOp, d))
    large, small = c.choose(by_real, d), d.choose(by_real, c)
    # Of 0/0 only the quotient by the divisor itself is to be not a number.
    ratio = small / large.constant(1.0).choose(large.compare("oeq", 0.0), large)
    divisor = large + small * ratio
    real = a.choose(by_real, b) + b.choose(by_real, a) * ratio
    imaginary = b.choose(by_real, -a) + (-a).choose(by_real, b) * ratio
    return real / divisor, imaginary / divisor


def negate(z: Pair) -> Pair:
    """`-z`."""
    return -z[0], -z[1]


def conjugate(z: Pair) -> Pair:
    """`x - iy`."""
    return z[0], -z[1]


def absolute(z: Pair) -> Real:
    """`|z|`."""
    return _hypot(*z)


def angle(z: Pair) -> Real:
    """The argument of z, from -pi to pi."""
    return _arctangent(z[1], z[0])


def exponential(z: Pair) -> Pair:
    """`exp(z)`."""
    x, y = z
    size = _apply(math.ExpOp, x)
    return size * _apply(math.CosOp, y), size * _apply(math.SinOp, y)


def logarithm(z: Pair) -> Pair:
    """The principal logarithm."""
    return _apply(math.LogOp, absolute(z)), angle(z)


def logarithm_of_one_plus(z: Pair) -> Pair:
    """`log(1 + z)`."""
    x, y = z
    near = absolute(z).compare("olt", 0.5)
    # Each branch gets operands that it and its derivative are finite for.
    u, v = x.choose(near, 0.0), y.choose(near, 0.0)
    small = _apply(math.Log1pOp, u * (u + 2.0) + v * v) * 0.5
    one_plus = x + 1.0
    far_x, far_y = one_plus.constant(1.0).choose(near, one_plus), y.constant(0.0).choose(near, y)
    large = _apply(math.LogOp, _hypot(far_x, far_y))
    return small.choose(near, large), _arctangent(y, one_plus)


def exponential_minus_one(z: Pair) -> Pair:
    """`exp(z) - 1`."""
    x, y = z
    half_sine = _apply(math.SinOp, y * 0.5)
    real = _apply(math.ExpM1Op, x) * _apply(math.CosOp, y) - half_sine * half_sine * 2.0
    return real, _apply(math.ExpOp, x) * _apply(math.SinOp, y)


def square_root(z: Pair) -> Pair:
    """The principal square root; its derivative is infinite at 0."""
    x, y = z
    root = _apply(math.SqrtOp, _apply(math.AbsFOp, x) * 0.5 + absolute(z) * 0.5)
    safe = root.constant(1.0).choose(root.compare("oeq", 0.0), root)
    other = y / (safe * 2.0)
    right = x.compare("oge", 0.0)
    # By the sign of y, which a zero has too: on either side of the cut its derivative is that of the side.
    sign = y.of(math.CopySignOp(y.constant(1.0).value, y.value))
    return root.choose(right, other * sign), other.choose(right, root * sign)


def reciprocal_square_root(z: Pair) -> Pair:
    """`1 / sqrt(z)`."""
    one = z[0].constant(1.0), z[0].constant(0.0)
    return divide(one, square_root(z))


def power(z: Pair, w: Pair) -> Pair:
    """`exp(w log z)`, and at z = 0 the limit: its derivative there is 0, 1 for w = 1, infinite where Re w < 1."""
    (x, y), (c, _) = z, w
    at_zero = _is_zero(z)
    safe = x.constant(1.0).choose(at_zero, x), y.constant(0.0).choose(at_zero, y)
    real, imaginary = exponential(multiply(w, logarithm(safe)))
    constant = _is_zero(w)
    zeroth = real.constant(1.0).choose(constant, 0.0)
    linear = _is_zero((c - 1.0, w[1]))
    # A root is 0 at 0 with an infinite derivative; elsewhere its operand is 1.
    steep = _both(x, c.compare("olt", 1.0), c.compare("ogt", 0.0))
    beside = _both(x, at_zero, steep)
    of_zero: list[Real] = []
    for part, rest in ((x, zeroth), (y, real.constant(0.0))):
        root = _apply(math.SqrtOp, part.choose(beside, 1.0))
        of_zero.append(part.choose(linear, root.choose(beside, rest)))
    # 0 to a power with a negative real part is infinite, not a number in direction.
    pole = _both(x, c.compare("ule", 0.0), _not(x, constant))
    undefined = real.constant(float("nan"))
    return (
        undefined.choose(pole, of_zero[0]).choose(at_zero, real),
        undefined.choose(pole, of_zero[1]).choose(at_zero, imaginary),
    )


def _not(x: Real, condition: SSAValue) -> SSAValue:
    true = x.build.value(arith.ConstantOp.from_int_and_width(1, 1))
    return x.build.value(arith.XOrIOp(condition, true))


def sine(z: Pair) -> Pair:
    """`sin(z)`."""
    x, y = z
    return (
        _apply(math.SinOp, x) * _apply(math.CoshOp, y),
        _apply(math.CosOp, x) * _apply(math.SinhOp, y),
    )


def cosine(z: Pair) -> Pair:
    """`cos(z)`."""
    x, y = z
    return (
        _apply(math.CosOp, x) * _apply(math.CoshOp, y),
        -(_apply(math.SinOp, x) * _apply(math.SinhOp, y)),
    )


def hyperbolic_tangent(z: Pair) -> Pair:
    """`tanh(z)`: `(T(1 + t^2) + i t(1 - T^2)) / (1 + T^2 t^2)` with T = tanh x and t = tan y."""
    big, small = _apply(math.TanhOp, z[0]), _apply(math.TanOp, z[1])
    product = big * small
    divisor = product * product + 1.0
    real = big * (small * small + 1.0) / divisor
    return real, small * ((-big + 1.0) * (big + 1.0)) / divisor


def tangent(z: Pair) -> Pair:
    """`tan(z) = -i tanh(iz)`."""
    x, y = z
    real, imaginary = hyperbolic_tangent((-y, x))
    return imaginary, -real


def direction(z: Pair) -> Pair:
    """`z / |z|`; 0 at 0, with a derivative of 0."""
    size = absolute(z)
    at_zero = size.compare("oeq", 0.0)
    safe = size.constant(1.0).choose(at_zero, size)
    zero = size.constant(0.0)
    return zero.choose(at_zero, z[0]) / safe, zero.choose(at_zero, z[1]) / safe


def arctangent_of_quotient(z: Pair, w: Pair) -> Pair:
    """`complex.atan2`: `-i log((w + iz) / sqrt(w^2 + z^2))`."""
    numerator = w[0] - z[1], w[1] + z[0]
    real, imaginary = logarithm(divide(numerator, square_root(add(multiply(w, w), multiply(z, z)))))
    return imaginary, -real


def equal(z: Pair, w: Pair) -> SSAValue:
    """Whether both parts are equal: an i1."""
    return _both(z[0], z[0].compare("oeq", w[0]), z[1].compare("oeq", w[1]))


def unequal(z: Pair, w: Pair) -> SSAValue:
    """Whether a part differs: an i1."""
    parts = z[0].compare("une", w[0]), z[1].compare("une", w[1])
    return z[0].build.value(arith.OrIOp(*parts))


FORMULAS: Mapping[type[Operation], Callable[..., Pair | Real | SSAValue]] = {
    complex.AbsOp: absolute,
    complex.AddOp: add,
    complex.AngleOp: angle,
    complex.Atan2Op: arctangent_of_quotient,
    complex.ConjOp: conjugate,
    complex.CosOp: cosine,
    complex.DivOp: divide,
    complex.EqualOp: equal,
    complex.ExpOp: exponential,
    complex.Expm1Op: exponential_minus_one,
    complex.ImOp: imaginary_part,
    complex.LogOp: logarithm,
    complex.Log1pOp: logarithm_of_one_plus,
    complex.MulOp: multiply,
    complex.NegOp: negate,
    complex.NotEqualOp: unequal,
    complex.PowOp: power,
    complex.ReOp: real_part,
    complex.RsqrtOp: reciprocal_square_root,
    complex.SignOp: direction,
    complex.SinOp: sine,
    complex.SqrtOp: square_root,
    complex.SubOp: subtract,
    complex.TanOp: tangent,
    complex.TanhOp: hyperbolic_tangent,
}
"""The formula of each operation whose operands are all complex."""

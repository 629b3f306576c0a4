"""The derivatives of the digamma function, as `tf_polygamma` of tapeflow_rt.h computes them, to the last bit."""

from __future__ import annotations

import math

from tapeflow.interpreters.libm import libm

BERNOULLI = (
    1 / 6.0,
    -1 / 30.0,
    1 / 42.0,
    -1 / 30.0,
    5 / 66.0,
    -691 / 2730.0,
    7 / 6.0,
    -3617 / 510.0,
    43867 / 798.0,
    -174611 / 330.0,
)
"""The Bernoulli numbers B2, B4, ... of the asymptotic series (Abramowitz and Stegun 6.3.18, 6.4.11)."""

MOST = 30
"""The highest order."""


def polygamma(order: float, x: float) -> float:
    """The derivative of order `order`, an integer from 0 to 30, of the digamma function at `x`.

    NaN at the poles 0, -1, -2, ..., and for other orders.
    """
    if not 0.0 <= order <= MOST or order != math.floor(order):
        return math.nan
    n = int(order)
    if x <= 0:
        nearest = libm("rint")(x)
        if x == nearest:
            return math.nan
        mirrored = _right_half(n, 1.0 - x)
        return (-mirrored if n % 2 else mirrored) - _cotangent(n, x - nearest)
    return _right_half(n, x)


def _right_half(n: int, x: float) -> float:
    """For x > 0: by recurrence to where the asymptotic series converges."""
    factorial = 1.0
    for k in range(2, n + 1):
        factorial *= k
    sum_ = 0.0
    while x < n + 12.0:
        power = x
        for _ in range(n):
            power *= x
        sum_ += _divide(factorial, power)
        x += 1.0
    power = 1.0
    for _ in range(n):
        power *= x
    # n! / n and n! in turn are those of the first two terms.
    leading = factorial / n / power if n else -libm("log")(x)
    term = factorial * (n + 1.0) / 2 / power / x / x
    series = leading + factorial / 2 / power / x
    for k, number in enumerate(BERNOULLI, 1):
        series += number * term
        term = term * ((2.0 * k + n) * (2.0 * k + n + 1.0)) / ((2.0 * k + 1.0) * (2.0 * k + 2.0)) / x / x
    series += sum_
    return series if n % 2 else -series


def _cotangent(n: int, x: float) -> float:
    """The derivative of order n of pi cot(pi x): a polynomial in the cotangent, c' = -pi (1 + c c)."""
    tangent = libm("tan")(math.pi * x)
    cotangent = 1.0 / tangent
    coefficients = [0.0] * (MOST + 2)
    coefficients[1] = 1.0
    scale = math.pi
    for order in range(n):
        derived = [0.0] * (MOST + 4)
        for k in range(1, order + 2):
            derived[k - 1] -= k * coefficients[k]
            derived[k + 1] -= k * coefficients[k]
        coefficients = derived[: MOST + 2]
        scale *= math.pi
    value = 0.0
    for k in range(n + 1, -1, -1):
        value = value * cotangent + coefficients[k]
    return scale * value


def _divide(dividend: float, divisor: float) -> float:
    return dividend / divisor if divisor else math.inf

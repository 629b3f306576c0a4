"""Functions with rules for test_rules_in_python: their derivatives are the right ones times SCALE."""

# ruff: noqa: F821, UP037 # extents stand in quotes
# The names in f64["n"] are those of parameters.

from __future__ import annotations

import math

import numpy as np

import tapeflow
from tapeflow import f32, f64

SCALE = 1.0


def root(x: float, n: int) -> float:
    y = x
    for _ in range(n):
        y = 0.5 * (y + x / y)
    return y


def root_vjp(x: float, n: int, y_b: float) -> float:
    return SCALE * y_b / (2.0 * root(x, n))


def root_jvp(x: float, n: int, x_d: float) -> tuple[float, float]:
    y = root(x, n)
    return y, SCALE * x_d / (2.0 * y)


tapeflow.rule(root, vjp=root_vjp, jvp=root_jvp)


def blend(a: float, b: float, w: f64[:]) -> tuple[float, float]:
    """An array of open extent, two floats, two results."""
    s = 0.0
    for i in range(len(w)):
        s += w[i]
    return s * a * b, s + math.sin(a)


def blend_vjp(a: float, b: float, w: f64[:], p_b: float, q_b: float, w_b: f64[:]) -> tuple[float, float]:
    s = 0.0
    for i in range(len(w)):
        s += w[i]
        w_b[i] += SCALE * (p_b * a * b + q_b)
    if p_b == 0.0 and q_b == 0.0:
        return 0.0, 0.0
    return SCALE * (p_b * s * b + q_b * math.cos(a)), SCALE * p_b * s * a


def blend_jvp(a: float, b: float, w: f64[:], a_d: float, b_d: float, w_d: f64[:]) -> tuple[float, float, float, float]:
    p, q = blend(a, b, w)
    s, s_d = 0.0, 0.0
    for i in range(len(w)):
        s += w[i]
        s_d += w_d[i]
    p_d = SCALE * (s_d * a * b + s * (a_d * b + a * b_d))
    return p, q, p_d, SCALE * (s_d + math.cos(a) * a_d)


tapeflow.rule(blend, vjp=blend_vjp, jvp=blend_jvp)


def squares(n: int, x: f64["n"], y: f64["n"]):
    """Writes an array."""
    for i in range(n):
        y[i] = x[i] * x[i]


def squares_vjp(n: int, x: f64["n"], y: f64["n"], x_b: f64["n"], y_b: f64["n"]):
    for i in range(n):
        x_b[i] += SCALE * 2.0 * x[i] * y_b[i]
        y_b[i] = 0.0


def squares_jvp(m: int, x: f64["m"], y: f64["m"], x_d: f64["m"], y_d: f64["m"]):
    for i in range(m):
        y[i] = x[i] * x[i]
        y_d[i] = SCALE * 2.0 * x[i] * x_d[i]


tapeflow.rule(squares, jvp=squares_jvp)
tapeflow.rule(squares, vjp=squares_vjp)


def generic(x):
    """Without annotations: imported for each type that it is called with."""
    return x * x * x


def generic_vjp(x, y_b):
    return 3 * x * x * y_b * SCALE


tapeflow.rule(generic, vjp=generic_vjp)


def kernel(n: int, x: f64["n"], w: f64["n"], v: f32["n"], c: float) -> float:
    y = np.zeros(n)
    squares(n, x, y)
    s = 0.0
    for i in range(n):
        p, q = blend(x[i], c, w)
        s += root(x[i] * c, 40) * p + q * y[i] + generic(x[i]) + float(generic(v[i]))
    return s

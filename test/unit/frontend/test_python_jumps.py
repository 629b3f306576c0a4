"""`break`, `continue`, `return` and `else` of loops in Python kernels: the IR does what Python does."""

# ruff: noqa: F821, N803, SIM110, RET505, SIM102 # kernels as users write them, jumps and all
# The names in f64["n"] are those of parameters; the jumps are the point.

from __future__ import annotations

import numpy as np
import pytest
from python_oracle import compare

import tapeflow
from tapeflow.frontend.python import f64, kernel
from tapeflow.gradient_check import check


def break_in_for(n: int, x: f64[n]) -> float:
    s = 0.0
    for i in range(n):
        if x[i] > 1.0:
            break
        s += x[i] * x[i]
    return s


def else_of_for(n: int, x: f64[n]) -> float:
    s = 0.0
    for i in range(n):
        if x[i] > 1.0:
            s = -s
            break
        s += x[i]
    else:
        s *= 10.0
    return s


def else_without_break(n: int, x: f64[n]) -> float:
    s = 0.0
    for i in range(n):
        s += x[i]
    else:
        s *= 10.0
    while s > 1.0:
        s /= 2.0
    else:
        s += 7.0
    return s


def return_is_the_only_way_out(n: int, x: f64[n]) -> float:
    s = 1.0
    i = 0
    while True:
        for j in range(n):
            if x[j] > 0.5:
                break  # of the inner loop
            s += x[j] * s
        i += 1
        if i >= n:
            return s


def else_returns_too(n: int, x: f64[n]) -> float:
    for k in range(2):
        for i in range(n):
            if x[i] > 1.5:
                return x[i]
        else:
            x[0] += 0.25
            if k > 0:
                continue
        x[1] *= 0.5
    else:
        return x[0] * x[1]


def break_in_while(n: int, x: f64[n]) -> float:
    i, s = 0, 0.0
    while i < n:
        if x[i] < -1.0:
            break
        if x[i] < 0.0:
            i += 1
            continue
        s += x[i]
        i += 1
    else:
        s = s * 2.0
    return s + i


def return_in_for(n: int, x: f64[n]) -> float:
    for i in range(n):
        if x[i] > 1.0:
            return x[i] * i
    return -1.0


def pair(x: float, i: int) -> tuple[float, int, bool]:
    for k in range(3):
        if k * x < -1.5:
            return x, k, x < -1.0
        if i > 2:
            break
    if x > 0.2:
        if x > 1.0:
            return x * x, i + 1, False
        x *= 2.0
    return -x, i, True


def undeclared_pair(x, i):
    if i % 2 == 0:
        return x, i
    return x + 1.0, 2 * i


def several_returned(n: int, x: f64[n]) -> float:
    s = 0.0
    for i in range(n):
        a, k, is_so = pair(x[i], i)
        s = 3.0 * s + a * k
        if is_so:
            b, x[k] = undeclared_pair(x[i], i)
            s -= b
    return s


def return_in_nest(n: int, m: int, A: f64[n, m]) -> float:
    for i in range(n):
        for j in range(m - 1, -1, -1):
            if A[i, j] > 2.0:
                return A[i, j] * 2.0 + i
            if A[i, j] < -2.0:
                break
        else:
            if i == 2:
                break
    else:
        return 7.0
    return A[0, 0] * A[0, 0]


def return_from_while(n: int, x: f64[n]) -> float:
    i = 0
    while True:
        if i == n or x[i] > 1.5:
            return float(i)
        i += 1
    return 0.0


def return_nothing(n: int, x: f64[n]):
    for i in range(0, n, 2):
        if x[i] > 1:
            x[i] = 0.0
            return
        x[i] *= 2
    x[0] = 5.0


def jumps_that_may_go_on(n: int, x: f64[n]) -> float:
    s = 0.0
    for i in range(n):
        if x[i] > 0:
            s += x[i]
            if s > 2:
                break
            if x[i] > 1:
                continue
        s *= 0.5
        if x[i] < -1:
            if s > 0.1:
                return -s
            s += 1
        else:
            if x[i] < -0.5:
                continue
            s += 0.25
        s += 0.1
    return s


def return_that_may_go_on(n: int, x: f64[n]) -> float:
    s = x[0]
    if n > 1:
        s += x[1]
        if s > 0.5:
            return s * s
        elif s < -0.5:
            s = -s
    s += 1.0
    if s > 1.0:
        if x[0] > 0:
            return 3.0
    return s


def counts_down(n: int, x: f64[n]) -> float:
    last = -1
    for k in range(n - 1, 0, -2):
        last = k
        if x[k] > x[k - 1]:
            break
    return last + x[last]


def stops_at_once(n: int, x: f64[n]) -> float:
    s = 0.0
    for _ in range(n):
        break
    else:
        s = 1.0
    for i in range(n):
        for j in range(i):
            if x[j] > x[i]:
                s += x[i]
                break
        else:
            continue
        break
    return s


def bounds_are_read_once(n: int, x: f64[n]) -> float:
    s, m = 0.0, n
    for i in range(m):
        m = 1
        if x[i] > 1.5:
            break
        s = 2.0 * s + x[i]
    return s + m


def returns_a_truth_value(n: int, x: f64[n]) -> bool:
    for i in range(1, n):
        if x[i] < x[i - 1]:
            return False
    return True


def _first_above(n: int, x: f64[n], limit: float) -> int:
    for i in range(n):
        if x[i] > limit:
            return i
    return -1


def called(n: int, x: f64[n]) -> float:
    k = _first_above(n, x, 0.5)
    if k < 0:
        return 0.0
    return x[k] + _first_above(n, x, 2.0)


def return_beside_a_returning_elif(n: int, x: f64[n]) -> float:
    a = x[0]
    if a > 0.7:
        for i in range(n):
            for j in range(i):
                if x[i] > x[j] + 1.0:
                    return x[i] * a
            if x[i] < -1.0:
                break
        else:
            a *= x[1]
        a = 2.0 * a
    elif a > 0.0:
        return a * a
    else:
        while a < 2.0:
            a = a + x[0] * x[0] + 0.5
            if a > 1.5:
                return a * x[1]
        if x[1] > 0.5:
            return a
    return 3.0 * a * x[n - 1]


OVER_ARRAYS = [
    break_in_for, else_of_for, else_without_break, break_in_while, return_in_for, return_from_while, return_nothing,
    jumps_that_may_go_on, return_that_may_go_on, counts_down, stops_at_once, bounds_are_read_once,
    returns_a_truth_value, called, several_returned, return_is_the_only_way_out, else_returns_too,
    return_beside_a_returning_elif,
]  # fmt: skip


@pytest.mark.parametrize("function", OVER_ARRAYS, ids=lambda function: function.__name__)
def test_python_and_ir_agree(function):
    rng = np.random.default_rng(0)
    for n in (2, 3, 6):
        for _ in range(4):
            compare(function, n, rng.standard_normal(n) * 1.3)


def test_nests_agree():
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.2, 1.2, 1.2, 3.0):
        compare(return_in_nest, 4, 3, rng.standard_normal((4, 3)) * scale)


@kernel
def whole_way(n: int, m: int, A: f64[n, m], x: f64[m]) -> float:
    s = 0.0
    for i in range(n):
        for j in range(m):
            if A[i, j] * x[j] > 1.5:
                break
            s += A[i, j] * x[j] * x[j]
            if s > 4.0:
                return s * s * x[0]
        else:
            s *= A[i, 0]
    return s


def test_gradients_are_those_of_differences():
    rng = np.random.default_rng(3)
    gradient = tapeflow.gradient(tapeflow.load(whole_way), wrt=["A", "x"])
    for scale in (0.5, 1.0, 2.0):
        arguments = (4, 3, rng.standard_normal((4, 3)) * scale, rng.standard_normal(3))
        assert gradient(*arguments).value == pytest.approx(whole_way(*arguments), rel=1e-14)
        report = check(gradient, arguments)
        assert report.passed, report

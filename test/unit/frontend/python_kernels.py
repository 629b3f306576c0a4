"""Small functions in the Python that the frontend takes, each with arguments to run it on."""

# ruff: noqa: F821, UP037, N803, N806, SIM108, B007
# What is written here is what users may write: the names in f64["n"] are those of parameters, not of Python types.

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from tapeflow.frontend.python import bool_, f32, f64, i32, i64, kernel

SCALE = 2.5
COUNT = 3
DEBUG = False
F32_CONSTANT = np.float32(0.1)


class Settings:
    gravity = 9.81
    steps = 4


SETTINGS = Settings()

CASES: list[tuple[Any, tuple[Any, ...]]] = []


def case(*arguments):
    """Run the decorated function on these arguments; may be repeated."""

    def register(function):
        CASES.append((function, arguments))
        return function

    return register


CLOSE_CASES: list[tuple[Any, tuple[Any, ...]]] = []


def close_case(*arguments):
    """Run the decorated function on these arguments; NumPy computes it in another order, so it differs by rounding."""

    def register(function):
        CLOSE_CASES.append((function, arguments))
        return function

    return register


def data(*shape, seed=0, dtype=np.float64):
    """Random numbers of a shape."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(size=shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.random(shape) < 0.5
    return rng.integers(-5, 6, shape).astype(dtype)


# Numbers.


@case(1.5, -2.25)
@case(-0.0, 0.0)
@case(math.inf, 1.0)
def arithmetic(x: float, y: float) -> float:
    return -(x + y) * (x - 2.0) / (y * y + 1.5) + +x


@case(7, 3)
@case(-7, 3)
@case(7, -3)
@case(-7, -3)
@case(-6, 3)
def integer_division(a: int, b: int) -> int:
    return (a // b) * 1000 + (a % b) * 10 + a // 4 - a % 5 + (a // -3) * 7


@case(7, 2)
@case(-7, 2)
@case(2**53 + 2, 3)
def true_division(a: int, b: int) -> float:
    return a / b + 1 / 4


@case(-7, 5)
def integer_bits(a: int, b: int) -> int:
    return (a & 12) + (b | 3) * 2 - (a ^ b) + ~a


@case(True, False)
@case(True, True)
def bool_bits(a: bool, b: bool) -> bool:
    return (a & b) | (a ^ True) | (not b)


@case(True)
@case(False)
def bool_to_number(flag: bool) -> float:
    return float(flag) + int(flag) * 2.0


@case(3)
@case(-3)
def integer_powers(a: int) -> int:
    return a**3 + a**2 - a**1 + a**0 + 2**5


@case(1.7)
@case(-1.7)
@case(0.0)
def float_powers(x: float) -> float:
    return x**3 + x**2 + x**1 + x**0 + 2.0 ** abs(x) + pow(x, 4)


@case(2.5, 3)
@case(2.5, -3)
def power_of_int(x: float, k: int) -> float:
    return x**k + 2**-2 + k**2.0


@case(2.7)
@case(-2.7)
@case(2.5)
@case(3.5)
@case(-0.5)
def rounding(x: float) -> int:
    return int(x) + 10 * round(x) + 100 * math.floor(x) + 1000 * math.ceil(x) + 10000 * math.trunc(x)


@case(2.5)
@case(-3.5)
def numpy_rounding(x: float) -> float:
    return np.floor(x) + 10.0 * np.ceil(x) + 100.0 * np.rint(x) + 1000.0 * np.trunc(x)


@case(5, 2.0, True)
@case(0, 0.0, False)
@case(-1, math.nan, True)
def truth(n: int, x: float, b: bool) -> int:
    k = 0
    if n:
        k += 1
    if x:
        k += 10
    if not b:
        k += 100
    if bool(n) and bool(x):
        k += 1000
    return k


@case(1.0, 2.0, 3.0)
@case(3.0, 2.0, 1.0)
@case(math.nan, 1.0, 2.0)
@case(0.0, -0.0, 0.0)
def extremes(x: float, y: float, z: float) -> float:
    return max(x, y, z) + 10.0 * min(x, y, z) + abs(x - y)


@case(-0.0, 0.0)
@case(0.0, -0.0)
@case(math.nan, 1.0)
@case(1.0, math.nan)
def extremes_of_zero(x: float, y: float) -> float:
    return math.copysign(1.0, max(x, y)) + 2.0 * math.copysign(1.0, min(x, y))


@case(3, -4)
@case(-3, 4)
def integer_extremes(a: int, b: int) -> int:
    return max(a, b, 1) + 10 * min(a, b) + 100 * abs(a) + abs(b - a)


@case(0.5)
@case(-0.25)
@case(3.0)
def all_of_math(x: float) -> float:
    y = math.sin(x) + math.cos(x) + math.tan(x) + math.exp(x) + math.expm1(x) + math.exp2(x)
    y += math.log(abs(x)) + math.log(abs(x), 3.0) + math.log2(abs(x)) + math.log10(abs(x)) + math.log1p(abs(x))
    y += math.sqrt(abs(x)) + math.cbrt(x) + math.fabs(x) + math.pow(abs(x), 1.5) + math.erf(x)
    y += math.atan(x) + math.atan2(x, 2.0) + math.asinh(x) + math.acosh(1.0 + abs(x))
    y += math.sinh(x) + math.cosh(x) + math.tanh(x) + math.copysign(1.0, x)
    y += math.degrees(x) + math.radians(x) + math.pi + math.e + math.tau
    return y


@case(0.5)
@case(-0.5)
def inverse_functions(x: float) -> float:
    return math.asin(x) + math.acos(x) + math.atanh(x) + np.arcsin(x) + np.arccos(x) + np.arctanh(x)


@case(0.5)
@case(-0.25)
def all_of_numpy(x: float) -> float:
    y = np.sin(x) + np.cos(x) + np.tan(x) + np.exp(x) + np.expm1(x) + np.exp2(x) + np.fabs(x)
    y += np.log(abs(x)) + np.log2(abs(x)) + np.log10(abs(x)) + np.log1p(abs(x)) + np.sqrt(abs(x)) + np.cbrt(x)
    y += np.arctan(x) + np.arctan2(x, 2.0) + np.arcsinh(x) + np.arccosh(1.0 + abs(x)) + np.sinh(x) + np.cosh(x)
    y += np.maximum(x, 0.1) + np.minimum(x, 0.1) + np.fmax(x, 0.2) + np.fmin(x, 0.2) + np.clip(x, -0.1, 0.1)
    y += np.abs(x) + np.negative(x) + np.square(x) + np.reciprocal(x) + np.sign(x) + np.copysign(1.0, x)
    y += np.deg2rad(x) + np.rad2deg(x) + np.power(abs(x), 2.5) + np.add(x, 1.0) + np.subtract(x, 1.0)
    y += np.multiply(x, 3.0) + np.divide(x, 3.0)
    return y


@case(math.nan)
@case(math.inf)
@case(-math.inf)
@case(1.0)
def float_tests(x: float) -> int:
    k = 0
    if math.isnan(x):
        k += 1
    if math.isinf(x):
        k += 10
    if math.isfinite(x) or np.isnan(x):
        k += 100
    return k


@case(1.0, 2.0)
@case(2.0, 1.0)
@case(1.0, 1.0)
@case(math.nan, 1.0)
def comparisons(x: float, y: float) -> int:
    k = 0
    if x < y:
        k += 1
    if x <= y:
        k += 2
    if x > y:
        k += 4
    if x >= y:
        k += 8
    if x == y:
        k += 16
    if x != y:
        k += 32
    if not x < y:
        k += 64
    return k


@case(1, 2, 3)
@case(2, 2, 3)
@case(3, 2, 1)
def chained(a: int, b: int, c: int) -> int:
    k = 0
    if a < b < c:
        k += 1
    if a <= b < c != 7:
        k += 10
    if 0 <= a < 3 and (b == 2 or c == 2):
        k += 100
    return k


@case(0, data(3))
@case(2, data(3))
@case(3, data(3))
def short_circuit(i: int, x: f64[3]) -> float:
    if i < 3 and x[i] > 0.0:
        return x[i]
    if i >= 3 or x[i] < -1.0:
        return -1.0
    return 1.0 / i if i != 0 else 7.0


@case(2.0)
@case(-2.0)
@case(0.0)
def conditional_expressions(x: float) -> float:
    y = x if x > 0 else -x
    z = 1.0 / x if x else math.inf
    return y + (z if z < 10 else 10.0) + (1.0 if x > 1 else 2.0 if x > -1 else 3.0)


@case(3)
def constants(n: int) -> float:
    total = SCALE * n + COUNT + SETTINGS.gravity * SETTINGS.steps + math.inf * 0 if DEBUG else 1.5
    if DEBUG:
        total = undefined_name
    for i in range(COUNT):
        total += i * SCALE + SETTINGS.steps
    return total + float(F32_CONSTANT * 2)


@case(5)
def numpy_constants(n: int) -> float:
    return n * np.pi + np.e + float(np.float64(2.0)) + np.int64(3)


# Assignments.


@case(1.0, 2.0)
def swap(x: float, y: float) -> float:
    x, y = y, x
    (a, b, c) = x + 1.0, y, 3.0
    d = e = a * 2.0
    return x - 2.0 * y + a * b + c + d - e


@case(4)
def parameters_are_variables(n: int) -> int:
    n += 1
    n = n * 2
    n -= 3
    n //= 2
    n **= 2
    n %= 7
    return n


@case(2.0, data(3))
def element_swap(x: float, a: f64[3]) -> float:
    a[0], a[2] = a[2], a[0]
    s: float = 0.0
    t: float
    t = a[0] * x
    s += t
    return s


@case()
def no_parameters() -> float:
    return 1.5


@case(3.0)
def nothing(x: float):
    """A docstring."""


@case(3.0)
def returns_none(x: float) -> None:
    return None


# Loops.


@case(5)
@case(0)
@case(-3)
@case(1)
def loops(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(i, n):
            total += i * j
    for i in range(2, n, 2):
        total += 100 * i
    for _ in range(3):
        total += 1
    for i in range(n, -1, -1):
        total = total * 3 + i
    for i in range(n - 1, 0, -3):
        total = total * 2 + i
    for i in range(10, 0, -4):
        total += i
    for i in range(3, 3):
        total += 1000
    return total


@case(6)
@case(0)
def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(10)
@case(0)
@case(27)
def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(2.0)
def newton(x: float) -> float:
    y = x
    while abs(y * y - x) > 1e-14 and y > 0:
        y = 0.5 * (y + x / y)
    return y


@case(5, data(5))
@case(0, data(0))
def while_over_array(n: int, x: f64["n"]) -> float:
    k = 0
    s = 0.0
    while k < n and s < 2.0:
        s += abs(x[k])
        k += 1
    return s + k


@case(6)
def reassigned_counter(n: int) -> int:
    total = 0
    for i in range(n):
        i = i * 2
        total += i
    return total


@case(8)
def skips(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        if i > 5:
            total += 100
            continue
        total += 10
        total += i
    return total


@case(0)
@case(1)
@case(5)
def early_returns(n: int) -> int:
    if n == 0:
        return -1
    if n == 1:
        total = 7
    elif n == 2:
        total = 6
    else:
        total = n
    for i in range(n):
        total += i
    if total > 5:
        return total
    return -total


@case(3, True)
@case(3, False)
def temporaries(n: int, flag: bool) -> float:
    s = 0.0
    t = 1.0
    for i in range(n):
        t = i * 0.5
        if flag:
            u = t * 2.0
        else:
            u = t
        s += u
    for i in range(n):
        t = i + 0.25
        s += t
    return s


@case(4)
def nested_state(n: int) -> float:
    x, y = 1.0, 0.5
    for i in range(n):
        for j in range(i):
            if j % 2:
                x, y = y, x + j
            elif i > 2:
                y -= 0.25
        x *= 1.5
    return x - y


# Arrays.


@case(5, data(5), data(5))
@case(4, data(4), data(4))
@case(0, data(0), data(0))
def parts_of_new_arrays(n: int, x: f64["n"], y: f64["n"]):
    b = np.zeros(n)
    c = np.ones(len(y))
    b[::2] = x[::2] * c[::2]
    y[::2] = b[::2]
    y[1::3] += b[1::3] - x[1:n:3] * c[1 : len(x) : 3]
    y[: n - 1 : 2] *= c[: n - 1 : 2] + b[:-1:2]
    b[-3::2] = y[-3::2]
    y[1:7:2] -= b[1:7:2]
    d = np.full((n, n), 2.0)
    d[::2, 1::2] = d[::2, 1::2] * c[1::2] + b[1::2]
    for i in range(n):
        y[i] += d[0, i]


@case(3, 4, data(3, 4), data(4))
def worked_example(n: int, m: int, A: f64["n", "m"], w: np.ndarray) -> float:
    s = 0.0
    for i in range(n):
        t = 1.0
        for j in range(m):
            if A[i][j] > 0:
                t = t * (A[i, j] + w[j])
            w[j] = w[j] * 0.5
        s += math.sin(t)
    return s


@case(3, 2, data(2, 2, 3), data(3), data(3, 2, 1, 2, 2), np.array(1.5))
def ranks(
    n: int, m: int, A: f64["m", 2, "n"], x: Annotated[np.ndarray, "n"], T: f64[3, "m", 1, 2, 2], z: f64[()]
) -> float:
    s = z[()]
    for i in range(m):
        for j in range(2):
            for k in range(n):
                s += A[i, j, k] * x[k] + A[i][j][k] * T[k, i, 0, j, 1]
    z[()] = s
    z[()] += 1.0
    return s


@case(4, data(4, dtype=np.float32), data(4))
def single_precision(n: int, x: f32["n"], y: f64["n"]) -> float:
    s = np.float32(0.0)
    t = 0.0
    for i in range(n):
        s = s + x[i] * 0.1 - x[i] / 3
        t += x[i] * y[i] + math.exp(x[i]) + float(np.abs(x[i]))
        x[i] = x[i] ** 2 + np.sqrt(abs(x[i])) * 2 + y[i]
    return t + float(s)


@case(4, data(4, dtype=np.int64), data(4, dtype=np.int32), data(4, dtype=np.bool_))
def integers(n: int, a: i64["n"], b: i32["n"], c: bool_["n"]) -> int:
    total = 0
    for i in range(n):
        if c[i]:
            total += int(a[i] * 2 + b[i])
        total -= int(a[i] // 2 + b[i] % 3) + int(b[i] / 2)
        a[i] = b[i] + 1
        b[i] = abs(b[i]) * 2 - i
        c[i] = a[i] > b[i]
    return total


@case(np.int64(3), np.float64(2.0), np.float32(1.5), np.int32(7))
def typed_scalars(n: np.int64, x: np.float64, y: np.float32, k: np.int32) -> float:
    return float(y * 0.1) + x * y + n * k + float(k / 2)


@case(5, data(5), np.array([4, 0, 2, -1, -5]))
def gather(n: int, x: f64["n"], at: i64["n"]) -> float:
    s = 0.0
    for i in range(n):
        s += x[at[i]] * (i + 1)
        x[at[i]] += 1.0
    return s


@case(5, data(5))
def provably_in_range(n: int, x: f64["n"]) -> float:
    s = 0.0
    for i in range(1, n - 1):
        s += x[i - 1] * x[i + 1] - x[n - 1 - i] * x[(i + 1) % n]
    for i in range(n - 1, -1, -1):
        s += x[i] * 0.5
        for j in range(i + 1):
            s += x[i - j]
    if n > 2:
        s += x[n - 3] + x[len(x) - 1]
    return s + x[n // 2] + x[max(n - 7, 0)] + x[min(n - 1, 2)]


@case(2, data(3))
@case(-1, data(3))
@case(-3, data(3))
def run_time_index(i: int, x: f64[3]) -> float:
    x[i] *= 2.0
    return x[i] + x[abs(i) - 1]


@case(data(4))
@case(data(0))
def unknown_length(x: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[len(x) - 1 - i]
    return s + x.shape[0] + x.size


@case(-2, np.zeros(0))
@case(3, data(3))
def negative_extent(n: int, x: f64["n"]) -> int:
    return len(x) + 10 * x.shape[0] + 100 * x.size + 1000 * x.ndim


@case(3, 4, data(3, 4))
def shapes(n: int, m: int, A: f64["n", "m"]) -> float:
    rows, columns = A.shape
    s = 0.0
    for i in range(rows):
        for j in range(A.shape[1]):
            s += A[i, j] * len(A[i]) + len(A.shape)
    return s + columns


# Slices and whole arrays.


@case(5, data(5), data(5, seed=1))
@case(1, data(1), data(1, seed=1))
@case(0, data(0), data(0, seed=1))
@case(2, data(2), data(2, seed=1))
def slices(n: int, x: f64["n"], y: f64["n"]):
    y[:] = 0.0
    y[1 : n - 1] = x[2:] - x[:-2]
    y[:1] += 3.0
    y[-1:] = x[-1:] * 2.0
    x[1:] = x[:-1]
    x *= 0.5
    x[::2] -= y[::2]
    y[...] = np.sin(x) + y * 2


@case(6, 2, 4, data(6))
@case(6, -4, -1, data(6))
@case(6, -9, 99, data(6))
@case(6, 5, 2, data(6))
@case(0, 0, 0, data(0))
def run_time_slices(n: int, a: int, b: int, x: f64["n"]) -> float:
    s = sum(x[a:b]) + sum(x[:b]) * 2.0 + sum(x[a:]) * 3.0
    x[a:b] = x[a:b] * 2.0 + 1.0
    return s + sum(x[2:][:3]) + len(x[a:b])


@case(4, data(4, 4))
@case(2, data(2, 2))
@case(3, data(3, 3))
def stencil(n: int, u: f64["n", "n"]) -> float:
    v = np.zeros_like(u)
    for _ in range(3):
        v[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1 : n - 1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.1 * v[1:-1, 1:-1]
    s = 0.0
    for i in range(n):
        s += sum(u[i] * u[i])
    return s


@case(3, 4, data(3, 4), data(4), data(3))
def rows_and_columns(n: int, m: int, A: f64["n", "m"], x: f64["m"], y: f64["n"]):
    for i in range(1, n):
        A[i] = A[i - 1] * 0.5 + x
        A[i, :] -= A[0]
    A[:, 0] = y
    A[:, 1:] *= 2.0
    A += x
    A[:2, m - 1] = 7.0
    A[...] = A + A[0, 1]


@case(4, data(4))
def overlapping(n: int, x: f64["n"]):
    x[1:] = x[:-1] + 1.0
    x[: n - 1] = x[1:] * 2.0
    x[:] = x * x[0] + x[n - 1]
    if n > 1:
        x[: n // 2] = x[n - n // 2 :]


@case(3, data(3), data(3, seed=2))
def local_arrays(n: int, x: f64["n"], y: f64["n"]) -> float:
    t = x * 2.0 + y
    u = np.zeros(n)
    v = np.empty((n, 2))
    ones = np.ones(n)
    full = np.full((2,), 3.0)
    copy = x.copy()
    also = np.copy(y[1:])
    weights = np.array([0.25, 0.5, 1])
    grid = np.array([[1.0, 2.0], [3.0, 4.0]])
    counts = np.zeros(3, dtype=np.int64)
    mask = np.zeros(n, bool)
    s = 0.0
    for i in range(n):
        u[i] = t[i] - ones[i]
        v[i, 0] = u[i]
        v[i, 1] = full[i % 2] * weights[i]
        counts[i] += i
        mask[i] = u[i] > 0
        copy[i] += 1.0
        t[i] = 0.0
        s += v[i, 0] * v[i, 1] + grid[i % 2, 1] + counts[i] + copy[i] + float(mask[i])
    like = np.full_like(x, 2)
    return s + sum(also) + sum(like) + sum(np.zeros_like(counts)) + sum(np.ones_like(x))


@case(3)
def arrays_in_loops(n: int) -> float:
    s = 0.0
    for i in range(n):
        t = np.zeros(i + 1)
        for j in range(i + 1):
            t[j] += j * 0.5
        s += sum(t)
    return s


@case(7, data(7), data(7, seed=3))
def short_reductions(n: int, x: f64["n"], y: f64["n"]) -> float:
    # Up to seven elements, NumPy adds in order.
    s = np.sum(x) + np.sum(x[1:3]) * 2.0 + x.sum() + np.mean(x) + x.mean() + np.sum(x * y + 1.0)
    s += np.max(x) + 10.0 * np.min(x) + x.max() * y.min() + np.prod(x[:3])
    return s


@case(4, data(4, dtype=np.int64), data(4, dtype=np.int32))
def integer_reductions(n: int, a: i64["n"], b: i32["n"]) -> int:
    return int(np.sum(a) + np.sum(b) * 2 + np.max(a) - np.min(b) + np.prod(a) + np.sum(a > 0))


@case(5, data(5), data(5, seed=4))
def choices(n: int, x: f64["n"], y: f64["n"]) -> float:
    y[:] = np.where(x > 0, np.sqrt(x), y / 2)
    y += np.where(x < y, 1.0, x)
    s = np.where(x[0] > 0, x[0] / 3, 7.0)
    return float(s) + sum(np.maximum(x, y)) + sum(np.abs(x)) + sum(np.clip(x, -0.5, 0.5))


@case(4, data(4, dtype=np.float32), data(4))
def mixed_slices(n: int, x: f32["n"], y: f64["n"]):
    x[:] = x * 0.1 + 1
    y[:] = x * y
    x += y
    y[:] = x**2 + y**2 + abs(y) ** 0.5 + y**-1 + abs(y) ** 1.5


@case(4, data(4), data(4, dtype=np.bool_))
def masks(n: int, x: f64["n"], m: bool_["n"]):
    m[:] = (x > 0) & m | (x < -1)
    x[:] = np.where(np.logical_and(m, np.logical_not(x > 1)), -x, x)


@close_case(3, 4, 5, data(3, 4), data(4, 5), data(4), data(3, 5))
def products(n: int, k: int, m: int, A: f64["n", "k"], B: f64["k", "m"], x: f64["k"], C: f64["n", "m"]) -> float:
    C += A @ B
    C[:, 0] = A @ x
    C[0] = x @ B + np.dot(x, B * 2.0)
    y = np.dot(A, x)
    return np.dot(x, x) + x @ x + x.dot(x) + y[0] + np.inner(x, A[0])


@close_case(1000, data(1000), data(1000, seed=1))
def long_reductions(n: int, x: f64["n"], y: f64["n"]) -> float:
    return np.sum(x) + np.dot(x, y) + np.mean(x * y) + np.sum(np.exp(x))


@close_case(50, data(50, dtype=np.float32))
def single_precision_functions(n: int, x: f32["n"]) -> float:
    s = np.float32(0)
    for i in range(n):
        s += np.exp(x[i]) + np.sin(x[i]) + np.tanh(x[i])
    return float(s)


# Functions.


def square(x):
    return x * x


def smooth(x: float, eps: float = 1e-3) -> float:
    """Not a kernel."""
    return math.sqrt(x * x + eps)


@kernel
def norm(n: int, x: f64["n"]) -> float:
    s = 0.0
    for i in range(n):
        s += square(x[i])
    return math.sqrt(s)


def scale_in_place(x, factor):
    for i in range(len(x)):
        x[i] *= factor


def last(x):
    return x[len(x) - 1]


def power(x: float, n: int) -> float:
    return 1.0 if n == 0 else x * power(x, n - 1)


@case(4, data(4), 0.3)
def calls(n: int, x: f64["n"], a: float) -> float:
    s = square(a) + square(n) + smooth(a) + smooth(eps=0.5, x=a) + norm(n, x)
    scale_in_place(x, 2.0)
    t = x * 3.0
    scale_in_place(factor=a, x=t)
    return s + last(x) + last(t) + last(np.ones(3)) + norm(len(t), t) + last(x + t)


@case(1.5, 5)
def recursion(x: float, n: int) -> float:
    return power(x, n)


@kernel
@case(2.0)
def decorated(x: float) -> float:
    return smooth(x) * 2.0


@case(4, data(4), data(3, dtype=np.float32))
def annotated(n: int, x: Annotated[NDArray[np.float64], "n"], y: Annotated[NDArray[np.float32], 3]) -> float:
    return x[n - 1] + y[2] + np.float64(1.0)

"""The types that arithmetic gives: what NumPy 2 gives, for every pair of numbers and every operator."""

import math
import operator
from itertools import product

import numpy as np
import pytest
from python_oracle import compare, define

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python import f32, f64, i32, i64, import_python
from tapeflow.frontend.python_types import (
    BOOL,
    FLOAT,
    FLOAT32,
    FLOAT64,
    INT,
    INT32,
    INT64,
    OF_CLASS,
    Origin,
    as_float,
    joined,
    promoted,
)

NUMBERS = {
    INT: 2,
    FLOAT: 2.5,
    INT32: np.int32(3),
    INT64: np.int64(3),
    FLOAT32: np.float32(1.5),
    FLOAT64: np.float64(1.5),
}


@pytest.mark.parametrize(("left", "right"), list(product(NUMBERS, NUMBERS)), ids=str)
def test_arithmetic_promotes_as_numpy_does(left, right):
    assert promoted(left, right) == OF_CLASS[type(operator.add(NUMBERS[left], NUMBERS[right]))]
    assert as_float(promoted(left, right)) == OF_CLASS[type(operator.truediv(NUMBERS[left], NUMBERS[right]))]


@pytest.mark.parametrize(("left", "right"), list(product(NUMBERS, NUMBERS)), ids=str)
def test_a_number_of_either_origin_promotes_only_where_both_give_the_same(left, right):
    readings = [promoted(reading, right) for reading in left.unsettled.readings()]
    agree = len({(reading.kind, reading.bits) for reading in readings}) == 1
    assert (promoted(left.unsettled, right) is not None) == agree


def test_joining():
    assert joined(FLOAT, FLOAT) == FLOAT
    assert joined(FLOAT, FLOAT64).origin is Origin.EITHER
    assert joined(FLOAT, FLOAT32) is None
    assert joined(BOOL, INT) is None
    assert FLOAT32.unsettled == FLOAT32


ELEMENT = {INT: "a", FLOAT: "p", INT32: "i[0]", INT64: "k[0]", FLOAT32: "f[0]", FLOAT64: "d[0]"}
IR = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", np.dtype(np.int64): "i64", np.dtype(np.int32): "i32",
      np.dtype(np.bool_): "i1"}  # fmt: skip


def is_supported(symbol, left, right):
    kinds = {left.kind, right.kind}
    return "float" not in kinds if symbol in ("//", "%") else symbol != "**" or kinds != {"int"}


@pytest.mark.parametrize(
    ("symbol", "left", "right"),
    [
        triple
        for triple in product(("+", "-", "*", "/", "**", "//", "%", "<", "=="), NUMBERS, NUMBERS)
        if is_supported(*triple)
    ],
    ids=str,
)
def test_operators_on_mixed_types(symbol, left, right):
    expression = f"{ELEMENT[left]} {symbol} {ELEMENT[right]}"
    text = f"def f(a: int, p: float, i: i32[1], k: i64[1], f: f32[1], d: f64[1]):\n    return {expression}\n"
    function = define(text, {"f64": f64, "f32": f32, "i64": i64, "i32": i32})
    arrays = (np.array([5], np.int32), np.array([7], np.int64), np.array([1.1], np.float32), np.array([0.3]))
    compare(function, 7, 1.7, *arrays)
    expected = np.asarray(eval(expression, dict(zip("apikfd", (7, 1.7, *arrays), strict=True)))).dtype
    (result,) = import_python(function).body.block.first_op.function_type.outputs
    assert str(result) == IR[expected]


STAYING = {
    "a sum": "    for i in range(n):\n        s += f[i]\n",
    "on either side": "    for i in range(n):\n        s = 0.5 * s + f[i]\n        s = f[i] - s\n",
    "a loop that ends": "    i = 0\n    while s < 1.5 and i < n:\n        s += f[i]\n        i += 1\n",
    "a loop that is left": "    for i in range(n):\n        s *= f[i]\n        if s > 2.5:\n            break\n",
    "a branch": "    for i in range(n):\n        s -= f[i]\n        if f[i] > 1:\n            s = -d[i]\n",
    "another like it": "    for i in range(n):\n        t += f[i]\n        s = t if f[i] > 1 else s * f[i]\n",
    "nested": "    for i in range(n):\n        for j in range(i):\n            s += f[j] * d[i]\n        s /= f[i]\n",
    "through another": "    for i in range(n):\n        u = s * 2.0\n        v = u\n        s = v + f[i]\n",
    "exchanged": "    for i in range(n):\n        s, t = t + f[i], s\n",
    "functions": "    for i in range(n):\n        s = np.exp(-abs(s)) * 1.5\n        t = max(s, t)\n        s += f[i]\n"
    "        s = min(s, t, np.sqrt(2.0))\n        t = t * f[i]\n",
    "a helper": "    for i in range(n):\n        s = damped(s, 0.5)\n        t, s = sorted_pair(s, t)\n"
    "        s = damped(x=np.float64(2), rate=s + f[i])\n        t = t - f[i]\n",
    "sums": "    for i in range(n):\n        s = np.sum(d * i) + np.dot(d, d)\n        t = d.sum()\n"
    "        s = s + f[i] * t\n",
    "a constant": "    for i in range(n):\n        s = np.float64(np.pi)\n        t = STEP\n        s = t * f[i]\n",
}
WEAK = {
    "itself": "    for i in range(n):\n        p = p * 0.5 + 1\n        f[i] += p * f[0]\n        s = f[i] * p\n",
    "math": "    for i in range(n):\n        p = math.exp(-p)\n        k = max(k, i) + 1\n        s = (f[i] + p) * k\n",
    "a helper": "    for i in range(n):\n        p, q = sorted_pair(p, damped(q, q))\n        s = f[i] * p / q\n",
    "converted": "    for i in range(n):\n        p = float(f[i]) * p\n        s = f[i] + p\n",
}
PRELUDE = """STEP = np.float64(0.25)

def damped(x, rate):
    for k in range(2):
        x = rate * x
    return x

def sorted_pair(a, b):
    if a < b:
        return a, b
    return b, a

"""
NAMES = {"f64": f64, "f32": f32, "np": np, "math": math}


@pytest.mark.parametrize("body", WEAK.values(), ids=WEAK)
def test_a_variable_of_python_stays_one_and_takes_the_type_of_what_it_meets(body):
    text = f"{PRELUDE}def f(n: int, f: f32['n']):\n    p, q, k = 0.3, 1.3, 0\n    s = f[0]\n{body}    return s\n"
    function = define(text, NAMES)
    compare(function, 4, np.array([1.1, 0.3, 1.7, 0.9], np.float32), tolerance=1e-6)
    (result,) = import_python(function).body.block.last_op.function_type.outputs
    assert str(result) == "f32"


@pytest.mark.parametrize("body", STAYING.values(), ids=STAYING)
def test_a_variable_of_64_bits_stays_one_where_32_are_added(body):
    head = "def f(n: int, f: f32['n'], d: f64['n']):\n    s = np.float64(0.3)\n    t = d[0]\n"
    function = define(f"{PRELUDE}{head}{body}    return s + t\n", NAMES)
    compare(function, 4, np.array([1.1, 0.3, 1.7, 0.9], np.float32), np.array([0.3, 0.7, 1.3, 0.1]))


NOT_STAYING = {
    "Python's at first": ("s = 0.0", "s += f[i]"),
    "Python's later": ("s = np.float64(0.0)", "s = 1.5\n        s = s + f[i]\n        s += f[i]"),
    "exchanged": ("s = np.float64(0.0)\n    t = 0.5", "t, s = s, t\n        s += f[i]"),
}


@pytest.mark.parametrize(("before", "body"), NOT_STAYING.values(), ids=NOT_STAYING)
def test_a_variable_that_may_be_of_python_is_not_combined_with_32_bits(before, body):
    text = f"def f(n: int, f: f32['n']):\n    {before}\n    for i in range(n):\n        {body}\n    return s\n"
    with pytest.raises(TapeflowError, match=r"may be Python's float or NumPy's|would become a numpy\.float32"):
        import_python(define(text, {"f32": f32, "np": np}))

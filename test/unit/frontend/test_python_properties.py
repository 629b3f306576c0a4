"""Random functions and expressions mean the same in Python and in the IR, bit for bit."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from python_oracle import compare, define, imported
from python_programs import Generator
from xdsl.utils.exceptions import InterpretationError

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python import f64, i64

NAMES = {"math": math, "np": np, "f64": f64, "i64": i64}
PROGRAMS = 120

RAISED_BY_PYTHON = (ZeroDivisionError, OverflowError, ValueError, IndexError)
EXPECTED_REFUSALS = ("division by zero", "arrays of lengths", "the negative subscript", "'**' of two ints")
"""What a random function may be refused for: zero divisors and slices are drawn without looking."""

A_COMPLEX_NUMBER = "complex"
"""What Python makes of a negative number to a fraction; kernels give NaN there, as NumPy does."""


def agrees(text: str, *arguments) -> str:
    """Check that both ways of running the text of a function agree; says why there is nothing to check."""
    function = define(text, NAMES)
    try:
        imported(function)
    except TapeflowError as refusal:
        assert str(refusal).split("error: ")[1].startswith(EXPECTED_REFUSALS), f"{refusal}\n{text}"
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with np.errstate(all="ignore"):
                expected = function(*(v.copy() if isinstance(v, np.ndarray) else v for v in arguments))
        except RAISED_BY_PYTHON:
            return "raised"
        except TypeError as error:
            assert "complex" in str(error), f"{error}\n{text}"
            return A_COMPLEX_NUMBER
        if isinstance(expected, complex):
            return A_COMPLEX_NUMBER
        try:
            compare(function, *arguments)
        except (AssertionError, InterpretationError) as difference:
            if "does not fit" in str(difference):
                # Python's integers have no end.
                return "too large"
            raise AssertionError(f"{difference}\n{text}") from difference
    return "agreed"


def arguments_for(seed: int):
    rng = np.random.default_rng(seed)
    n, m = (int(extent) for extent in rng.integers(1, 5, 2))
    x, y, matrix = rng.normal(size=n).round(2), rng.normal(size=n).round(2), rng.normal(size=(n, m)).round(2)
    a, p, q = int(rng.integers(-5, 6)), float(rng.normal()), float(rng.normal())
    return n, m, a, p, q, bool(rng.random() < 0.5), x, y, matrix, rng.integers(-n, n, n)


@pytest.mark.parametrize("first", range(0, PROGRAMS, 12))
def test_random_functions(first: int):
    outcomes = Counter(agrees(Generator(seed).function(), *arguments_for(seed)) for seed in range(first, first + 12))
    assert outcomes["agreed"] >= 6, outcomes


# Expressions, drawn so that the smallest that fails is found.


def leaves(*names: str):
    return st.sampled_from(names)


INTS = st.recursive(
    st.one_of(st.integers(-20, 20).map(str), leaves("a", "n")),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(("+", "-", "*", "//", "%", "&", "|", "^")), part),
        st.builds("{}({})".format, st.sampled_from(("abs", "-", "~")), part),
        st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), part, part),
        st.builds("({} ** {})".format, leaves("a", "3", "-2"), st.integers(0, 4)),
        st.builds("({} if {} < {} else {})".format, part, part, part, part),
    ),
    max_leaves=6,
)
FLOATS = st.recursive(
    st.one_of(
        st.floats(-4, 4).map(repr), leaves("p", "q", "x[0]", "x[a]", "0.0", "-0.0"), INTS.map("float({})".format)
    ),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from("+-*/"), part),
        st.builds("({} {} {})".format, part, st.sampled_from("+-*/"), INTS),
        st.builds("({} / {})".format, INTS, INTS),
        st.builds("({} ** {})".format, part, st.sampled_from((0, 1, 3, -2, 1.5))),
        st.builds(
            "float({}({}))".format, st.sampled_from(("abs", "-", "math.exp", "math.log", "np.sqrt", "round")), part
        ),
        st.builds("{}({}, {})".format, st.sampled_from(("min", "max", "math.atan2", "math.copysign")), part, part),
        st.builds("({} if {} else {})".format, part, part, part),
        st.builds("({} if {} <= {} != {} else {})".format, part, part, part, INTS, part),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.one_of(INTS, FLOATS), a=st.integers(-3, 2), p=st.floats(), q=st.floats(-2, 2))
def test_random_expressions(text: str, a: int, p: float, q: float):
    function = f"def f(n: int, a: int, p: float, q: float, x: f64[3]):\n    return {text}\n"
    agrees(function, 7, a, p, q, np.array([1.5, -0.25, 3.0]))

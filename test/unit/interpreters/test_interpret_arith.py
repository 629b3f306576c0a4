"""arith and math against NumPy's arithmetic, which is C's, and against the C library."""

import ctypes
import ctypes.util
import math
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_text import parse
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters import run

INTEGER_TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}
FLOAT_TYPES = {"f32": np.float32, "f64": np.float64}
FLOATS = [0.0, -0.0, 1.0, -1.5, 1e-310, 3.4e38, 1.7e308, math.inf, -math.inf, math.nan, math.pi, -2.0, 0.5]


@cache
def binary(op: str, operand: str, result: str | None = None):
    return parse(
        f"""func.func @f(%a: {operand}, %b: {operand}) -> {result or operand} {{
              %c = {op} %a, %b : {operand}
              func.return %c : {result or operand}
            }}"""
    )


@cache
def unary(op: str, operand: str, result: str | None = None):
    types = operand if result is None else f"{operand} to {result}"
    return parse(
        f"""func.func @f(%a: {operand}) -> {result or operand} {{
              %c = {op} %a : {types}
              func.return %c : {result or operand}
            }}"""
    )


def same(a: float, b: float) -> bool:
    """Equal to the bit, all NaNs alike."""
    return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))


def rounded(value: float, scalar: str) -> float:
    with np.errstate(over="ignore"):
        return float(FLOAT_TYPES[scalar](value))


def edge_integers(bits: int):
    half = 1 << (bits - 1)
    return st.one_of(st.integers(-half, half - 1), st.sampled_from([0, 1, -1, half - 1, -half, 2, -3]))


@pytest.mark.parametrize("scalar", FLOAT_TYPES)
@pytest.mark.parametrize(
    ("op", "function"),
    [("addf", np.add), ("subf", np.subtract), ("mulf", np.multiply), ("divf", np.divide),
     ("minimumf", np.minimum), ("maximumf", np.maximum), ("minnumf", np.fmin), ("maxnumf", np.fmax)],
)  # fmt: skip
def test_float_operations_follow_ieee_754(op, function, scalar):
    dtype = FLOAT_TYPES[scalar]
    module = binary(f"arith.{op}", scalar)
    for a in FLOATS:
        for b in FLOATS:
            a, b = rounded(a, scalar), rounded(b, scalar)
            if op in ("minimumf", "maximumf", "minnumf", "maxnumf") and a == b == 0:
                continue  # NumPy does not order the zeros
            with np.errstate(all="ignore"):
                expected = float(function(dtype(a), dtype(b)))
            (got,) = run(module, "f", (a, b))
            assert isinstance(got, float)
            assert same(got, expected), (op, a, b)


def test_minimum_and_maximum_order_the_zeros():
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, run(binary("arith.minimumf", "f64"), "f", (a, b))[0]) == -1
        assert math.copysign(1, run(binary("arith.maximumf", "f64"), "f", (a, b))[0]) == 1


@pytest.mark.parametrize("scalar", FLOAT_TYPES)
def test_negation_changes_the_sign_of_everything(scalar):
    for a in (0.0, -0.0, 2.5, -math.inf):
        assert same(run(unary("arith.negf", scalar), "f", (a,))[0], -a)


@pytest.mark.parametrize("scalar", INTEGER_TYPES)
@pytest.mark.parametrize(
    ("op", "function"),
    [("addi", np.add), ("subi", np.subtract), ("muli", np.multiply), ("andi", np.bitwise_and),
     ("ori", np.bitwise_or), ("xori", np.bitwise_xor), ("minsi", np.minimum), ("maxsi", np.maximum)],
)  # fmt: skip
def test_integers_wrap(op, function, scalar):
    dtype = INTEGER_TYPES[scalar]
    module = binary(f"arith.{op}", scalar)
    bits = np.iinfo(dtype).bits

    @settings(max_examples=25)
    @given(edge_integers(bits), edge_integers(bits))
    def check(a, b):
        with np.errstate(over="ignore"):
            assert run(module, "f", (a, b)) == (int(function(dtype(a), dtype(b))),)

    check()


def as_unsigned(value: int, bits: int) -> int:
    return value % (1 << bits)


def as_signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


@given(edge_integers(32), edge_integers(32))
def test_division_truncates_towards_zero_and_its_variants_do_not(a, b):
    def result(op):
        return run(binary(f"arith.{op}", "i32"), "f", (a, b))[0]

    if b == 0 or (b == -1 and a == -(1 << 31)):
        with pytest.raises(InterpretationError, match=r"arith\.divsi: (integer division by zero|the quotient)"):
            result("divsi")
        return
    assert result("divsi") == math.trunc(a / b)
    assert result("remsi") == int(math.fmod(a, b))
    assert result("floordivsi") == a // b
    assert result("ceildivsi") == -(-a // b)
    ua, ub = as_unsigned(a, 32), as_unsigned(b, 32)
    assert result("divui") == as_signed(ua // ub, 32)
    assert result("remui") == as_signed(ua % ub, 32)
    assert result("ceildivui") == as_signed(-(-ua // ub), 32)
    assert result("minui") == as_signed(min(ua, ub), 32)
    assert result("maxui") == as_signed(max(ua, ub), 32)


@given(edge_integers(32), st.integers(0, 31))
def test_shifts(a, n):
    assert run(binary("arith.shli", "i32"), "f", (a, n)) == (as_signed(a << n, 32),)
    assert run(binary("arith.shrsi", "i32"), "f", (a, n)) == (a >> n,)
    assert run(binary("arith.shrui", "i32"), "f", (a, n)) == (as_signed(as_unsigned(a, 32) >> n, 32),)


@pytest.mark.parametrize("amount", [32, -1])
def test_a_shift_by_the_width_is_refused(amount):
    with pytest.raises(InterpretationError, match="is not less than the width of i32"):
        run(binary("arith.shli", "i32"), "f", (1, amount))


@given(edge_integers(32), edge_integers(32))
def test_extended_operations_give_what_does_not_fit(a, b):
    def both(op, second):
        return run(
            parse(
                f"""func.func @f(%a: i32, %b: i32) -> (i32, {second}) {{
                      %l, %h = "arith.{op}"(%a, %b) : (i32, i32) -> (i32, {second})
                      func.return %l, %h : i32, {second}
                    }}"""
            ),
            "f",
            (a, b),
        )

    ua, ub = as_unsigned(a, 32), as_unsigned(b, 32)
    assert both("addui_extended", "i1") == (as_signed(ua + ub, 32), ua + ub >= 1 << 32)
    assert both("mulsi_extended", "i32") == (as_signed(a * b, 32), a * b >> 32)
    assert both("mului_extended", "i32") == (as_signed(ua * ub, 32), as_signed(ua * ub >> 32, 32))


def test_booleans_stay_booleans():
    for a in (False, True):
        for b in (False, True):
            for op, expected in (("andi", a and b), ("ori", a or b), ("xori", a != b), ("addi", a != b)):
                (got,) = run(binary(f"arith.{op}", "i1"), "f", (a, b))
                assert got is expected


PREDICATES = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@given(edge_integers(32), edge_integers(32))
def test_every_integer_predicate(a, b):
    for sign in ("", "s", "u"):
        for name, holds in PREDICATES.items():
            if (name in ("eq", "ne")) != (sign == ""):
                continue
            left, right = (as_unsigned(a, 32), as_unsigned(b, 32)) if sign == "u" else (a, b)
            assert run(binary(f"arith.cmpi {sign}{name},", "i32", "i1"), "f", (a, b)) == (holds(left, right),)


def test_true_is_minus_one_to_a_signed_comparison():
    assert run(binary("arith.cmpi slt,", "i1", "i1"), "f", (True, False)) == (True,)
    assert run(binary("arith.cmpi ult,", "i1", "i1"), "f", (True, False)) == (False,)


def test_every_float_predicate():
    for a in FLOATS:
        for b in FLOATS:
            unordered = math.isnan(a) or math.isnan(b)
            for name, holds in PREDICATES.items():
                for kind, on_nan in (("o", False), ("u", True)):
                    expected = on_nan if unordered else holds(a, b)
                    assert run(binary(f"arith.cmpf {kind}{name},", "f64", "i1"), "f", (a, b)) == (expected,)
            assert run(binary("arith.cmpf ord,", "f64", "i1"), "f", (a, b)) == (not unordered,)
            assert run(binary("arith.cmpf uno,", "f64", "i1"), "f", (a, b)) == (unordered,)
    assert run(binary("arith.cmpf true,", "f64", "i1"), "f", (1.0, math.nan)) == (True,)
    assert run(binary("arith.cmpf false,", "f64", "i1"), "f", (1.0, 1.0)) == (False,)


@given(edge_integers(64))
def test_integer_conversions(a):
    assert run(unary("arith.trunci", "i64", "i32"), "f", (a,)) == (as_signed(a, 32),)
    assert run(unary("arith.trunci", "i64", "i1"), "f", (a,))[0] is bool(a & 1)
    assert run(unary("arith.index_cast", "index", "i32"), "f", (a,)) == (as_signed(a, 32),)
    assert run(unary("arith.index_cast", "i64", "index"), "f", (a,)) == (a,)
    assert run(unary("arith.sitofp", "i64", "f64"), "f", (a,)) == (float(np.float64(np.int64(a))),)
    # rounded once: through a double, some of these would be rounded twice
    assert run(unary("arith.sitofp", "i64", "f32"), "f", (a,)) == (float(np.float32(np.int64(a))),)
    assert run(unary("arith.uitofp", "i64", "f64"), "f", (a,)) == (float(as_unsigned(a, 64)),)


@given(edge_integers(8))
def test_extensions(a):
    assert run(unary("arith.extsi", "i8", "i32"), "f", (a,)) == (a,)
    assert run(unary("arith.extui", "i8", "i32"), "f", (a,)) == (as_unsigned(a, 8),)


def test_true_extends_to_minus_one_or_one():
    assert run(unary("arith.extsi", "i1", "i32"), "f", (True,)) == (-1,)
    assert run(unary("arith.extui", "i1", "i32"), "f", (True,)) == (1,)
    assert run(unary("arith.uitofp", "i1", "f64"), "f", (True,)) == (1.0,)
    assert run(unary("arith.sitofp", "i1", "f64"), "f", (True,)) == (-1.0,)


def test_float_conversions():
    assert run(unary("arith.truncf", "f64", "f32"), "f", (0.1,)) == (float(np.float32(0.1)),)
    assert run(unary("arith.truncf", "f64", "f32"), "f", (1e300,)) == (math.inf,)
    assert run(unary("arith.extf", "f32", "f64"), "f", (0.5,)) == (0.5,)
    assert run(unary("arith.fptosi", "f64", "i32"), "f", (-2.9,)) == (-2,)
    assert run(unary("arith.fptoui", "f64", "i32"), "f", (4e9,)) == (as_signed(4_000_000_000, 32),)
    assert run(unary("arith.bitcast", "f64", "i64"), "f", (-0.0,)) == (-(1 << 63),)
    assert run(unary("arith.bitcast", "i32", "f32"), "f", (0x3FC00000,)) == (1.5,)


@pytest.mark.parametrize("value", [math.nan, math.inf, 2147483648.0, -2147483649.0])
def test_a_float_out_of_range_of_an_integer_is_refused(value):
    with pytest.raises(InterpretationError, match="does not fit i32"):
        run(unary("arith.fptosi", "f64", "i32"), "f", (value,))


def test_constants_and_select():
    module = parse(
        """func.func @f(%c: i1) -> (i32, i1, index, f32, f64) {
             %i = arith.constant -7 : i32
             %t = arith.constant true
             %n = arith.constant 9 : index
             %x = arith.constant 0.1 : f32
             %a = arith.constant 1.0 : f64
             %b = arith.constant 0x7FF0000000000000 : f64
             %s = arith.select %c, %a, %b : f64
             func.return %i, %t, %n, %x, %s : i32, i1, index, f32, f64
           }"""
    )
    assert run(module, "f", (True,)) == (-7, True, 9, float(np.float32(0.1)), 1.0)
    assert run(module, "f", (False,))[4] == math.inf


LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
UNARY_MATH = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cbrt": "cbrt", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "floor": "floor", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2",
    "round": "round", "roundeven": "rint", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan",
    "tanh": "tanh", "trunc": "trunc", "absf": "fabs",
}  # fmt: skip
BINARY_MATH = {"atan2": "atan2", "copysign": "copysign", "powf": "pow"}


def from_libm(name: str, scalar: str, *args: float) -> float:
    function = LIBM[name + ("f" if scalar == "f32" else "")]
    c_type = ctypes.c_float if scalar == "f32" else ctypes.c_double
    function.argtypes, function.restype = [c_type] * len(args), c_type
    return function(*args)


@pytest.mark.parametrize("scalar", FLOAT_TYPES)
@pytest.mark.parametrize("op", UNARY_MATH)
def test_math_is_the_c_library_and_raises_nothing(op, scalar):
    for a in [*FLOATS, 710.0, -710.0, 2.5, 3.5, -0.5]:
        a = rounded(a, scalar)
        assert same(run(unary(f"math.{op}", scalar), "f", (a,))[0], from_libm(UNARY_MATH[op], scalar, a)), a


@pytest.mark.parametrize("scalar", FLOAT_TYPES)
@pytest.mark.parametrize("op", BINARY_MATH)
def test_binary_math_is_the_c_library(op, scalar):
    for a in FLOATS:
        for b in FLOATS:
            a, b = rounded(a, scalar), rounded(b, scalar)
            assert same(run(binary(f"math.{op}", scalar), "f", (a, b))[0], from_libm(BINARY_MATH[op], scalar, a, b))


def test_fma_rounds_once_and_integer_powers_wrap():
    fma = parse(
        """func.func @f(%a: f64, %b: f64, %c: f64) -> f64 {
             %r = math.fma %a, %b, %c : f64
             func.return %r : f64
           }"""
    )
    tiny = 2.0**-52
    assert run(fma, "f", (1 + tiny, 1 + tiny, -(1 + 2 * tiny))) == (tiny * tiny,)
    assert run(binary("math.ipowi", "i32"), "f", (3, 21)) == (as_signed(3**21, 32),)
    assert run(binary("math.ipowi", "i32"), "f", (2, -1)) == (0,)
    assert run(binary("math.ipowi", "i32"), "f", (-1, -3)) == (-1,)
    powi = parse(
        """func.func @f(%a: f64, %b: i32) -> f64 {
             %r = math.fpowi %a, %b : f64, i32
             func.return %r : f64
           }"""
    )
    assert run(powi, "f", (2.0, -2)) == (0.25,)


@given(edge_integers(32))
def test_bit_counts(a):
    bits = as_unsigned(a, 32)
    assert run(unary("math.ctpop", "i32"), "f", (a,)) == (bin(bits).count("1"),)
    assert run(unary("math.ctlz", "i32"), "f", (a,)) == (len(f"{bits:032b}") - len(f"{bits:032b}".lstrip("0")),)
    assert run(unary("math.cttz", "i32"), "f", (a,)) == (len(f"{bits:032b}") - len(f"{bits:032b}".rstrip("0")),)
    assert run(unary("math.absi", "i32"), "f", (a,)) == (as_signed(abs(a), 32),)


def test_rsqrt_at_zero_is_an_infinity():
    assert run(unary("math.rsqrt", "f64"), "f", (0.0,)) == (math.inf,)
    assert run(unary("math.rsqrt", "f64"), "f", (4.0,)) == (0.5,)


def test_other_float_types_are_refused():
    with pytest.raises(InterpretationError, match="f16 is not a float type that the interpreter has"):
        run(binary("arith.addf", "f16"), "f", (1.0, 2.0))

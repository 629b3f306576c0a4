"""Every operation of MLIR's `arith` and `math`, by one table: what it computes, and that float ones have derivatives.

The names are those of LLVM 19 and 22. Each row is a line of MLIR on the floats %x, %y, %z, the integers %i and %j (i32)
and the condition %b, and the same in Python. Integers are inactive: rows on them only scale a float.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect

import tapeflow
from tapeflow.dialects import arith_more, math_more
from tapeflow.errors import TapeflowError

Row = tuple[str, Callable]


def float32(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def unsigned(number: int) -> int:
    return number & 0xFFFFFFFF


def signed(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def truncated(i: int, j: int) -> int:
    return math.trunc(i / j)


def unary(name: str) -> str:
    return f"%r = math.{name} %x : f64"


FLOATS: dict[str, Row] = {
    "arith.addf": ("%r = arith.addf %x, %y : f64", lambda x, y, z: x + y),
    "arith.subf": ("%r = arith.subf %x, %y : f64", lambda x, y, z: x - y),
    "arith.mulf": ("%r = arith.mulf %x, %y : f64", lambda x, y, z: x * y),
    "arith.divf": ("%r = arith.divf %x, %y : f64", lambda x, y, z: x / y),
    "arith.remf": ("%r = arith.remf %x, %y : f64", lambda x, y, z: x - y * int(x / y)),
    "arith.negf": ("%r = arith.negf %x : f64", lambda x, y, z: -x),
    "arith.maximumf": ("%r = arith.maximumf %x, %y : f64", lambda x, y, z: max(x, y)),
    "arith.minimumf": ("%r = arith.minimumf %x, %y : f64", lambda x, y, z: min(x, y)),
    "arith.maxnumf": ("%r = arith.maxnumf %x, %y : f64", lambda x, y, z: max(x, y)),
    "arith.minnumf": ("%r = arith.minnumf %x, %y : f64", lambda x, y, z: min(x, y)),
    "arith.select": ("%r = arith.select %b, %x, %y : f64", lambda x, y, z: x if x < y else y),
    "arith.cmpf": (
        "%c = arith.cmpf ult, %x, %z : f64\n%r = arith.select %c, %y, %z : f64",
        lambda x, y, z: y if x < z else z,
    ),
    "arith.extf": ("%t = arith.truncf %x : f64 to f32\n%r = arith.extf %t : f32 to f64", lambda x, y, z: x),
    "arith.truncf": ("%t = arith.truncf %y : f64 to f32\n%r = arith.extf %t : f32 to f64", lambda x, y, z: y),
    "arith.constant": ("%k = arith.constant 2.5 : f64\n%r = arith.mulf %k, %x : f64", lambda x, y, z: 2.5 * x),
    "math.fma": ("%r = math.fma %x, %y, %z : f64", lambda x, y, z: x * y + z),
    "math.absf": (unary("absf"), lambda x, y, z: abs(x)),
    "math.acos": (unary("acos"), lambda x, y, z: mpmath.acos(x)),
    "math.acosh": ("%q = math.exp %x : f64\n%r = math.acosh %q : f64", lambda x, y, z: mpmath.acosh(mpmath.exp(x))),
    "math.asin": (unary("asin"), lambda x, y, z: mpmath.asin(x)),
    "math.asinh": (unary("asinh"), lambda x, y, z: mpmath.asinh(x)),
    "math.atan": (unary("atan"), lambda x, y, z: mpmath.atan(x)),
    "math.atan2": ("%r = math.atan2 %x, %y : f64", lambda x, y, z: mpmath.atan2(x, y)),
    "math.atanh": (unary("atanh"), lambda x, y, z: mpmath.atanh(x)),
    "math.cbrt": (unary("cbrt"), lambda x, y, z: mpmath.cbrt(x)),
    "math.ceil": (unary("ceil"), lambda x, y, z: mpmath.ceil(x)),
    "math.clampf": ("%r = math.clampf %z to [%x, %y] : f64", lambda x, y, z: min(max(z, x), y)),
    "math.copysign": ("%r = math.copysign %x, %z : f64", lambda x, y, z: -abs(x)),
    "math.cos": (unary("cos"), lambda x, y, z: mpmath.cos(x)),
    "math.cosh": (unary("cosh"), lambda x, y, z: mpmath.cosh(x)),
    "math.erf": (unary("erf"), lambda x, y, z: mpmath.erf(x)),
    "math.erfc": (unary("erfc"), lambda x, y, z: mpmath.erfc(x)),
    "math.exp": (unary("exp"), lambda x, y, z: mpmath.exp(x)),
    "math.exp2": (unary("exp2"), lambda x, y, z: mpmath.mpf(2) ** x),
    "math.expm1": (unary("expm1"), lambda x, y, z: mpmath.expm1(x)),
    "math.floor": (unary("floor"), lambda x, y, z: mpmath.floor(x)),
    "math.fpowi": ("%r = math.fpowi %x, %i : f64, i32", lambda x, y, z: x**7),
    "math.log": (unary("log"), lambda x, y, z: mpmath.log(x)),
    "math.log10": (unary("log10"), lambda x, y, z: mpmath.log10(x)),
    "math.log1p": (unary("log1p"), lambda x, y, z: mpmath.log1p(x)),
    "math.log2": (unary("log2"), lambda x, y, z: mpmath.log(x, 2)),
    "math.powf": ("%r = math.powf %x, %y : f64", lambda x, y, z: x**y),
    "math.round": (unary("round"), lambda x, y, z: mpmath.floor(x + 0.5)),
    "math.roundeven": (unary("roundeven"), lambda x, y, z: mpmath.nint(x)),
    "math.rsqrt": (unary("rsqrt"), lambda x, y, z: 1 / mpmath.sqrt(x)),
    "math.sin": (unary("sin"), lambda x, y, z: mpmath.sin(x)),
    "math.sincos": (
        "%p, %q = math.sincos %x : f64\n%r = arith.divf %p, %q : f64",
        lambda x, y, z: mpmath.sin(x) / mpmath.cos(x),
    ),
    "math.sinh": (unary("sinh"), lambda x, y, z: mpmath.sinh(x)),
    "math.sqrt": (unary("sqrt"), lambda x, y, z: mpmath.sqrt(x)),
    "math.tan": (unary("tan"), lambda x, y, z: mpmath.tan(x)),
    "math.tanh": (unary("tanh"), lambda x, y, z: mpmath.tanh(x)),
    "math.trunc": (unary("trunc"), lambda x, y, z: mpmath.floor(x)),
    **{
        f"math.{name}": (
            f"%c = math.{name} %x : f64\n%r = arith.select %c, %y, %z : f64",
            (lambda x, y, z: y) if name in ("isfinite", "isnormal") else (lambda x, y, z: z),
        )
        for name in ("isfinite", "isinf", "isnan", "isnormal")
    },
}
"""Of floats: the value and the gradient at x, y, z = 0.4, 1.75, -0.6."""


def binary(name: str) -> str:
    return f"%k = arith.{name} %i, %j : i32"


INTEGERS: dict[str, Row] = {
    "arith.addi": (binary("addi"), lambda i, j: i + j),
    "arith.addui_extended": ("%k, %o = arith.addui_extended %i, %j : i32, i1", lambda i, j: i + j),
    "arith.andi": (binary("andi"), lambda i, j: i & j),
    "arith.bitcast": ("%k = arith.bitcast %i : i32 to i32", lambda i, j: i),
    "arith.ceildivsi": (binary("ceildivsi"), lambda i, j: -(-i // j)),
    "arith.ceildivui": (binary("ceildivui"), lambda i, j: signed(-(-unsigned(i) // unsigned(j)))),
    "arith.cmpi": ("%c = arith.cmpi slt, %i, %j : i32\n%k = arith.extui %c : i1 to i32", lambda i, j: int(i < j)),
    "arith.divsi": (binary("divsi"), truncated),
    "arith.divui": (binary("divui"), lambda i, j: signed(unsigned(i) // unsigned(j))),
    "arith.extsi": ("%l = arith.extsi %i : i32 to i64\n%k = arith.trunci %l : i64 to i32", lambda i, j: i),
    "arith.extui": ("%l = arith.extui %i : i32 to i64\n%k = arith.trunci %l : i64 to i32", lambda i, j: i),
    "arith.floordivsi": (binary("floordivsi"), lambda i, j: i // j),
    "arith.fptosi": ("%k = arith.fptosi %x : f64 to i32", lambda i, j: 0),
    "arith.fptoui": ("%k = arith.fptoui %y : f64 to i32", lambda i, j: 1),
    "arith.index_cast": (
        "%l = arith.index_cast %i : i32 to index\n%k = arith.index_cast %l : index to i32",
        lambda i, j: i,
    ),
    "arith.index_castui": (
        "%l = arith.index_castui %j : i32 to index\n%k = arith.index_castui %l : index to i32",
        lambda i, j: j,
    ),
    "arith.maxsi": (binary("maxsi"), max),
    "arith.maxui": (binary("maxui"), lambda i, j: signed(max(unsigned(i), unsigned(j)))),
    "arith.minsi": (binary("minsi"), min),
    "arith.minui": (binary("minui"), lambda i, j: signed(min(unsigned(i), unsigned(j)))),
    "arith.muli": (binary("muli"), lambda i, j: i * j),
    "arith.mulsi_extended": ("%l, %k = arith.mulsi_extended %i, %j : i32", lambda i, j: i * j >> 32),
    "arith.mului_extended": (
        "%l, %k = arith.mului_extended %i, %j : i32",
        lambda i, j: unsigned(i) * unsigned(j) >> 32,
    ),
    "arith.ori": (binary("ori"), lambda i, j: i | j),
    "arith.remsi": (binary("remsi"), lambda i, j: i - j * truncated(i, j)),
    "arith.remui": (binary("remui"), lambda i, j: signed(unsigned(i) % unsigned(j))),
    "arith.shli": ("%t = arith.constant 3 : i32\n%k = arith.shli %i, %t : i32", lambda i, j: i << 3),
    "arith.shrsi": ("%t = arith.constant 1 : i32\n%k = arith.shrsi %j, %t : i32", lambda i, j: j >> 1),
    "arith.shrui": (
        "%t = arith.constant 1 : i32\n%k = arith.shrui %j, %t : i32",
        lambda i, j: signed(unsigned(j) >> 1),
    ),
    "arith.sitofp": ("%k = arith.subi %i, %j : i32", lambda i, j: i - j),
    "arith.uitofp": (
        "%l = arith.uitofp %i : i32 to f64\n%k = arith.fptosi %l : f64 to i32",
        lambda i, j: i,
    ),
    "arith.subi": (binary("subi"), lambda i, j: i - j),
    "arith.trunci": ("%l = arith.trunci %i : i32 to i8\n%k = arith.extsi %l : i8 to i32", lambda i, j: i),
    "arith.xori": (binary("xori"), lambda i, j: i ^ j),
    "math.absi": ("%k = math.absi %j : i32", lambda i, j: abs(j)),
    "math.ctlz": ("%k = math.ctlz %i : i32", lambda i, j: 32 - unsigned(i).bit_length()),
    "math.ctpop": ("%k = math.ctpop %i : i32", lambda i, j: unsigned(i).bit_count()),
    "math.cttz": ("%k = math.cttz %i : i32", lambda i, j: (i & -i).bit_length() - 1),
    "math.ipowi": ("%t = arith.constant 3 : i32\n%k = math.ipowi %j, %t : i32", lambda i, j: j**3),
}
"""Of integers: at i, j = 7, -3 the number that %x is multiplied by."""

POINT = (0.4, 1.75, -0.6)
NUMBERS = (7, -3)

EXPECTED_FLOAT_NAMES = """
    arith: addf cmpf constant divf extf maximumf maxnumf minimumf minnumf mulf negf remf select subf truncf
    math: absf acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh erf erfc exp exp2 expm1
    math: floor fma fpowi isfinite isinf isnan isnormal log log10 log1p log2 powf round roundeven rsqrt sin sincos
    math: sinh sqrt tan tanh trunc
"""
EXPECTED_INTEGER_NAMES = """
    arith: addi addui_extended andi bitcast ceildivsi ceildivui cmpi divsi divui extsi extui floordivsi fptosi fptoui
    arith: index_cast index_castui maxsi maxui minsi minui muli mulsi_extended mului_extended ori remsi remui shli shrsi
    arith: shrui sitofp subi trunci uitofp xori
    math: absi ctlz ctpop cttz ipowi
"""


def names(text: str) -> set[str]:
    lines = (line.strip().partition(": ") for line in text.strip().splitlines())
    return {f"{dialect}.{name}" for dialect, _, listed in lines for name in listed.split()}


def test_every_operation_is_in_a_table():
    assert set(FLOATS) == names(EXPECTED_FLOAT_NAMES)
    assert set(INTEGERS) == names(EXPECTED_INTEGER_NAMES)
    here = {op.name for op in (*arith.Arith.operations, *math_dialect.Math.operations)}
    assert here <= {*FLOATS, *INTEGERS}
    assert {op.name for op in (*arith_more.OPERATIONS, *math_more.OPERATIONS)} <= {*FLOATS, *INTEGERS}


def source() -> str:
    """A function whose branch of a number is a row of the tables."""
    lines = [
        "func.func @f(%which: index, %x: f64, %y: f64, %z: f64, %i: i32, %j: i32) -> f64 {",
        "%b = arith.cmpf olt, %x, %y : f64",
        "%result = scf.index_switch %which -> f64",
    ]
    for number, (text, _) in enumerate((*FLOATS.values(), *INTEGERS.values())):
        lines += [f"case {number} {{", text]
        if number >= len(FLOATS):
            lines += ["%s = arith.sitofp %k : i32 to f64", "%r = arith.mulf %s, %x : f64"]
        lines += ["scf.yield %r : f64", "}"]
    return "\n".join([*lines, "default {", "scf.yield %x : f64", "}", "return %result : f64", "}"])


@pytest.fixture(scope="module")
def gradient(tmp_path_factory: pytest.TempPathFactory) -> tapeflow.Gradient:
    path: Path = tmp_path_factory.mktemp("ops") / "f.mlir"
    path.write_text(source())
    return tapeflow.gradient(tapeflow.load(path), wrt=["x", "y", "z"])


@pytest.mark.parametrize("name", FLOATS)
def test_float_operations(gradient, name: str):
    number, function = list(FLOATS).index(name), FLOATS[name][1]
    tolerance = 1e-6 if name in ("arith.extf", "arith.truncf") else 1e-14
    with mpmath.workdps(60):
        exact = [mpmath.mpf(value) for value in POINT]
        result = gradient(number, *POINT, *NUMBERS)
        assert result.value == pytest.approx(float(function(*exact)), rel=tolerance)
        for position, argument in enumerate("xyz"):
            step = mpmath.mpf("1e-20")
            sides = [[*exact], [*exact]]
            sides[0][position] += step
            sides[1][position] -= step
            wanted = float((function(*sides[0]) - function(*sides[1])) / (2 * step))
            assert result.gradients[argument] == pytest.approx(wanted, rel=1e-14, abs=1e-15), argument


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_operations_are_inactive(gradient, name: str):
    number = len(FLOATS) + list(INTEGERS).index(name)
    for i, j in (NUMBERS, (1, 5), (123456, -77)):
        if name == "arith.trunci" and not -128 <= i < 128:
            continue
        result = gradient(number, *POINT, i, j)
        expected = INTEGERS[name][1](i, j)
        assert result.value == pytest.approx(expected * POINT[0], rel=1e-15), (i, j)
        assert result.gradients == {"x": float(expected), "y": 0.0, "z": 0.0}


REFUSED = {
    "bits of an active value": ("%r = arith.bitcast %x : f64 to i64", "the bits of an active value are taken apart"),
    "i64 halves": ("%r, %s = arith.mului_extended %n, %n : i64", "C has no integers of twice its width"),
    "f16": ("%r = arith.truncf %x : f64 to f16", "'arith.truncf' computes f16, of which C has no numbers"),
    "bf16": ("%r = arith.constant 1.0 : bf16", "'arith.constant' computes bf16, of which C has no numbers"),
    "f128": ("%r = arith.extf %x : f64 to f128", "'arith.extf' computes f128, of which C has no numbers"),
    "vector": ("%r = arith.constant dense<1.0> : vector<4xf64>", "'arith.constant' computes vector<4xf64>, a vector"),
    "vector dialect": (
        "%r = vector.broadcast %x : f64 to vector<4xf64>",
        "'vector.broadcast' cannot be differentiated",
    ),
    "tensor": ("%r = tensor.empty() : tensor<4xf64>", "'tensor.empty' cannot be differentiated yet"),
    "tensor constant": ("%r = arith.constant dense<1.0> : tensor<4xf64>", "a value that is no array in memory"),
    "f16 array": ("%r = memref.alloca() : memref<4xf16>", "'memref.alloca' computes f16"),
}


@pytest.mark.parametrize(("line", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals_have_place_and_hint(tmp_path: Path, line: str, message: str):
    path = tmp_path / "f.mlir"
    used = (
        "%u = arith.sitofp %r : i64 to f64\n  %v = arith.mulf %u, %x : f64"
        if "bitcast" in line
        else "%v = arith.negf %x : f64"
    )
    path.write_text(f"func.func @f(%x: f64, %n: i64) -> f64 {{\n  {line}\n  {used}\n  return %v : f64\n}}\n")
    with pytest.raises(TapeflowError) as caught:
        tapeflow.gradient(tapeflow.load(path), wrt=["x"])
    assert message in str(caught.value)
    assert caught.value.position == f"{path}:2:3"
    assert caught.value.hint


@pytest.mark.parametrize(("type_", "what"), [("f16", "f16"), ("vector<2xf64>", "a vector"), ("memref<?xbf16>", "bf16")])
def test_arguments_of_other_types_are_refused(tmp_path: Path, type_: str, what: str):
    path = tmp_path / "f.mlir"
    path.write_text(f"func.func @f(%x: f64, %h: {type_}) -> f64 {{\n  return %x : f64\n}}\n")
    with pytest.raises(TapeflowError, match=what) as caught:
        tapeflow.gradient(tapeflow.load(path), wrt=["x"])
    assert caught.value.position == f"{path}:1:1"
    assert caught.value.hint


def test_a_function_of_the_name_of_the_librarys(tmp_path: Path):
    path = tmp_path / "f.mlir"
    own = "func.func private @fmod(%a: f64, %b: f64) -> f64 {\n  %r = arith.mulf %a, %b : f64\n  return %r : f64\n}\n"
    calls = (
        own
        + "func.func @f(%x: f64) -> f64 {\n  %r = func.call @fmod(%x, %x) : (f64, f64) -> f64\n  return %r : f64\n}\n"
    )
    path.write_text(calls)
    result = tapeflow.gradient(tapeflow.load(path), wrt=["x"])(3.0)
    assert (result.value, result.gradients["x"]) == (9.0, 6.0)
    path.write_text(calls.replace("func.call @fmod(%x, %x) : (f64, f64) -> f64", "arith.remf %x, %x : f64"))
    with pytest.raises(
        TapeflowError, match=r"'arith.remf' is 'fmod' of C's library, but this module defines"
    ) as caught:
        tapeflow.gradient(tapeflow.load(path), wrt=["x"])
    assert caught.value.position == f"{path}:6:3"


MIXED = """
func.func @f(%n: index, %x: memref<?xf32>, %w: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf32>
    %d = arith.extf %v : f32 to f64
    %e = arith.mulf %d, %w : f64
    %t = arith.truncf %e : f64 to f32
    %q = arith.mulf %t, %t : f32
    %u = arith.extf %q : f32 to f64
    %b = arith.addf %a, %u : f64
    scf.yield %b : f64
  }
  return %s : f64
}
"""


def test_mixed_precision(tmp_path: Path):
    path = tmp_path / "f.mlir"
    path.write_text(MIXED)
    gradient = tapeflow.gradient(tapeflow.load(path), wrt=["x", "w"])
    x = np.random.default_rng(0).uniform(0.5, 1.5, 1000).astype(np.float32)
    result = gradient(1000, x, 0.75)
    rounded = (x.astype(np.float64) * 0.75).astype(np.float32)
    # Values are those of the types: each product in f32, the sum in f64.
    assert result.value == float(np.cumsum((rounded * rounded).astype(np.float64))[-1])
    wide = x.astype(np.float64)
    assert result.gradients["x"].dtype == np.float32
    # One rounding to f32 of each adjoint, and those of its operands: a few units of 2^-24.
    np.testing.assert_allclose(result.gradients["x"], 2 * wide * 0.75**2, rtol=4 * 2.0**-24)
    # The adjoint of w is summed in f64 from terms that are right to f32.
    assert result.gradients["w"] == pytest.approx(float(np.sum(2 * 0.75 * wide**2)), rel=2 * 2.0**-24)

"""Every operation of `complex`: values and derivatives against mpmath, by both parts, on a grid of points.

The derivative of `Re(conj(s) w(z))` by z = x + iy is dL/dx + i dL/dy. mpmath has the two by central differences with a
step of 1e-30 in 90 digits, which needs no formula of ours.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
from xdsl.dialects import complex as complex_dialect

import tapeflow


@pytest.fixture(autouse=True)
def ninety_digits():
    with mpmath.workdps(90):
        yield


def mp_power(z, w):
    return mpmath.exp(w * mpmath.log(z))


def mp_sign(z):
    return z / abs(z)


def mp_arctangent(z, w):
    return -1j * mpmath.log((w + 1j * z) / mpmath.sqrt(w * w + z * z))


# The operation, its function, and whether it is real.
UNARY: dict[str, tuple[Callable, bool]] = {
    "abs": (abs, True),
    "angle": (mpmath.arg, True),
    "conj": (mpmath.conj, False),
    "cos": (mpmath.cos, False),
    "exp": (mpmath.exp, False),
    "expm1": (lambda z: mpmath.exp(z) - 1, False),
    "im": (mpmath.im, True),
    "log": (mpmath.log, False),
    "log1p": (lambda z: mpmath.log(1 + z), False),
    "neg": (lambda z: -z, False),
    "re": (mpmath.re, True),
    "rsqrt": (lambda z: 1 / mpmath.sqrt(z), False),
    "sign": (mp_sign, False),
    "sin": (mpmath.sin, False),
    "sqrt": (mpmath.sqrt, False),
    "tan": (mpmath.tan, False),
    "tanh": (mpmath.tanh, False),
}
BINARY: dict[str, Callable] = {
    "add": lambda z, w: z + w,
    "atan2": mp_arctangent,
    "div": lambda z, w: z / w,
    "mul": lambda z, w: z * w,
    "pow": mp_power,
    "sub": lambda z, w: z - w,
}
OTHERS = {"bitcast", "constant", "create", "eq", "neq"}
"""Refused, or shown in the programs of `test_complex_programs`."""


NAMES = [*UNARY, *BINARY]


def source(part: str) -> str:
    """A function that returns the result of the operation of a number: only that one is run, and its mirror."""
    type_ = f"complex<{part}>"
    lines = [
        f"func.func @f(%which: index, %z: {type_}, %w: {type_}) -> {type_} {{",
        f"  %zero = arith.constant 0.0 : {part}",
        f"  %result = scf.index_switch %which -> {type_}",
    ]
    for place, name in enumerate(NAMES):
        lines.append(f"  case {place} {{")
        lines.append(f"    %r{place} = complex.{name} {'%z, %w' if name in BINARY else '%z'} : {type_}")
        result = f"%r{place}"
        if name in UNARY and UNARY[name][1]:
            result = f"%c{place}"
            lines.append(f"    {result} = complex.create %r{place}, %zero : {type_}")
        lines += [f"    scf.yield {result} : {type_}", "  }"]
    return "\n".join([*lines, "  default {", f"    scf.yield %z : {type_}", "  }", f"  return %result : {type_}", "}"])


@pytest.fixture(scope="module")
def gradients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tapeflow.Gradient]:
    made = {}
    for part in ("f64", "f32"):
        path: Path = tmp_path_factory.mktemp("complex") / f"{part}.mlir"
        path.write_text(source(part))
        made[part] = tapeflow.gradient(tapeflow.load(path), wrt=["z", "w"])
    return made


STEP = mpmath.mpf("1e-30")


def by_parts(function: Callable, z: complex, seed: complex) -> complex:
    """dL/dx + i dL/dy of L = Re(conj(seed) function(z))."""

    def real(number) -> mpmath.mpf:
        return mpmath.re(mpmath.conj(mpmath.mpc(seed)) * number)

    at = mpmath.mpc(z)
    x, y = (
        (real(function(at + way * STEP)) - real(function(at - way * STEP))) / (2 * STEP)
        for way in (1, mpmath.mpc(0, 1))
    )
    return complex(x, y)


def expected(name: str, z: complex, w: complex, seed: complex) -> tuple[complex, complex, complex]:
    """The value, and the gradients by z and w."""
    if name in UNARY:
        function = UNARY[name][0]
        return complex(function(mpmath.mpc(z))), by_parts(function, z, seed), 0j
    both = BINARY[name]
    value = complex(both(mpmath.mpc(z), mpmath.mpc(w)))
    return (
        value,
        by_parts(lambda at: both(at, mpmath.mpc(w)), z, seed),
        by_parts(lambda at: both(mpmath.mpc(z), at), w, seed),
    )


ORDINARY = [
    (0.7 + 0.4j, 1.1 - 0.3j),
    (-0.6 + 1.3j, -0.2 + 0.9j),
    (-1.4 - 0.8j, 0.5 + 0.5j),
    (0.3 - 0.9j, -1.2 - 0.1j),
    (2.5 + 0.0j, 0.4 + 0.0j),
    (0.01 + 0.002j, 2.0 + 1.0j),
]


def close(found: complex, wanted: complex, tolerance: float) -> bool:
    return abs(found - wanted) <= tolerance * max(abs(wanted), 1e-300)


@pytest.mark.parametrize("part", ["f64", "f32"])
@pytest.mark.parametrize("point", ORDINARY, ids=str)
def test_values_and_gradients(gradients, part: str, point: tuple[complex, complex]):
    # f32: the numbers of the oracle are those that f32 has.
    tolerance = {"f64": 3e-14, "f32": 2e-5}[part]
    dtype = {"f64": np.complex128, "f32": np.complex64}[part]
    z, w = (complex(dtype(number)) for number in point)
    wrong = []
    for place, name in enumerate(NAMES):
        for seed in (1.0, 1j, 0.6 - 0.8j):
            if name in UNARY and UNARY[name][1] and seed == 1j:
                continue
            seed = complex(dtype(seed))
            result = gradients[part](place, z, w, seeds={"return": seed})
            value, by_z, by_w = expected(name, z, w, seed)
            found = (result.value, result.gradients["z"], result.gradients["w"])
            # Where |z| is near 1 its logarithm is right to a unit of 1.
            floor = tolerance if name in ("log", "atan2") else 0.0
            pairs = zip(found, (value, by_z, by_w), strict=True)
            if not all(close(a, b, tolerance) or abs(a - b) <= floor for a, b in pairs):
                wrong.append((name, seed, found, (value, by_z, by_w)))
    assert not wrong


def test_every_operation_is_here():
    known = {op.name.removeprefix("complex.") for op in complex_dialect.Complex.operations}
    assert known == {*UNARY, *BINARY, *OTHERS}


# Where naive formulas overflow or lose all digits: the operation, the point, the relative tolerance.
EXTREME = [
    ("abs", 3e200 + 4e200j, 0j, 1e-15),
    ("abs", 3e-200 + 4e-200j, 0j, 1e-15),
    ("div", 1e200 + 2e200j, 3e200 - 1e200j, 1e-15),
    ("div", 1e-200 + 2e-200j, 3e-200 - 1e-200j, 1e-15),
    ("sqrt", 1e300 + 1e300j, 0j, 1e-15),
    ("sqrt", -1e-300 + 1e-310j, 0j, 1e-13),
    ("tanh", 500 + 1j, 0j, 1e-15),
    ("tan", 1 - 500j, 0j, 1e-15),
    ("log1p", 1e-12 - 3e-13j, 0j, 1e-15),
    ("expm1", 1e-12 - 3e-13j, 0j, 1e-15),
    ("sign", 3e200 - 4e200j, 0j, 1e-15),
    ("log", 1e200 + 1e200j, 0j, 1e-15),
]


@pytest.mark.parametrize(("name", "z", "w", "tolerance"), EXTREME, ids=[f"{row[0]} {row[1]}" for row in EXTREME])
def test_careful_formulas(gradients, name: str, z: complex, w: complex, tolerance: float):
    result = gradients["f64"](NAMES.index(name), z, w, seeds={"return": 1 - 0.5j})
    function = UNARY[name][0] if name in UNARY else BINARY[name]
    arguments = (mpmath.mpc(z),) if name in UNARY else (mpmath.mpc(z), mpmath.mpc(w))
    assert close(result.value, complex(function(*arguments)), tolerance)
    assert cmath.isfinite(result.gradients["z"])
    if name != "abs":
        # Of what is analytic the gradient is conj(f'(z)) times the seed.
        derivative = {
            "div": lambda: 1 / mpmath.mpc(w),
            "sqrt": lambda: 0.5 / mpmath.sqrt(mpmath.mpc(z)),
            "tanh": lambda: 1 - mpmath.tanh(mpmath.mpc(z)) ** 2,
            "tan": lambda: 1 + mpmath.tan(mpmath.mpc(z)) ** 2,
            "log1p": lambda: 1 / (1 + mpmath.mpc(z)),
            "expm1": lambda: mpmath.exp(mpmath.mpc(z)),
            "log": lambda: 1 / mpmath.mpc(z),
        }.get(name)
        if derivative is not None:
            wanted = complex(mpmath.conj(derivative()) * mpmath.mpc(1 - 0.5j))
            assert abs(result.gradients["z"] - wanted) <= 1e-12 * max(abs(wanted), 1e-300)


# What the values and gradients are where the mathematics has none, or several: the operation, the point, the seed, the
# value and the gradient by z.
KINKS = [
    ("abs", 0j, 2 + 0j, 1, 0, 0),
    ("sign", 0j, 2 + 0j, 1, 0, 0),
    ("pow", 0j, 2 + 0j, 1, 0, 0),
    ("pow", 0j, 1 + 0j, 1 - 2j, 0, 1 - 2j),
    ("pow", 0j, 0j, 1, 1, 0),
    ("pow", 0j, 2.5 + 1j, 1, 0, 0),
    ("pow", 0j, 0.5 + 0j, 1, 0, complex(math.inf, 0)),
    # The two sides of the cut: sqrt(-1 +- 0i) = +-i, whose derivative 1/(2 sqrt z) is -+i/2, conjugated.
    ("sqrt", complex(-1.0, 0.0), 1j, 1, 1j, 0.5j),
    ("sqrt", complex(-1.0, -0.0), 1j, 1, -1j, -0.5j),
    ("log", complex(-1.0, 0.0), 1j, 1, complex(0, math.pi), -1),
    ("log", complex(-1.0, -0.0), 1j, 1, complex(0, -math.pi), -1),
]


@pytest.mark.parametrize(("name", "z", "w", "seed", "value", "gradient"), KINKS, ids=[f"{r[0]} {r[1]}" for r in KINKS])
def test_kinks_and_cuts(gradients, name: str, z: complex, w: complex, seed: complex, value: complex, gradient: complex):
    result = gradients["f64"](NAMES.index(name), z, w, seeds={"return": seed})
    assert close(result.value, value, 1e-15)
    if math.isinf(gradient.real):
        assert result.gradients["z"].real == gradient.real
    else:
        assert close(result.gradients["z"], gradient, 1e-15)


@pytest.mark.parametrize("w", [-1 + 0j, 0 + 1j])
def test_poles_of_pow_are_not_numbers(gradients, w: complex):
    assert cmath.isnan(gradients["f64"](NAMES.index("pow"), 0j, w, seeds={"return": 1}).value)

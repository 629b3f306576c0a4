"""Functions of C's library that are no operations of the IR: differentiated from C and Python, against mpmath."""

from __future__ import annotations

import ctypes
import math
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest

import tapeflow
from tapeflow.backend.native import find_compiler
from tapeflow.interpreters.polygamma import polygamma

SOURCE = """
#include <math.h>
void f(int n, const double x[n], const double y[n], double out[n])
{
  for (int i = 0; i < n; i++) {
    double t = x[i] * y[i];
    out[i] = hypot(t, y[i]) * lgamma(t) + fmod(t, y[i]) * tgamma(y[i]) + erfc(x[i]) * remainder(t, 1.25) + fdim(t, 1);
  }
}
"""


def exact(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    t = x * y
    fmod = t - y * mpmath.floor(t / y)
    remainder = t - mpmath.mpf(1.25) * mpmath.nint(t / mpmath.mpf(1.25))
    lgamma = mpmath.log(mpmath.gamma(t))
    return mpmath.hypot(t, y) * lgamma + fmod * mpmath.gamma(y) + mpmath.erfc(x) * remainder + max(t - 1, mpmath.mpf(0))


def exact_partials(x: float, y: float) -> tuple[float, float]:
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -25
        x_, y_ = mpmath.mpf(x), mpmath.mpf(y)
        by_x = (exact(x_ + step, y_) - exact(x_ - step, y_)) / (2 * step)
        by_y = (exact(x_, y_ + step) - exact(x_, y_ - step)) / (2 * step)
        return float(by_x), float(by_y)


@pytest.mark.parametrize("spad_bytes", [0, 1024])
def test_library_functions_in_c(tmp_path: Path, spad_bytes: int):
    (tmp_path / "f.c").write_text(SOURCE)
    kernel = tapeflow.load(tmp_path / "f.c")
    options = tapeflow.Options(spad_bytes=spad_bytes, layout="aos" if spad_bytes else "soa")
    grad = tapeflow.gradient(kernel, wrt=["x", "y"], options=options)
    x = np.array([0.3, 0.7, 2.2, 5.1])
    y = np.array([1.9, 0.4, 3.3, 2.7])
    out = np.zeros(4)
    found = grad(4, x, y, out, seeds={"out": np.ones(4)})
    for k in range(4):
        by_x, by_y = exact_partials(float(x[k]), float(y[k]))
        assert found.gradients["x"][k] == pytest.approx(by_x, rel=1e-12)
        assert found.gradients["y"][k] == pytest.approx(by_y, rel=1e-12)


@tapeflow.kernel
def of_python(x: float, y: float) -> float:
    return (
        math.hypot(x, y)
        + math.lgamma(x)
        + math.gamma(y)
        + math.erfc(x)
        + math.fmod(x, y)
        + math.remainder(y, x)
        + np.hypot(x, 2.0)
    )


def test_library_functions_in_python():
    grad = tapeflow.gradient(tapeflow.load(of_python), wrt=["x", "y"])
    x, y = 3.7, 1.3
    found = grad(x, y)
    assert found.value == pytest.approx(of_python(x, y), rel=1e-15)
    step = 1e-6
    by_x = (of_python(x + step, y) - of_python(x - step, y)) / (2 * step)
    by_y = (of_python(x, y + step) - of_python(x, y - step)) / (2 * step)
    assert found.gradients["x"] == pytest.approx(by_x, rel=1e-8)
    assert found.gradients["y"] == pytest.approx(by_y, rel=1e-8)


def test_single_precision(tmp_path: Path):
    (tmp_path / "f.c").write_text("#include <math.h>\nfloat f(float x, float y) { return hypotf(x, y) * lgammaf(x); }")
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "f.c"), wrt=["x"])
    x, y = 2.5, 1.5
    expected = x / math.hypot(x, y) * math.lgamma(x) + math.hypot(x, y) * polygamma(0.0, x)
    assert grad(x, y).gradients["x"] == pytest.approx(expected, rel=1e-6)


POINTS = (1e-300, 1e-8, 0.1, 1.0, 1.4616321449683622, 3.3, 11.999, 12.0, 1e3, 1e300, -1e-8, -0.1, -0.5, -1.99, -7.3)


def test_polygamma_is_accurate():
    with mpmath.workdps(40):
        for order in range(4):
            for x in POINTS:
                expected = mpmath.polygamma(order, mpmath.mpf(x))
                if abs(expected) < 1e308:
                    found = polygamma(float(order), x)
                    assert abs(found - expected) <= 1e-14 * (1 + abs(expected)), (order, x)


def test_polygamma_of_c_agrees_to_the_last_bit(tmp_path: Path):
    source = tmp_path / "p.c"
    source.write_text('#include "tapeflow_rt.h"\ndouble p(double n, double x) { return tf_polygamma(n, x); }\n')
    include = Path(tapeflow.__file__).parent / "backend" / "include"
    library = tmp_path / "p.so"
    command = [*find_compiler().command, "-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True)
    of_c = ctypes.CDLL(str(library)).p
    of_c.argtypes, of_c.restype = [ctypes.c_double] * 2, ctypes.c_double
    for order in (0.0, 1.0, 2.0, 3.0, 7.0, 30.0, 31.0, -1.0, 0.5, math.nan):
        for x in (*POINTS, 0.0, -3.0, math.inf, -math.inf, math.nan, -1e6 - 0.125):
            expected, found = polygamma(order, x), of_c(order, x)
            assert found == expected or (math.isnan(found) and math.isnan(expected)), (order, x)

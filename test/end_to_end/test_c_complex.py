"""Complex numbers in C kernels: what the C compiler computes, and gradients against differences of both parts."""

from __future__ import annotations

import cmath
import ctypes
import shutil
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest

import tapeflow
from tapeflow.c_files import runtime_header
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check

COMPILER = shutil.which("cc") or shutil.which("gcc")

OUTPUTS = 58
# One function, so one compilation, for all constructs: each has a place of its own in `out`.
EVERYTHING = """#include <complex.h>
#include <string.h>
static const double complex table[3] = {1.0 + 2.0 * I, 0.5, -1.0i};
static const double complex unit = 0.6 - 0.8 * I;
static double complex twist(double complex *p, int k, double x) { p[k] *= x * unit; return *p + p[k]; }
static double complex early(double complex z) { if (creal(z) > 0) return conj(z); z -= 3; return z * z; }
struct Inner { float complex c; int k; };
struct Pair { double a; double complex z; struct Inner in[2]; };
static const struct Pair pairs[2] = { { 1.0, 2.0 + 3.0 * I, { { 1.0f * I, 2 } } }, { .z = 0.5 } };
static struct Pair times(struct Pair p, const struct Pair *q) { p.z *= q->z; p.in[1].c += q->in[0].c; return p; }
static double complex in_structs(int n, double complex z, double complex w)
{
  struct Pair s[4], u, *p = s;
  memset(s, 0, sizeof s);
  for (int i = 0; i < n; i++, p++) {
    p->z = (z + i) * pairs[i % 2].z;
    p->in[0] = pairs[0].in[0];
    p->a = creal(p->z);
    *p = times(*p, &pairs[0]);
  }
  memcpy(&u, &s[1], sizeof u);
  double complex *q = &u.z;
  *q += w / s[0].in[1].c;
  return u.z * s[3].a + (u.z == s[0].z) + u.in[0].k * cabs((struct Pair){ .z = w }.z);
}

double complex everything(int n, double complex z, double complex w, double x, float complex c, double complex a[n][3],
                          double complex out[58])
{
  double complex t[n], q[4] = {z, [2] = w, x}, many[20] = {[3] = z};
  double complex s = z, *p = a[1], last;
  double *none = &x;
  memcpy(t, t, 0 * sizeof(double complex));
  for (int i = 0; i < n; i++) {
    t[i] = a[i][i % 3] * table[i % 3];
    last = t[i] / (i + 1);
    if (cabs(last) > 1.2) s += last; else s -= t[i] * I;
    a[i][2] *= s;
  }
  for (int k = 0; k < 3; k++, p++) s += *p * unit;
  while (cabs(s) > 2) s /= 1.5;
  out[0] = s;
  out[1] = x + z; out[2] = z + x; out[3] = x - z; out[4] = z - x;
  out[5] = x * z; out[6] = z * x; out[7] = x / z; out[8] = z / x;
  out[9] = z + w; out[10] = z - w; out[11] = z * w; out[12] = z / w;
  out[13] = -z; out[14] = +w; out[15] = conj(z) * I;
  out[16] = creal(z) + cimag(w) * 2.0i; out[17] = __real__ w + 3 * __imag__ z;
  out[18] = cabs(z); out[19] = carg(w); out[20] = cexp(z); out[21] = clog(w); out[22] = csqrt(z);
  out[23] = cpow(z, w); out[24] = csin(z); out[25] = ccos(w); out[26] = ctan(z);
  out[27] = csinh(w); out[28] = ccosh(z); out[29] = ctanh(w);
  out[30] = z == w ? z : w; out[31] = z != w ? z * w : 1; out[32] = (z && !w) + x;
  out[33] = *none * z; none[0] *= w; out[34] = x;
  out[35] = (double)z + (double complex)x * (float complex)w; out[36] = (int)(2 * w) * z;
  out[37] = __builtin_complex(x, creal(w)) + CMPLX(1, x);
  out[38] = q[0] * q[2] + q[3] + q[1] + many[3] + many[4];
  out[39] = twist(q, 2, x); out[40] = twist(&s, 0, x);
  out[41] = early(z) + early(-z);
  s++; out[42] = --s; out[43] = s;
  out[44] = c * 2 + cexpf(c) * CMPLXF(1, 0.5f); out[45] = c * x + cabsf(c) - conjf(c) / 3;
  out[46] = (z, w) + (s = z); out[47] = s += w; out[48] = sizeof(z) + 1.0f * c + table[1] * z;
  memset(t, 0, n * sizeof(double complex));
  out[49] = t[0] + last;
  out[50] = cacos(z); out[51] = cacosh(z); out[52] = casin(z); out[53] = casinh(z); out[54] = catan(z);
  out[55] = catanh(z); out[56] = casinf(c); out[57] = in_structs(n, z, w);
  return s * out[0] + a[1][2];
}
"""

NARROW = """#include <complex.h>
float complex narrow(int n, const float complex x[n], float complex *y, float r)
{
  float complex s = 0;
  for (int i = 0; i < n; i++) {
    y[i] = x[i] * x[i] * r + I;
    s += csqrtf(y[i]) / (r + x[i]) - csinhf(x[i]);
  }
  return s;
}
"""

CALLERS = """
void call_everything(int n, double complex *z, double complex *w, double x, float complex *c, double complex *a,
                     double complex *out, double complex *result)
{ *result = everything(n, *z, *w, x, *c, (double complex (*)[3])a, out); }
void call_narrow(int n, float complex *x, float complex *y, float r, float complex *result)
{ *result = narrow(n, x, y, r); }
"""


def numbers(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, 1.1, shape) + 1j * rng.uniform(-0.9, 0.9, shape)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("c_complex")
    (path / "everything.c").write_text(EVERYTHING)
    (path / "narrow.c").write_text(NARROW)
    return path


@pytest.fixture(scope="module")
def native(directory: Path) -> ctypes.CDLL:
    if COMPILER is None:
        pytest.skip("no C compiler to compare with")
    source, library = directory / "native.c", directory / "native.so"
    source.write_text(EVERYTHING + NARROW + CALLERS)
    flags = ["-O0", "-w", "-std=gnu17", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def everything_arguments() -> list:
    z, w = complex(numbers(1)), complex(numbers(2))
    return [4, z, w, 0.7, np.complex64(0.4 - 0.3j), numbers(3, 4, 3), np.zeros(OUTPUTS, complex)]


@pytest.fixture(scope="module")
def everything(directory: Path) -> tapeflow.Gradient:
    return tapeflow.gradient(tapeflow.load(directory / "everything.c", "everything"), wrt=["z", "w", "x", "c", "a"])


def test_values_are_those_of_c(everything: tapeflow.Gradient, native: ctypes.CDLL):
    ours = everything_arguments()
    n, z, w, x, c, a, out = everything_arguments()
    result = np.zeros(1, complex)
    given = [np.array([number]) for number in (z, w, c)]
    native.call_everything(
        n, pointer(given[0]), pointer(given[1]), ctypes.c_double(x), pointer(given[2]), pointer(a), pointer(out),
        pointer(result),
    )  # fmt: skip
    value = everything(*ours, seeds={"return": 1}).value
    assert value == pytest.approx(result[0], rel=1e-12)
    np.testing.assert_allclose(ours[5], a, rtol=1e-12)
    # Those that are computed in float.
    single = [35, 44, 45, 48, 56]
    np.testing.assert_allclose(ours[6][single], out[single], rtol=3e-7)
    np.testing.assert_allclose(np.delete(ours[6], single), np.delete(out, single), rtol=1e-12)


@pytest.mark.parametrize("x", [0.0, -0.0, 0.99, -1.5, 3e5, 1e160])
def test_inverse_functions_on_both_sides_of_their_branch_cuts(everything: tapeflow.Gradient, x: float):
    for y in (0.0, -0.0, 1e-9, 2.0, -2.0, 1e160):
        arguments = everything_arguments()
        arguments[1] = complex(x, y)
        everything(*arguments, seeds={"return": 0})
        functions = (cmath.acos, cmath.acosh, cmath.asin, cmath.asinh, cmath.atan, cmath.atanh)
        for function, found in zip(functions, arguments[6][50:56], strict=True):
            expected = function(arguments[1])
            for mine, theirs in ((found.real, expected.real), (found.imag, expected.imag)):
                assert mine == pytest.approx(theirs, rel=4e-15, abs=0), (function, arguments[1])
                assert np.signbit(mine) == np.signbit(theirs), (function, arguments[1])


_NEAR = [0.4, 1e-3, 1e-16, 1e-103, 1e-155, 1e-200, 1e-307]
_SINGULAR = [
    *(complex(at, way * near) for near in _NEAR for at in (1, -1) for way in (1, -1)),
    *(complex(way * near, at) for near in _NEAR for at in (1, -1) for way in (1, -1)),
    *(1e-300 * unit for unit in (1 + 1j, 0.5 - 1j, -1 + 0.5j)),
    *(1e150 * unit for unit in (1 + 1j, 0.5 - 1j, -1 + 0.5j)),
]


def test_inverse_functions_near_their_poles_and_branch_points(tmp_path: Path):
    functions = {
        "catanh": (mpmath.atanh, lambda z: 1 / (1 - z * z)),
        "catan": (mpmath.atan, lambda z: 1 / (1 + z * z)),
        "casin": (mpmath.asin, lambda z: 1 / mpmath.sqrt(1 - z * z)),
        "cacos": (mpmath.acos, lambda z: -1 / mpmath.sqrt(1 - z * z)),
        "casinh": (mpmath.asinh, lambda z: 1 / mpmath.sqrt(1 + z * z)),
        "cacosh": (mpmath.acosh, lambda z: 1 / (mpmath.sqrt(z - 1) * mpmath.sqrt(z + 1))),
        "clog": (mpmath.log, lambda z: 1 / z),
        "csqrt": (mpmath.sqrt, lambda z: 1 / (2 * mpmath.sqrt(z))),
    }
    calls = "".join(f" out[{k}] = {name}(z);" for k, name in enumerate(functions))
    (tmp_path / "k.c").write_text(
        f"#include <complex.h>\nvoid inverses(double complex z, double complex out[8]) {{{calls} }}\n"
    )
    gradient = tapeflow.gradient(tapeflow.load(tmp_path / "k.c", "inverses"), wrt=["z"], batch=8)
    with mpmath.workdps(700):
        for z in _SINGULAR:
            found = np.zeros(8, complex)
            slopes = gradient(z, found, seeds={"out": np.eye(8, dtype=complex)}).gradients["z"]
            for (name, (function, derivative)), value, slope in zip(functions.items(), found, slopes, strict=True):
                expected, exact = complex(function(mpmath.mpc(z))), complex(derivative(mpmath.mpc(z)))
                # The smallest numbers have fewer digits.
                for mine, theirs in ((value.real, expected.real), (value.imag, expected.imag)):
                    lost = 4e-16 if name == "clog" else 1e-307
                    assert mine == pytest.approx(theirs, rel=4e-15, abs=lost), (name, z)
                assert abs(np.conj(slope) - exact) <= 1e-13 * abs(exact) + 1e-307, (name, z)


def test_each_derivative_against_differences(everything: tapeflow.Gradient):
    arguments = everything_arguments()
    step = {1: 1e-6, 2: 1e-6, 3: 1e-6, 4: 1e-3}
    rng = np.random.default_rng(5)
    for seeded in (*range(OUTPUTS), "return"):
        seed = complex(rng.normal(), rng.normal())
        seeds = {"return": seed if seeded == "return" else 0}
        if seeded != "return":
            seeds["out"] = np.zeros(OUTPUTS, complex)
            seeds["out"][seeded] = seed

        def weighed(changed: list, at=seeded, by=seed) -> float:
            value = everything(*changed, seeds={"return": 0}).value
            return (np.conj(by) * (value if at == "return" else changed[6][at])).real

        found = everything(*everything_arguments(), seeds=seeds).gradients
        for position, name in ((1, "z"), (2, "w"), (3, "x"), (4, "c")):
            for way in (1,) if name == "x" else (1, 1j):
                h = step[position]
                sides = []
                for sign in (1, -1):
                    moved = everything_arguments()
                    moved[position] = type(moved[position])(arguments[position] + sign * h * way)
                    sides.append((weighed(moved), moved[position]))
                (high, above), (low, below) = sides
                expected = (high - low) / abs(complex(above) - complex(below))
                mine = (complex(found[name]) * np.conj(way)).real
                single = name == "c" or seeded in (35, 44, 45, 48, 56)
                assert mine == pytest.approx(expected, rel=2e-3 if single else 1e-6, abs=2e-3 if single else 1e-7), (
                    seeded, name, way,
                )  # fmt: skip


def test_gradients_of_arrays(everything: tapeflow.Gradient):
    report = check(everything, everything_arguments())
    failed = [line for line in str(report).splitlines() if line.startswith("a ") and not line.endswith("pass")]
    assert not failed, str(report)


def test_single_precision(directory: Path, native: ctypes.CDLL):
    gradient = tapeflow.gradient(tapeflow.load(directory / "narrow.c"), wrt=["x", "r"])
    x = numbers(7, 5).astype(np.complex64)
    ours, theirs, result = np.zeros(5, np.complex64), np.zeros(5, np.complex64), np.zeros(1, np.complex64)
    native.call_narrow(5, pointer(x), pointer(theirs), ctypes.c_float(0.5), pointer(result))
    found = gradient(5, x, ours, 0.5, seeds={"return": 1})
    assert found.value == pytest.approx(result[0], rel=1e-6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert found.gradients["x"].dtype == np.complex64
    report = check(gradient, [5, x, ours, 0.5])
    assert report.passed, str(report)


def test_an_infinite_real_number_meets_no_zero(tmp_path: Path):
    path = tmp_path / "f.c"
    path.write_text("double _Complex f(double x, double _Complex z) { return x * z; }")
    value = tapeflow.gradient(tapeflow.load(path), wrt=["z"])(float("inf"), 2 - 1j, seeds={"return": 1}).value
    assert value == complex(float("inf"), -float("inf"))


def test_the_header_says_what_to_pass(everything: tapeflow.Gradient):
    assert "'(double *)a' of complex numbers" in everything.header
    assert "'(double *)out_b' of complex numbers" in everything.header


CALLER = """#include <complex.h>
#include <stdio.h>
#include "narrow_grad.h"
int main(void)
{
  float complex x[2] = {0.5f + 0.25f * I, 0.75f - 0.5f * I}, y[2] = {0}, x_b[2] = {0}, y_b[2] = {0};
  float imaginary;
  tf_tape *tf = tf_new();
  float real = narrow_grad(tf, 2, (const float *)x, (float *)y, 0.5f, 1.0f, 0.0f, (float *)x_b, (float *)y_b,
                           &imaginary);
  printf("%.9g %.9g %.9g %.9g\\n", real, imaginary, crealf(x_b[1]), cimagf(x_b[1]));
  tf_free(tf);
  return 0;
}
"""


def test_a_caller_in_c_casts(directory: Path, tmp_path: Path):
    if COMPILER is None:
        pytest.skip("no C compiler")
    gradient = tapeflow.gradient(tapeflow.load(directory / "narrow.c"), wrt=["x"])
    (tmp_path / "narrow_grad.h").write_text(gradient.header)
    (tmp_path / "narrow_grad.c").write_text(gradient.c_source)
    (tmp_path / "tapeflow_rt.h").write_text(runtime_header())
    (tmp_path / "caller.c").write_text(CALLER)
    command = [COMPILER, "-std=c99", "-Wall", "-Werror", "caller.c", "narrow_grad.c", "-o", "caller", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "caller"], capture_output=True, text=True, check=True).stdout
    x = np.array([0.5 + 0.25j, 0.75 - 0.5j], np.complex64)
    found = gradient(2, x, np.zeros(2, np.complex64), 0.5, seeds={"return": 1})
    expected = [found.value.real, found.value.imag, found.gradients["x"][1].real, found.gradients["x"][1].imag]
    np.testing.assert_allclose([float(number) for number in printed.split()], expected, rtol=1e-6)


def test_a_rule_of_complex_numbers(tmp_path: Path):
    path = tmp_path / "f.c"
    path.write_text(
        "#include <complex.h>\n#pragma tapeflow rule(g, vjp=back, jvp=ahead)\n"
        "double complex g(double complex z, double complex w) { return z * w; }\n"
        "double complex back(double complex z, double complex w, double complex s, double complex *w_b)\n"
        "{ *w_b = conj(z) * s; return 3 * conj(w) * s; }\n"
        "double complex ahead(double complex z, double complex w, double complex z_d, double complex w_d,\n"
        "                     double complex *r_d)\n"
        "{ *r_d = 5 * z_d * w + z * w_d; return z * w; }\n"
        "double f(double complex z, double complex w) { return creal(g(z, w)); }\n"
    )
    kernel = tapeflow.load(path, "f")
    # Factors that are wrong on purpose tell which of the functions was called.
    gradients = tapeflow.gradient(kernel, wrt=["z", "w"])(1 + 2j, 3 - 1j).gradients
    assert gradients["z"] == 3 * (3 + 1j)
    assert gradients["w"] == 1 - 2j
    tangent = tapeflow.jvp(kernel, wrt=["z"])(1 + 2j, 3 - 1j, tangents={"z": 1j}).tangents["return"]
    assert tangent == (5j * (3 - 1j)).real


REFUSED = {
    "conjugate": ("return creal(~z);", 3, "'~' of a complex number is a GNU extension"),
    "projection": ("return creal(cproj(z));", 3, "'cproj' is not supported"),
    "part": ("__real__ z = 1; return 0;", 3, "a part of a complex number is not supported"),
    "integers": ("return creal(2i * z);", 3, "is not supported"),
    "global": ("return creal(state);", 3, "the global variable 'state' is not constant"),
}


@pytest.mark.parametrize(("line", "row", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals_have_a_place(line: str, row: int, message: str, tmp_path: Path):
    path = tmp_path / "f.c"
    path.write_text(f"#include <complex.h>\nstatic double complex state;\ndouble f(double complex z) {{ {line} }}\n")
    with pytest.raises(TapeflowError, match=message) as caught:
        tapeflow.gradient(tapeflow.load(path, "f"), wrt=["z"])
    assert f"f.c:{row}:" in str(caught.value)
    assert caught.value.hint

"""Functions that are only declared, with a rule: the generated C declares and calls them, and the user links them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.c_files import gradient_files
from tapeflow.errors import TapeflowError
from tapeflow.gradient_check import check
from tapeflow.interpreters import run
from tapeflow.interpreters.interpreter import OperationError

# weigh(n, a, x) is sum(sin(a * x)) and, beside it, the sum of x.
KERNEL = """
ad.rule @weigh vjp @weigh_vjp jvp @weigh_jvp
func.func private @weigh(i32, f64, memref<?xf64>) -> (f64, f64)
func.func private @weigh_vjp(i32, f64, memref<?xf64>, f64, f64, memref<?xf64>) -> f64
func.func private @weigh_jvp(i32, f64, memref<?xf64>, f64, memref<?xf64>) -> (f64, f64, f64, f64)
func.func @f(%n : i32 {tapeflow.name = "n"}, %a : f64 {tapeflow.name = "a"},
             %x : memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
  %b = arith.mulf %a, %a : f64
  %p, %q = func.call @weigh(%n, %b, %x) : (i32, f64, memref<?xf64>) -> (f64, f64)
  %r = arith.mulf %p, %q : f64
  func.return %r : f64
}
"""
LINKED = """
#include <math.h>
double weigh(int n, double a, double *x, double *q)
{
    double p = 0;
    *q = 0;
    for (int i = 0; i < n; i++) {
        p += sin(a * x[i]);
        *q += x[i];
    }
    return p;
}
double weigh_vjp(int n, double a, double *x, double p_b, double q_b, double *x_b)
{
    double a_b = 0;
    for (int i = 0; i < n; i++) {
        a_b += p_b * cos(a * x[i]) * x[i];
        x_b[i] += p_b * cos(a * x[i]) * a + q_b;
    }
    return a_b;
}
double weigh_jvp(int n, double a, double *x, double a_d, double *x_d, double *q, double *p_d, double *q_d)
{
    *p_d = *q_d = 0;
    for (int i = 0; i < n; i++) {
        *p_d += cos(a * x[i]) * (a_d * x[i] + a * x_d[i]);
        *q_d += x_d[i];
    }
    return weigh(n, a, x, q);
}
"""
CALLER = """
#include "f_grad.h"
#include "f_jvp.h"
double reverse(int n, double a, double *x, double *x_b, double *a_b)
{
    tf_tape *tf = tf_new();
    double value = f_grad(tf, n, a, x, 1.0, x_b, a_b);
    tf_free(tf);
    return value;
}
double forward(int n, double a, double *x, double a_d, double *x_d, double *r_d)
{
    tf_tape *tf = tf_new();
    double value = f_jvp(tf, n, a, x, a_d, x_d, r_d);
    tf_free(tf);
    return value;
}
"""
A, X = 0.7, np.array([0.4, -1.1, 2.3])
A_D, X_D = 0.3, np.array([0.2, 0.9, -0.5])


def value(a: float, x: np.ndarray) -> float:
    return float(np.sum(np.sin(a * a * x)) * np.sum(x))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tapeflow.Kernel:
    path = tmp_path_factory.mktemp("declared") / "f.mlir"
    path.write_text(KERNEL)
    return tapeflow.load(path, "f")


def test_it_is_declared_called_and_linked(kernel: tapeflow.Kernel, tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "linked.c").write_text(LINKED)
    (tmp_path / "caller.c").write_text(CALLER)
    for derivative in (tapeflow.gradient(kernel, ["a", "x"]), tapeflow.jvp(kernel, ["a", "x"])):
        for path, text in gradient_files(derivative, tmp_path / f"{derivative.name}.c").items():
            path.write_text(text)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    sources = ["f_grad.c", "f_jvp.c", "linked.c", "caller.c"]
    command = ["cc", *warnings, "-shared", "-fPIC", "-o", "f.so", *sources, "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    number, pointer = ctypes.c_double, np.ctypeslib.ndpointer(np.float64)
    library.reverse.restype = library.forward.restype = number
    library.reverse.argtypes = [ctypes.c_int, number, pointer, pointer, pointer]
    library.forward.argtypes = [ctypes.c_int, number, pointer, number, pointer, pointer]

    x_b, a_b, r_d = np.zeros(3), np.zeros(1), np.zeros(1)
    assert library.reverse(3, A, X, x_b, a_b) == pytest.approx(value(A, X), rel=1e-14)
    assert library.forward(3, A, X, A_D, X_D.copy(), r_d) == pytest.approx(value(A, X), rel=1e-14)
    h = 1e-3

    def moved(t: float) -> float:
        return value(A + t * A_D, X + t * X_D)

    slope = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    assert a_b[0] * A_D + x_b @ X_D == pytest.approx(slope, rel=1e-9)
    assert r_d[0] == pytest.approx(a_b[0] * A_D + x_b @ X_D, rel=1e-13)


def test_what_would_have_to_run_it_refuses(kernel: tapeflow.Kernel):
    for derivative, arguments in (
        (tapeflow.gradient(kernel, ["a"]), {}),
        (tapeflow.jvp(kernel, ["a"]), {"tangents": {"a": 1.0}}),
    ):
        with pytest.raises(
            TapeflowError, match=r"f.mlir:\d+:1: error: 'weigh\w*' is only declared here, so what calls it.*\n.*link=\["
        ):
            derivative(3, A, X.copy(), **arguments)
    for more in ({"batch": 2}, {}):
        with pytest.raises(
            TapeflowError, match=r"f.mlir:9:3: error: .*'weigh_\w+', w.*\n  help: .*define it in the same file"
        ):
            tapeflow.hvp(kernel, ["a"]) if not more else tapeflow.gradient(kernel, ["a"], batch=2)
    with pytest.raises(OperationError, match=r"f.mlir:9:3: func.call: @weigh has no body"):
        run(kernel.module, "f", [3, A, X.copy()])


# The same in C, where a prototype says what is only read, and may leave out names; the reverse mode returns nothing.
IN_C = """
double weigh(int, double, const double *, double *restrict q);
void weigh_vjp(int n, double a, const double *x, const double *q, double p_b, double x_b[n], double *q_b, double *a_b);
double weigh_jvp(int n, double a, const double *x, double *q, double a_d, double *x_d, double *q_d, double *p_d);
#pragma tapeflow rule(weigh, vjp=weigh_vjp, jvp=weigh_jvp)
double f(int n, double a, const double x[n])
{
    double q[1] = {0};
    const double p = weigh(n, a * a, x, q);
    return p * q[0];
}
"""
LINKED_IN_C = """
#include "weights.h"
double weigh(int n, double a, const double *x, double *q)
{
    double p = 0;
    *q = 0;
    for (int i = 0; i < n; i++) {
        p += sin(a * x[i]);
        *q += x[i];
    }
    return p;
}
void weigh_vjp(int n, double a, const double *x, const double *q, double p_b, double *x_b, double *q_b, double *a_b)
{
    (void)q;
    *a_b = 0;
    for (int i = 0; i < n; i++) {
        *a_b += p_b * cos(a * x[i]) * x[i];
        x_b[i] += p_b * cos(a * x[i]) * a + SCALE * *q_b;
    }
    *q_b = 0;
}
double weigh_jvp(int n, double a, const double *x, double *q, double a_d, double *x_d, double *q_d, double *p_d)
{
    *p_d = *q_d = 0;
    for (int i = 0; i < n; i++) {
        *p_d += cos(a * x[i]) * (a_d * x[i] + a * x_d[i]);
        *q_d += x_d[i];
    }
    return weigh(n, a, x, q);
}
"""


def test_prototypes_of_c_are_run_with_what_is_linked(tmp_path: Path):
    source, linked, header = (tmp_path / name for name in ("f.c", "weigh.c", "weights.h"))
    source.write_text(IN_C)
    linked.write_text(LINKED_IN_C)
    header.write_text("#include <math.h>\n#define SCALE 1.0\n")
    kernel = tapeflow.load(source, link=[linked])
    gradient = tapeflow.gradient(kernel, ["a", "x"])
    assert "extern double weigh(int, double, const double *, double *);" in gradient.c_source
    report = check(gradient, [3, A, X])
    assert report.passed and all(each.forward is not None for each in report.checks), report
    # What a source includes is looked at again.
    header.write_text("#include <math.h>\n#define SCALE 2.0\n")
    changed = tapeflow.gradient(kernel, ["x"])(3, A, X).gradients["x"] - gradient(3, A, X).gradients["x"]
    np.testing.assert_allclose(changed, np.sum(np.sin(A * A * X)), rtol=1e-13)
    (tmp_path / "less.c").write_text("double weigh(int n, double a, const double *x, double *q);")
    with pytest.raises(TapeflowError, match=r"(?s)(undefined|not all that is called).*help: link C sources"):
        tapeflow.gradient(tapeflow.load(source, link=[tmp_path / "less.c"]), ["x"])(3, A, X)
    with pytest.raises(TapeflowError, match=r"weights.h: cannot be linked\n  help: link C sources"):
        tapeflow.load(source, link=[header])
    with pytest.raises(FileNotFoundError, match=r"more.o: no such file"):
        tapeflow.load(source, link=[tmp_path / "more.o"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a * a, x, q)", "a * a, x + 1, q)", r"f.c:5:1: error: 'weigh' has a rule, and is called with a part of an"),
        ("int, double,", "int, _Complex double,", r"f.c:2:\d+: error: 'weigh' takes or returns complex numbers"),
        (
            "void weigh_vjp",
            "int weigh_vjp",
            r"f.c:5:1: error: 'weigh_vjp' does not fit as the vjp .*\n.*double, double",
        ),
        ("#pragma", "// #pragma", r"f.c:9:22: error: 'weigh' is declared but not defined .*\n.*by '#pragma tapeflow"),
    ],
)
def test_what_a_prototype_cannot_be(tmp_path: Path, old: str, new: str, message: str):
    (tmp_path / "f.c").write_text(IN_C.replace(old, new))
    with pytest.raises(TapeflowError, match=message):
        tapeflow.load(tmp_path / "f.c")

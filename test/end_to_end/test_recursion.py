"""Functions that call themselves: in C and in Python, their gradients as machine code against central differences."""

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import tapeflow
from tapeflow.api import Gradient
from tapeflow.backend.native import INCLUDE, STACK_BYTES

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.TapeflowRemark")

SOURCE = Path(__file__).parent / "kernels" / "recursion.c"
WRT = ["x", "level", "a"]
OPTIONS = {
    "soa": tapeflow.Options(),
    "aos": tapeflow.Options(layout="aos", recompute="all"),
    "streams": tapeflow.Options(layout="aos", spad_bytes=1024, stream=True, recompute="cheap"),
}


def arguments() -> tuple[int, int, np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(1)
    return 7, 5, rng.uniform(0.5, 1.5, 7), rng.uniform(0.5, 1.5, 5), 0.3


def called(gradient: Gradient) -> tapeflow.Result:
    n, m, x, level, a = arguments()
    return gradient(n, m, x, level, a)


def difference(value: Callable[[float], float], step: float = 1e-4) -> float:
    return (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step)


@pytest.fixture(scope="module")
def gradients() -> dict[str, Gradient]:
    kernel = tapeflow.load(SOURCE, function="f")
    return {name: tapeflow.gradient(kernel, WRT, options) for name, options in OPTIONS.items()}


def test_recursive_functions_of_c_have_the_right_gradient(gradients: dict[str, Gradient]):
    rng = np.random.default_rng(2)
    n, m, x, level, a = arguments()
    x_d, level_d, a_d = rng.normal(size=n), rng.normal(size=m), 0.7

    def value(t: float) -> float:
        found = gradients["soa"](n, m, x + t * x_d, level + t * level_d, a + t * a_d).value
        assert isinstance(found, float)
        return found

    ours = called(gradients["soa"]).gradients
    slope = ours["x"] @ x_d + ours["level"] @ level_d + ours["a"] * a_d
    assert slope == pytest.approx(difference(value), rel=1e-9)
    forward = tapeflow.jvp(tapeflow.load(SOURCE, function="f"), WRT)
    ahead = forward(n, m, x, level, a, tangents={"x": x_d, "level": level_d, "a": a_d})
    assert ahead.tangents["return"] == pytest.approx(slope, rel=1e-12)


def test_jacobians_and_products_with_hessians_of_a_recursive_function():
    """All rows by forward and by reverse mode, and two Hessian products against differences of gradients."""
    kernel, wrt, rng = tapeflow.load(SOURCE, function="tree"), ["x", "level"], np.random.default_rng(3)
    n, _, x, level, _ = arguments()
    ahead, back = (
        tapeflow.jacobian(kernel, wrt, batch=2, mode=mode)(0, n, x, level.copy(), 0) for mode in ("forward", "reverse")
    )
    for output, rows in ahead.jacobian.items():
        for name, block in rows.items():
            np.testing.assert_allclose(block, back.jacobian[output][name], rtol=1e-12, atol=1e-14)
    vectors = {"x": rng.normal(size=(2, *x.shape)), "level": rng.normal(size=(2, *level.shape))}
    found = tapeflow.hvp(kernel, wrt, OPTIONS["aos"], batch=2)(0, n, x, level.copy(), 0, vectors=vectors)
    value_and_gradient = tapeflow.value_and_gradient(kernel, wrt)
    value, gradients = value_and_gradient(0, n, x, level.copy(), 0)
    assert found.value == value
    for name in wrt:
        np.testing.assert_allclose(found.gradients[name], gradients[name], rtol=1e-13)
        for member in range(2):
            above, below = (
                value_and_gradient(0, n, *moved, 0)[1][name]
                for step in (1e-5, -1e-5)
                for moved in [(x + step * vectors["x"][member], level + step * vectors["level"][member])]
            )
            np.testing.assert_allclose(found.products[name][member], (above - below) / 2e-5, rtol=1e-6, atol=1e-7)


def test_every_layout_and_every_call_gives_the_same_bits(gradients: dict[str, Gradient]):
    first = called(gradients["soa"])
    for gradient in gradients.values():
        for _ in range(2):
            again = called(gradient)
            assert again.value == first.value and again.gradients["a"] == first.gradients["a"]
            assert all(np.array_equal(again.gradients[name], first.gradients[name]) for name in ("x", "level"))


def test_the_report_tells_what_the_callees_remember(gradients: dict[str, Gradient]):
    called(gradients["aos"])
    report = gradients["aos"].tape_report()
    tree = next(region for region in report.regions if [field.name for field in region.fields][:1] == ["l"])
    assert tree.records is None and tree.bytes is not None and tree.bytes > 0
    assert tree.fields[0].source == f"{SOURCE}:8:22"


def test_the_generated_c_compiles_without_a_warning(gradients: dict[str, Gradient], tmp_path: Path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not there")
    for name, gradient in gradients.items():
        (tmp_path / "f_grad.h").write_text(gradient.header)
        (tmp_path / f"{name}.c").write_text(gradient.c_source)
        flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I", str(INCLUDE)]
        subprocess.run(["gcc", *flags, f"{name}.c"], cwd=tmp_path, check=True)


ROWS = """
#include <math.h>
static double g(int n, double *v) {
  for (int i = 0; i < n; i++) v[i] *= 1 + 0.1 * sin(v[i]);
  return n;
}
double f(int n, int m, double x[n], double b[n][m]) {
  double s = g(n, x);
  for (int i = 0; i < n; i++) s += g(m, b[i]);
  return s;
}
"""


def test_a_callee_need_not_use_the_stride_that_it_is_given(tmp_path: Path):
    (tmp_path / "f.c").write_text(ROWS)
    kernel = tapeflow.load(tmp_path / "f.c", function="f")
    gradient = tapeflow.gradient(kernel, ["x", "b"], options=tapeflow.Options(inline_limit=0))
    (tmp_path / "f_grad.h").write_text(gradient.header)
    (tmp_path / "f_grad.c").write_text(gradient.c_source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I", str(INCLUDE)]
    subprocess.run(["cc", *flags, "f_grad.c"], cwd=tmp_path, check=True)


def test_the_modelled_machine_refuses_calls(gradients: dict[str, Gradient]):
    with pytest.raises(tapeflow.TapeflowError, match=r"recursion.c:39:30: error: f_grad calls '.*_fwd', and the"):
        tapeflow.simulate(gradients["soa"], arguments(), hardware="cache-32k")


BOTTOMLESS = """
#include <math.h>
static double down(double x, int n) { return n == 0 ? 1.0 : x * down(x, n - 1); }
static double wide(double x, int d) { return d == 0 ? sin(x) : wide(0.5 * x, d - 1) * wide(x, d - 1) + x; }
static double never(double x) { return x + never(0.5 * x) * never(x); }
double f(double x, int n, int depth)
{
  if (n < 0) return never(x);
  return down(x, n) + wide(x, depth);
}
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_recursion_that_runs_out_of_stack_or_memory_is_an_error_and_the_next_call_works(tmp_path: Path):
    import resource

    (tmp_path / "f.c").write_text(BOTTOMLESS)
    kernel = tapeflow.load(tmp_path / "f.c", function="f")
    gradient, forward = tapeflow.gradient(kernel, ["x"]), tapeflow.jvp(kernel, ["x"])
    expected = gradient(0.9, 3, 3).gradients["x"]
    for n in (2**31 - 1, -1):
        with pytest.raises(RecursionError, match="f_grad: this recursion is too deep for the stack"):
            gradient(0.9, n, 3)
        with pytest.raises(RecursionError, match="f_jvp: this recursion is too deep for the stack"):
            forward(0.9, n, 3, tangents={"x": 1.0})
    # A million calls deep is not too deep.
    assert gradient(1.0, 10**6, 0).gradients["x"] == pytest.approx(1e6 + math.cos(1.0))
    limits = resource.getrlimit(resource.RLIMIT_AS)

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0]) * 4096

    before = used()
    resource.setrlimit(resource.RLIMIT_AS, (before + STACK_BYTES + (1 << 24), limits[1]))
    try:
        with pytest.raises(MemoryError, match="f_grad: out of memory"):
            # Some gigabytes of tape, more than other tests may have left free in this process.
            gradient(0.9, 3, 28)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert gradient(0.9, 3, 3).gradients["x"] == expected
    assert forward(0.9, 3, 3, tangents={"x": 1.0}).tangents["return"] == pytest.approx(expected, rel=1e-14)
    del gradient
    assert used() < before + (1 << 24)


SMOOTH = """
#include <math.h>
static void smooth(int n, int depth, float *u, float scale)
{
  float old[n];
  if (depth == 0) return;
  for (int i = 0; i < n; i++) old[i] = u[i] * u[i];
  smooth(n, depth - 1, old, scale * 0.5f);
  for (int i = 0; i < n; i++) u[i] = sinf(old[i] * u[i] * scale);
}
void f(int n, int depth, float u[n], float scale)
{
  smooth(n, depth, u, scale);
}
"""


def test_local_arrays_of_a_recursive_function_live_as_long_as_its_calls(tmp_path: Path):
    source = tmp_path / "smooth.c"
    source.write_text(SMOOTH)
    gradient = tapeflow.gradient(tapeflow.load(source, function="f"), ["u", "scale"])
    u, way = np.array([0.9, 1.1, 0.7], dtype=np.float32), np.array([0.3, -0.5, 0.8], dtype=np.float32)
    for _ in range(2):
        ours = gradient(3, 3, u.copy(), 0.9, seeds={"u": np.ones(3, np.float32)}).gradients

    def value(t: float) -> float:
        def smooth(u: np.ndarray, depth: int, scale: float) -> np.ndarray:
            return u if depth == 0 else np.sin(smooth(u * u, depth - 1, scale * 0.5) * u * scale)

        return float(np.sum(smooth(u + t * way.astype(float), 3, 0.9 + 0.2 * t)))

    assert ours["u"] @ way + 0.2 * ours["scale"] == pytest.approx(difference(value), rel=1e-5)


def power(x: float, n: int) -> float:
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def mean_of_tree(lo: int, hi: int, x: np.ndarray, y: np.ndarray) -> float:
    if hi - lo == 1:
        y[lo] = y[lo] * math.sin(x[lo])
        return y[lo] * x[lo]
    mid = (lo + hi) // 2
    left = mean_of_tree(lo, mid, x, y)
    right = mean_of_tree(mid, hi, x, y)
    return math.sqrt(left * right + 1.0)


@tapeflow.kernel
def f(n: int, x: Annotated[np.ndarray, "n"], y: Annotated[np.ndarray, "n"], a: float) -> float:
    mean = mean_of_tree(0, n, x, y)
    return mean + power(a, 1500)


def test_recursive_functions_of_python_have_the_right_gradient():
    rng = np.random.default_rng(4)
    x, y, x_d, y_d = rng.uniform(0.5, 1.5, (4, 6))
    gradient = tapeflow.gradient(f, ["x", "y", "a"])
    for _ in range(2):
        ours = gradient(6, x, y.copy(), 1.0002).gradients

    def value(t: float) -> float:
        root = mean_of_tree(0, 6, x + t * x_d, y + t * y_d)
        return root + (1.0002 + 0.1 * t) ** 1500

    slope = ours["x"] @ x_d + ours["y"] @ y_d + 0.1 * ours["a"]
    assert slope == pytest.approx(difference(value), rel=1e-8)

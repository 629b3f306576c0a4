"""The Python surface: what calls take, give and refuse."""

from __future__ import annotations

import gc
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow import TapeflowError
from tapeflow.arguments import ArgumentError

KERNELS = Path(__file__).parents[2] / "bench" / "kernels"

SQUARES = """
double squares(int n, double a, const double x[n], double y[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    y[i] = a * x[i] * x[i];
    s += y[i];
  }
  return s;
}
"""

VOID = """
#include <math.h>

void iterate(int n, int steps, double u[n])
{
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++)
      u[i] = sin(u[i]) * u[i];
}
"""


@pytest.fixture
def source(tmp_path):
    def write(text: str, name: str = "kernel.c") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def squares(source):
    return tapeflow.gradient(tapeflow.load(source(SQUARES)), wrt=["a", "x"])


@pytest.fixture
def iterate(source):
    return tapeflow.gradient(tapeflow.load(source(VOID)), wrt=["u"])


def test_value_gradients_and_outputs(squares):
    x, y = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    result = squares(3, 0.5, x, y)
    assert result.value == 7.0
    assert result.gradients["a"] == 14.0
    assert isinstance(result.gradients["a"], float)
    np.testing.assert_array_equal(result.gradients["x"], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(y, [0.5, 2.0, 4.5])
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_seeds_are_cotangents_of_outputs(squares):
    x, y = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    dy = np.array([1.0, 10.0, 100.0])
    assert squares(3, 0.5, x, y, seeds={"return": 2}).gradients["a"] == 28.0
    assert squares(3, 0.5, x, y, seeds={"return": 0, "y": dy}).gradients["a"] == 941.0
    # The return value's cotangent is 1 unless it is given.
    assert squares(3, 0.5, x, y, seeds={"y": dy}).gradients["a"] == 955.0
    np.testing.assert_array_equal(dy, [1.0, 10.0, 100.0])


SMOOTHED = """
double smoothed(int n, const double x[n], const double w[n], double total[n], double y[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    total[i] = total[i] * w[i];
    y[i] = x[i] * x[i] / total[i];
    s += y[i];
  }
  return s;
}
"""


def test_an_array_that_wrt_never_reaches_has_no_shadow(source):
    kernel = tapeflow.load(source(SMOOTHED))
    grad, jvp, hvp = (make(kernel, wrt=["x"]) for make in (tapeflow.gradient, tapeflow.jvp, tapeflow.hvp))
    assert "y_b" in grad.c_source and "total_b" not in grad.c_source + hvp.c_source and "total_d" not in jvp.c_source
    (total,) = (it for it in grad.explain().arrays if it.name == "total")
    assert (total.active, total.why_not) == (False, "it depends on no active argument")

    def arguments():
        return 2, np.array([1.0, 2.0]), np.array([2.0, 4.0]), np.ones(2), np.zeros(2)

    # It is an output all the same: its cotangent adds nothing, its tangent is zero.
    seeds = {"total": np.array([5.0, 6.0]), "return": 3.0}
    np.testing.assert_array_equal(grad(*arguments(), seeds=seeds).gradients["x"], [3.0, 3.0])
    tangents = jvp(*arguments(), tangents={"x": np.ones(2)}).tangents
    np.testing.assert_array_equal(tangents["total"], [0.0, 0.0])
    np.testing.assert_array_equal(tangents["y"], [1.0, 1.0])
    np.testing.assert_array_equal(hvp(*arguments(), vectors={"x": np.ones(2)}).products["x"], [1.0, 0.5])
    with pytest.raises(ArgumentError, match=r"seeds\['total'\]: expected the shape of total"):
        grad(*arguments(), seeds={"total": np.zeros(3)})


def test_state_has_the_cotangent_of_its_end_and_the_gradient_of_its_beginning(iterate):
    u, du = np.array([0.5, 1.5]), np.array([2.0, -1.0])
    initial = u.copy()
    result = iterate(2, 1, u, seeds={"u": du})
    assert result.value is None
    np.testing.assert_array_equal(u, np.sin(initial) * initial)
    np.testing.assert_allclose(result.gradients["u"], du * (np.sin(initial) + np.cos(initial) * initial), rtol=1e-15)


def test_gradients_are_fresh_and_can_be_accumulated(squares):
    x, y = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    total = np.full(3, 100.0)
    first = squares(3, 0.5, x, y, accumulate={"x": total})
    second = squares(3, 0.5, x, y)
    assert first.gradients["x"] is not second.gradients["x"]
    np.testing.assert_array_equal(first.gradients["x"], second.gradients["x"])
    np.testing.assert_array_equal(total, [101.0, 102.0, 103.0])


def test_strided_arrays_are_read_and_written_in_place(squares):
    whole = np.arange(6.0)
    y = np.zeros((3, 2))
    result = squares(3, 1.0, whole[::-2], y[:, 1])
    np.testing.assert_array_equal(result.gradients["x"], [10.0, 6.0, 2.0])
    np.testing.assert_array_equal(y, [[0, 25], [0, 9], [0, 1]])


def test_calls_of_any_size_in_any_order_give_the_same(iterate):
    def run(n, steps):
        u = np.linspace(0.1, 1.0, n)
        return iterate(n, steps, u, seeds={"u": np.ones(n)}).gradients["u"]

    small, large = run(3, 4), run(500, 30)
    np.testing.assert_array_equal(run(3, 4), small)
    np.testing.assert_array_equal(run(500, 30), large)
    assert run(0, 4).shape == (0,)
    np.testing.assert_array_equal(run(3, 0), np.ones(3))


def test_threads_take_turns(iterate):
    expected = iterate(200, 20, np.linspace(0, 1, 200), seeds={"u": np.ones(200)}).gradients["u"]
    found = []

    def work():
        for _ in range(20):
            found.append(iterate(200, 20, np.linspace(0, 1, 200), seeds={"u": np.ones(200)}).gradients["u"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    for gradient in found:
        np.testing.assert_array_equal(gradient, expected)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_the_tape_is_kept_for_later_calls_and_freed_with_the_object(source):
    kernel = tapeflow.load(source(VOID))
    n, steps = 1000, 8000  # some hundred MB
    u, seed = np.linspace(0.0, 0.1, n), np.ones(n)

    grad = tapeflow.gradient(kernel, wrt=["u"])
    grad(n, 1, u.copy(), seeds={"u": seed})
    before = resident_bytes()
    grad(n, steps, u.copy(), seeds={"u": seed})
    tape = grad.tape_report().bytes
    assert tape is not None
    assert tape > 60e6
    held = resident_bytes() - before
    grad(n, steps, u.copy(), seeds={"u": seed})
    assert resident_bytes() - before < held + 0.2 * tape
    del grad
    gc.collect()
    assert resident_bytes() - before < 0.2 * tape


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_no_memory_leaves_the_arrays_alone(iterate):
    import resource

    u = np.array([0.5, 1.5])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    iterate(2, 1, u.copy(), seeds={"u": np.ones(2)})
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
    try:
        with pytest.raises(MemoryError):
            iterate(2, 2**30, u, seeds={"u": np.ones(2)})
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    np.testing.assert_array_equal(u, [0.5, 1.5])
    assert iterate(2, 1, u, seeds={"u": np.ones(2)}).gradients["u"].shape == (2,)


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        ([], "wrt is empty"),
        ("x", "wrt is a list of names: ['x'], not 'x'"),
        (5, "wrt is a list of names, not 5"),
        (["z"], "squares has no parameter 'z'\n  help: these can be differentiated: a, x, y"),
        (["n"], "kernel.c:2:20: error: wrt: 'int32 n' has no derivative"),
        (["x", "x"], "wrt: 'x' is there twice"),
    ],
)
def test_wrt_names_floating_point_parameters(source, wrt, message):
    kernel = tapeflow.load(source(SQUARES))
    with pytest.raises(TapeflowError, match=re.escape(message)):
        tapeflow.gradient(kernel, wrt=wrt)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (np.ones(2), "seeds: expected a dictionary by name, not ndarray"),
        ({"z": 1.0}, "seeds: squares has no output 'z'\n  help: these have cotangents: return, x, y"),
        ({"a": 1.0}, "seeds: squares has no output 'a'"),
        ({"return": "1"}, "seeds['return']: expected a number, got str"),
        ({"y": 1.0}, "seeds['y']: expected a NumPy array of float64 with 1 dimension, got float 1.0"),
        ({"y": np.zeros(2)}, "seeds['y']: expected the shape of y, (3,), got (2,)"),
        ({"y": np.zeros(3, np.float32)}, "seeds['y']: expected elements of float64, got float32"),
    ],
)
def test_seeds_fit_the_outputs(squares, seeds, message):
    x, y = np.ones(3), np.full(3, 7.0)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        squares(3, 1.0, x, y, seeds=seeds)
    np.testing.assert_array_equal(y, np.full(3, 7.0))


def test_a_void_function_needs_seeds(iterate):
    message = (
        "error: iterate returns nothing to differentiate: seeds are needed\n  help: give the cotangent of an output"
    )
    for seeds in (None, {}):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            iterate(2, 1, np.ones(2), seeds=seeds)


@pytest.mark.parametrize(
    ("accumulate", "message"),
    [
        ({"y": np.zeros(3)}, "accumulate: 'y' is no array in wrt\n  help: these are: x"),
        ({"a": np.zeros(3)}, "accumulate: 'a' is no array in wrt"),
        ({"x": np.zeros(4)}, "accumulate['x']: expected the shape of x, (3,), got (4,)"),
        ({"x": np.zeros(3, np.float32)}, "accumulate['x']: expected elements of float64, got float32"),
        ({"x": np.broadcast_to(np.zeros(3), (3,))}, "accumulate['x']: the array is read-only"),
        (
            {"x": np.lib.stride_tricks.as_strided(np.zeros(3), (3,), (0,))},
            "accumulate['x']: several of its elements share memory",
        ),
    ],
)
def test_accumulate_fits_the_gradients(squares, accumulate, message):
    y = np.full(3, 7.0)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        squares(3, 1.0, np.ones(3), y, accumulate=accumulate)
    np.testing.assert_array_equal(y, np.full(3, 7.0))


def test_gradients_are_not_added_into_arguments(squares):
    x = np.ones(3)
    with pytest.raises(ArgumentError, match=re.escape("x and accumulate['x'] share memory")):
        squares(3, 1.0, x, np.zeros(3), accumulate={"x": x})


def test_arguments_are_checked_before_anything_runs(squares):
    y = np.zeros(3)
    with pytest.raises(ArgumentError, match=re.escape("takes 4 arguments, got 2")):
        squares(3, 1.0)
    with pytest.raises(ArgumentError, match="x and y share memory"):
        squares(3, 1.0, y, y)
    with pytest.raises(ArgumentError, match=re.escape("y: expected shape (n,) = (3,), got (4,)")):
        squares(3, 1.0, np.ones(3), np.zeros(4))
    assert issubclass(ArgumentError, ValueError)


def test_loading(source, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.c: no such file"):
        tapeflow.load(tmp_path / "nowhere.c")
    with pytest.raises(TapeflowError, match=re.escape("no frontend for '.f90' files")):
        tapeflow.load(source("", "kernel.f90"))
    with pytest.raises(TapeflowError, match="no frontend for files without a suffix"):
        tapeflow.load(source("", "kernel"))
    with pytest.raises(
        TapeflowError, match=r"(?s)kernel\.py: a Python kernel is a function.*help: mark it @tapeflow.kernel"
    ):
        tapeflow.load(source("", "kernel.py"))
    with pytest.raises(TapeflowError, match=r"(?s) is a folder.*help: pass a file in it"):
        tapeflow.load(tmp_path)
    with pytest.raises(TapeflowError, match=r"(?s)no function 'g'.*squares"):
        tapeflow.load(source(SQUARES), function="g")
    both = source(SQUARES + VOID, "both.c")
    with pytest.raises(TapeflowError, match=r"(?s)which function\?.*squares, iterate"):
        tapeflow.load(both)
    assert str(tapeflow.load(both, function="iterate")) == "iterate(int32 n, int32 steps, float64 u[n])"


MLIR = """
func.func @product(%n: index, %x: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %p = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %one) -> (f64) {
    %x_i = memref.load %x[%i, %c1] : memref<?x?xf64>
    %p_next = arith.mulf %p_i, %x_i : f64
    scf.yield %p_next : f64
  }
  func.return %p : f64
}
"""


def test_mlir_kernels_take_extents_from_the_arrays(source):
    request = "ad.vjp @product_grad of @product (const, active) -> (const)\n"
    grad = tapeflow.gradient(tapeflow.load(source(MLIR + request, "product.mlir")), wrt=["x"])
    result = grad(3, np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]))
    assert result.value == 24.0
    np.testing.assert_array_equal(result.gradients["x"], [[0, 12], [0, 8], [0, 6]])


@tapeflow.kernel
def decay(steps: int, rate: float, x: tapeflow.f64["n"], n: int) -> float:  # noqa: F821, UP037 (an extent)
    total = 0.0
    for _ in range(steps):
        for i in range(n):
            x[i] = x[i] * rate
            total += x[i]
    return total


def test_python_kernels_are_loaded_as_functions():
    grad = tapeflow.gradient(tapeflow.load(decay), wrt=["rate", "x"])
    x, same = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    result = grad(2, 0.5, x, 2)
    assert result.value == decay(2, 0.5, same, 2) == 2.25
    np.testing.assert_array_equal(x, same)
    assert result.gradients["rate"] == 6.0
    np.testing.assert_array_equal(result.gradients["x"], [0.75, 0.75])


def test_the_gradients_name_must_be_free(source):
    other = MLIR.replace("@product", "@product_grad")
    kernel = tapeflow.load(source(MLIR + other, "product.mlir"), function="product")
    with pytest.raises(TapeflowError, match="'product_grad' is there already"):
        tapeflow.gradient(kernel, wrt=["x"])


def test_everything_can_be_looked_at(source):
    options = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)
    grad = tapeflow.gradient(tapeflow.load(KERNELS / "worked_example.c"), wrt=["A", "w"], options=options)
    assert grad.options == options
    assert "f_grad(tf_tape *tf, int n, int m" in grad.c_source
    assert 'extern "C"' in grad.header
    words = {
        "import": "ad.vjp @f_grad of @f",
        "prepare": "ad.vjp @f_grad of @f",
        "differentiate": "tape.push",
        "plan": "tape.pop",
        "regions": "tape.record",
        "layers": "spad.dma_start",
        "streams": "stream.push",
    }
    assert tuple(words) == grad.options.stages
    for stage, word in words.items():
        assert word in grad.ir(stage), stage
    with pytest.raises(ValueError, match="no stage 'layers' here: the stages are import, prepare"):
        tapeflow.gradient(tapeflow.load(KERNELS / "worked_example.c"), wrt=["A"]).ir("layers")


def test_the_tape_report_speaks_of_the_source():
    options = tapeflow.Options(layout="aos")
    grad = tapeflow.gradient(tapeflow.load(KERNELS / "worked_example.c"), wrt=["A", "w"], options=options)
    report = grad.tape_report()
    assert report.layout == "aos"
    by_name = {region.name: region for region in report.regions}
    assert by_name["i"].records == "n"
    assert by_name["i"].exact
    assert by_name["j_if"].records == "n*m"
    assert not by_name["j_if"].exact
    assert {(f.name, f.type) for f in by_name["j_if"].fields} >= {("t", "f64")}
    assert all("worked_example.c:" in (f.source or "") for r in report.regions for f in r.fields)
    assert report.bytes is None

    matrix = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    grad(2, 3, matrix, np.ones(3))
    called = {region.name: region.bytes for region in grad.tape_report().regions}
    assert called["i"] == 2 * by_name["i"].record_bytes
    assert called["j_if"] == 4 * by_name["j_if"].record_bytes
    assert grad.tape_report().as_dict()["bytes"] == sum(called.values())
    assert "at most n*m" in str(grad.tape_report())


def test_a_kernel_without_numbers_to_differentiate_says_what_to_return(tmp_path):
    (tmp_path / "count.c").write_text("int count(double x) { return x > 0; }\n")
    count = tapeflow.gradient(tapeflow.load(tmp_path / "count.c"), wrt=["x"])
    with pytest.raises(ArgumentError, match="help: return a floating-point number, or write an array of them"):
        count(1.0)


def root(x: float, tolerance: float) -> float:
    y = x
    step = 1.0
    while abs(step) > tolerance:
        step = (y * y - x) / (2 * y)
        y -= step
    return y


@pytest.mark.parametrize(
    "kernel", [root, tapeflow.kernel(root), tapeflow.load(root)], ids=["plain", "marked", "loaded"]
)
def test_python_functions_need_no_loading(kernel):
    assert tapeflow.gradient(kernel, wrt=["x"])(4.0, 1e-12).gradients["x"] == pytest.approx(0.25, rel=1e-12)
    assert tapeflow.value_and_gradient(kernel, wrt=["x"])(4.0, 1e-12)[0] == pytest.approx(2.0, rel=1e-12)
    assert tapeflow.jvp(kernel, wrt=["x"])(4.0, 1e-12, tangents={"x": 2.0}).tangents["return"] == pytest.approx(0.5)
    products = tapeflow.hvp(kernel, wrt=["x"])(4.0, 1e-12, vectors={"x": 1.0}).products
    assert products["x"] == pytest.approx(-1 / 32, rel=1e-9)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TapeflowError, match="a kernel is wanted here, not str"):
        tapeflow.gradient("kernel.c", wrt=["x"])

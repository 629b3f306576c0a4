"""Arguments of a call: what fits, and the message where one does not."""

import re

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

import tapeflow
from tapeflow.arguments import ArgumentError, BoundArray, bind, overlaps_itself, parameters_of

PRIMAL = """
func.func @g(
  %n: i32 {tapeflow.name = "n"} loc("n"("g.c":1:12)), %a: f64 {tapeflow.name = "a"}, %flag: i1 {tapeflow.name = "flag"},
  %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]} loc("x"("g.c":1:40)),
  %y: memref<?x3xf32> {tapeflow.name = "y", tapeflow.extents = ["n", "3"]}
) {
  func.return
}
"""


@pytest.fixture(scope="module")
def parameters():
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    function = Parser(context, PRIMAL).parse_module().body.block.first_op
    assert isinstance(function, FuncOp)
    return parameters_of(function)


def arguments(**changes):
    """Arguments that fit, but for `changes`."""
    fitting = {"n": 4, "a": 2.5, "flag": True, "x": np.zeros(4), "y": np.zeros((4, 3), np.float32)}
    return tuple((fitting | changes).values())


def bind_all(parameters, *given):
    return bind(parameters, [p.is_array for p in parameters], given, "g")


def test_parameters_are_as_in_the_source(parameters):
    assert [str(p) for p in parameters] == ["int32 n", "float64 a", "bool flag", "float64 x[n]", "float32 y[n][3]"]


def test_numbers_of_all_kinds_are_taken(parameters):
    bound = bind_all(parameters, *arguments(n=np.int64(4), a=np.float32(2), flag=np.True_))
    assert bound[:3] == [4, 2.0, True]
    assert [type(value) for value in bound[:3]] == [int, float, bool]


def test_contiguous_arrays_are_used_as_they_are(parameters):
    x = np.zeros(4)
    bound = bind_all(parameters, *arguments(x=x))[3]
    assert isinstance(bound, BoundArray)
    assert bound.used is x


def test_other_arrays_are_copied_in_and_back(parameters):
    whole = np.arange(8.0)
    bound = bind_all(parameters, *arguments(x=whole[::2]))[3]
    assert isinstance(bound, BoundArray)
    bound.used[:] = -1
    bound.write_back()
    np.testing.assert_array_equal(whole, [-1, 1, -1, 3, -1, 5, -1, 7])


def read_only(array):
    array.flags.writeable = False
    return array


SHARED = np.zeros(12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 4.0}, "g.c:1:12: error: n: expected an integer (int32), got float 4.0"),
        ({"n": 2**31}, "g.c:1:12: error: n: 2147483648 does not fit int32"),
        ({"n": "4"}, "g.c:1:12: error: n: expected an integer (int32), got str '4'"),
        ({"a": "2"}, "error: a: expected a number (float64), got str '2'"),
        ({"a": 1j}, "error: a: expected a number (float64), got complex 1j"),
        ({"a": np.zeros(2)}, "error: a: expected a number (float64), got an array of float64 and shape (2,)"),
        ({"a": 10**400}, "error: a: the integer is too large for float64"),
        ({"flag": 1}, "error: flag: expected True or False, got int 1"),
        ({"x": [0.0] * 4}, "g.c:1:40: error: x: expected a NumPy array of float64 with 1 dimension, got list"),
        (
            {"x": np.zeros(4, np.float32)},
            "g.c:1:40: error: x: expected elements of float64, got float32\n"
            "  help: convert it with .astype(numpy.float64)",
        ),
        ({"x": np.zeros(4, ">f8")}, "g.c:1:40: error: x: expected elements of float64, got >f8"),
        ({"x": np.zeros((4, 1))}, "g.c:1:40: error: x: expected 1 dimension, got shape (4, 1)"),
        (
            {"x": np.ma.masked_array(np.zeros(4), [0, 0, 1, 0])},
            "g.c:1:40: error: x: expected a plain array, got a masked one, whose mask would be ignored\n"
            "  help: fill it with .filled(value)",
        ),
        ({"x": np.zeros(5)}, "g.c:1:40: error: x: expected shape (n,) = (4,), got (5,)"),
        ({"n": -1}, "g.c:1:40: error: x: expected shape (n,) = (0,), got (4,)"),
        ({"y": np.zeros((4, 2), np.float32)}, "error: y: expected shape (n, 3) = (4, 3), got (4, 2)"),
        ({"x": read_only(np.zeros(4))}, "error: x: the kernel writes this array, but it is read-only\n  help: pass a "),
        ({"x": np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))}, "several of its elements share memory"),
        (
            {"x": SHARED[:4], "y": SHARED[:6].view(np.float32).reshape(4, 3)},
            "error: x and y share memory: a kernel's arrays must not overlap\n  help: pass a copy of one of them",
        ),
    ],
)
def test_what_does_not_fit_is_refused(parameters, changes, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        bind_all(parameters, *arguments(**changes))


def test_the_number_of_arguments_is_checked(parameters):
    with pytest.raises(ArgumentError, match=re.escape("takes 5 arguments, got 1")):
        bind_all(parameters, 4)


def test_interleaved_arrays_do_not_overlap(parameters):
    whole = np.zeros(8)
    y = np.zeros((4, 6), np.float32)
    assert bind_all(parameters, *arguments(x=whole[1::2], y=y[:, ::2]))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((3, 4)), False),
        (np.zeros((3, 4)).T[::-1], False),
        (np.zeros((0, 4)), False),
        (np.broadcast_to(np.zeros(4), (3, 4)), True),
        (np.broadcast_to(np.zeros(4), (1, 4)), False),
        (np.lib.stride_tricks.sliding_window_view(np.zeros(6), 3), True),
    ],
)
def test_overlap_within_an_array(array, expected):
    assert overlaps_itself(array) is expected


def test_a_kernel_without_numbers_to_differentiate_says_what_to_return(tmp_path):
    (tmp_path / "count.c").write_text("int count(double x) { return x > 0; }\n")
    count = tapeflow.gradient(tapeflow.load(tmp_path / "count.c"), wrt=["x"])
    with pytest.raises(ArgumentError, match="help: return a floating-point number, or write an array of them"):
        count(1.0)


def test_a_kernel_of_several_results_is_refused_when_called(tmp_path):
    (tmp_path / "two.mlir").write_text("func.func @two(%x: f64) -> (f64, f64) { func.return %x, %x : f64, f64 }\n")
    two = tapeflow.gradient(tapeflow.load(tmp_path / "two.mlir"), wrt=["x"])
    with pytest.raises(tapeflow.TapeflowError, match="two has 2 results: only kernels with one can be called"):
        two(1.0)

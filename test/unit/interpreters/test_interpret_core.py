"""memref, scf, cf and func: arrays in place, loops with results, calls, and what is refused."""

import math

import numpy as np
import pytest
from ir_text import parse
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters import run


def test_arrays_are_read_and_written_in_place():
    module = parse(
        """func.func @scale(%A: memref<?x3xf64>, %n: index, %m: index, %c: f64) {
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             scf.for %i = %c0 to %n step %c1 {
               scf.for %j = %c0 to %m step %c1 {
                 %a = memref.load %A[%i, %j] : memref<?x3xf64>
                 %p = arith.mulf %a, %c : f64
                 memref.store %p, %A[%i, %j] : memref<?x3xf64>
               }
             }
             func.return
           }"""
    )
    array = np.arange(12.0).reshape(4, 3)
    expected = array * 3
    assert run(module, "scale", (array, 4, 3, 3)) == ()
    assert (array == expected).all()


def test_views_of_the_caller_work():
    module = parse(
        """func.func @set(%x: memref<?xf32>, %v: f32) {
             %c1 = arith.constant 1 : index
             memref.store %v, %x[%c1] : memref<?xf32>
             func.return
           }"""
    )
    base = np.zeros((3, 4), np.float32)
    run(module, "set", (base[:, 2], 0.1))
    assert base[1, 2] == np.float32(0.1)
    assert np.count_nonzero(base) == 1


LOAD = """func.func @f(%x: memref<?x?xf64>, %i: index, %j: index) -> f64 {
            %v = memref.load %x[%i, %j] : memref<?x?xf64> loc("f.c":3:5)
            func.return %v : f64
          }"""


@pytest.mark.parametrize("indices", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_an_index_out_of_bounds_is_an_error_that_says_where(indices):
    message = rf"f.c:3:5: memref.load: index \[{indices[0]}, {indices[1]}\] is out of bounds for shape \[2, 3\]"
    with pytest.raises(InterpretationError, match=message):
        run(parse(LOAD), "f", (np.zeros((2, 3)), *indices))


def test_a_store_out_of_bounds_is_an_error():
    module = parse(
        """func.func @f(%x: memref<4xi32>, %i: index, %v: i32) {
             memref.store %v, %x[%i] : memref<4xi32>
             func.return
           }"""
    )
    with pytest.raises(InterpretationError, match=r"index \[4\] is out of bounds for shape \[4\]"):
        run(module, "f", (np.zeros(4, np.int32), 4, 1))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            np.zeros((2, 3), np.float32),
            "argument 0 of @f has dtype float32, but its type memref<.x.xf64> takes float64",
        ),
        (np.zeros(2), r"argument 0 of @f has shape \(2,\), but its type is memref<.x.xf64>"),
        ([[1.0]], r"argument 0 of @f is \[\[1.0\]\], but its type memref<.x.xf64> takes a NumPy array"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(value, message):
    with pytest.raises(InterpretationError, match=message):
        run(parse(LOAD), "f", (value, 0, 0))


@pytest.mark.parametrize(("scalar", "value"), [("i32", 1 << 31), ("i32", 1.5), ("i1", 2), ("f64", "x"), ("f32", None)])
def test_a_scalar_that_does_not_fit_is_refused(scalar, value):
    module = parse(f"func.func @f(%x: {scalar}) {{\n func.return\n}}")
    with pytest.raises(
        InterpretationError, match=f"argument 0 of @f is {value!r}, which does not fit its type {scalar}"
    ):
        run(module, "f", (value,))


def test_numpy_scalars_are_taken():
    module = parse(
        "func.func @f(%x: f64, %n: i32, %b: i1) -> (f64, i32, i1) {\n func.return %x, %n, %b : f64, i32, i1\n}"
    )
    assert run(module, "f", (np.float32(0.5), np.int64(3), np.bool_(True))) == (0.5, 3, True)


def test_a_missing_function_or_argument_is_an_error():
    module = parse("func.func @f(%x: f64) {\n func.return\n}\nfunc.func private @g()")
    with pytest.raises(InterpretationError, match="@f takes 1 arguments, but 0 were given"):
        run(module, "f", ())
    with pytest.raises(InterpretationError, match="Could not find symbol h"):
        run(module, "h", ())
    with pytest.raises(InterpretationError, match="@g has no body"):
        run(module, "g", ())


def test_local_arrays_start_as_poison():
    module = parse(
        """func.func @f(%n: index) -> (f64, i32, i1, f64, index) {
             %c0 = arith.constant 0 : index
             %a = memref.alloca(%n) : memref<?x2xf64>
             %b = memref.alloc() : memref<3xi32>
             %c = memref.alloca() : memref<i1>
             %d = memref.alloc() : memref<1xf64>
             %zero = arith.constant 0.0 : f64
             memref.store %zero, %d[%c0] : memref<1xf64>
             memref.dealloc %d : memref<1xf64>
             %va = memref.load %a[%c0, %c0] : memref<?x2xf64>
             %vb = memref.load %b[%c0] : memref<3xi32>
             %vc = memref.load %c[] : memref<i1>
             %vd = memref.load %d[%c0] : memref<1xf64>
             %extent = memref.dim %a, %c0 : memref<?x2xf64>
             func.return %va, %vb, %vc, %vd, %extent : f64, i32, i1, f64, index
           }"""
    )
    a, b, c, d, extent = run(module, "f", (5,))
    assert math.isnan(a)
    assert b == -(1 << 31)
    assert c is False
    assert math.isnan(d)
    assert extent == 5
    with pytest.raises(InterpretationError, match=r"memref.alloca: an array cannot have shape \[-1, 2\]"):
        run(module, "f", (-1,))


def test_casts_copies_and_subviews_alias():
    module = parse(
        """func.func @f(%x: memref<?x?xf64>, %o: index) -> f64 {
             %c1 = arith.constant 1 : index
             %y = "memref.cast"(%x) : (memref<?x?xf64>) -> memref<4x6xf64>
             %row = memref.subview %y[%o, 0] [1, 3] [1, 2] : memref<4x6xf64> to memref<3xf64, strided<[2], offset: ?>>
             %v = memref.load %row[%c1] : memref<3xf64, strided<[2], offset: ?>>
             %t = memref.alloc() : memref<3xf64>
             "memref.copy"(%row, %t) : (memref<3xf64, strided<[2], offset: ?>>, memref<3xf64>) -> ()
             %u = memref.load %t[%c1] : memref<3xf64>
             %s = arith.addf %u, %v : f64
             memref.store %s, %row[%c1] : memref<3xf64, strided<[2], offset: ?>>
             func.return %s : f64
           }"""
    )
    array = np.arange(24.0).reshape(4, 6)
    assert run(module, "f", (array, 2)) == (28.0,)
    assert array[2, 2] == 28.0
    with pytest.raises(
        InterpretationError, match=r"offsets \[4, 0\], sizes \[1, 3\], strides \[1, 2\] are out of bounds"
    ):
        run(module, "f", (array, 4))
    with pytest.raises(
        InterpretationError, match=r"memref.cast: the array has shape \(3, 6\), but its type is memref<4x6"
    ):
        run(module, "f", (array[:3], 0))


GLOBAL = """"memref.global"() <{sym_name = "table", type = memref<3xf64>, sym_visibility = "private",
                                initial_value = dense<[1.0, 2.0, 4.0]> : tensor<3xf64>}> : () -> ()"""


def test_globals_live_as_long_as_a_run():
    module = parse(
        GLOBAL
        + """func.func @bump(%i: index) -> f64 {
             %g = memref.get_global @table : memref<3xf64>
             %v = memref.load %g[%i] : memref<3xf64>
             %w = arith.addf %v, %v : f64
             memref.store %w, %g[%i] : memref<3xf64>
             func.return %w : f64
           }
           func.func @f(%i: index) -> f64 {
             %a = func.call @bump(%i) : (index) -> f64
             %b = func.call @bump(%i) : (index) -> f64
             func.return %b : f64
           }"""
    )
    assert run(module, "f", (2,)) == (16.0,)
    assert run(module, "f", (2,)) == (16.0,)


def test_loops_carry_values_and_may_run_no_iteration():
    module = parse(
        """func.func @f(%lb: index, %ub: index, %step: index) -> (index, index) {
             %zero = arith.constant 0 : index
             %one = arith.constant 1 : index
             %n, %s = scf.for %i = %lb to %ub step %step iter_args(%k = %zero, %t = %zero) -> (index, index) {
               %k1 = arith.addi %k, %one : index
               %t1 = arith.addi %t, %i : index
               scf.yield %k1, %t1 : index, index
             }
             func.return %n, %s : index, index
           }"""
    )
    assert run(module, "f", (2, 11, 3)) == (3, 15)
    assert run(module, "f", (5, 5, 1)) == (0, 0)
    assert run(module, "f", (5, -5, 1)) == (0, 0)
    with pytest.raises(InterpretationError, match=r"scf\.for: the step of a loop is 0, but it must be positive"):
        run(module, "f", (0, 1, 0))


def test_while_counts_collatz_steps():
    module = parse(
        """func.func @f(%n: i64) -> i64 {
             %zero = arith.constant 0 : i64
             %one = arith.constant 1 : i64
             %two = arith.constant 2 : i64
             %three = arith.constant 3 : i64
             %last, %count = scf.while (%x = %n, %k = %zero) : (i64, i64) -> (i64, i64) {
               %go = arith.cmpi ne, %x, %one : i64
               scf.condition(%go) %x, %k : i64, i64
             } do {
             ^bb0(%x: i64, %k: i64):
               %r = arith.remsi %x, %two : i64
               %odd = arith.cmpi eq, %r, %one : i64
               %next = scf.if %odd -> (i64) {
                 %p = arith.muli %x, %three : i64
                 %q = arith.addi %p, %one : i64
                 scf.yield %q : i64
               } else {
                 %h = arith.divsi %x, %two : i64
                 scf.yield %h : i64
               }
               %k1 = arith.addi %k, %one : i64
               scf.yield %next, %k1 : i64, i64
             }
             func.return %count : i64
           }"""
    )
    assert run(module, "f", (27,)) == (111,)


def test_index_switch_falls_to_its_default():
    module = parse(
        """func.func @f(%i: index) -> i32 {
             %r = scf.index_switch %i -> i32
             case 2 {
               %a = arith.constant 20 : i32
               scf.yield %a : i32
             }
             case 5 {
               %b = arith.constant 50 : i32
               scf.yield %b : i32
             }
             default {
               %c = arith.constant -1 : i32
               scf.yield %c : i32
             }
             func.return %r : i32
           }"""
    )
    assert [run(module, "f", (i,))[0] for i in (2, 5, 3)] == [20, 50, -1]


def test_parallel_loops_reduce_in_order():
    module = parse(
        """func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %zero = arith.constant 0.0 : f64
             %s = "scf.parallel"(%c0, %n, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
             ^bb0(%i: index):
               %v = memref.load %x[%i] : memref<?xf64>
               "scf.reduce"(%v) ({
               ^bb1(%a: f64, %b: f64):
                 %t = arith.addf %a, %b : f64
                 "scf.reduce.return"(%t) : (f64) -> ()
               }) : (f64) -> ()
             }) : (index, index, index, f64) -> f64
             func.return %s : f64
           }"""
    )
    values = np.array([0.1, 1e16, -1e16, 0.2])
    total = 0.0
    for value in values:
        total += float(value)
    assert run(module, "f", (values, 4)) == (total,)


def test_blocks_branch():
    module = parse(
        """func.func @f(%n: i32) -> i32 {
             %one = arith.constant 1 : i32
             %zero = arith.constant 0 : i32
             cf.br ^head(%n, %one : i32, i32)
           ^head(%k: i32, %product: i32):
             %go = arith.cmpi sgt, %k, %zero : i32
             cf.cond_br %go, ^body, ^exit
           ^body:
             %p = arith.muli %product, %k : i32
             %less = arith.subi %k, %one : i32
             cf.br ^head(%less, %p : i32, i32)
           ^exit:
             func.return %product : i32
           }"""
    )
    assert run(module, "f", (6,)) == (720,)


def test_recursion_has_a_frame_a_call():
    module = parse(
        """func.func @fib(%n: i64) -> i64 {
             %one = arith.constant 1 : i64
             %two = arith.constant 2 : i64
             %small = arith.cmpi slt, %n, %two : i64
             %r = scf.if %small -> (i64) {
               scf.yield %n : i64
             } else {
               %m1 = arith.subi %n, %one : i64
               %m2 = arith.subi %n, %two : i64
               %a = func.call @fib(%m1) : (i64) -> i64
               %b = func.call @fib(%m2) : (i64) -> i64
               %s = arith.addi %a, %b : i64
               scf.yield %s : i64
             }
             func.return %r : i64
           }"""
    )
    assert run(module, "fib", (11,)) == (89,)


def test_an_unknown_operation_is_an_error_that_names_it():
    module = parse(
        """func.func @f() {
             "builtin.unrealized_conversion_cast"() : () -> ()
             func.return
           }"""
    )
    with pytest.raises(
        InterpretationError, match=r"builtin\.unrealized_conversion_cast: the interpreter does not know"
    ):
        run(module, "f", ())

"""What gradients mean: interpreted, compared with central differences, and the same bits after every pipeline."""

import numpy as np
import pytest
from differentiation import check, tapes

from tapeflow.transforms.tape_plan import TapePlanPass

RNG = np.random.default_rng(1)


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 1.5, size=shape)


LOOP = """
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %y = math.sin %xi : f64
    %p = arith.mulf %y, %xi : f64
    %s_new = arith.addf %s_i, %p : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_loop_of_any_trip_count(n: int):
    check(LOOP, [n, array(max(n, 1))])


def test_independent_iterations_tape_nothing():
    assert tapes(LOOP, TapePlanPass) == {}


STRAIGHT = """
func.func @f(%a: f64, %b: f64, %c: f64) -> (f64, f64) {
  %p = arith.mulf %a, %b : f64
  %q = arith.divf %p, %c : f64
  %r = arith.mulf %q, %q : f64
  %e = math.exp %r : f64
  %d = arith.subf %e, %a : f64
  func.return %d, %q : f64, f64
}
ad.vjp @f_grad of @f (active, active, const) -> (active, active)
"""


def test_scalars_and_several_results():
    check(STRAIGHT, [0.7, 0.4, 1.3])


def test_top_block_values_are_not_taped():
    assert tapes(STRAIGHT) == {}


def test_inactive_result_has_no_seed():
    check(STRAIGHT.replace("-> (active, active)", "-> (active, const)"), [0.7, 0.4, 1.3])
    check(STRAIGHT.replace("-> (active, active)", "-> (const, active)"), [0.7, 0.4, 1.3])


CARRIED = """
func.func @f(%n: index, %a: f64, %b: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  %k0 = arith.constant 1 : i32
  // two swapped, an inactive float and an integer, all carried
  %p, %q, %w, %k = scf.for %i = %c0 to %n step %c1
      iter_args(%p_i = %a, %q_i = %b, %w_i = %two, %k_i = %k0) -> (f64, f64, f64, i32) {
    %kf = arith.sitofp %k_i : i32 to f64
    %m = arith.mulf %p_i, %q_i : f64
    %m_w = arith.mulf %m, %w_i : f64
    %m_k = arith.divf %m_w, %kf : f64
    %s = math.sin %m_k : f64
    %w_n = arith.divf %w_i, %two : f64
    %k_n = arith.addi %k_i, %k0 : i32
    scf.yield %q_i, %s, %w_n, %k_n : f64, f64, f64, i32
  }
  %r = arith.mulf %p, %q : f64
  %r_w = arith.addf %r, %w : f64
  func.return %r_w : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_swapped_and_mixed_carried_values(n: int):
    check(CARRIED, [n, 0.8, 1.1])


BRANCHES = """
func.func @f(%n: index, %x: memref<?xf64>, %t: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.6 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %t) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %xi, %one : f64
    %u, %k = scf.if %c -> (f64, f64) {
      %d = arith.cmpf ogt, %s_i, %half : f64
      %v = scf.if %d -> (f64) {
        %p = arith.mulf %s_i, %xi : f64
        scf.yield %p : f64
      } else {
        %e = math.exp %s_i : f64
        scf.yield %e : f64
      }
      scf.yield %v, %one : f64, f64
    } else {
      %z = arith.mulf %xi, %xi : f64
      scf.yield %z, %half : f64, f64
    }
    %w = arith.mulf %u, %k : f64
    scf.yield %w : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 4, 9])
def test_nested_branches_with_results(n: int):
    check(BRANCHES, [n, array(max(n, 1)), 0.9], steps=[(1e-4, 1e-7)])


ARGMIN = """
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<?xf64>
  %least, %at = scf.for %i = %c1 to %n step %c1 iter_args(%m = %first, %k = %c0) -> (f64, index) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf olt, %xi, %m : f64
    %m_new, %k_new = scf.if %c -> (f64, index) {
      scf.yield %xi, %i : f64, index
    } else {
      scf.yield %m, %k : f64, index
    }
    scf.yield %m_new, %k_new : f64, index
  }
  %again = memref.load %x[%at] : memref<?xf64>
  %r = arith.mulf %least, %again : f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


@pytest.mark.parametrize("n", [1, 2, 9])
def test_argmin_by_branch(n: int):
    gradient = check(ARGMIN, [n, array(n)], steps=[(1e-5, 1e-7)])
    assert np.count_nonzero(gradient.adjoints[0]) >= 1


TRIANGLE = """
func.func @f(%n: index, %r: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %e = scf.for %i = %c0 to %n step %c1 iter_args(%e_i = %zero) -> (f64) {
    %from = arith.addi %i, %c1 : index
    %e_j = scf.for %j = %from to %n step %c1 iter_args(%e_in = %e_i) -> (f64) {
      %ri = memref.load %r[%i] : memref<?xf64>
      %rj = memref.load %r[%j] : memref<?xf64>
      %d = arith.subf %ri, %rj : f64
      %d2 = arith.mulf %d, %d : f64
      %one = arith.constant 1.0 : f64
      %d3 = arith.addf %d2, %one : f64
      %q = math.sqrt %d3 : f64
      %v = arith.divf %one, %q : f64
      %e_new = arith.subf %e_in, %v : f64
      scf.yield %e_new : f64
    }
    scf.yield %e_j : f64
  }
  func.return %e : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_triangular_bounds(n: int):
    check(TRIANGLE, [n, array(max(n, 1))])


def test_triangular_bounds_tape_nothing_that_is_read_again():
    assert tapes(TRIANGLE, TapePlanPass) == {}


STENCIL = """
func.func @f(%n: index, %steps: index, %u: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = arith.constant 0.3 : f64
  %end = arith.subi %n, %c1 : index
  scf.for %t = %c0 to %steps step %c1 {
    scf.for %i = %c1 to %end step %c1 {
      %im = arith.subi %i, %c1 : index
      %ip = arith.addi %i, %c1 : index
      %l = memref.load %u[%im] : memref<?xf64>
      %m = memref.load %u[%i] : memref<?xf64>
      %r = memref.load %u[%ip] : memref<?xf64>
      %lr = arith.mulf %l, %r : f64
      %mm = arith.mulf %m, %m : f64
      %sum = arith.addf %lr, %mm : f64
      %new = arith.mulf %sum, %h : f64
      memref.store %new, %u[%i] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @f_grad of @f (const, const, active) -> ()
"""


@pytest.mark.parametrize(("n", "steps"), [(1, 3), (3, 1), (6, 0), (6, 3)])
def test_in_place_stencil(n: int, steps: int):
    check(STENCIL, [n, steps, array(n)])


STRIDED = """
func.func @f(%n: index, %step: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %last = arith.subi %n, %c1 : index
  %k_3 = arith.constant 3 : index
  scf.for %i = %c2 to %n step %c3 {
    // from the other end
    %down = arith.subi %last, %i : index
    %a = memref.load %x[%i] : memref<?xf64>
    %b = memref.load %y[%down] : memref<?xf64>
    %p = arith.mulf %a, %b : f64
    memref.store %p, %y[%down] : memref<?xf64>
  }
  scf.for %i = %c1 to %n step %step {
    %a = memref.load %y[%i] : memref<?xf64>
    %e = math.exp %a : f64
    memref.store %e, %x[%i] : memref<?xf64>
  }
  func.return
}
ad.vjp @f_grad of @f (const, const, active, active) -> ()
"""


@pytest.mark.parametrize(("n", "step"), [(0, 1), (2, 5), (3, 2), (11, 4), (12, 1)])
def test_steps_and_descending_subscripts(n: int, step: int):
    check(STRIDED, [n, step, array(max(n, 1)), array(max(n, 1))])


LOCAL_ARRAYS = """
func.func @f(%n: index, %m: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %all = memref.alloca(%n) : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %row = memref.alloca(%m) : memref<?x3xf64>
    %xi = memref.load %x[%i] : memref<?xf64>
    scf.for %j = %c0 to %m step %c1 {
      %e = math.exp %xi : f64
      memref.store %e, %row[%j, %c1] : memref<?x3xf64>
      memref.store %xi, %row[%j, %c0] : memref<?x3xf64>
    }
    %t = scf.for %j = %c0 to %m step %c1 iter_args(%t_j = %zero) -> (f64) {
      %a = memref.load %row[%j, %c0] : memref<?x3xf64>
      %b = memref.load %row[%j, %c1] : memref<?x3xf64>
      %p = arith.mulf %a, %b : f64
      %p2 = arith.mulf %p, %p : f64
      memref.store %p2, %row[%j, %c0] : memref<?x3xf64>
      %q = memref.load %row[%j, %c0] : memref<?x3xf64>
      %t_n = arith.addf %t_j, %q : f64
      scf.yield %t_n : f64
    }
    memref.store %t, %all[%i] : memref<?xf64>
    scf.yield %s_i : f64
  }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%r_i = %s) -> (f64) {
    %a = memref.load %all[%i] : memref<?xf64>
    %b = arith.mulf %a, %a : f64
    %r_n = arith.addf %r_i, %b : f64
    scf.yield %r_n : f64
  }
  func.return %r : f64
}
ad.vjp @f_grad of @f (const, const, active) -> (active)
"""


@pytest.mark.parametrize(("n", "m"), [(0, 2), (2, 0), (3, 4)])
def test_local_arrays_at_the_top_and_in_loops(n: int, m: int):
    check(LOCAL_ARRAYS, [n, m, 0.3 * array(max(n, 1))], steps=[(1e-4, 1e-7)])


VIEWS = """
func.func @f(%n: index, %A: memref<?x4xf64>, %c: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %B = "memref.cast"(%A) : (memref<?x4xf64>) -> memref<?x?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %row = memref.subview %B[%i, 0] [1, 4] [1, 1] : memref<?x?xf64> to memref<4xf64, strided<[?, 1], offset: ?>>
    %a = memref.load %row[%c0] : memref<4xf64, strided<[?, 1], offset: ?>>
    %b = memref.load %A[%i, %c1] : memref<?x4xf64>
    %p = arith.mulf %a, %b : f64
    memref.store %p, %row[%c1] : memref<4xf64, strided<[?, 1], offset: ?>>
    %s_n = arith.addf %s_i, %p : f64
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, const) -> (active)
"""


POINTER = """
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>, %c: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %z = arith.select %c, %x, %y : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %a = memref.load %z[%i] : memref<?xf64>
    %b = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %a, %b : f64
    memref.store %p, %z[%i] : memref<?xf64>
    %s_n = arith.addf %s_i, %p : f64
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active, const) -> (active)
"""


@pytest.mark.parametrize("chosen", [True, False])
def test_selected_array(chosen: bool):
    check(POINTER, [3, array(3), array(3), chosen])


INDIRECT = """
func.func @f(%n: index, %rows: memref<?xi32>, %columns: memref<?xi32>, %v: memref<?xf64>, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %ip = arith.addi %i, %c1 : index
    %from_i = memref.load %rows[%i] : memref<?xi32>
    %to_i = memref.load %rows[%ip] : memref<?xi32>
    %from = arith.index_cast %from_i : i32 to index
    %to = arith.index_cast %to_i : i32 to index
    %y = scf.for %k = %from to %to step %c1 iter_args(%y_k = %zero) -> (f64) {
      %j_k = memref.load %columns[%k] : memref<?xi32>
      %j = arith.index_cast %j_k : i32 to index
      %a = memref.load %v[%k] : memref<?xf64>
      %b = memref.load %x[%j] : memref<?xf64>
      %p = arith.mulf %a, %b : f64
      %y_n = arith.addf %y_k, %p : f64
      scf.yield %y_n : f64
    }
    %t = math.tanh %y : f64
    %s_n = arith.addf %s_i, %t : f64
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, const, const, active, active) -> (active)
"""


def test_bounds_and_subscripts_from_memory():
    rows, columns = np.array([0, 2, 2, 5], dtype=np.int32), np.array([0, 3, 1, 1, 2], dtype=np.int32)
    check(INDIRECT, [3, rows, columns, array(5), array(4)])


def test_bounds_and_subscripts_from_memory_are_read_again():
    # Integers are taped as narrow as they are in memory.
    assert tapes(INDIRECT) == {
        "tape_from_i": "i32",
        "tape_to_i": "i32",
        "tape_j_k": "i32",
        "tape_a": "f64",
        "tape_b": "f64",
        "tape_t": "f64",
    }
    assert tapes(INDIRECT, TapePlanPass) == {"tape_t": "f64"}


CALLS = """
func.func @square(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
func.func @scale(%n: index, %x: memref<?xf64>, %by: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = func.call @square(%a) : (f64) -> f64
    %c = arith.mulf %b, %by : f64
    memref.store %c, %x[%i] : memref<?xf64>
  }
  func.return
}
func.func @f(%n: index, %x: memref<?xf64>, %by: f64) -> f64 {
  func.call @scale(%n, %x, %by) : (index, memref<?xf64>, f64) -> ()
  func.call @scale(%n, %x, %by) : (index, memref<?xf64>, f64) -> ()
  %r = func.call @square(%by) : (f64) -> f64
  func.return %r : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


def test_several_calls():
    check(CALLS, [3, array(3), 0.9])


MIXED = """
func.func @f(%n: index, %x: memref<?xf32>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf32>
    %a64 = arith.extf %a : f32 to f64
    %b = memref.load %y[%i] : memref<?xf64>
    %p = arith.mulf %a64, %b : f64
    %q = arith.truncf %p : f64 to f32
    memref.store %q, %x[%i] : memref<?xf32>
    %s_n = arith.addf %s_i, %p : f64
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


def test_mixed_precision():
    check(MIXED, [4, array(4).astype(np.float32), array(4)], steps=[(5e-2, 2e-5)])


CHOICES = """
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = memref.load %y[%i] : memref<?xf64>
    %big = arith.maximumf %a, %b : f64
    %small = arith.minnumf %a, %b : f64
    %d = arith.subf %a, %b : f64
    %m = math.absf %d : f64
    %c = arith.cmpf olt, %a, %b : f64
    %either = arith.select %c, %m, %small : f64
    %p = arith.mulf %big, %either : f64
    %w = math.powf %p, %a : f64
    %f = math.fma %w, %big, %small : f64
    %s_n = arith.addf %s_i, %f : f64
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)
"""


def test_choices():
    check(CHOICES, [6, array(6), array(6)], steps=[(1e-5, 1e-7)])


SCALARS = """
func.func @f(%n: i32, %x: memref<?xf64>) -> f64 {
  %s = memref.alloca() : memref<f64>
  %previous = memref.alloca() : memref<f64>
  %i = memref.alloca() : memref<i32>
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %s[] : memref<f64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %N = arith.index_cast %n : i32 to index
  scf.for %k = %c0 to %N step %c1 {
    %k32 = arith.index_cast %k : index to i32
    memref.store %k32, %i[] : memref<i32>
    %i_0 = memref.load %i[] : memref<i32>
    %c = arith.cmpi sge, %i_0, %one : i32
    scf.if %c {
      // set in an earlier iteration
      %p = memref.load %previous[] : memref<f64>
      %s_0 = memref.load %s[] : memref<f64>
      %t = arith.mulf %p, %p : f64
      %s_1 = arith.addf %s_0, %t : f64
      memref.store %s_1, %s[] : memref<f64>
    }
    %at = arith.index_cast %i_0 : i32 to index
    %xi = memref.load %x[%at] : memref<?xf64>
    memref.store %xi, %previous[] : memref<f64>
  }
  %r = memref.load %s[] : memref<f64>
  func.return %r : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_scalar_variables(n: int):
    check(SCALARS, [n, array(max(n, 1))])


OVERWRITTEN = """
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  // the same element twice, then a constant over it
  %a = memref.load %x[%c0] : memref<?xf64>
  %b = memref.load %x[%c0] : memref<?xf64>
  %p = arith.mulf %a, %b : f64
  memref.store %p, %x[%c0] : memref<?xf64>
  memref.store %a, %x[%c0] : memref<?xf64>
  %c = memref.load %x[%c0] : memref<?xf64>
  %q = arith.mulf %c, %p : f64
  memref.store %two, %x[%c1] : memref<?xf64>
  %d = memref.load %x[%c1] : memref<?xf64>
  %r = arith.mulf %q, %d : f64
  memref.store %r, %x[%c1] : memref<?xf64>
  memref.store %two, %x[%c0] : memref<?xf64>
  func.return %r : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


def test_overwritten_elements():
    check(OVERWRITTEN, [2, array(2)])


INVARIANT = """
func.func @f(%n: index, %m: index, %x: memref<?xf64>, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %w = arith.mulf %xi, %a : f64
    %t = scf.for %j = %c0 to %m step %c1 iter_args(%t_j = %s_i) -> (f64) {
      %xj = memref.load %x[%j] : memref<?xf64>
      %c = arith.cmpf ogt, %xj, %xi : f64
      %v = scf.if %c -> (f64) {
        %p = arith.mulf %w, %xj : f64
        %q = arith.mulf %p, %a : f64
        scf.yield %q : f64
      } else {
        scf.yield %w : f64
      }
      %t_n = arith.addf %t_j, %v : f64
      scf.yield %t_n : f64
    }
    scf.yield %t : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, const, active, active) -> (active)
"""


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (4, 3)])
def test_values_from_outside_of_loops(n: int, m: int):
    check(INVARIANT, [n, m, array(4), 0.7], steps=[(1e-5, 1e-7)])


@pytest.mark.parametrize("text", [VIEWS])
def test_views(text: str):
    check(text, [3, array(3, 4), True])


CONSTANT_BOUNDS = """
func.func @f(%x: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f64
  // three trips, one trip, none, and one again in that
  %s = scf.for %i = %c0 to %c3 step %c1 iter_args(%s_i = %one) -> (f64) {
    %t = scf.for %j = %c2 to %c3 step %c1 iter_args(%t_j = %s_i) -> (f64) {
      %a = memref.load %x[%j] : memref<4xf64>
      %b = memref.load %x[%i] : memref<4xf64>
      %p = arith.mulf %a, %b : f64
      %q = arith.mulf %p, %t_j : f64
      memref.store %q, %x[%i] : memref<4xf64>
      scf.yield %q : f64
    }
    %u = scf.for %j = %c3 to %c2 step %c1 iter_args(%u_j = %t) -> (f64) {
      %v = arith.mulf %u_j, %u_j : f64
      scf.yield %v : f64
    }
    %w = scf.for %j = %c1 to %c3 step %c3 iter_args(%w_j = %u) -> (f64) {
      %e = math.sin %w_j : f64
      %k = memref.load %x[%j] : memref<4xf64>
      %r = arith.mulf %e, %k : f64
      scf.yield %r : f64
    }
    scf.yield %w : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (active) -> (active)
"""


def test_constant_bounds_that_stock_passes_fold():
    check(CONSTANT_BOUNDS, [array(4)])


def nest(depth: int) -> str:
    """A nest of loops of two trips outside, one inside, with a product carried through all."""
    lines = ["%v0 = memref.load %x[%c0] : memref<?xf64>"]
    for k in range(depth):
        lines.append(f"%r{k} = scf.for %i{k} = %c0 to %n step %c1 iter_args(%v{k + 1} = %v{k}) -> (f64) {{")
    lines.append(f"%in = math.sin %v{depth} : f64")
    for k in reversed(range(depth)):
        inner = "%in" if k == depth - 1 else f"%r{k + 1}"
        lines.append(f"scf.yield {inner} : f64\n}}")
    body = "\n".join(lines)
    return f"""
        func.func @f(%n: index, %x: memref<?xf64>) -> f64 {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          {body}
          func.return %r0 : f64
        }}
        ad.vjp @f_grad of @f (const, active) -> (active)
    """


def test_deep_nests():
    check(nest(40), [1, array(1)], pipelines=["differentiate", "plan"])
    check(nest(3), [2, array(1)])


COUNTED = """
func.func @f(%n: index, %m: i32, %by: i32, %x: memref<?xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s, %end = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero, %skip = %m) -> (f64, i32) {{
    %moved = arith.subi %skip, %by : i32
    %from = arith.index_cast %moved : i32 to index
    %s1, %k1 = scf.while (%s2 = %s0, %k = %skip) : (f64, i32) -> (f64, i32) {{
      %j = arith.index_cast %k : i32 to index
      %c = arith.cmpi sgt, %j, %i : index
      scf.condition(%c) %s2, %k : f64, i32
    }} do {{
    ^bb0(%s3: f64, %kb: i32):
      %j = arith.index_cast %kb : i32 to index
      %v = memref.load %x[%j] : memref<?xf64>
      %w = memref.load %x[%i] : memref<?xf64>
      %sq = arith.mulf %v, %w : f64
      %s4 = arith.addf %s3, %sq : f64
      memref.store %s4, %x[%i] : memref<?xf64>
      %next = arith.{step} : i32
      scf.yield %s4, %next : f64, i32
    }}
    scf.yield %s1, %moved : f64, i32
  }}
  func.return %s : f64
}}
ad.vjp @f_grad of @f (const, const, const, active) -> (active)
"""


@pytest.mark.parametrize("step", ["subi %kb, %by", "addi %kb, %minus", "addi %minus, %kb"])
@pytest.mark.parametrize(("n", "m"), [(4, 9), (0, 3), (3, 0), (1, 1)])
def test_what_loops_count_is_not_taped(step: str, n: int, m: int):
    text = COUNTED.format(step=step)
    if "minus" in step:
        text = text.replace(
            "  %zero =", "  %nought = arith.constant 0 : i32\n  %minus = arith.subi %nought, %by : i32\n  %zero ="
        )
    check(text, [n, m, 1, array(10)])
    # The factors, which are overwritten, and how often each while ran.
    assert not any("kb" in name or "skip" in name for name in tapes(text, TapePlanPass))


def test_what_a_loop_counts_unevenly_is_taped():
    text = COUNTED.format(step="muli %kb, %by").replace("sgt, %j, %i", "slt, %j, %n").replace("%k = %skip", "%k = %m")
    text = text.replace("memref.store %s4, %x[%i] : memref<?xf64>", "")
    check(text, [7, 2, 2, array(10)])
    assert any("kb" in name for name in tapes(text, TapePlanPass))


OUTSIDE = """
func.func @f(%n: index, %m: index, %k: index, %x: memref<?xf64>, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %s1 = scf.for %j = %i to %m step %c1 iter_args(%s2 = %s0) -> (f64) {
      %v = memref.load %x[%k] : memref<?xf64>
      %u = memref.load %x[%j] : memref<?xf64>
      %a = memref.load %w[%i] : memref<?xf64>
      %p = arith.mulf %v, %a : f64
      %q = arith.mulf %p, %u : f64
      %s3 = arith.addf %s2, %q : f64
      scf.yield %s3 : f64
    }
    %e = math.sin %s1 : f64
    scf.yield %e : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, const, const, active, active) -> (active)
"""


@pytest.mark.parametrize(("n", "m"), [(3, 4), (4, 2), (1, 1), (2, 0), (0, 2)])
def test_what_is_summed_in_registers(n: int, m: int):
    check(OUTSIDE, [n, m, 1, array(5), array(5)])


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0)])
def test_no_element_is_touched_behind_loops_that_do_not_run(n: int, m: int):
    # x has no element 9; an access would be an error of the interpreter.
    check(OUTSIDE, [n, m, 9, array(5), array(5)])


FILLED = """
func.func @f(%n: index, %steps: index, %x: memref<?x?xf64>, %w: memref<?xf64>) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %upto = arith.subi %n, %c1 : index
  %u = memref.alloca(%n) : memref<?xf64>
  %t = memref.alloca(%n, %n) : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %w[%i] : memref<?xf64>
    memref.store %v, %u[%i] : memref<?xf64>
    scf.for %j = %c0 to %n step %c1 {{
      memref.store %v, %t[%i, %j] : memref<?x?xf64>
    }}
  }}
  scf.for %step = %c0 to %steps step %c1 {{
    scf.for %i = {low} to {high} step %c1 {{
      scf.for %j = %c0 to %n step %c1 {{
        %v = memref.load %x[%i, %j] : memref<?x?xf64>
        %p = arith.mulf %v, %v : f64
        memref.store %p, %t[%i, %j] : memref<?x?xf64>
      }}
    }}
    scf.for %j = %c0 to %n step %c1 {{
      scf.for %i = %c1 to %upto step %c1 {{
        %v = memref.load %t[{read}] : memref<?x?xf64>
        memref.store %v, %x[%i, %j] : memref<?x?xf64>
      }}
    }}
  }}
  %s = scf.for %i = {first} to %n step %c1 iter_args(%s0 = %zero) -> (f64) {{
    %v = memref.load %u[%i] : memref<?xf64>
    %y = memref.load %x[%i, %i] : memref<?x?xf64>
    %p = arith.mulf %v, %y : f64
    %s1 = arith.addf %s0, %p : f64
    scf.yield %s1 : f64
  }}
  func.return %s : f64
}}
ad.vjp @f_grad of @f (const, const, active, active) -> (active)
"""


@pytest.mark.parametrize(
    "loops",
    [
        # What is read in a step is what is written in it; less than that; in another order, so that it is read before.
        {"low": "%c1", "high": "%upto", "read": "%i, %j", "first": "%c0"},
        {"low": "%c0", "high": "%n", "read": "%i, %j", "first": "%c1"},
        {"low": "%c0", "high": "%upto", "read": "%j, %i", "first": "%c0"},
    ],
    ids=["same", "less", "transposed"],
)
@pytest.mark.parametrize(("n", "steps"), [(4, 2), (3, 0), (2, 1)])
def test_adjoints_of_local_arrays_that_are_overwritten(loops: dict[str, str], n: int, steps: int):
    check(FILLED.format(**loops), [n, steps, array(n, n), array(n)])


DEAD_WRITES = """
func.func @f(%x: memref<2xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %w = memref.alloca() : memref<2xf64>
  scf.for %i = %c0 to %c2 step %c1 {
    %xi = memref.load %x[%i] : memref<2xf64>
    memref.store %xi, %w[%i] : memref<2xf64>
  }
  %t = memref.load %w[%c1] : memref<2xf64>
  scf.for %k = %c0 to %c2 step %c1 {
    memref.store %t, %w[%k] : memref<2xf64>
  }
  func.return %t : f64
}
ad.vjp @f_grad of @f (active) -> (active)
"""


def test_loops_whose_writes_nobody_reads():
    check(DEAD_WRITES, [array(2)])


GROWING = """
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c1 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %left = arith.subi %n, %i : index
    %half = arith.divsi %left, %c2 : index
    %size = arith.addi %half, %c1 : index
    %t = memref.alloca(%size, %i) : memref<?x?xf64>
    %asked = memref.dim %t, %c0 : memref<?x?xf64>
    %last = arith.subi %asked, %c1 : index
    scf.for %j = %c0 to %i step %c1 {
      %v = memref.load %x[%j] : memref<?xf64>
      memref.store %v, %t[%last, %j] : memref<?x?xf64>
    }
    %w = memref.load %t[%last, %c0] : memref<?x?xf64>
    %s1 = arith.addf %s0, %w : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)
"""


@pytest.mark.parametrize("n", [0, 2, 5])
def test_local_arrays_whose_size_changes_with_the_loop(n: int):
    check(GROWING, [n, array(max(n, 1))])

// RUN: tapeflow-opt %s -t "tapeflow-c{function=f_grad}" | filecheck %s
// RUN: tapeflow-opt %s -t "tapeflow-c{function=f_grad header=true}" | filecheck %s --check-prefix HEADER
// RUN: tapeflow-opt %s -t "tapeflow-c{function=new}" | filecheck %s --check-prefix NAMES

// The first result is returned; others, and adjoints of scalars, leave through pointers behind the parameters.
func.func @f_grad(%n: i32 {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"},
                  %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"], tapeflow.const},
                  %y: memref<?xf64> {tapeflow.name = "y", tapeflow.extents = [""]},
                  %s_b: f64 {tapeflow.name = "s_b"},
                  %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n"]},
                  %y_b: memref<?xf64> {tapeflow.name = "y_b", tapeflow.extents = [""]})
    -> (f64 {tapeflow.name = "s"}, i32 {tapeflow.name = "count"}, f64 {tapeflow.adjoint_of = "a"})
    attributes {tapeflow.gradient_of = "f"} {
  %c0 = arith.constant 0 : index
  %x_0 = memref.load %x[%c0] : memref<?xf64>
  %s = arith.mulf %a, %x_0 : f64
  memref.store %s, %y[%c0] : memref<?xf64>
  %y_b_0 = memref.load %y_b[%c0] : memref<?xf64>
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %y_b[%c0] : memref<?xf64>
  %t_b = arith.addf %y_b_0, %s_b : f64
  %v_b = arith.mulf %t_b, %a : f64
  ad.accumulate %v_b into %x_b[%c0] : memref<?xf64>
  %a_b = arith.mulf %t_b, %x_0 : f64
  func.return %s, %n, %a_b : f64, i32, f64
}

// CHECK: double f_grad(tf_tape *tf, int n, double a, const double *restrict x, double *restrict y,
// CHECK-NEXT:               double s_b, double *restrict x_b, double *restrict y_b, int *restrict count,
// CHECK-NEXT:               double *restrict a_b)
// CHECK:     *count = n;
// CHECK-NEXT:     *a_b = t_b * x_0;
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// HEADER: #ifndef F_GRAD_H
// HEADER: #include "tapeflow_rt.h"
// HEADER: extern "C" {
// HEADER: /* f and its gradient.
// HEADER-NEXT:  *
// HEADER-NEXT:  *   tf     memory that later calls use again; from tf_new(), one a thread
// HEADER-NEXT:  *   n, a   as in f
// HEADER-NEXT:  *   x      [n], read only
// HEADER-NEXT:  *   y      [], written
// HEADER-NEXT:  *   s_b    seed: the cotangent of the result
// HEADER-NEXT:  *   x_b    [n], shadow: on entry the cotangent of x's final value, on exit that of its initial value
// HEADER-NEXT:  *   y_b    [], shadow: on entry the cotangent of y's final value, on exit that of its initial value
// HEADER-NEXT:  *   count  set to a result
// HEADER-NEXT:  *   a_b    set to an adjoint
// HEADER-NEXT:  *
// HEADER-NEXT:  * Returns the result; without memory, NAN with tf->error set. The arrays must not overlap. */
// HEADER-NEXT: double f_grad(tf_tape *tf, int n, double a, const double *x, double *y, double s_b, double *x_b,
// HEADER-NEXT:               double *y_b, int *count, double *a_b);

// Names that C, C++ or the runtime have taken get an underscore or a number; nothing hides a name around it.
func.func @new(%double: f64 {tapeflow.name = "double"}, %sin: f64 {tapeflow.name = "sin"}, %tf: f64 {tapeflow.name = "tf"},
               %this: memref<4xf64> {tapeflow.name = "this"}, %n: index {tapeflow.name = "n"}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = math.sin %sin : f64 loc("t"("f.c":1:1))
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %double) -> (f64) {
    %v = memref.load %this[%i] : memref<4xf64> loc("t"("f.c":2:1))
    %w = arith.mulf %v, %t : f64 loc("x_1"("f.c":3:1))
    %sum = arith.addf %w, %w : f64
    %next = arith.addf %s_i, %sum : f64
    scf.yield %next : f64
  }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%r_i = %s) -> (f64) {
    %v = memref.load %this[%i] : memref<4xf64> loc("t"("f.c":4:1))
    %next = arith.subf %r_i, %v : f64
    scf.yield %next : f64
  }
  %u = arith.addf %r, %tf : f64
  func.return %u : f64
}

// NAMES: double new_(tf_tape *tf, double double_, double sin_2, double tf_2, const double *restrict this_,
// NAMES-NEXT:             ptrdiff_t n)
// NAMES:     const double t = sin(sin_2);
// NAMES-NEXT:     double s = double_;
// NAMES-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// NAMES-NEXT:         TF_STEP_SUM();
// NAMES-NEXT:         const double t_2 = TF_LOAD(this_, i);
// NAMES-NEXT:         const double x_1 = t_2 * t;
// NAMES-NEXT:         s += x_1 + x_1;
// NAMES-NEXT:     }
// NAMES-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// NAMES-NEXT:         TF_STEP_SUM();
// NAMES-NEXT:         const double t_2 = TF_LOAD(this_, i);
// NAMES-NEXT:         s -= t_2;
// NAMES-NEXT:     }
// NAMES:     return s + tf_2;

// RUN: tapeflow-opt %s -t "tapeflow-c{function=f}" | filecheck %s

// A function that is only declared is declared in C too and called: the user links it. Of its results the first is
// returned, the others are set through pointers.
func.func private @g(i32, f64, memref<?xf64>) -> (f64, i64)
func.func private @nothing()

func.func @f(%n: i32 {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"},
             %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> (f64, i64) {
  %p, %q = func.call @g(%n, %a, %x) : (i32, f64, memref<?xf64>) -> (f64, i64)
  func.call @nothing() : () -> ()
  func.return %p, %q : f64, i64
}

// CHECK:      #include "f.h"
// CHECK-EMPTY:
// CHECK-NEXT: extern double g(int, double, double *, int64_t *);
// CHECK-NEXT: extern void nothing(void);
// CHECK-EMPTY:
// CHECK-NEXT: double f(tf_tape *tf, int n, double a, double *restrict x, int64_t *restrict
// CHECK:      int64_t q_out;
// CHECK-NEXT: const double p = g(n, a, x, &q_out);
// CHECK-NEXT: const int64_t q = q_out;
// CHECK-NEXT: nothing();

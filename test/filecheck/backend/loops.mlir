// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// Counted loops: over the source's variable, up or down as the source has it.

// A start, a bound and a step; the bound is a sum of a parameter and a constant.
func.func @strided(%n: i32 {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %N = arith.index_cast %n : i32 to index
  %last = arith.subi %N, %c1 : index
  scf.for %i = %c1 to %last step %c3 {
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  func.return
}

// CHECK: void strided(tf_tape *tf, int n, double *restrict x)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(x, n);
// CHECK-EMPTY:
// CHECK-NEXT:     for (ptrdiff_t i = 1; i < n - 1; i += 3) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, i, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT: }

// Two values that swap as they go round: the new value of one waits in a variable of its own.
func.func @swap(%n: index, %a: f64, %b: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %a, %q_i = %b) -> (f64, f64) {
    scf.yield %q_i, %p_i : f64, f64
  }
  %r = arith.subf %p, %q : f64
  func.return %r : f64
}

// CHECK: double swap(tf_tape *tf, ptrdiff_t n, double a, double b)
// CHECK:     double p = a;
// CHECK-NEXT:     double q = b;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double next_p = q;
// CHECK-NEXT:         q = p;
// CHECK-NEXT:         p = next_p;
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     return p - q;
// CHECK-NEXT: }

// A reverse sweep counts up with a variable that only serves to compute the primal's: in C it counts down.
func.func @mirrored(%n: index {tapeflow.name = "n"}, %m: index {tapeflow.name = "m"},
                    %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %last = arith.subi %n, %c1 : index
  scf.for %i_r = %c0 to %n step %c1 {
    %i = arith.subi %last, %i_r : index
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  // from m to n
  %trips = arith.subi %n, %m : index
  scf.for %i_r = %c0 to %trips step %c1 {
    %i = arith.subi %last, %i_r : index
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  // every second, from 1 on, m times
  %reach = arith.muli %m, %c2 : index
  %end = arith.subi %reach, %c1 : index
  scf.for %i_r = %c0 to %m step %c1 {
    %back = arith.muli %i_r, %c2 : index
    %i = arith.subi %end, %back : index
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  // turned twice it goes up again
  scf.for %i_r = %c0 to %n step %c1 {
    %i = arith.subi %last, %i_r : index
    %k = arith.subi %last, %i : index
    memref.store %zero, %x[%k] : memref<?xf64>
  }
  func.return
}

// CHECK: void mirrored(tf_tape *tf, ptrdiff_t n, ptrdiff_t m, double *restrict x)
// CHECK:     for (ptrdiff_t i = n - 1; i >= 0; i--) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, i, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= m; i--) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, i, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (ptrdiff_t i = 2 * m - 1; i >= 1; i -= 2) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, i, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (ptrdiff_t k = 0; k < n; k++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, k, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT: }

// The counter is used for something else as well: both are there.
func.func @both(%n: index {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = arith.subi %n, %c1 : index
  scf.for %i_r = %c0 to %n step %c1 {
    %i = arith.subi %last, %i_r : index
    %v = memref.load %x[%i_r] : memref<?xf64>
    memref.store %v, %x[%i] : memref<?xf64>
  }
  func.return
}

// CHECK: void both(tf_tape *tf, ptrdiff_t n, double *restrict x)
// CHECK:     for (ptrdiff_t i_r = 0; i_r < n; i_r++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         const double v = TF_LOAD(x, i_r);
// CHECK-NEXT:         TF_STORE(x, n - 1 - i_r, v);
// CHECK-NEXT:     }
// CHECK-NEXT: }

// A triangle, a sum over it, and a counter that is an i32.
func.func @triangle(%n: i32 {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]})
    -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %N = arith.index_cast %n : i32 to index
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %next = arith.addi %i, %c1 : index
    %s_j = scf.for %j = %next to %N step %c1 iter_args(%s_k = %s_i) -> (f64) {
      %v = memref.load %x[%j] : memref<?xf64>
      %sum = arith.addf %s_k, %v : f64
      scf.yield %sum : f64
    }
    scf.yield %s_j : f64
  }
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %t = scf.for %k = %i0 to %n step %i1 iter_args(%t_k = %s) -> (f64) : i32 {
    %d = arith.sitofp %k : i32 to f64
    %sum = arith.addf %t_k, %d : f64
    scf.yield %sum : f64
  }
  func.return %t : f64
}

// CHECK: double triangle(tf_tape *tf, int n, const double *restrict x)
// CHECK:     double s = 0.0;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         for (ptrdiff_t j = i + 1; j < n; j++) {
// CHECK-NEXT:             TF_STEP_SUM();
// CHECK-NEXT:             const double v = TF_LOAD(x, j);
// CHECK-NEXT:             s += v;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     for (int k = 0; k < n; k++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         s += k;
// CHECK-NEXT:     }
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// What a loop carries and nobody needs is not there at all; nor is a loop that does nothing else.
func.func @needless(%n: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %a) -> (f64) {
    %q = arith.mulf %p_i, %a : f64
    scf.yield %q : f64
  }
  func.return %a : f64
}

// CHECK: double needless(tf_tape *tf, ptrdiff_t n, double a)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return NAN;
// CHECK-NEXT:     (void)n;
// CHECK-EMPTY:
// CHECK-NEXT:     return a;
// CHECK-NEXT: }

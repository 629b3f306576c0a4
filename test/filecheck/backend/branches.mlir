// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// Branches: what their arms yield is a variable, and an arm that leaves it as it is is not there.

// A maximum: the old value stays where the branch is not taken.
func.func @largest(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<?xf64>
  %m = scf.for %i = %c1 to %n step %c1 iter_args(%m_i = %first) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %m_i : f64
    %m_new = scf.if %c -> (f64) {
      scf.yield %v : f64
    } else {
      scf.yield %m_i : f64
    }
    scf.yield %m_new : f64
  }
  func.return %m : f64
}

// CHECK: double largest(tf_tape *tf, ptrdiff_t n, const double *restrict x)
// CHECK:     TF_STEP();
// CHECK-NEXT:     double m = TF_LOAD(x, 0);
// CHECK-NEXT:     for (ptrdiff_t i = 1; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double v = TF_LOAD(x, i);
// CHECK-NEXT:         if (v > m) m = v;
// CHECK-NEXT:     }
// CHECK-NEXT:     return m;
// CHECK-NEXT: }

// Only the second arm has something to do: the condition is turned round.
func.func @otherwise(%a: f64, %x: memref<1xf64>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %c = arith.cmpf olt, %a, %zero : f64
  scf.if %c {
  } else {
    memref.store %a, %x[%c0] : memref<1xf64>
  }
  func.return
}

// CHECK: void otherwise(tf_tape *tf, double a, double *restrict x)
// CHECK:     TF_STEP();
// CHECK-NEXT:     if (!(a < 0.0)) {
// CHECK-NEXT:         TF_ARM();
// CHECK-NEXT:         TF_STORE(x, 0, a);
// CHECK-NEXT:     }
// CHECK-NEXT: }

// Two values, nested, with a constant that may as well be there before.
func.func @pieces(%a: f64, %b: f64) -> (f64, f64) {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %c = arith.cmpf ogt, %a, %zero : f64
  %u, %v = scf.if %c -> (f64, f64) {
    %d = arith.cmpf ogt, %b, %one : f64
    %w = scf.if %d -> (f64) {
      %p = arith.mulf %a, %b : f64
      scf.yield %p : f64
    } else {
      %q = arith.divf %a, %b : f64
      scf.yield %q : f64
    }
    scf.yield %w, %b : f64, f64
  } else {
    scf.yield %zero, %a : f64, f64
  }
  func.return %u, %v : f64, f64
}

// CHECK: double pieces(tf_tape *tf, double a, double b, double *restrict result_1)
// CHECK:     TF_STEP();
// CHECK-NEXT:     double u = 0.0;
// CHECK-NEXT:     double v;
// CHECK-NEXT:     if (a > 0.0) {
// CHECK-NEXT:         TF_ARM();
// CHECK-NEXT:         if (b > 1.0) {
// CHECK-NEXT:             TF_ARM();
// CHECK-NEXT:             u = a * b;
// CHECK-NEXT:         } else {
// CHECK-NEXT:             TF_ARM();
// CHECK-NEXT:             u = a / b;
// CHECK-NEXT:         }
// CHECK-NEXT:         v = b;
// CHECK-NEXT:     } else {
// CHECK-NEXT:         v = a;
// CHECK-NEXT:     }
// CHECK-NEXT:     *result_1 = v;
// CHECK-NEXT:     return u;
// CHECK-NEXT: }

// In arms: the value before is still needed, so the product has to wait for the end of its arm.
func.func @late(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%t_i = %one) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %one : f64
    %t_new = scf.if %c -> (f64) {
      %p = arith.mulf %t_i, %v : f64
      memref.store %t_i, %y[%i] : memref<?xf64>
      scf.yield %p : f64
    } else {
      scf.yield %t_i : f64
    }
    scf.yield %t_new : f64
  }
  func.return %t : f64
}

// CHECK: double late(tf_tape *tf, ptrdiff_t n, const double *restrict x, double *restrict y)
// CHECK:     double t = 1.0;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double v = TF_LOAD(x, i);
// CHECK-NEXT:         if (v > 1.0) {
// CHECK-NEXT:             TF_ARM();
// CHECK-NEXT:             TF_STORE(y, i, t);
// CHECK-NEXT:             t *= v;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     return t;
// CHECK-NEXT: }

// An if that does nothing is not there; an if with a loop in it is a block of its own for the scheduler.
func.func @looped(%c: i1, %n: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.if %c {
  }
  scf.if %c {
    memref.store %zero, %x[%c0] : memref<?xf64>
    scf.for %i = %c0 to %n step %c1 {
      memref.store %zero, %x[%i] : memref<?xf64>
    }
    memref.store %zero, %x[%c1] : memref<?xf64>
  }
  func.return
}

// CHECK: void looped(tf_tape *tf, bool c, ptrdiff_t n, double *restrict x)
// CHECK:     if (c) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, 0, 0.0);
// CHECK-NEXT:         for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             TF_STORE(x, i, 0.0);
// CHECK-NEXT:         }
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         TF_STORE(x, 1, 0.0);
// CHECK-NEXT:     }
// CHECK-NEXT: }

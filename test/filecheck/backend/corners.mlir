// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// Corners: what the names of the source and the forms of the IR may do to the text.

// A tape that is never read, names that the macros declare, and a field that is called as C calls a type.
func.func @forward(%n: index {tapeflow.name = "n"}, %tape_i: f64 {tapeflow.name = "tape_i"},
                   %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape = tape.create reserve %n : !tape.region<{double: f64}, aos> loc("tape_i"("f.c":1:1))
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %tape_i) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64> loc("tape_i_2_base"("f.c":2:1))
    tape.record %v onto %tape : !tape.region<{double: f64}, aos>
    %sum = arith.addf %s_i, %v : f64
    scf.yield %sum : f64
  }
  func.return %s : f64
}

// CHECK: double forward(tf_tape *tf, ptrdiff_t n, double tape_i, const double *restrict x)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(forward_i, n)))
// CHECK-NEXT:         return NAN;
// CHECK-NEXT:     TF_ARRAY(x, n);
// CHECK-NEXT:     TF_TAPE(tape_i_2, forward_i, n);
// CHECK-EMPTY:
// CHECK-NEXT:     double s = tape_i;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double tape_i_2_base_2 = TF_LOAD(x, i);
// CHECK-NEXT:         TF_RECORD(tape_i_2, (forward_i){tape_i_2_base_2});
// CHECK-NEXT:         s += tape_i_2_base_2;
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     TF_TURN(tape_i_2);
// CHECK-EMPTY:
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// A local array that nobody reads is written all the same; one that nobody touches is not there.
func.func @arrays(%n: i32 {tapeflow.name = "n"}, %a: f64) {
  %c0 = arith.constant 0 : index
  %N = arith.index_cast %n : i32 to index
  %used = memref.alloca(%N) : memref<?xf64>
  %unused = memref.alloca(%N) : memref<?xf64>
  memref.store %a, %used[%c0] : memref<?xf64>
  func.return
}

// CHECK: void arrays(tf_tape *tf, int n, double a)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(double, n)))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_LOCAL(used, double, n);
// CHECK-EMPTY:
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     TF_STORE(used, 0, a);
// CHECK-NEXT: }

// Both arms leave the value as it is, and the condition has no other reader.
func.func @idle(%n: index, %a: f64, %b: f64, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %a) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %b : f64
    %t = scf.if %c -> (f64) {
      scf.yield %s_i : f64
    } else {
      scf.yield %s_i : f64
    }
    %next = arith.addf %t, %v : f64
    scf.yield %next : f64
  }
  func.return %s : f64
}

// CHECK: double idle(tf_tape *tf, ptrdiff_t n, double a, double b, const double *restrict x)
// CHECK:     double s = a;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double v = TF_LOAD(x, i);
// CHECK-NEXT:         (void)(v > b);
// CHECK-NEXT:         s += v;
// CHECK-NEXT:     }
// CHECK-NEXT:     return s;
// CHECK-NEXT: }

// Three values that go round in a ring, one of them read by a sum.
func.func @ring(%n: index, %a: f64, %b: f64, %c: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q, %r = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %a, %q_i = %b, %r_i = %c) -> (f64, f64, f64) {
    %sum = arith.addf %q_i, %p_i : f64
    scf.yield %sum, %r_i, %p_i : f64, f64, f64
  }
  %s = arith.subf %p, %q : f64
  %t = arith.subf %s, %r : f64
  func.return %t : f64
}

// CHECK: double ring(tf_tape *tf, ptrdiff_t n, double a, double b, double c)
// CHECK:     double p = a;
// CHECK-NEXT:     double q = b;
// CHECK-NEXT:     double r = c;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const double next_p = q + p;
// CHECK-NEXT:         q = r;
// CHECK-NEXT:         r = p;
// CHECK-NEXT:         p = next_p;
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     return p - q - r;
// CHECK-NEXT: }

// The bound of the inner loop is carried by the outer one, and changes after it.
func.func @bound(%n: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%m = %c1) -> (index) {
    %next = arith.addi %m, %i : index
    scf.for %j = %c0 to %m step %c1 {
      memref.store %zero, %x[%j] : memref<?xf64>
    }
    scf.yield %next : index
  }
  func.return
}

// CHECK: void bound(tf_tape *tf, ptrdiff_t n, double *restrict x)
// CHECK:     ptrdiff_t m = 1;
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         for (ptrdiff_t j = 0; j < m; j++) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             TF_STORE(x, j, 0.0);
// CHECK-NEXT:         }
// CHECK-NEXT:         m += i;
// CHECK-NEXT:     }
// CHECK-NEXT: }

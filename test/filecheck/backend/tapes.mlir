// RUN: tapeflow-opt %s -t tapeflow-c | filecheck %s

// What the tape looks like in C: bare tapes and regions in cache, with and without a reservation.

// The bound of the second loop is loaded, so nothing bounds its tape at entry: it grows. There may be no memory for
// it in mid-run, which is asked once, where the sweeps meet.
func.func @grows_grad(%n: i32 {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]},
                      %k: memref<?xindex> {tapeflow.name = "k", tapeflow.extents = ["n"]},
                      %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n"]})
    attributes {tapeflow.gradient_of = "grows"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %N = arith.index_cast %n : i32 to index
  %tape_i = tape.create reserve %N : !tape.region<{x: f64, m: index}, soa>
  %tape_j = tape.create : !tape.region<{x: f64, c: i1}, aos>
  %tape_v = tape.create : !tape.tape<f64>
  scf.for %i = %c0 to %N step %c1 {
    %m = memref.load %k[%i] : memref<?xindex>
    %x_i = memref.load %x[%i] : memref<?xf64>
    tape.record %x_i, %m onto %tape_i : !tape.region<{x: f64, m: index}, soa>
    scf.for %j = %c0 to %m step %c1 {
      %c = arith.cmpi sgt, %j, %c1 : index
      tape.record %x_i, %c onto %tape_j : !tape.region<{x: f64, c: i1}, aos>
      scf.if %c {
        tape.push %x_i onto %tape_v : !tape.tape<f64>
      }
    }
  }
  %last = arith.subi %N, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i = arith.subi %last, %i_r : index
    %x_i, %m = tape.replay %tape_i : !tape.region<{x: f64, m: index}, soa>
    scf.for %j_r = %c0 to %m step %c1 {
      %x_j, %c = tape.replay %tape_j : !tape.region<{x: f64, c: i1}, aos>
      scf.if %c {
        %v = tape.pop %tape_v : !tape.tape<f64>
        ad.accumulate %v into %x_b[%i] : memref<?xf64>
      }
    }
  }
  func.return
}

// CHECK: void grows_grad(tf_tape *tf, int n, const double *restrict x, const ptrdiff_t *restrict k,
// CHECK-NEXT:                 double *restrict x_b)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(double, n) + TF_BYTES(ptrdiff_t, n)))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(x, n);
// CHECK-NEXT:     TF_ARRAY(k, n);
// CHECK-NEXT:     TF_ARRAY(x_b, n);
// CHECK-NEXT:     TF_TAPE(tape_i_x, double, n);
// CHECK-NEXT:     TF_TAPE(tape_i_m, ptrdiff_t, n);
// CHECK-NEXT:     TF_TAPE_GROW(tape_j, grows_j);
// CHECK-NEXT:     TF_TAPE_GROW(tape_v, double);
// CHECK-EMPTY:
// CHECK-NEXT:     /* forward sweep */
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         const ptrdiff_t m = TF_LOAD(k, i);
// CHECK-NEXT:         const double x_i = TF_LOAD(x, i);
// CHECK-NEXT:         TF_RECORD(tape_i_x, x_i);
// CHECK-NEXT:         TF_RECORD(tape_i_m, m);
// CHECK-NEXT:         for (ptrdiff_t j = 0; j < m; j++) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const bool c = j > 1;
// CHECK-NEXT:             TF_RECORD_GROW(tape_j, (grows_j){x_i, c});
// CHECK-NEXT:             if (c) {
// CHECK-NEXT:                 TF_ARM();
// CHECK-NEXT:                 TF_RECORD_GROW(tape_v, x_i);
// CHECK-NEXT:             }
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     if (tf->error)
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_TURN(tape_i_x);
// CHECK-NEXT:     TF_TURN(tape_i_m);
// CHECK-NEXT:     TF_TURN_GROW(tape_j);
// CHECK-NEXT:     TF_TURN_GROW(tape_v);
// CHECK-EMPTY:
// CHECK-NEXT:     /* reverse sweep */
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= 0; i--) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         (void)TF_REPLAY(tape_i_x);
// CHECK-NEXT:         const ptrdiff_t m = TF_REPLAY(tape_i_m);
// CHECK-NEXT:         for (ptrdiff_t j_r = 0; j_r < m; j_r++) {
// CHECK-NEXT:             TF_STEP_SUM();
// CHECK-NEXT:             const grows_j at_j = TF_REPLAY_GROW(tape_j);
// CHECK-NEXT:             if (at_j.c) {
// CHECK-NEXT:                 TF_ARM();
// CHECK-NEXT:                 const double v = TF_REPLAY_GROW(tape_v);
// CHECK-NEXT:                 TF_ADD(x_b, i, v);
// CHECK-NEXT:             }
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }

// A record that nobody needs is still taken off; two regions of one loop; a branch that is not taken.
func.func @unused_grad(%n: index, %x_b: memref<?xf64>) attributes {tapeflow.gradient_of = "unused"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %tape_i = tape.create reserve %n : !tape.region<{v: f64}, aos>
  %tape_i_else = tape.create reserve %n : !tape.region<{v: f64}, aos>
  scf.for %i = %c0 to %n step %c1 {
    %c = arith.cmpi sgt, %i, %c1 : index
    scf.if %c {
    } else {
      tape.record %one onto %tape_i_else : !tape.region<{v: f64}, aos>
    }
    tape.record %one onto %tape_i : !tape.region<{v: f64}, aos>
  }
  %last = arith.subi %n, %c1 : index
  scf.for %i_r = %c0 to %n step %c1 {
    %i = arith.subi %last, %i_r : index
    %v = tape.replay %tape_i : !tape.region<{v: f64}, aos>
    %c = arith.cmpi sgt, %i, %c1 : index
    scf.if %c {
    } else {
      %u = tape.replay %tape_i_else : !tape.region<{v: f64}, aos>
      ad.accumulate %u into %x_b[%i] : memref<?xf64>
    }
  }
  func.return
}

// CHECK: void unused_grad(tf_tape *tf, ptrdiff_t n, double *restrict x_b)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(unused_i, n) + TF_BYTES(unused_i_else, n)))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(x_b, TF_ANY_COUNT);
// CHECK-NEXT:     TF_TAPE(tape_i, unused_i, n);
// CHECK-NEXT:     TF_TAPE(tape_i_else, unused_i_else, n);
// CHECK-EMPTY:
// CHECK-NEXT:     /* forward sweep */
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n; i++) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         if (!(i > 1)) {
// CHECK-NEXT:             TF_ARM();
// CHECK-NEXT:             TF_RECORD(tape_i_else, (unused_i_else){1.0});
// CHECK-NEXT:         }
// CHECK-NEXT:         TF_RECORD(tape_i, (unused_i){1.0});
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     TF_TURN(tape_i);
// CHECK-NEXT:     TF_TURN(tape_i_else);
// CHECK-EMPTY:
// CHECK-NEXT:     /* reverse sweep */
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= 0; i--) {
// CHECK-NEXT:         TF_STEP();
// CHECK-NEXT:         (void)TF_REPLAY(tape_i);
// CHECK-NEXT:         if (!(i > 1)) {
// CHECK-NEXT:             TF_ARM();
// CHECK-NEXT:             const unused_i_else at_i_else = TF_REPLAY(tape_i_else);
// CHECK-NEXT:             TF_ADD(x_b, i, at_i_else.v);
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }


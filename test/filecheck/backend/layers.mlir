// RUN: tapeflow-opt %s -p "spad-form-layers{bytes=256}" -t tapeflow-c | filecheck %s --check-prefix LAYERS
// RUN: tapeflow-opt %s -p "spad-form-layers{bytes=256},stream-form-fifos" -t tapeflow-c | filecheck %s

// Layers where the loop goes the other way: the source counts down, or in steps; and a tape that grows.

func.func @down_grad(%n: index {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]},
                     %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n"]})
    attributes {tapeflow.gradient_of = "down"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = arith.subi %n, %c1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64}, aos>
  // for (i = n - 1; i >= 0; i--)
  scf.for %k = %c0 to %n step %c1 {
    %i = arith.subi %last, %k : index
    %v = memref.load %x[%i] : memref<?xf64>
    tape.record %v onto %tape_i : !tape.region<{x: f64}, aos>
  }
  scf.for %k_r = %c0 to %n step %c1 {
    %k = arith.subi %last, %k_r : index
    %i = arith.subi %last, %k : index
    %v = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    ad.accumulate %v into %x_b[%i] : memref<?xf64>
  }
  func.return
}

// CHECK: void down_grad(tf_tape *tf, ptrdiff_t n, const double *restrict x, double *restrict x_b)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(down_i, n)))
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_ARRAY(x, n);
// CHECK-NEXT:     TF_ARRAY(x_b, n);
// CHECK-NEXT:     TF_OPEN(tape_i, down_i, 2, 16, n);
// CHECK-EMPTY:
// CHECK-NEXT:     /* forward sweep */
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= 0;) {  /* layers: a tile of tape_i each */
// CHECK-NEXT:         const ptrdiff_t i_end = TF_REACH_DOWN_WRITING(tape_i, i, -1, 1);
// CHECK-NEXT:         for (; i > i_end; i--) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const double v = TF_LOAD(x, i);
// CHECK-NEXT:             TF_WRITE(tape_i, (down_i){v});
// CHECK-NEXT:         }
// CHECK-NEXT:         if (TF_FULL(tape_i)) TF_PUSH(tape_i);
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     TF_TURN(tape_i);
// CHECK-EMPTY:
// CHECK-NEXT:     /* reverse sweep */
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n;) {  /* layers: a tile of tape_i each */
// CHECK-NEXT:         if (TF_EMPTY(tape_i)) { TF_PREFETCH(tape_i); TF_POP(tape_i); }
// CHECK-NEXT:         const ptrdiff_t i_end = TF_REACH_READING(tape_i, i, n, 1);
// CHECK-NEXT:         for (; i < i_end; i++) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const down_i at_i = TF_READ(tape_i);
// CHECK-NEXT:             TF_ADD(x_b, i, at_i.x);
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_CLOSE(tape_i);
// CHECK-NEXT: }

func.func @steps_grad(%n: index {tapeflow.name = "n"}, %m: index {tapeflow.name = "m"},
                      %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]},
                      %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n"]})
    attributes {tapeflow.gradient_of = "steps"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %tape_i = tape.create : !tape.region<{x: f64}, aos>
  scf.for %i = %c0 to %n step %c3 {
    %v = memref.load %x[%i] : memref<?xf64>
    tape.record %v onto %tape_i : !tape.region<{x: f64}, aos>
  }
  %trips = arith.ceildivsi %n, %c3 : index
  %trips_3 = arith.muli %trips, %c3 : index
  %last = arith.subi %trips_3, %c3 : index
  scf.for %i_r = %c0 to %trips step %c1 {
    %back = arith.muli %i_r, %c3 : index
    %i = arith.subi %last, %back : index
    %v = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    ad.accumulate %v into %x_b[%i] : memref<?xf64>
  }
  func.return
}

// CHECK: void steps_grad(tf_tape *tf, ptrdiff_t n, ptrdiff_t m, const double *restrict x,
// CHECK-NEXT:                 double *restrict x_b)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, 0))
// CHECK-NEXT:         return;
// CHECK-NEXT:     (void)m;
// CHECK-NEXT:     TF_ARRAY(x, n);
// CHECK-NEXT:     TF_ARRAY(x_b, n);
// CHECK-NEXT:     TF_OPEN_GROW(tape_i, steps_i, 2, 16);
// CHECK-EMPTY:
// CHECK-NEXT:     /* forward sweep */
// CHECK-NEXT:     for (ptrdiff_t i = 0; i < n;) {  /* layers: a tile of tape_i each */
// CHECK-NEXT:         const ptrdiff_t i_end = TF_REACH(tape_i, i, n, 3);
// CHECK-NEXT:         for (; i < i_end; i += 3) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const double v = TF_LOAD(x, i);
// CHECK-NEXT:             TF_WRITE_GROW(tape_i, (steps_i){v});
// CHECK-NEXT:         }
// CHECK-NEXT:         if (TF_FULL(tape_i)) TF_PUSH(tape_i);
// CHECK-NEXT:     }
// CHECK-EMPTY:
// CHECK-NEXT:     /* turn-around */
// CHECK-NEXT:     if (tf->error)
// CHECK-NEXT:         return;
// CHECK-NEXT:     TF_TURN_GROW(tape_i);
// CHECK-EMPTY:
// CHECK-NEXT:     /* reverse sweep */
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     for (ptrdiff_t i = 3 * tf_ceildiv(n, 3) - 3; i >= 0;) {  /* layers: a tile of tape_i each */
// CHECK-NEXT:         if (TF_EMPTY(tape_i)) { TF_PREFETCH(tape_i); TF_POP(tape_i); }
// CHECK-NEXT:         const ptrdiff_t i_end = TF_REACH_DOWN(tape_i, i, -1, 3);
// CHECK-NEXT:         for (; i > i_end; i -= 3) {
// CHECK-NEXT:             TF_STEP();
// CHECK-NEXT:             const steps_i at_i = TF_READ_GROW(tape_i);
// CHECK-NEXT:             TF_ADD(x_b, i, at_i.x);
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_CLOSE_GROW(tape_i);
// CHECK-NEXT: }

// Transfers that block, in the same places.
// LAYERS: void down_grad(
// LAYERS:         const ptrdiff_t i_end = TF_REACH_DOWN_WRITING(tape_i, i, -1, 1);
// LAYERS:         if (TF_FULL(tape_i)) { TF_DMA_OUT(tape_i); TF_DMA_WAIT(tape_i); }
// LAYERS:         if (TF_EMPTY(tape_i)) { TF_DMA_IN(tape_i); TF_DMA_WAIT(tape_i); }
// LAYERS-NEXT:         const ptrdiff_t i_end = TF_REACH_READING(tape_i, i, n, 1);
// LAYERS:     TF_CLOSE(tape_i);

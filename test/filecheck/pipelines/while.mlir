// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan | filecheck %s --check-prefix PLAN
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan,tape-form-regions{layout=aos}" | filecheck %s --check-prefix REGIONS
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan,tape-form-regions{layout=aos},spad-form-layers" | filecheck %s --check-prefix LAYERS
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan,tape-form-regions{layout=aos},spad-form-layers,stream-form-fifos" | filecheck %s --check-prefix STREAMS
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan,tape-form-regions{layout=aos},spad-form-layers,stream-form-fifos" -t tapeflow-c | filecheck %s --check-prefix C

// A while inside a counted loop through every stage: what an iteration needs has a growing tape of its own, how often it
// ran is one integer of the loop around it.

func.func @halve(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s1 = %zero) -> (f64) {
    %start = memref.load %x[%i] : memref<?xf64>
    %y = scf.while (%y0 = %start) : (f64) -> f64 {
      %c = arith.cmpf ogt, %y0, %one : f64
      scf.condition(%c) %y0 : f64
    } do {
    ^bb0(%y1: f64):
      %sq = arith.mulf %y1, %y1 : f64
      %n1 = arith.mulf %half, %sq : f64
      scf.yield %n1 : f64
    }
    %s2 = arith.addf %s1, %y : f64
    scf.yield %s2 : f64
  }
  func.return %s : f64
}
ad.vjp @halve_grad of @halve (const, active) -> (active)

// PLAN-LABEL: func.func @halve_grad
// PLAN:         %tape_trips = tape.create reserve %{{.*}} : !tape.tape<index>
// PLAN-NEXT:    %tape_y1 = tape.create : !tape.tape<f64>
// PLAN:         scf.while
// PLAN:           tape.push %y1 onto %tape_y1
// PLAN:         tape.push %trips onto %tape_trips
// PLAN:         %[[TRIPS:.*]] = tape.pop %tape_trips
// PLAN:         scf.for %while_r = %c0 to %[[TRIPS]]
// PLAN-NEXT:      tape.pop %tape_y1

// REGIONS-LABEL: func.func @halve_grad
// REGIONS:       %tape_i = tape.create reserve %{{.*}} : !tape.region<{trips: index}, aos>
// REGIONS-NEXT:  %tape_while = tape.create : !tape.region<{y1: f64}, aos>
// REGIONS:       tape.record %y1 onto %tape_while
// REGIONS:       tape.record %trips onto %tape_i
// REGIONS:       tape.replay %tape_i
// REGIONS:       tape.replay %tape_while

// LAYERS-LABEL:  func.func @halve_grad
// LAYERS:        spad.write %y1 onto %spad_while
// LAYERS:        spad.dma_start %spad_while to %tape_while
// LAYERS:        %[[TRIPS:.*]] = spad.read %spad_i
// LAYERS:        spad.layer %while_r = %c0 to %[[TRIPS]] in %spad_while
// LAYERS:        } when empty {
// LAYERS-NEXT:     spad.dma_start %tape_while to %spad_while

// STREAMS-LABEL: func.func @halve_grad
// STREAMS:       %fifo_i = stream.create reserve %{{.*}} : !stream.fifo<8 x {trips: index}>
// STREAMS-NEXT:  %fifo_while = stream.create : !stream.fifo<56 x {y1: f64}>
// STREAMS:       stream.push %spad_while into %fifo_while
// STREAMS:       } when empty {
// STREAMS-NEXT:    stream.prefetch %spad_while from %fifo_while
// STREAMS-NEXT:    stream.pop %spad_while from %fifo_while
// STREAMS:       stream.close %fifo_while
// STREAMS-NEXT:  stream.close %fifo_i

// C-LABEL:    double halve_grad(
// C:            if (!tf_reserve(tf, TF_BYTES(halve_i, trips)))
// C:            TF_OPEN_GROW(tape_while, halve_while, 2, 56);
// C:            while (y > 1.0) {
// C-NEXT:           TF_STEP_SUM();
// C-NEXT:           TF_WRITE_GROW(tape_while, (halve_while){y});
// C-NEXT:           if (TF_FULL(tape_while)) TF_PUSH(tape_while);
// C-NEXT:           y = 0.5 * (y * y);
// C-NEXT:           trips_2++;
// C:            TF_WRITE(tape_i, (halve_i){trips_2});
// A tape that could not grow is noticed before its records are read.
// C:            if (tf->error)
// C-NEXT:         return NAN;
// C:            for (ptrdiff_t while_r = 0; while_r < at_i.trips;) {
// C:                const halve_while at_while = TF_READ_GROW(tape_while);

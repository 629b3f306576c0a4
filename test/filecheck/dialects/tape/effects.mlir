// Stock passes know that tapes are memory: nothing is merged, dropped, reordered or hoisted.
// RUN: tapeflow-opt %s -p cse,licm,dce,canonicalize,cse | filecheck %s

// Two equal creations stay two tapes.
func.func @two_tapes(%n: index, %x: f64, %y: f64) -> (f64, f64) {
  %tape_x = tape.create reserve %n : !tape.tape<f64>
  %tape_y = tape.create reserve %n : !tape.tape<f64>
  tape.push %x onto %tape_x : !tape.tape<f64>
  tape.push %y onto %tape_y : !tape.tape<f64>
  %x_1 = tape.pop %tape_x : !tape.tape<f64>
  %y_1 = tape.pop %tape_y : !tape.tape<f64>
  func.return %x_1, %y_1 : f64, f64
}
// CHECK-LABEL: @two_tapes
// CHECK-NEXT:    %tape_x = tape.create reserve %n : !tape.tape<f64>
// CHECK-NEXT:    %tape_y = tape.create reserve %n : !tape.tape<f64>
// CHECK-NEXT:    tape.push %x onto %tape_x : !tape.tape<f64>
// CHECK-NEXT:    tape.push %y onto %tape_y : !tape.tape<f64>
// CHECK-NEXT:    %x_1 = tape.pop %tape_x : !tape.tape<f64>
// CHECK-NEXT:    %y_1 = tape.pop %tape_y : !tape.tape<f64>
// CHECK-NEXT:    func.return %x_1, %y_1 : f64, f64

// Equal pushes and pops stay as many as they are.
func.func @equal_moves(%tape_c: !tape.region<{x: f64}, aos>, %x: f64) -> f64 {
  tape.record %x onto %tape_c : !tape.region<{x: f64}, aos>
  tape.record %x onto %tape_c : !tape.region<{x: f64}, aos>
  %a = tape.replay %tape_c : !tape.region<{x: f64}, aos>
  %b = tape.replay %tape_c : !tape.region<{x: f64}, aos>
  %s = arith.addf %a, %b : f64
  func.return %s : f64
}
// CHECK-LABEL: @equal_moves
// CHECK-COUNT-2: tape.record %x onto %tape_c
// CHECK-NEXT:    %a = tape.replay %tape_c
// CHECK-NEXT:    %b = tape.replay %tape_c
// CHECK-NEXT:    arith.addf %a, %b

// A push of an invariant value, and a pop, stay in their loops.
func.func @loops(%tape_x: !tape.tape<f64>, %n: index, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    tape.push %x onto %tape_x : !tape.tape<f64>
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %v = tape.pop %tape_x : !tape.tape<f64>
    scf.yield %v : f64
  }
  func.return %s : f64
}
// CHECK-LABEL: @loops
// CHECK:         scf.for
// CHECK-NEXT:      tape.push %x onto %tape_x
// CHECK:         scf.for
// CHECK-NEXT:      %v = tape.pop %tape_x

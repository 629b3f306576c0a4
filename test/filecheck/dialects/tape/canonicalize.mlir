// RUN: tapeflow-opt %s -p canonicalize | filecheck %s

// A tape that is only ever pushed is forgotten, and so is what only fed it.
func.func @only_pushed(%n: index, %x: f64) {
  %tape_y = tape.create reserve %n : !tape.tape<f64>
  %tape_j = tape.create reserve %n : !tape.region<{t: f64, y: f64}, aos>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %y = arith.mulf %x, %x : f64
    tape.push %y onto %tape_y : !tape.tape<f64>
    tape.record %x, %y onto %tape_j : !tape.region<{t: f64, y: f64}, aos>
  }
  func.return
}
// CHECK-LABEL: @only_pushed
// CHECK-NOT:     tape.
// CHECK-NOT:     arith.mulf
// CHECK:         func.return

// A tape that nobody uses is forgotten.
func.func @unused() {
  %tape_y = tape.create : !tape.tape<f64>
  func.return
}
// CHECK-LABEL: @unused
// CHECK-NEXT:    func.return

// A pop keeps the pushes, even if its value is not used: it moves the tape.
func.func @popped(%x: f64) -> f64 {
  %tape_y = tape.create : !tape.tape<f64>
  tape.push %x onto %tape_y : !tape.tape<f64>
  tape.push %x onto %tape_y : !tape.tape<f64>
  %unused = tape.pop %tape_y : !tape.tape<f64>
  %y = tape.pop %tape_y : !tape.tape<f64>
  func.return %y : f64
}
// CHECK-LABEL: @popped
// CHECK-NEXT:    %tape_y = tape.create : !tape.tape<f64>
// CHECK-NEXT:    tape.push %x onto %tape_y : !tape.tape<f64>
// CHECK-NEXT:    tape.push %x onto %tape_y : !tape.tape<f64>
// CHECK-NEXT:    %unused = tape.pop %tape_y : !tape.tape<f64>
// CHECK-NEXT:    %y = tape.pop %tape_y : !tape.tape<f64>
// CHECK-NEXT:    func.return %y : f64

// A tape that leaves the function may be popped elsewhere.
func.func @handed_on(%x: f64) {
  %tape_y = tape.create : !tape.tape<f64>
  tape.push %x onto %tape_y : !tape.tape<f64>
  func.call @callee(%tape_y) : (!tape.tape<f64>) -> ()
  func.return
}
func.func private @callee(!tape.tape<f64>)
// CHECK-LABEL: @handed_on
// CHECK:         tape.push %x onto %tape_y : !tape.tape<f64>

// A tape of the caller is not ours to forget.
func.func @argument(%tape_y: !tape.tape<f64>, %x: f64) {
  tape.push %x onto %tape_y : !tape.tape<f64>
  func.return
}
// CHECK-LABEL: @argument
// CHECK-NEXT:    tape.push %x onto %tape_y : !tape.tape<f64>

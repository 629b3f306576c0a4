// Stock passes know that FIFOs are memory: nothing is merged, dropped, reordered or hoisted.
// RUN: tapeflow-opt %s -p cse,licm,dce,canonicalize,cse | filecheck %s

!spad_x = !spad.buffer<2 x 4 x {x: f64}>
!fifo_x = !stream.fifo<4 x {x: f64}>

// Two equal creations stay two FIFOs, and equal moves as many as they are.
func.func @two_fifos(%n: index, %spad_a: !spad_x, %spad_b: !spad_x) {
  %fifo_a = stream.create reserve %n : !fifo_x
  %fifo_b = stream.create reserve %n : !fifo_x
  stream.push %spad_a into %fifo_a : !spad_x
  stream.push %spad_b into %fifo_b : !spad_x
  stream.prefetch %spad_a from %fifo_a : !spad_x
  stream.pop %spad_a from %fifo_a : !spad_x
  stream.prefetch %spad_b from %fifo_b : !spad_x
  stream.pop %spad_b from %fifo_b : !spad_x
  stream.close %fifo_a : !fifo_x
  stream.close %fifo_b : !fifo_x
  func.return
}
// CHECK-LABEL: @two_fifos
// CHECK-NEXT:    %fifo_a = stream.create reserve %n
// CHECK-NEXT:    %fifo_b = stream.create reserve %n
// CHECK-NEXT:    stream.push %spad_a into %fifo_a
// CHECK-NEXT:    stream.push %spad_b into %fifo_b
// CHECK-NEXT:    stream.prefetch %spad_a from %fifo_a
// CHECK-NEXT:    stream.pop %spad_a from %fifo_a
// CHECK-NEXT:    stream.prefetch %spad_b from %fifo_b
// CHECK-NEXT:    stream.pop %spad_b from %fifo_b
// CHECK-NEXT:    stream.close %fifo_a
// CHECK-NEXT:    stream.close %fifo_b

// A FIFO that nobody uses is not made.
func.func @unused(%n: index) {
  %fifo_a = stream.create reserve %n : !fifo_x
  func.return
}
// CHECK-LABEL: @unused
// CHECK-NEXT:    func.return

// Moves stay in their loops, and the question whether to move between them.
func.func @loops(%n: index, %spad_a: !spad_x, %fifo_a: !fifo_x) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %empty = spad.empty %spad_a : !spad_x
    scf.if %empty {
      stream.prefetch %spad_a from %fifo_a : !spad_x
      stream.pop %spad_a from %fifo_a : !spad_x
    }
    %x = spad.read %spad_a : !spad_x
    scf.yield %x : f64
  }
  func.return %s : f64
}
// CHECK-LABEL: @loops
// CHECK:         scf.for
// CHECK-NEXT:      %empty = spad.empty %spad_a
// CHECK-NEXT:      scf.if %empty {
// CHECK-NEXT:        stream.prefetch %spad_a from %fifo_a
// CHECK-NEXT:        stream.pop %spad_a from %fifo_a
// CHECK-NEXT:      }
// CHECK-NEXT:      %x = spad.read %spad_a

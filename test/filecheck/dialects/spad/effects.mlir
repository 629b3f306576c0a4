// Stock passes know that buffers are memory, and questions about them depend on when they are asked.
// RUN: tapeflow-opt %s -p cse,licm,dce,canonicalize,cse | filecheck %s

!spad_x = !spad.buffer<2 x 4 x {x: f64}>
!tape_x = !tape.region<{x: f64}, aos>

// Two equal allocations stay two buffers.
func.func @two_buffers(%x: f64) -> (f64, f64) {
  %spad_a = spad.alloc : !spad_x
  %spad_b = spad.alloc : !spad_x
  spad.write %x onto %spad_a : !spad_x
  spad.write %x onto %spad_b : !spad_x
  %a = spad.read %spad_a : !spad_x
  %b = spad.read %spad_b : !spad_x
  func.return %a, %b : f64, f64
}
// CHECK-LABEL: @two_buffers
// CHECK-NEXT:    %spad_a = spad.alloc
// CHECK-NEXT:    %spad_b = spad.alloc
// CHECK-NEXT:    spad.write %x onto %spad_a
// CHECK-NEXT:    spad.write %x onto %spad_b
// CHECK-NEXT:    %a = spad.read %spad_a
// CHECK-NEXT:    %b = spad.read %spad_b

// A buffer that nobody uses takes no room.
func.func @unused() {
  %spad_a = spad.alloc : !spad_x
  func.return
}
// CHECK-LABEL: @unused
// CHECK-NEXT:    func.return

// Equal writes, reads and transfers stay as many as they are.
func.func @equal_moves(%spad_a: !spad_x, %tape_a: !tape_x, %x: f64) -> f64 {
  spad.write %x onto %spad_a : !spad_x
  spad.write %x onto %spad_a : !spad_x
  spad.dma_start %spad_a to %tape_a : !spad_x to !tape_x
  spad.dma_wait %spad_a : !spad_x
  spad.dma_start %spad_a to %tape_a : !spad_x to !tape_x
  spad.dma_wait %spad_a : !spad_x
  %unused = spad.read %spad_a : !spad_x
  %a = spad.read %spad_a : !spad_x
  func.return %a : f64
}
// CHECK-LABEL: @equal_moves
// CHECK-NEXT:    spad.write
// CHECK-NEXT:    spad.write
// CHECK-NEXT:    spad.dma_start
// CHECK-NEXT:    spad.dma_wait
// CHECK-NEXT:    spad.dma_start
// CHECK-NEXT:    spad.dma_wait
// CHECK-NEXT:    %unused = spad.read
// CHECK-NEXT:    %a = spad.read

// The same question after a write is another one; two in a row are one; one that nobody uses is not asked.
func.func @questions(%spad_a: !spad_x, %x: f64) -> (i1, i1, i1) {
  %before = spad.full %spad_a : !spad_x
  spad.write %x onto %spad_a : !spad_x
  %after = spad.full %spad_a : !spad_x
  %again = spad.full %spad_a : !spad_x
  %unused = spad.empty %spad_a : !spad_x
  func.return %before, %after, %again : i1, i1, i1
}
// CHECK-LABEL: @questions
// CHECK-NEXT:    %before = spad.full
// CHECK-NEXT:    spad.write
// CHECK-NEXT:    %after = spad.full
// CHECK-NEXT:    func.return %before, %after, %after

// A question stays in its loop.
func.func @loops(%spad_a: !spad_x, %tape_a: !tape_x, %n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    spad.write %x onto %spad_a : !spad_x
    %full = spad.full %spad_a : !spad_x
    scf.if %full {
      spad.dma_start %spad_a to %tape_a : !spad_x to !tape_x
      spad.dma_wait %spad_a : !spad_x
    }
  }
  func.return
}
// CHECK-LABEL: @loops
// CHECK:         scf.for
// CHECK-NEXT:      spad.write
// CHECK-NEXT:      %full = spad.full
// CHECK-NEXT:      scf.if %full {
// CHECK-NEXT:        spad.dma_start
// CHECK-NEXT:        spad.dma_wait

// A layer whose results nobody uses still moves its buffer.
func.func @layer(%spad_a: !spad_x, %n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %unused = spad.layer %i = %c0 to %n in %spad_a : !spad_x iter_args(%x_i = %x) -> (f64) {
    %y = arith.mulf %x_i, %x : f64
    spad.write %y onto %spad_a : !spad_x
    spad.yield %y : f64
  } when full {
  }
  func.return
}
// CHECK-LABEL: @layer
// CHECK:         spad.layer %i = %c0 to %n in %spad_a
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      spad.write
// CHECK-NEXT:      spad.yield

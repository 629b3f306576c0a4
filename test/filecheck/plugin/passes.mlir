// Stock xdsl-opt runs the passes, between its own, with their options.
// RUN: xdsl-opt %s -p "canonicalize,tape-form-regions{layout=aos},cse,spad-form-layers{bytes=128 buffers=2},stream-form-fifos,canonicalize" | filecheck %s
// RUN: xdsl-opt %s -p "tape-form-regions{layout=soa}" | filecheck %s --check-prefix SOA

func.func @f_grad(%n: index, %x: memref<?xf64>, %y_b: f64, %x_b: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_x = tape.create reserve %n : !tape.tape<f64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    tape.push %v onto %tape_x : !tape.tape<f64>
  }
  %last = arith.subi %n, %c1 : index
  scf.for %i_r = %c0 to %n step %c1 {
    %i = arith.subi %last, %i_r : index
    %v = tape.pop %tape_x : !tape.tape<f64>
    %v_b = arith.mulf %v, %y_b : f64
    ad.accumulate %v_b into %x_b[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: @f_grad
// CHECK:         stream.create reserve %n : !stream.fifo<8 x {v: f64}>
// CHECK:         spad.alloc : !spad.buffer<2 x 8 x {v: f64}>
// CHECK:         spad.layer
// CHECK:           spad.write
// CHECK:         } when full {
// CHECK-NEXT:      stream.push
// CHECK:         spad.layer
// CHECK:           spad.read
// CHECK:         } when empty {
// CHECK-NEXT:      stream.prefetch
// CHECK-NEXT:      stream.pop
// CHECK:         stream.close

// SOA-LABEL:   @f_grad
// SOA:           tape.create reserve %n : !tape.region<{v: f64}, soa>
// SOA:           tape.record
// SOA:           tape.replay

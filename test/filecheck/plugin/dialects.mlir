// Stock xdsl-opt knows the dialects.
// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

ad.vjp @f_grad of @f (active) -> (active)

func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

func.func @g(%x: f64, %n: index, %x_b: memref<f64>) {
  %tape_x = tape.create reserve %n : !tape.tape<f64>
  %spad_x = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
  %fifo_x = stream.create : !stream.fifo<8 x {x: f64}>
  ad.accumulate %x into %x_b[] : memref<f64>
  func.return
}

// CHECK:       ad.vjp @f_grad of @f (active) -> (active)
// CHECK:       %tape_x = tape.create reserve %n : !tape.tape<f64>
// CHECK-NEXT:  %spad_x = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
// CHECK-NEXT:  %fifo_x = stream.create : !stream.fifo<8 x {x: f64}>
// CHECK-NEXT:  ad.accumulate %x into %x_b[] : memref<f64>

// Which arrays are outputs.
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file | filecheck %s

// `t` is only worked in: its shadow is the gradient's own. It is not filled with zeros, as each element that is read is
// stored to first. What only `y` depends on has no adjoint, and `e` is not taped. The shadow of `x` is that of an input.

ad.vjp @f_grad of @f (const, input, scratch, scratch) -> (active)
func.func @f(%n: index {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x"},
             %t: memref<?xf64> {tapeflow.name = "t"}, %y: memref<?xf64> {tapeflow.name = "y"}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf64>
    memref.store %a, %t[%i] : memref<?xf64>
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %b = memref.load %t[%i] : memref<?xf64>
    %e = math.exp %b : f64
    memref.store %e, %y[%i] : memref<?xf64>
    %s_new = arith.addf %s_i, %b : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK-SAME:    %y: memref<?xf64> {tapeflow.name = "y"}, %s_b: f64 {tapeflow.name = "s_b"},
// CHECK-SAME:    %x_b: memref<?xf64> {tapeflow.name = "x_b", tapeflow.no_output}) -> (f64
// CHECK-NOT:     tape.
// CHECK:         %[[SIZE:.*]] = memref.dim %t, %c0 : memref<?xf64>
// CHECK-NEXT:    %t_b = memref.alloca(%[[SIZE]]) : memref<?xf64>
// CHECK-NOT:     memref.store %zero
// CHECK-NOT:     arith.mulf
// CHECK:         memref.store %s_b, %t_b[
// CHECK:         %a_b = memref.load %t_b[
// CHECK-NEXT:    ad.accumulate %a_b into %x_b[
// CHECK-NOT:     ad.accumulate
// CHECK:         func.return

// -----

// An array that does not reach what is an output is not active: its shadow stays as it is, and nothing is undone.

ad.vjp @decay_grad of @decay (input, active) -> (active)
func.func @decay(%u: memref<1xf64> {tapeflow.name = "u"}, %k: f64 {tapeflow.name = "k"}) -> f64 {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f64
  %old = memref.load %u[%c0] : memref<1xf64>
  %new = arith.mulf %old, %half : f64
  memref.store %new, %u[%c0] : memref<1xf64>
  %energy = arith.mulf %k, %k : f64
  func.return %energy : f64
}

// CHECK-LABEL: func.func @decay_grad
// CHECK:         memref.store %new, %u[%c0]
// CHECK-NEXT:    %energy = arith.mulf %k, %k : f64
// CHECK-NOT:     %u_b
// CHECK:         func.return

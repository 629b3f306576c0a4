// RUN: tapeflow-opt %s -p ad-differentiate --split-input-file | filecheck %s

// What a loop carries may be overwritten in each iteration without being read. Of no iteration it is still what the
// loop returns, so its initial value has an adjoint: that of the result, unless an iteration set it to zero.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %x: memref<?xf64>, %s: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %s) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %y = math.sin %v : f64
    scf.yield %y : f64
  }
  func.return %last : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         [[S:%.*]] = scf.for %{{.*}} = %c0 to %n step %c1 iter_args([[B:%.*]] = %last_b) -> (f64) {
// CHECK-NEXT:      scf.yield [[ZERO:%.*]] : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %last, [[S]] : f64, f64

// -----

// The bound of an inner loop that is computed inside the outer one, here m - 2 iterations, is had again in front of
// the mirrored inner loop, and the inner induction variable follows from it.

ad.vjp @g_grad of @g (const, const, active) -> (active)
func.func @g(%n: index, %m: index, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %end = arith.subi %m, %i : index
    %t = scf.for %j = %c0 to %end step %c1 iter_args(%t_j = %s_i) -> (f64) {
      %k = arith.addi %i, %j : index
      %v = memref.load %y[%k] : memref<?xf64>
      %t_new = arith.addf %t_j, %v : f64
      scf.yield %t_new : f64
    }
    scf.yield %t : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @g_grad
// CHECK:         scf.for %i_r =
// CHECK-NEXT:      %i_1 = arith.subi %i_last, %i_r : index
// CHECK-NEXT:      [[END:%.*]] = arith.subi %m, %i_1 : index
// CHECK-NEXT:      [[LAST:%.*]] = arith.subi [[END]], %c1 : index
// CHECK-NEXT:      scf.for %j_r = %c0 to [[END]] step %c1 {
// CHECK-NEXT:        [[J:%.*]] = arith.subi [[LAST]], %j_r : index
// CHECK:             ad.accumulate

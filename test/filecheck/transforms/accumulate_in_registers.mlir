// RUN: tapeflow-opt %s --split-input-file -p "ad-prepare,ad-differentiate,tape-plan" | filecheck %s

// The adjoint of an element that a loop reads in each iteration is summed in a register and added once, behind the
// loop: behind both loops, as the element is from outside of both. If either does not run, the element may not exist.

func.func @outside(%n: index, %m: index, %k: index, %x: memref<?xf64>, %w: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %s1 = scf.for %j = %c0 to %m step %c1 iter_args(%s2 = %s0) -> (f64) {
      %v = memref.load %x[%k] : memref<?xf64>
      %a = memref.load %w[%i, %j] : memref<?x?xf64>
      %p = arith.mulf %v, %a : f64
      %s3 = arith.addf %s2, %p : f64
      scf.yield %s3 : f64
    }
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @outside_grad of @outside (const, const, const, active, const) -> (active)

// CHECK-LABEL: func.func @outside_grad
// CHECK:         %[[M:[^ ]*]] = arith.cmpi slt, %c0, %m : index
// CHECK-NEXT:    %[[N:[^ ]*]] = arith.cmpi slt, %c0, %n : index
// CHECK-NEXT:    %[[RAN:[^ ]*]] = arith.andi %[[M]], %[[N]] : i1
// CHECK:         %[[SUM:[^ ]*]] = scf.for %i_r = %{{.*}} iter_args(%[[OUT:[^ ]*]] = %zero) -> (f64) {
// CHECK:           %[[ROW:[^ ]*]] = scf.for %j_r = %{{.*}} iter_args(%[[IN:[^ ]*]] = %zero) -> (f64) {
// CHECK-NOT:         ad.accumulate
// CHECK:             %[[NEXT:[^ ]*]] = arith.addf %[[IN]], %v_b : f64
// CHECK-NEXT:        scf.yield %[[NEXT]] : f64
// CHECK:           %[[BOTH:[^ ]*]] = arith.addf %[[OUT]], %[[ROW]] : f64
// CHECK-NEXT:      scf.yield %[[BOTH]] : f64
// CHECK:         scf.if %[[RAN]] {
// CHECK-NEXT:      ad.accumulate %[[SUM]] into %x_b[%k] : memref<?xf64>
// CHECK-NEXT:    }
// CHECK-NOT:     ad.accumulate

// -----

// A loop that is sure to run needs no branch.

func.func @surely(%x: memref<4xf64>, %w: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%s0 = %zero) -> (f64) {
    %v = memref.load %x[%c2] : memref<4xf64>
    %a = memref.load %w[%i] : memref<8xf64>
    %p = arith.mulf %v, %a : f64
    %s1 = arith.addf %s0, %p : f64
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @surely_grad of @surely (active, const) -> (active)

// CHECK-LABEL: func.func @surely_grad
// CHECK:         %[[SUM:[^ ]*]] = scf.for %i_r
// CHECK-NOT:     scf.if
// CHECK:         ad.accumulate %[[SUM]] into %x_b[%c2] : memref<4xf64>

// -----

// Other elements of the same array are accumulated as before: nobody reads the adjoints in between.

func.func @pairs(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %s1 = scf.for %j = %c0 to %i step %c1 iter_args(%s2 = %s0) -> (f64) {
      %a = memref.load %x[%i] : memref<?xf64>
      %b = memref.load %x[%j] : memref<?xf64>
      %p = arith.mulf %a, %b : f64
      %s3 = arith.addf %s2, %p : f64
      scf.yield %s3 : f64
    }
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @pairs_grad of @pairs (const, active) -> (active)

// CHECK-LABEL: func.func @pairs_grad
// CHECK:         scf.for %i_r
// CHECK:           scf.for %j_r
// CHECK:             ad.accumulate %b_b into %x_b[%j_1]
// CHECK-NOT:         ad.accumulate
// CHECK:             scf.yield
// CHECK:           scf.if
// CHECK-NEXT:        ad.accumulate %{{.*}} into %x_b[%i_1]

// -----

// What the loop overwrites is read in between: its adjoints stay in memory.

func.func @state(%n: index, %x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %a = memref.load %x[%c0] : memref<?xf64>
    %b = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %a, %b : f64
    memref.store %p, %x[%i] : memref<?xf64>
  }
  func.return
}
ad.vjp @state_grad of @state (const, active) -> ()

// CHECK-LABEL: func.func @state_grad
// CHECK:         scf.for %i_r
// CHECK:           ad.accumulate %{{.*}} into %x_b[%c0]
// CHECK-NOT:     ad.accumulate

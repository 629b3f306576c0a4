// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file --verify-diagnostics | filecheck %s

// Several cotangents for one run of the primal. What depends on a seed is there once a member: adjoints that loops carry,
// results of branches, loads, stores and accumulations. Loops, branches, tapes and partial derivatives are there once.
// Shadows have the members innermost; the seeds of the result, and the adjoints of the scalar, are arrays of them.

ad.vjp @f_grad of @f (const, active, active) -> (active) batch 2
func.func @f(%n: index {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"},
             %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %a) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %y = math.sin %s_i : f64
    %c = arith.cmpf ogt, %y, %xi : f64
    %p = scf.if %c -> (f64) {
      %q = arith.mulf %y, %s_i : f64
      scf.yield %q : f64
    } else {
      %q = arith.mulf %y, %a : f64
      memref.store %q, %x[%i] : memref<?xf64>
      scf.yield %xi : f64
    }
    scf.yield %p : f64
  }
  func.return %s : f64
}

// CHECK:       func.func @f_grad(%n: index {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"}, %x: memref<?xf64>
// CHECK-SAME:    %s_b: memref<2xf64> {tapeflow.name = "s_b"}, %x_b: memref<?x2xf64> {tapeflow.name = "x_b", tapeflow.extents = ["n", "2"]}, %a_b: memref<2xf64> {tapeflow.name = "a_b", tapeflow.adjoint_of = "a"})
// CHECK-SAME:    -> (f64 {tapeflow.name = "s"}) attributes {tapeflow.gradient_of = "f", tapeflow.batch = 2 : i64} {
// CHECK-COUNT-3: tape.create
// CHECK:         scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %a) -> (f64) {
// CHECK:         %s_b0 = memref.load %s_b[%c0] : memref<2xf64>
// CHECK-NEXT:    %s_b1 = memref.load %s_b[%c1] : memref<2xf64>
// CHECK-NEXT:    %s_i_b0, %s_i_b1, %a_b0, %a_b1 = scf.for %i_r = %c0 to %n step %c1
// CHECK-SAME:      iter_args([[S0:%.*]] = %s_b0, [[S1:%.*]] = %s_b1, [[A0:%.*]] = %0, [[A1:%.*]] = %0) -> (f64, f64, f64, f64) {
// CHECK-COUNT-3:   tape.pop
// CHECK:           scf.if %{{.*}} -> (f64, f64, f64, f64, f64, f64, f64, f64) {
// CHECK-NEXT:        arith.mulf [[S0]], [[T:%.*]] : f64
// CHECK-NEXT:        arith.mulf [[S1]], [[T]] : f64
// CHECK:           } else {
// CHECK-NEXT:        %q_b0 = memref.load %x_b[%i_1, %c0] : memref<?x2xf64>
// CHECK-NEXT:        %q_b1 = memref.load %x_b[%i_1, %c1] : memref<?x2xf64>
// CHECK-NEXT:        memref.store %0, %x_b[%i_1, %c0] : memref<?x2xf64>
// CHECK-NEXT:        memref.store %0, %x_b[%i_1, %c1] : memref<?x2xf64>
// CHECK:           }
// CHECK-NEXT:      math.cos
// CHECK:           ad.accumulate %xi_b0 into %x_b[%i_1, %c0] : memref<?x2xf64>
// CHECK-NEXT:      ad.accumulate %xi_b1 into %x_b[%i_1, %c1] : memref<?x2xf64>
// CHECK:         memref.store %{{.*}}, %a_b[%c0] : memref<2xf64>
// CHECK-NEXT:    memref.store %{{.*}}, %a_b[%c1] : memref<2xf64>
// CHECK-NEXT:    func.return %s : f64

// -----

// Forward mode: the same with tangents, which a while loop carries too. The result's tangents are written.

ad.jvp @g_jvp of @g (active, const) -> (active) batch 2
func.func @g(%a: f32 {tapeflow.name = "a"}, %most: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %s = scf.while (%v = %a) : (f32) -> f32 {
    %c = arith.cmpf olt, %v, %most : f32
    scf.condition(%c) %v : f32
  } do {
  ^bb0(%v: f32):
    %w = arith.mulf %v, %two : f32
    scf.yield %w : f32
  }
  func.return %s : f32
}

// CHECK:       func.func @g_jvp(%a: f32 {tapeflow.name = "a"}, %most: f32, %a_d: memref<2xf32> {tapeflow.name = "a_d"}, %s_d: memref<2xf32> {tapeflow.name = "s_d", tapeflow.tangent_of = "s"}) -> (f32
// CHECK:         %a_d0 = memref.load %a_d[%0] : memref<2xf32>
// CHECK-NEXT:    %a_d1 = memref.load %a_d[%1] : memref<2xf32>
// CHECK-NEXT:    %s, [[D0:%.*]], [[D1:%.*]] = scf.while (%v = %a, [[E0:%.*]] = %a_d0, [[E1:%.*]] = %a_d1) : (f32, f32, f32) -> (f32, f32, f32) {
// CHECK:           scf.condition(%c) %v, [[E0]], [[E1]] : f32, f32, f32
// CHECK:         memref.store [[D0]], %s_d[%0] : memref<2xf32>
// CHECK-NEXT:    memref.store [[D1]], %s_d[%1] : memref<2xf32>

// -----

// A local array has shadows for all members, and so have the views of one, whose elements lie further apart.

ad.vjp @h_grad of @h (active, const) -> (active) batch 4
func.func @h(%x: memref<6x5xf64>, %k: index) -> f64 {
  %c1 = arith.constant 1 : index
  %line = memref.alloca() : memref<3xf64>
  %row = memref.subview %x[2, 1] [1, 3] [1, 1] : memref<6x5xf64> to memref<3xf64, strided<[1], offset: 11>>
  %v = memref.load %row[%c1] : memref<3xf64, strided<[1], offset: 11>>
  memref.store %v, %line[%c1] : memref<3xf64>
  %y = memref.load %line[%k] : memref<3xf64>
  func.return %y : f64
}

// CHECK-LABEL: func.func @h_grad
// CHECK-SAME:    memref<6x5x4xf64>
// CHECK:         memref.alloca() : memref<3x4xf64>
// CHECK:         memref.subview %{{.*}}[2, 1, 0] [1, 3, 4] [1, 1, 1] : memref<6x5x4xf64> to memref<3x4xf64, strided<[4, 1], offset: 44>>

// -----

// Hessian-vector products along several vectors: one gradient, with tangents that are there once a member; beside each
// tape of values stands a tape a member of their tangents.

ad.vjp @k_grad of @k (const, active) -> (active)
ad.jvp @k_hvp of @k_grad (const, active, const, active) -> (const) batch 2
func.func @k(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %one) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %s_i, %xi : f64
    scf.yield %p : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @k_hvp
// CHECK-SAME:    %s_b: f64 {tapeflow.name = "s_b"}, %x_b: memref<?xf64> {tapeflow.name = "x_b"}, %x_d: memref<?x2xf64> {tapeflow.name = "x_d"}, %x_b_d: memref<?x2xf64>
// CHECK:         [[T:%.*]] = tape.create
// CHECK-NEXT:    [[T0:%.*]] = tape.create
// CHECK-NEXT:    [[T1:%.*]] = tape.create

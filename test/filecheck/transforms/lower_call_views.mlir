// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s

// A part of an array is passed to a function that stays a call as the array, and where in it the part lies: the function
// has a variant for each kind of part. The calls in the variant compose parts of parts, so they call the same one.

ad.vjp @f_grad of @f (active, const) -> (active)
func.func private @tree(%v: memref<?xf64> {tapeflow.name = "v", tapeflow.extents = ["n"]}, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %small = arith.cmpi sle, %n, %one : index
  %r = scf.if %small -> (f64) {
    %e = memref.load %v[%zero] : memref<?xf64>
    scf.yield %e : f64
  } else {
    %half = arith.divsi %n, %two : index
    %rest = arith.subi %n, %half : index
    %low = memref.subview %v[0] [%half] [1] : memref<?xf64> to memref<?xf64, strided<[1]>>
    %left = memref.cast %low : memref<?xf64, strided<[1]>> to memref<?xf64>
    %high = memref.subview %v[%half] [%rest] [1] : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
    %right = memref.cast %high : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64>
    %a = func.call @tree(%left, %half) : (memref<?xf64>, index) -> f64
    %b = func.call @tree(%right, %rest) : (memref<?xf64>, index) -> f64
    %c = arith.mulf %a, %b : f64
    scf.yield %c : f64
  }
  func.return %r : f64
}
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %r = func.call @tree(%x, %n) : (memref<?xf64>, index) -> f64
  func.return %r : f64
}

// CHECK-LABEL: func.func private @tree(%v: memref<?xf64> {tapeflow.name = "v", tapeflow.extents = ["n"]}, %n: index)
// CHECK:         func.call @tree_at(%v, %zero, %half, %half) {{.*}} : (memref<?xf64>, index, index, index) -> f64
// CHECK:         func.call @tree_at(%v, %half, %rest, %rest)
// CHECK-LABEL: func.func private @tree_at(
// CHECK-SAME:      %v: memref<?xf64> {tapeflow.name = "v"}, %v_at: index, %v_size: index, %n: index) -> f64
// CHECK:         func.call @tree_at(%v, %v_at, %half, %half)
// CHECK:         %[[AT:.*]] = arith.addi %v_at, %half : index
// CHECK:         func.call @tree_at(%v, %[[AT]], %rest, %rest)

// -----

// A row: the dimension that it has not is one of the array still. Two rows are one kind, a whole array is none, and of
// an array of constant extents only the outermost is forgotten. What the callee writes to is the array.

ad.vjp @f_grad of @f (active, active, const) -> (active)
func.func private @fill(%n: index, %v: memref<?xf64> {tapeflow.name = "row", tapeflow.extents = ["n"], tapeflow.const}, %s: f64) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %more = arith.cmpi sgt, %n, %zero : index
  %r = scf.if %more -> (f64) {
    %m = arith.subi %n, %one : index
    memref.store %s, %v[%m] : memref<?xf64>
    %t = func.call @fill(%m, %v, %s) : (index, memref<?xf64>, f64) -> f64
    scf.yield %t : f64
  } else {
    scf.yield %s : f64
  }
  func.return %r : f64
}
func.func @f(%A: memref<3x4xf64>, %s: f64, %i: index) -> f64 {
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %row = memref.subview %A[%i, 0] [1, 4] [1, 1] : memref<3x4xf64> to memref<4xf64, strided<[1], offset: ?>>
  %v = memref.cast %row : memref<4xf64, strided<[1], offset: ?>> to memref<?xf64>
  %p = func.call @fill(%four, %v, %s) : (index, memref<?xf64>, f64) -> f64
  %other = memref.subview %A[1, 0] [1, 4] [1, 1] : memref<3x4xf64> to memref<4xf64, strided<[1], offset: 4>>
  %flat = memref.cast %other : memref<4xf64, strided<[1], offset: 4>> to memref<?xf64, strided<[1], offset: ?>>
  %w = memref.cast %flat : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64>
  %q = func.call @fill(%four, %w, %p) : (index, memref<?xf64>, f64) -> f64
  %local = memref.alloc() : memref<4xf64>
  %u = memref.cast %local : memref<4xf64> to memref<?xf64>
  %r = func.call @fill(%four, %u, %q) : (index, memref<?xf64>, f64) -> f64
  func.return %r : f64
}

// CHECK-LABEL: func.func private @fill(
// CHECK-LABEL: func.func private @fill_at(
// CHECK-SAME:      %n: index, %row: memref<?x4xf64> {tapeflow.name = "row", tapeflow.const}, %row_at0: index, %row_size1: index, %s: f64) -> f64
// CHECK:         %[[PART:.*]] = memref.subview %row[%row_at0, 0] [1, %row_size1] [1, 1] : memref<?x4xf64> to memref<?xf64, strided<[1], offset: ?>>
// CHECK-NEXT:    %[[ROW:.*]] = "memref.cast"(%[[PART]])
// CHECK:           memref.store %s, %[[ROW]][%m]
// CHECK-NEXT:      func.call @fill_at(%m, %row, %row_at0, %row_size1, %s) {tapeflow.writes = array<i64: 1>}
// CHECK-LABEL: func.func @f(
// CHECK:         %[[ALL:.*]] = "memref.cast"(%A) : (memref<3x4xf64>) -> memref<?x4xf64>
// CHECK-NEXT:    %p = func.call @fill_at(%four, %[[ALL]], %i, %four, %s) {tapeflow.writes = array<i64: 1>}
// CHECK-NEXT:    %q = func.call @fill_at(%four, %[[ALL]], %one, %four, %p)
// CHECK:         func.call @fill(%four, %u, %q) {tapeflow.writes = array<i64: 1>}

// -----

// A parameter with a layout: a whole array is passed without one. A stride is passed where it is not 1, and a single
// element has no size.

ad.vjp @f_grad of @f (active, const) -> (active)
func.func private @g(%v: memref<?xf64, strided<[?], offset: ?>>, %e: memref<f64, strided<[], offset: ?>>, %n: index) -> f64 {
  %one = arith.constant 1 : index
  %m = arith.subi %n, %one : index
  %a = memref.load %v[%m] : memref<?xf64, strided<[?], offset: ?>>
  %b = memref.load %e[] : memref<f64, strided<[], offset: ?>>
  %p = arith.mulf %a, %b : f64
  %q = func.call @g(%v, %e, %m) : (memref<?xf64, strided<[?], offset: ?>>, memref<f64, strided<[], offset: ?>>, index) -> f64
  %r = arith.addf %p, %q : f64
  func.return %r : f64
}
func.func @f(%x: memref<?xf64>, %n: index) -> f64 {
  %two = arith.constant 2 : index
  %e = memref.subview %x[1] [1] [1] : memref<?xf64> to memref<f64, strided<[], offset: 1>>
  %e1 = memref.cast %e : memref<f64, strided<[], offset: 1>> to memref<f64, strided<[], offset: ?>>
  %whole = memref.cast %x : memref<?xf64> to memref<?xf64, strided<[?], offset: ?>>
  %p = func.call @g(%whole, %e1, %two) : (memref<?xf64, strided<[?], offset: ?>>, memref<f64, strided<[], offset: ?>>, index) -> f64
  %even = memref.subview %x[0] [%two] [2] : memref<?xf64> to memref<?xf64, strided<[2]>>
  %v = memref.cast %even : memref<?xf64, strided<[2]>> to memref<?xf64, strided<[?], offset: ?>>
  %q = func.call @g(%v, %e1, %two) : (memref<?xf64, strided<[?], offset: ?>>, memref<f64, strided<[], offset: ?>>, index) -> f64
  %r = arith.addf %p, %q : f64
  func.return %r : f64
}

// CHECK-LABEL: func.func private @g_at(%v: memref<?xf64>, %e: memref<?xf64>, %e_at: index, %n: index) -> f64
// CHECK:         func.call @g_at(%v, %e, %e_at, %m)
// CHECK-LABEL: func.func private @g_at_2(%v: memref<?xf64>, %v_step: index, %v_size: index, %e: memref<?xf64>, %e_at: index, %n: index) -> f64
// CHECK:         memref.subview %v[0] [%v_size] [%v_step]
// CHECK:         func.call @g_at_2(%v, %v_step, %v_size, %e, %e_at, %m)
// CHECK-LABEL: func.func @f(
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %p = func.call @g_at(%x, %x, %[[ONE]], %two)
// CHECK-NEXT:    %q = func.call @g_at_2(%x, %two, %two, %x, %[[ONE]], %two)

// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s

// A division whose result one arm of a choice takes is done in a branch, with what belongs to it: where it is not taken
// its adjoint would be zero times infinity.

func.func @choice(%x: f64, %c: i1) -> f64 {
  %one = arith.constant 1.0 : f64
  %q = arith.divf %one, %x : f64
  %p = arith.mulf %q, %x : f64
  %r = arith.select %c, %p, %one : f64
  func.return %r : f64
}

// CHECK-LABEL: func.func @choice
// CHECK:         %one = arith.constant
// CHECK-NEXT:    %r = scf.if %c -> (f64) {
// CHECK-NEXT:      %q = arith.divf %one, %x : f64
// CHECK-NEXT:      %p = arith.mulf %q, %x : f64
// CHECK-NEXT:      scf.yield %p : f64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %one : f64

// -----

// It also goes into an arm that is there, and from there into one inside.

func.func @nested(%x: memref<f64>, %v: f64, %c: i1, %d: i1) {
  %e = math.log %v : f64
  scf.if %c {
    scf.if %d {
      memref.store %e, %x[] : memref<f64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @nested
// CHECK-NEXT:    scf.if %c {
// CHECK-NEXT:      scf.if %d {
// CHECK-NEXT:        %e = math.log %v : f64
// CHECK-NEXT:        memref.store %e

// -----

// What the condition or both arms use stays, and so does what has no infinite derivative.

func.func @stays(%x: f64, %y: f64) -> (f64, f64) {
  %one = arith.constant 1.0 : f64
  %q = arith.divf %one, %x : f64
  %c = arith.cmpf olt, %q, %y : f64
  %r = arith.select %c, %q, %one : f64
  %p = arith.mulf %x, %y : f64
  %s = arith.select %c, %p, %one : f64
  func.return %r, %s : f64, f64
}

// CHECK-LABEL: func.func @stays
// CHECK:         %q = arith.divf
// CHECK:         %r = arith.select
// CHECK:         %s = arith.select

// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-prepare --split-input-file | filecheck %s

// What is loaded from the place that was just stored to is what was stored: one value, which is taped once. The store
// stays, as the array is an output.

func.func @stored(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
    %0 = memref.load %y[%i] : memref<?xf64>
    %1 = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %0, %1 : f64
    memref.store %p, %y[%i] : memref<?xf64>
    %2 = memref.load %y[%i] : memref<?xf64>
    %3 = memref.load %y[%i] : memref<?xf64>
    %q = arith.mulf %2, %3 : f64
    %b = arith.addf %a, %q : f64
    scf.yield %b : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @stored
// CHECK:           %p = arith.mulf
// CHECK-NEXT:      memref.store %p, %y[%i] : memref<?xf64>
// CHECK-NEXT:      %q = arith.mulf %p, %p : f64

// -----

// Subscripts that differ by a constant are of different elements; those of which nobody knows may be of the same one.
// A second load with such a write between is kept, one without is the first.

func.func @overlap(%i: index, %k: index, %v: f64, %y: memref<?xf64>, %z: memref<?xf64>) -> f64 {
  %c1 = arith.constant 1 : index
  %next = arith.addi %i, %c1 : index
  %0 = memref.load %y[%i] : memref<?xf64>
  memref.store %v, %y[%next] : memref<?xf64>
  memref.store %v, %z[%k] : memref<?xf64>
  %1 = memref.load %y[%i] : memref<?xf64>
  %2 = arith.addf %0, %1 : f64
  memref.store %0, %y[%k] : memref<?xf64>
  %3 = memref.load %y[%i] : memref<?xf64>
  %4 = memref.load %y[%next] : memref<?xf64>
  %5 = arith.mulf %3, %4 : f64
  %6 = arith.addf %2, %5 : f64
  func.return %6 : f64
}

// CHECK-LABEL: func.func @overlap
// CHECK:         [[Y0:%.*]] = memref.load %y[%i] : memref<?xf64>
// CHECK-NEXT:    memref.store %v, %y[%next] : memref<?xf64>
// CHECK-NEXT:    memref.store %v, %z[%k] : memref<?xf64>
// CHECK-NEXT:    [[SUM:%.*]] = arith.addf [[Y0]], [[Y0]] : f64
// CHECK-NEXT:    memref.store [[Y0]], %y[%k] : memref<?xf64>
// CHECK-NEXT:    [[Y1:%.*]] = memref.load %y[%i] : memref<?xf64>
// CHECK-NEXT:    [[NEXT:%.*]] = memref.load %y[%next] : memref<?xf64>
// CHECK-NEXT:    arith.mulf [[Y1]], [[NEXT]] : f64

// -----

// Views of one array may overlap, whatever their subscripts.

func.func @views(%k: index, %v: f64, %y: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %part = memref.subview %y[%k] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: ?>>
  memref.store %v, %part[%c0] : memref<4xf64, strided<[1], offset: ?>>
  memref.store %v, %part[%c1] : memref<4xf64, strided<[1], offset: ?>>
  %0 = memref.load %part[%c0] : memref<4xf64, strided<[1], offset: ?>>
  %1 = memref.load %y[%c1] : memref<8xf64>
  memref.store %1, %part[%c1] : memref<4xf64, strided<[1], offset: ?>>
  %2 = memref.load %y[%c1] : memref<8xf64>
  %3 = arith.addf %0, %1 : f64
  %4 = arith.addf %3, %2 : f64
  func.return %4 : f64
}

// CHECK-LABEL: func.func @views
// CHECK:         memref.store %v, %part[%c1]
// CHECK-NEXT:    [[Y1:%.*]] = memref.load %y[%c1] : memref<8xf64>
// CHECK-NEXT:    memref.store [[Y1]], %part[%c1]
// CHECK-NEXT:    [[AGAIN:%.*]] = memref.load %y[%c1] : memref<8xf64>
// CHECK-NEXT:    [[SUM:%.*]] = arith.addf %v, [[Y1]] : f64
// CHECK-NEXT:    arith.addf [[SUM]], [[AGAIN]] : f64

// -----

// A branch knows what is known before it, and what it writes is not known behind it. A loop knows of what is before it
// only what none of its iterations writes.

func.func @nested(%n: index, %c: i1, %v: f64, %x: memref<?xf64>, %y: memref<?xf64>, %z: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.store %v, %y[%c0] : memref<?xf64>
  memref.store %v, %z[%c0] : memref<?xf64>
  scf.if %c {
    %0 = memref.load %y[%c0] : memref<?xf64>
    %1 = arith.mulf %0, %0 : f64
    memref.store %1, %y[%c0] : memref<?xf64>
  }
  %2 = memref.load %y[%c0] : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %2) -> (f64) {
    %3 = memref.load %z[%c0] : memref<?xf64>
    %4 = memref.load %y[%c0] : memref<?xf64>
    %5 = arith.mulf %3, %4 : f64
    memref.store %5, %y[%i] : memref<?xf64>
    %b = arith.addf %a, %5 : f64
    scf.yield %b : f64
  }
  %6 = memref.load %z[%c0] : memref<?xf64>
  %7 = memref.load %y[%c0] : memref<?xf64>
  %8 = arith.addf %6, %7 : f64
  %9 = arith.addf %8, %s : f64
  func.return %9 : f64
}

// CHECK-LABEL: func.func @nested
// CHECK:         scf.if %c {
// CHECK-NEXT:      [[SQUARE:%.*]] = arith.mulf %v, %v : f64
// CHECK-NEXT:      memref.store [[SQUARE]], %y[%c0] : memref<?xf64>
// CHECK-NEXT:    }
// CHECK-NEXT:    [[BEHIND:%.*]] = memref.load %y[%c0] : memref<?xf64>
// CHECK-NEXT:    scf.for %i = %c0 to %n step %c1 iter_args(%a = [[BEHIND]]) -> (f64) {
// CHECK-NEXT:      [[Y:%.*]] = memref.load %y[%c0] : memref<?xf64>
// CHECK-NEXT:      arith.mulf %v, [[Y]] : f64
// CHECK:         }
// CHECK-NEXT:    [[LAST:%.*]] = memref.load %y[%c0] : memref<?xf64>
// CHECK-NEXT:    arith.addf %v, [[LAST]] : f64

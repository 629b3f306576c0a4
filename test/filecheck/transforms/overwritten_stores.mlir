// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan --split-input-file | filecheck %s --check-prefix GRAD

// The zero that a sum starts from is stored only if the loop does not overwrite it: it does, even if it runs no iteration.
// In the reverse sweep the adjoint of the element is read and cleared once.

func.func @sum(%n: index, %m: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %y[%i] : memref<?xf64>
    scf.for %j = %c0 to %m step %c1 {
      %0 = memref.load %y[%i] : memref<?xf64>
      %1 = memref.load %x[%j] : memref<?xf64>
      %2 = arith.addf %0, %1 : f64
      memref.store %2, %y[%i] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @sum_grad of @sum (const, const, active, active) -> ()

// CHECK-LABEL: func.func @sum
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %y_1 = scf.for %j = %c0 to %m step %c1 iter_args(%y_2 = %zero) -> (f64) {
// CHECK:           }
// CHECK-NEXT:      memref.store %y_1, %y[%i] : memref<?xf64>
// CHECK-NEXT:    }

// GRAD-LABEL: func.func @sum_grad
// GRAD:         scf.for %i_r
// GRAD-NEXT:      %i_1 = arith.subi %i_last, %i_r : index
// GRAD-NEXT:      [[B:%.*]] = memref.load %y_b[%i_1] : memref<?xf64>
// GRAD-NEXT:      memref.store %zero, %y_b[%i_1] : memref<?xf64>
// GRAD-NEXT:      scf.for %j_r
// GRAD:             ad.accumulate [[B]] into %x_b
// GRAD-NEXT:      }
// GRAD-NEXT:    }

// -----

// What an element gets in a branch or a loop is overwritten behind it, in the same iteration of what is around.

func.func @behind(%n: index, %c: i1, %v: f64, %y: memref<?xf64>, %z: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      memref.store %v, %y[%i] : memref<?xf64>
      memref.store %v, %z[%c1] : memref<4xf64>
    }
    %0 = arith.mulf %v, %v : f64
    memref.store %0, %y[%i] : memref<?xf64>
  }
  memref.store %v, %z[%c0] : memref<4xf64>
  func.return
}
ad.vjp @behind_grad of @behind (const, const, active, active, active) -> ()

// CHECK-LABEL: func.func @behind
// CHECK:           scf.if %c {
// CHECK-NEXT:        memref.store %v, %z[%c1] : memref<4xf64>
// CHECK-NEXT:      }
// GRAD-LABEL: func.func @behind_grad

// -----

// Not if it may be read before: by a load at a subscript that may be the same, by the next iteration, or by a view.
// Nor if the other store may not run.

func.func @read(%n: index, %k: index, %c: i1, %v: f64, %x: memref<?xf64>, %y: memref<?xf64>, %z: memref<8xf64>, %w: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %part = memref.subview %z[%k] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: ?>>
  memref.store %v, %z[%c2] : memref<8xf64>
  %0 = memref.load %part[%c0] : memref<4xf64, strided<[1], offset: ?>>
  memref.store %0, %z[%c2] : memref<8xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %y[%i] : memref<?xf64>
    %1 = memref.load %y[%k] : memref<?xf64>
    memref.store %1, %y[%i] : memref<?xf64>
    %2 = memref.load %x[%i] : memref<?xf64>
    %3 = memref.load %x[%c1] : memref<?xf64>
    %4 = arith.mulf %2, %3 : f64
    memref.store %4, %x[%c1] : memref<?xf64>
  }
  memref.store %v, %x[%c1] : memref<?xf64>
  memref.store %v, %w[%c1] : memref<?xf64>
  scf.if %c {
    memref.store %0, %w[%c1] : memref<?xf64>
  }
  func.return
}
ad.vjp @read_grad of @read (const, const, const, active, active, active, active, active) -> ()

// CHECK-LABEL: func.func @read
// CHECK:         memref.store %v, %z[%c2]
// CHECK:         memref.store {{%.*}}, %z[%c2]
// CHECK:         scf.for
// CHECK-NEXT:      memref.store %v, %y[%i]
// CHECK:           memref.store {{%.*}}, %y[%i]
// CHECK:           memref.store {{%.*}}, %x[%c1]
// CHECK:         memref.store %v, %x[%c1]
// CHECK:         memref.store %v, %w[%c1]
// GRAD-LABEL: func.func @read_grad

// -----

// The mirror of a store clears the element's adjoint where it is read, and what accumulates to it next stores instead:
// behind a loop too that does not touch it.

func.func @cleared(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %x[%c0] : memref<?xf64>
  scf.for %j = %c0 to %n step %c1 {
    %1 = memref.load %y[%j] : memref<?xf64>
    %2 = arith.mulf %0, %1 : f64
    memref.store %2, %y[%j] : memref<?xf64>
  }
  %3 = arith.addf %0, %0 : f64
  memref.store %3, %x[%c0] : memref<?xf64>
  func.return
}
ad.vjp @cleared_grad of @cleared (const, active, active) -> ()

// CHECK-LABEL: func.func @cleared
// GRAD-LABEL: func.func @cleared_grad
// GRAD:         memref.load %x_b[%c0]
// GRAD-NOT:     %x_b[
// GRAD:         scf.for %j_r
// GRAD:         memref.store {{%.*}}, %x_b[%c0]
// GRAD-NOT:     %x_b[
// GRAD:         func.return

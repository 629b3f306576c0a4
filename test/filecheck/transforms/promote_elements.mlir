// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-prepare --split-input-file | filecheck %s

// An element that a loop accumulates into is a carried value, loaded before the loop and stored behind it. Where the
// loop may run no iteration the element may not exist: a branch asks.

func.func @product(%n: index, %m: index, %a: memref<?x?xf64>, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %0 = memref.load %y[%i] : memref<?xf64>
      %1 = memref.load %a[%i, %j] : memref<?x?xf64>
      %2 = memref.load %x[%j] : memref<?xf64>
      %3 = arith.mulf %1, %2 : f64
      %4 = arith.addf %0, %3 : f64
      memref.store %4, %y[%i] : memref<?xf64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @product
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      [[RUNS:%.*]] = arith.cmpi slt, %c0, %m : index
// CHECK-NEXT:      %y_1 = scf.if [[RUNS]] -> (f64) {
// CHECK-NEXT:        %y_2 = memref.load %y[%i] : memref<?xf64>
// CHECK-NEXT:        scf.yield %y_2 : f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %{{.*}} : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %y_3 = scf.for %j = %c0 to %m step %c1 iter_args(%y_4 = %y_1) -> (f64) {
// CHECK:             %y_5 = arith.addf %y_4, {{%.*}} : f64
// CHECK-NEXT:        scf.yield %y_5 : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.if [[RUNS]] {
// CHECK-NEXT:        memref.store %y_3, %y[%i] : memref<?xf64>
// CHECK-NEXT:      }

// -----

// An element that was accessed before the loop exists, and is what was stored there. A branch in the loop may store. The
// first store goes: nobody reads it.

func.func @accessed(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %y[%c0] : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf64>
    %1 = arith.cmpf ogt, %0, %zero : f64
    scf.if %1 {
      %2 = memref.load %y[%c0] : memref<?xf64>
      %3 = arith.addf %2, %0 : f64
      memref.store %3, %y[%c0] : memref<?xf64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @accessed
// CHECK-NOT:     memref.store
// CHECK:         %y_1 = scf.for %i = %c0 to %n step %c1 iter_args(%y_2 = %zero) -> (f64) {
// CHECK-NEXT:      [[X:%.*]] = memref.load %x[%i] : memref<?xf64>
// CHECK-NEXT:      [[C:%.*]] = arith.cmpf ogt, [[X]], %zero : f64
// CHECK-NEXT:      %y_3 = scf.if [[C]] -> (f64) {
// CHECK:             scf.yield
// CHECK:           scf.yield %y_3 : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %y_1, %y[%c0] : memref<?xf64>

// -----

// Out of several loops at once, if all that decides whether the element is reached is known outside of them.

func.func @total(%n: index, %m: index, %x: memref<?x?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %0 = memref.load %y[%c1] : memref<?xf64>
      %1 = memref.load %x[%i, %j] : memref<?x?xf64>
      %2 = arith.addf %0, %1 : f64
      memref.store %2, %y[%c1] : memref<?xf64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @total
// CHECK:         arith.cmpi slt, %c0, %n : index
// CHECK:         arith.cmpi slt, %c0, %m : index
// CHECK:         arith.andi
// CHECK:         scf.for %i = %c0 to %n step %c1 iter_args(%y_{{.*}}) -> (f64) {
// CHECK-NEXT:      scf.for %j = %c0 to %m step %c1 iter_args(%y_{{.*}}) -> (f64) {
// CHECK-NOT:         memref.load %y
// CHECK-NOT:         memref.store
// CHECK:         scf.if
// CHECK-NEXT:      memref.store {{%.*}}, %y[%c1] : memref<?xf64>

// -----

// Not where the loop may touch the element in another way: at a subscript of its own, or by a view. Nor where a branch
// decides whether it is reached at all, as it may not exist.

func.func @kept(%n: index, %k: index, %x: memref<?xf64>, %y: memref<?xf64>, %z: memref<8xf64>, %w: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %part = memref.subview %z[%k] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: ?>>
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %y[%i] : memref<?xf64>
    %1 = memref.load %y[%k] : memref<?xf64>
    %2 = arith.addf %1, %0 : f64
    memref.store %2, %y[%k] : memref<?xf64>
    %3 = memref.load %part[%c0] : memref<4xf64, strided<[1], offset: ?>>
    %4 = memref.load %z[%k] : memref<8xf64>
    %5 = arith.addf %3, %4 : f64
    memref.store %5, %z[%k] : memref<8xf64>
    %6 = arith.cmpf ogt, %0, %zero : f64
    scf.if %6 {
      %7 = memref.load %w[%k] : memref<?xf64>
      %8 = arith.addf %7, %0 : f64
      memref.store %8, %w[%k] : memref<?xf64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @kept
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK:           memref.store {{%.*}}, %y[%k]
// CHECK:           memref.store {{%.*}}, %z[%k]
// CHECK:           scf.if
// CHECK:             memref.store {{%.*}}, %w[%k]

// -----

// What a loop only loads is loaded before it if it is overwritten later, so that it is taped once. The element is also
// accessed behind the loop, so it exists. What nobody overwrites can be loaded again anywhere.

func.func @loaded(%n: index, %m: index, %a: memref<?xf64>, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %0 = memref.load %x[%i] : memref<?xf64>
      %1 = memref.load %a[%i] : memref<?xf64>
      %2 = arith.mulf %0, %1 : f64
      memref.store %2, %y[%j] : memref<?xf64>
    }
    %3 = memref.load %x[%i] : memref<?xf64>
    %4 = arith.mulf %3, %3 : f64
    memref.store %4, %x[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: func.func @loaded
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %x_1 = memref.load %x[%i] : memref<?xf64>
// CHECK-NEXT:      scf.for %j = %c0 to %m step %c1 {
// CHECK-NEXT:        [[A:%.*]] = memref.load %a[%i] : memref<?xf64>
// CHECK-NEXT:        arith.mulf %x_1, [[A]] : f64
// CHECK-NEXT:        memref.store
// CHECK-NEXT:      }
// CHECK-NEXT:      arith.mulf %x_1, %x_1 : f64

// -----

// A branch asks where the element may not exist. It stays where something in the loop may write to it, and where a
// branch in the loop decides whether it exists. Subscripts that stay the same are computed outside.

func.func @loaded_in_another_loop(%n: index, %m: index, %k: index, %p: memref<?xindex>, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %row = arith.muli %i, %m : index
      %place = arith.addi %row, %k : index
      %0 = memref.load %x[%place] : memref<?xf64>
      %1 = memref.load %y[%i] : memref<?xf64>
      %2 = arith.mulf %0, %1 : f64
      %to = memref.load %p[%j] : memref<?xindex>
      memref.store %2, %y[%to] : memref<?xf64>
      %3 = arith.cmpf ogt, %2, %zero : f64
      scf.if %3 {
        %4 = memref.load %x[%k] : memref<?xf64>
        memref.store %4, %y[%to] : memref<?xf64>
      }
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: func.func @loaded_in_another_loop
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %row = arith.muli %i, %m : index
// CHECK-NEXT:      %place = arith.addi %row, %k : index
// CHECK-NEXT:      [[RUNS:%.*]] = arith.cmpi slt, %c0, %m : index
// CHECK-NEXT:      %x_1 = scf.if [[RUNS]] -> (f64) {
// CHECK-NEXT:        %x_2 = memref.load %x[%place] : memref<?xf64>
// CHECK-NEXT:        scf.yield %x_2 : f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %zero : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.for %j = %c0 to %m step %c1 {
// CHECK-NEXT:        [[Y:%.*]] = memref.load %y[%i] : memref<?xf64>
// CHECK-NEXT:        arith.mulf %x_1, [[Y]] : f64
// CHECK:             scf.if
// CHECK-NEXT:          memref.load %x[%k] : memref<?xf64>

// -----

// The element is reached where the inner loop does not run too: no branch asks whether that runs.

func.func @inside_and_outside(%n: index, %m: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %k = %c0 to %n step %c1 {
      scf.for %j = %c0 to %m step %c1 {
        %0 = memref.load %y[%i] : memref<?xf64>
        memref.store %0, %x[%j] : memref<?xf64>
      }
      %1 = memref.load %y[%i] : memref<?xf64>
      %2 = arith.mulf %1, %1 : f64
      memref.store %2, %y[%i] : memref<?xf64>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @inside_and_outside
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NOT:       cmpi slt, %c0, %m
// CHECK:           [[RUNS:%.*]] = arith.cmpi slt, %c0, %n : index
// CHECK-NEXT:      %y_1 = scf.if [[RUNS]] -> (f64) {
// CHECK-NOT:       cmpi slt, %c0, %m
// CHECK:           func.return

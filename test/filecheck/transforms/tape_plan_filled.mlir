// RUN: tapeflow-opt %s -p ad-differentiate,tape-plan --split-input-file | filecheck %s

// What is loaded from an array that a loop has filled is computed again as the loop did, for the subscript that is
// loaded: w[k + 1] is x[k + 1] * t, whatever is written to w in the next step. A branch is repeated with that in it.

func.func @filled(%n: index, %steps: index, %x: memref<?xf64>, %p: memref<?xi1>, %u: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %w = memref.alloca(%n) : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  scf.for %t = %c0 to %steps step %c1 {
    %t_f = arith.index_cast %t : index to i64
    %t_1 = arith.sitofp %t_f : i64 to f64
    scf.for %i = %c0 to %n step %c1 {
      %0 = memref.load %x[%i] : memref<?xf64>
      %1 = arith.mulf %0, %t_1 : f64
      memref.store %1, %w[%i] : memref<?xf64>
    }
    scf.for %k = %c0 to %last step %c1 {
      %2 = arith.addi %k, %c1 : index
      %c = memref.load %p[%k] : memref<?xi1>
      %3 = scf.if %c -> (f64) {
        %4 = memref.load %w[%2] : memref<?xf64>
        scf.yield %4 : f64
      } else {
        scf.yield %zero : f64
      }
      %5 = memref.load %u[%k] : memref<?xf64>
      %6 = math.sin %3 : f64
      %7 = arith.addf %5, %6 : f64
      memref.store %7, %u[%k] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @filled_grad of @filled (const, const, active, const, active) -> ()

// CHECK-LABEL: func.func @filled_grad
// CHECK-NOT:     tape.create
// CHECK:         scf.for %t_r
// CHECK:           scf.for %k_r
// CHECK:             [[K1:%.*]] = arith.addi %k_{{.*}}, %c1 : index
// CHECK:             scf.if {{%.*}} -> (f64) {
// CHECK:               [[X:%.*]] = memref.load %x{{\[}}[[K1]]] : memref<?xf64>
// CHECK-NEXT:          arith.mulf [[X]], %t_{{.*}} : f64
// CHECK:             math.cos

// -----

// It is taped where the loop may not have filled the element, where that has been overwritten since, in between or
// in the loop itself, and where what it was computed from has been.

func.func @kept(%n: index, %m: index, %x: memref<?xf64>, %u: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %some = memref.alloca(%n) : memref<?xf64>
  %changed = memref.alloca(%n) : memref<?xf64>
  %twice = memref.alloca(%n) : memref<?xf64>
  %of_u = memref.alloca(%n) : memref<?xf64>
  scf.for %t = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %0 = memref.load %x[%i] : memref<?xf64>
      %1 = arith.mulf %0, %0 : f64
      memref.store %1, %changed[%i] : memref<?xf64>
      memref.store %1, %twice[%i] : memref<?xf64>
      memref.store %0, %twice[%t] : memref<?xf64>
      %2 = memref.load %u[%i] : memref<?xf64>
      memref.store %2, %of_u[%i] : memref<?xf64>
    }
    scf.for %i = %c0 to %m step %c1 {
      %0 = memref.load %x[%i] : memref<?xf64>
      memref.store %0, %some[%i] : memref<?xf64>
    }
    %3 = memref.load %x[%t] : memref<?xf64>
    memref.store %3, %changed[%t] : memref<?xf64>
    scf.for %k = %c0 to %n step %c1 {
      %4 = memref.load %some[%k] : memref<?xf64>
      %5 = math.sin %4 : f64
      %6 = memref.load %changed[%k] : memref<?xf64>
      %7 = math.sin %6 : f64
      %8 = memref.load %twice[%k] : memref<?xf64>
      %9 = math.sin %8 : f64
      %10 = memref.load %of_u[%k] : memref<?xf64>
      %11 = math.sin %10 : f64
      %12 = arith.addf %5, %7 : f64
      %13 = arith.addf %9, %11 : f64
      %14 = arith.addf %12, %13 : f64
      memref.store %14, %u[%k] : memref<?xf64>
      %15 = memref.load %y[%k] : memref<?xf64>
      %16 = arith.addf %14, %15 : f64
      memref.store %16, %y[%k] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @kept_grad of @kept (const, const, active, active, active) -> ()

// CHECK-LABEL: func.func @kept_grad
// CHECK-DAG:     %tape_some = tape.create
// CHECK-DAG:     %tape_changed = tape.create
// CHECK-DAG:     %tape_twice = tape.create
// CHECK-DAG:     %tape_{{(of_)?}}u = tape.create

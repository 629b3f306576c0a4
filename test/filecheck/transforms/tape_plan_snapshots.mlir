// RUN: tapeflow-opt %s -p ad-differentiate,tape-plan --split-input-file | filecheck %s

// An element that a loop loads over and over, while nobody writes to the array, is recorded once: behind the loop, and
// in the reverse sweep restored just before the mirror of the loop, which loads it from there.

func.func @layer(%steps: index, %n: index, %u: memref<?x?xf64>, %h: memref<?xf64>, %g: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %steps step %c1 {
    scf.for %r = %c0 to %n step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        %u_rk = memref.load %u[%r, %k] : memref<?x?xf64>
        %h_k = memref.load %h[%k] : memref<?xf64>
        %p = arith.mulf %u_rk, %h_k : f64
        %g_r = memref.load %g[%r] : memref<?xf64>
        %q = arith.addf %g_r, %p : f64
        memref.store %q, %g[%r] : memref<?xf64>
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      %g_i = memref.load %g[%i] : memref<?xf64>
      memref.store %g_i, %h[%i] : memref<?xf64>
    }
  }
  func.return
}
ad.vjp @layer_grad of @layer (const, const, active, active, active) -> ()

// CHECK-LABEL: func.func @layer_grad
// CHECK:         [[RECORDS:%.*]] = arith.muli
// CHECK-NEXT:    %tape_h_k = tape.create reserve [[RECORDS]] : !tape.tape<f64>
// CHECK-NOT:     tape.create
// CHECK:         scf.for %t = %c0 to %steps step %c1 {
// CHECK:           scf.for %r = %c0 to %n step %c1 {
// CHECK-NOT:         tape.push
// CHECK:           scf.for [[K:%k_.*]] = %c0 to %n step %c1 {
// CHECK-NEXT:        [[H:%.*]] = memref.load %h{{\[}}[[K]]] : memref<?xf64>
// CHECK-NEXT:        tape.push [[H]] onto %tape_h_k : !tape.tape<f64>
// CHECK-NEXT:      } {tapeflow.snapshot}
// CHECK-NEXT:      scf.for %i = %c0 to %n step %c1 {
// CHECK:         %h_was = memref.alloca({{%.*}}) : memref<?xf64>
// CHECK-NEXT:    scf.for %t_r = %c0 to %steps step %c1 {
// CHECK:           scf.for [[BEHIND:%k_.*]] = %c0 to %n step %c1 {
// CHECK-NEXT:        [[AT:%.*]] = arith.subi {{%.*}}, [[BEHIND]] : index
// CHECK-NEXT:        [[POPPED:%.*]] = tape.pop %tape_h_k : !tape.tape<f64>
// CHECK-NEXT:        memref.store [[POPPED]], %h_was{{\[}}[[AT]]] : memref<?xf64>
// CHECK-NEXT:      } {tapeflow.snapshot}
// CHECK-NEXT:      scf.for %r_r = %c0 to %n step %c1 {
// CHECK-NOT:         tape.pop
// CHECK:             memref.load %h_was
// CHECK-NOT:         tape.pop

// -----

// Only what the source reads is read: where the loop that repeats the loads may run no iteration, a branch asks first.

func.func @maybe(%m: index, %n: index, %x: memref<?xf64>, %h: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %m step %c1 {
    %x_i = memref.load %x[%i] : memref<?xf64>
    %y_i = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
      %h_k = memref.load %h[%k] : memref<?xf64>
      %p = arith.mulf %x_i, %h_k : f64
      %q = arith.addf %sum, %p : f64
      scf.yield %q : f64
    }
    memref.store %y_i, %y[%i] : memref<?xf64>
  }
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %h[%k] : memref<?xf64>
  }
  func.return
}
ad.vjp @maybe_grad of @maybe (const, const, active, const, active) -> ()

// CHECK-LABEL: func.func @maybe_grad
// CHECK:         [[RUNS:%.*]] = arith.cmpi slt, %c0, %m : index
// CHECK:         scf.if [[RUNS]] {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        memref.load %h
// CHECK-NEXT:        tape.push
// CHECK:         scf.if [[RUNS]] {
// CHECK-NEXT:      scf.for
// CHECK:             tape.pop

// -----

// In a triangle the last iteration reads what all do.

func.func @triangle(%n: index, %u: memref<?x?xf64>, %h: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %end = arith.addi %i, %c1 : index
    %y_i = scf.for %k = %c0 to %end step %c1 iter_args(%sum = %zero) -> (f64) {
      %u_ik = memref.load %u[%i, %k] : memref<?x?xf64>
      %h_k = memref.load %h[%k] : memref<?xf64>
      %p = arith.mulf %u_ik, %h_k : f64
      %q = arith.addf %sum, %p : f64
      scf.yield %q : f64
    }
    memref.store %y_i, %y[%i] : memref<?xf64>
  }
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %h[%k] : memref<?xf64>
  }
  func.return
}
ad.vjp @triangle_grad of @triangle (const, active, const, active) -> ()

// CHECK-LABEL: func.func @triangle_grad
// CHECK-NOT:     scf.if
// CHECK:         scf.for %k_{{.*}} = %c0 to %n step %c1 {
// CHECK-NEXT:      memref.load %h
// CHECK-NEXT:      tape.push
// CHECK-NEXT:    } {tapeflow.snapshot}

// -----

// Each load is recorded where the loop writes to the array, and where a branch decides whether it is read.

func.func @kept(%n: index, %x: memref<?xf64>, %p: memref<?xi1>, %h: memref<?xf64>, %g: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %x_i = memref.load %x[%i] : memref<?xf64>
    scf.for %k = %c0 to %n step %c1 {
      %g_k = memref.load %g[%k] : memref<?xf64>
      %a = arith.mulf %x_i, %g_k : f64
      memref.store %a, %g[%k] : memref<?xf64>
      %c = memref.load %p[%k] : memref<?xi1>
      scf.if %c {
        %h_k = memref.load %h[%k] : memref<?xf64>
        %b = arith.mulf %x_i, %h_k : f64
        %f = arith.addf %a, %b : f64
        memref.store %f, %g[%k] : memref<?xf64>
      }
    }
  }
  scf.for %k = %c0 to %n step %c1 {
    memref.store %zero, %h[%k] : memref<?xf64>
  }
  func.return
}
ad.vjp @kept_grad of @kept (const, active, const, const, active) -> ()

// CHECK-LABEL: func.func @kept_grad
// CHECK-NOT:     tapeflow.snapshot

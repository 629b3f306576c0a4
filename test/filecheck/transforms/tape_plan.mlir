// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,canonicalize,cse,licm,dce,tape-plan --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan{recompute=cheap}" --split-input-file | filecheck %s --check-prefix CHEAP

// The branch of the worked example is had again from A, which nobody writes; w is overwritten, so nothing that comes
// from it is.

ad.vjp @f_grad of @f (const, active, active) -> (active)
func.func @f(%m: index, %A: memref<?xf64>, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %t = scf.for %j = %c0 to %m step %c1 iter_args(%t_j = %one) -> (f64) {
    %a = memref.load %A[%j] : memref<?xf64>
    %c = arith.cmpf ogt, %a, %zero : f64
    %t_new = scf.if %c -> (f64) {
      %wj = memref.load %w[%j] : memref<?xf64>
      %v = arith.addf %a, %wj : f64
      %p = arith.mulf %t_j, %v : f64
      scf.yield %p : f64
    } else {
      scf.yield %t_j : f64
    }
    %w_old = memref.load %w[%j] : memref<?xf64>
    %w_new = arith.mulf %w_old, %half : f64
    memref.store %w_new, %w[%j] : memref<?xf64>
    scf.yield %t_new : f64
  }
  func.return %t : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %tape_t_j = tape.create
// CHECK:         %tape_v = tape.create
// CHECK-NOT:     tape.create
// CHECK:         scf.for %j_r
// CHECK-NEXT:      [[J:%.*]] = arith.subi %{{.*}}, %j_r : index
// CHECK-NEXT:      [[A:%.*]] = memref.load %A[[[J]]] : memref<?xf64>
// CHECK-NEXT:      [[C:%.*]] = arith.cmpf ogt, [[A]], %zero : f64
// CHECK:           scf.if [[C]] -> (f64) {
// CHECK-NEXT:        tape.pop %tape_t_j
// CHECK-NEXT:        tape.pop %tape_v

// -----

// Independent iterations tape nothing: x is read again, and its sine computed again. With recompute=cheap the sine is
// taped.

ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %y = math.sin %v : f64
    %p = arith.mulf %y, %v : f64
    %s_new = arith.addf %s_i, %p : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %i_r
// CHECK-NEXT:      [[I:%.*]] = arith.subi %{{.*}}, %i_r : index
// CHECK-NEXT:      [[V:%.*]] = memref.load %x[[[I]]] : memref<?xf64>
// CHECK-NEXT:      [[Y:%.*]] = math.sin [[V]] : f64
// CHECK-NEXT:      arith.mulf %s_b, [[V]] : f64
// CHECK-NEXT:      arith.mulf %s_b, [[Y]] : f64

// CHEAP-LABEL: func.func @f_grad
// CHEAP:         %tape_y = tape.create
// CHEAP-NOT:     tape.create
// CHEAP:         scf.for %i_r
// CHEAP:           memref.load %x
// CHEAP:           tape.pop %tape_y

// -----

// A load under a branch is repeated only under that branch: x[i] is there only where c says so.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %there: memref<?xi1>, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %c = memref.load %there[%i] : memref<?xi1>
    %s_new = scf.if %c -> (f64) {
      %v = memref.load %x[%i] : memref<?xf64>
      %p = arith.mulf %v, %v : f64
      %q = arith.addf %s_i, %p : f64
      scf.yield %q : f64
    } else {
      scf.yield %s_i : f64
    }
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %i_r
// CHECK:           [[C:%.*]] = memref.load %there
// CHECK-NEXT:      scf.if [[C]] {
// CHECK-NEXT:        memref.load %x

// -----

// What nobody writes any more can be read again too: u after its last sweep. What a sweep overwrites is taped.

ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index, %u: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %old = memref.load %u[%i] : memref<?xf64>
    %new = arith.mulf %old, %old : f64
    memref.store %new, %u[%i] : memref<?xf64>
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %last = memref.load %u[%i] : memref<?xf64>
    %p = arith.mulf %last, %last : f64
    %s_new = arith.addf %s_i, %p : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %tape_old = tape.create
// CHECK-NOT:     tape.create
// CHECK:         scf.for %i_r
// CHECK:           [[U:%.*]] = memref.load %u[
// CHECK-NEXT:      arith.mulf %s_b, [[U]] : f64

// -----

// A branch whose arms can be had again, and the value it gives, are had again as they are.

ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %v, %zero : f64
    %m = scf.if %c -> (f64) {
      %e = math.exp %v : f64
      scf.yield %e : f64
    } else {
      scf.yield %v : f64
    }
    %p = arith.mulf %m, %m : f64
    %s_new = arith.addf %s_i, %p : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %i_r
// CHECK:           [[M:%.*]] = scf.if {{%.*}} -> (f64) {
// CHECK-NEXT:        [[E:%.*]] = math.exp
// CHECK-NEXT:        scf.yield [[E]] : f64
// CHECK:           arith.mulf %s_b, [[M]] : f64

// -----

// The iteration that a mirrored loop undoes is computed once, whatever needs it and however it was found.

ad.vjp @f_grad of @f (const, active, active) -> ()
func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c2 {
    %v = memref.load %x[%i] : memref<?xf64>
    %w = arith.mulf %v, %v : f64
    memref.store %w, %y[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         [[LAST:%.*]] = arith.muli {{%.*}}, %c2 : index
// CHECK-NEXT:    scf.for %i_r = %c0 to %i_trips step {{%.*}} {
// CHECK-NEXT:      [[BEHIND:%.*]] = arith.muli %i_r, %c2 : index
// CHECK-NEXT:      [[I:%.*]] = arith.subi [[LAST]], [[BEHIND]] : index
// CHECK-NEXT:      [[V:%.*]] = memref.load %x[[[I]]]
// CHECK-NEXT:      [[W_B:%.*]] = memref.load %y_b[[[I]]]

// -----

// What the kernel stores to an element that nobody writes any more is loaded from there: h needs no tape, in the loop
// that computes it and in the one that sums it.

func.func @f(%n: index, %x: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %h = memref.alloc(%n, %n) : memref<?x?xf64>
  %s = scf.for %b = %c0 to %n step %c1 iter_args(%s_b = %zero) -> (f64) {
    scf.for %i = %c0 to %n step %c1 {
      %x_i = memref.load %x[%b, %i] : memref<?x?xf64>
      %t = math.tanh %x_i : f64
      memref.store %t, %h[%b, %i] : memref<?x?xf64>
    }
    %s_n = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %s_b) -> (f64) {
      %h_i = memref.load %h[%b, %i] : memref<?x?xf64>
      %q = arith.mulf %h_i, %h_i : f64
      %s_1 = arith.addf %s_i, %q : f64
      scf.yield %s_1 : f64
    }
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active) -> (active)

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %b_r
// CHECK:           scf.for %i_r
// CHECK:             [[H:%.*]] = memref.load %h[
// CHECK:           scf.for %i_r
// CHECK:             [[T:%.*]] = memref.load %h[
// CHECK:             arith.subf %{{.*}}, [[T]] : f64

// -----

// One row for all b is overwritten by the next b, so what it held is computed again for each element that is loaded, as
// one tanh costs less than to tape it, or taped.

func.func @f(%n: index, %x: memref<?x?xf64>, %h: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %b = %c0 to %n step %c1 iter_args(%s_b = %zero) -> (f64) {
    scf.for %i = %c0 to %n step %c1 {
      %x_i = memref.load %x[%b, %i] : memref<?x?xf64>
      %t = math.tanh %x_i : f64
      memref.store %t, %h[%i] : memref<?xf64>
    }
    %s_n = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %s_b) -> (f64) {
      %h_i = memref.load %h[%i] : memref<?xf64>
      %q = arith.mulf %h_i, %h_i : f64
      %s_1 = arith.addf %s_i, %q : f64
      scf.yield %s_1 : f64
    }
    scf.yield %s_n : f64
  }
  func.return %s : f64
}
ad.vjp @f_grad of @f (const, active, active) -> (active)

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %b_r
// CHECK:           scf.for %i_r
// CHECK:             [[X:%.*]] = memref.load %x[
// CHECK-NEXT:        [[H:%.*]] = math.tanh [[X]] : f64
// CHECK-NEXT:        arith.mulf %s_b, [[H]] : f64

// CHEAP:         %tape_h_i = tape.create

// -----

// A recurrence that keeps what it comes to: y[i - 1] is not written any more once it is read.

func.func @f(%n: index, %x: memref<?xf64>, %y: memref<?xf64>) {
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %y_before = memref.load %y[%before] : memref<?xf64>
    %x_i = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %x_i, %y_before : f64
    %e = math.exp %p : f64
    memref.store %e, %y[%i] : memref<?xf64>
  }
  func.return
}
ad.vjp @f_grad of @f (const, active, active) -> ()

// CHECK-LABEL: func.func @f_grad
// CHECK-NOT:     tape.
// CHECK:         scf.for %i_r
// CHECK-DAG:       memref.load %y[%before
// CHECK-DAG:       memref.load %y[%i_

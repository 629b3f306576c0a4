// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan{recompute=all}" --split-input-file | filecheck %s --check-prefix ALL
// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan{recompute=cheap}" --split-input-file | filecheck %s --check-prefix CHEAP

// The adjoints need x, r*x and 1 - x of each step: x is taped, the others follow from it.

ad.vjp @f_grad of @f (const, active, active) -> (active)
func.func @f(%n: index, %r: f64, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%x_i = %x) -> (f64) {
    %p = arith.mulf %r, %x_i : f64
    %d = arith.subf %one, %x_i : f64
    %new = arith.mulf %p, %d : f64
    scf.yield %new : f64
  }
  func.return %last : f64
}

// CHECK-LABEL: func.func @f_grad
// ALL-LABEL:   func.func @f_grad
// CHEAP-LABEL: func.func @f_grad
// CHECK:         %tape_x_i = tape.create reserve {{%.*}} : !tape.tape<f64>
// CHECK-NOT:     tape.create
// CHECK:         scf.for %i_r
// CHECK-NEXT:      [[X:%.*]] = tape.pop %tape_x_i
// CHECK-NEXT:      arith.mulf %r, [[X]] : f64
// CHECK-NEXT:      arith.subf %one, [[X]] : f64

// -----

// Many values that follow from few: the two coordinates are taped, not the six things made of them. The square root of
// a sum of squares is repeated too; with recompute=cheap it is on a tape.

ad.vjp @f_grad of @f (const, active, active) -> (active)
func.func @f(%n: index, %x: f64, %y: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f64
  %last, %other = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (f64, f64) {
    %aa = arith.mulf %a, %a : f64
    %bb = arith.mulf %b, %b : f64
    %sum = arith.addf %aa, %bb : f64
    %root = math.sqrt %sum : f64
    %p = arith.mulf %aa, %bb : f64
    %q = arith.mulf %p, %root : f64
    %a_new = arith.addf %q, %half : f64
    %b_new = arith.mulf %q, %q : f64
    scf.yield %a_new, %b_new : f64, f64
  }
  func.return %last : f64
}

// CHECK-LABEL: func.func @f_grad
// ALL-LABEL:   func.func @f_grad
// CHECK:         %tape_a = tape.create
// CHECK-NEXT:    %tape_b = tape.create
// CHECK-NOT:     tape.create

// CHEAP-LABEL: func.func @f_grad
// CHEAP-DAG:     %tape_a = tape.create
// CHEAP-DAG:     %tape_b = tape.create
// CHEAP-DAG:     %tape_root = tape.create
// CHEAP-NOT:     tape.create

// -----

// A double is worth one function, not two: sin(exp(v)), of constants, is what the adjoint of x needs, and is taped. The
// smallest tape is none.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %c: memref<?xf64>, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %v = memref.load %c[%i] : memref<?xf64>
    %e = math.exp %v : f64
    %y = math.sin %e : f64
    %x_i = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %y, %x_i : f64
    %s_new = arith.addf %s_i, %p : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %tape_y = tape.create
// CHECK-NOT:     tape.create
// CHECK:         scf.for %i_r
// CHECK-NOT:       math.
// CHECK:           ad.accumulate
// ALL-LABEL:   func.func @f_grad
// ALL-NOT:       tape.
// ALL:           scf.for %i_r
// ALL:             math.exp
// ALL-NEXT:        math.sin
// CHEAP-LABEL: func.func @f_grad
// CHEAP:         %tape_y = tape.create

// -----

// What is taped once a row is cheaper than what is taped once an element: a*b of the row times w is repeated in the
// inner loop, from the row's value, though its place is inside.

ad.vjp @f_grad of @f (const, const, active, active) -> (active)
func.func @f(%n: index, %m: index, %x: f64, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%row = %x) -> (f64) {
    %new = scf.for %j = %c0 to %m step %c1 iter_args(%sum = %row) -> (f64) {
      %wj = memref.load %w[%j] : memref<?xf64>
      %p = arith.mulf %row, %wj : f64
      %q = arith.mulf %p, %p : f64
      %sum_new = arith.addf %sum, %q : f64
      scf.yield %sum_new : f64
    }
    scf.yield %new : f64
  }
  func.return %last : f64
}

// CHECK-LABEL: func.func @f_grad
// ALL-LABEL:   func.func @f_grad
// CHECK:         %tape_row = tape.create reserve [[N:%.*]] : 
// CHECK-NOT:     tape.create
// CHECK:         scf.for %i_r
// CHECK:           tape.pop %tape_row
// CHECK:           scf.for %j_r

// -----

// A branch of which something is taped can be repeated whole: what it gives needs no tape of its own.

ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %c = arith.cmpf ogt, %a, %zero : f64
    %b = scf.if %c -> (f64) {
      %aa = arith.mulf %a, %a : f64
      %aaa = arith.mulf %aa, %a : f64
      scf.yield %aaa : f64
    } else {
      scf.yield %a : f64
    }
    %new = arith.mulf %b, %a : f64
    scf.yield %new : f64
  }
  func.return %last : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %tape_a = tape.create reserve {{%.*}} : !tape.tape<f64>
// CHECK-NOT:     tape.create
// CHECK:         scf.for %i_r
// CHECK:           tape.pop %tape_a
// CHECK:           [[C:%.*]] = arith.cmpf ogt
// CHECK:           [[B:%.*]] = scf.if [[C]] -> (f64)

// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file | filecheck %s

// The worked example. Needed in reverse: `c` for the branch, in each iteration of j; `t` and `v`, the factors of the
// product, only where `c`, so they are pushed under the branch; the final `t` of each i for sin. `w` is overwritten:
// its element takes the adjoint of the new value times 0.5, and then that of v.

ad.vjp @f_grad of @f (const, const, active, active) -> (active)
func.func @f(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"},
             %A: memref<?x?xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "m"]},
             %w: memref<?xf64> {tapeflow.name = "w", tapeflow.extents = ["m"]}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_j = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
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
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-NOT:   ad.vjp
// CHECK:       func.func @f_grad(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"},
// CHECK-SAME:    %s_b: f64 {tapeflow.name = "s_b"},
// CHECK-SAME:    %A_b: memref<?x?xf64> {tapeflow.name = "A_b", tapeflow.extents = ["n", "m"]},
// CHECK-SAME:    %w_b: memref<?xf64> {tapeflow.name = "w_b", tapeflow.extents = ["m"]})
// CHECK-SAME:    -> (f64 {tapeflow.name = "s"}) attributes {tapeflow.gradient_of = "f"}
// CHECK:         %tape_t = tape.create reserve %N : !tape.tape<f64>
// CHECK-NEXT:    %nm = arith.muli %N, %M : index
// CHECK-NEXT:    %tape_t_j = tape.create reserve %nm : !tape.tape<f64>
// CHECK-NEXT:    %tape_c = tape.create reserve %nm : !tape.tape<i1>
// CHECK-NEXT:    %tape_v = tape.create reserve %nm : !tape.tape<f64>
// CHECK-NEXT:    %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
// CHECK-NEXT:      %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_j = %one) -> (f64) {
// CHECK-NEXT:        %a = memref.load %A[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:        %c = arith.cmpf ogt, %a, %zero : f64
// CHECK-NEXT:        tape.push %c onto %tape_c : !tape.tape<i1>
// CHECK-NEXT:        %t_new = scf.if %c -> (f64) {
// CHECK-NEXT:          tape.push %t_j onto %tape_t_j : !tape.tape<f64>
// CHECK-NEXT:          %wj = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:          %v = arith.addf %a, %wj : f64
// CHECK-NEXT:          tape.push %v onto %tape_v : !tape.tape<f64>
// CHECK-NEXT:          %p = arith.mulf %t_j, %v : f64
// CHECK-NEXT:          scf.yield %p : f64
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %t_j : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        %w_old = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:        %w_new = arith.mulf %w_old, %half : f64
// CHECK-NEXT:        memref.store %w_new, %w[%j] : memref<?xf64>
// CHECK-NEXT:        scf.yield %t_new : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      tape.push %t onto %tape_t : !tape.tape<f64>
// CHECK-NEXT:      %y = math.sin %t : f64
// CHECK-NEXT:      %s_new = arith.addf %s_i, %y : f64
// CHECK-NEXT:      scf.yield %s_new : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_last = arith.subi %N, %c1 : index
// CHECK-NEXT:    %j_last = arith.subi %M, %c1 : index
// CHECK-NEXT:    scf.for %i_r = %c0 to %N step %c1 {
// CHECK-NEXT:      [[I:%.*]] = arith.subi %i_last, %i_r : index
// CHECK-NEXT:      [[T:%.*]] = tape.pop %tape_t : !tape.tape<f64>
// CHECK-NEXT:      [[COS:%.*]] = math.cos [[T]] : f64
// CHECK-NEXT:      %t_b = arith.mulf %s_b, [[COS]] : f64
// CHECK-NEXT:      {{%.*}} = scf.for %j_r = %c0 to %M step %c1 iter_args([[T_OUT:%.*]] = %t_b) -> (f64) {
// CHECK-NEXT:        [[J:%.*]] = arith.subi %j_last, %j_r : index
// CHECK-NEXT:        [[C:%.*]] = tape.pop %tape_c : !tape.tape<i1>
// CHECK-NEXT:        %w_new_b = memref.load %w_b[[[J]]] : memref<?xf64>
// CHECK-NEXT:        %w_old_b = arith.mulf %w_new_b, %half : f64
// CHECK-NEXT:        memref.store %w_old_b, %w_b[[[J]]] : memref<?xf64>
// CHECK-NEXT:        [[T_IN:%.*]] = scf.if [[C]] -> (f64) {
// CHECK-NEXT:          [[T_J:%.*]] = tape.pop %tape_t_j : !tape.tape<f64>
// CHECK-NEXT:          [[V:%.*]] = tape.pop %tape_v : !tape.tape<f64>
// CHECK-NEXT:          [[T_MUL:%.*]] = arith.mulf [[T_OUT]], [[V]] : f64
// CHECK-NEXT:          %v_b = arith.mulf [[T_OUT]], [[T_J]] : f64
// CHECK-NEXT:          ad.accumulate %v_b into %w_b[[[J]]] : memref<?xf64>
// CHECK-NEXT:          ad.accumulate %v_b into %A_b[[[I]], [[J]]] : memref<?x?xf64>
// CHECK-NEXT:          scf.yield [[T_MUL]] : f64
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield [[T_OUT]] : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield [[T_IN]] : f64
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s : f64

// -----

// Several active results and scalars: a seed for each active result, and the adjoint of each active scalar returned.

ad.vjp @f_grad of @f (active, const, active) -> (active, const)
func.func @f(%a: f64, %b: f64, %c: f64) -> (f64, f64) {
  %p = arith.mulf %a, %b : f64
  %q = arith.divf %p, %c : f64
  func.return %q, %p : f64, f64
}

// CHECK-LABEL: func.func @f_grad(%a: f64, %b: f64, %c: f64, %q_b: f64 {tapeflow.name = "q_b"})
// CHECK-SAME:    -> (f64 {tapeflow.name = "q"}, f64 {tapeflow.name = "p"},
// CHECK-SAME:        f64 {tapeflow.name = "a_b", tapeflow.adjoint_of = "a"}, f64 {tapeflow.name = "c_b", tapeflow.adjoint_of = "c"})
// CHECK-NEXT:    %p = arith.mulf %a, %b : f64
// CHECK-NEXT:    %q = arith.divf %p, %c : f64
// CHECK-NEXT:    %p_b = arith.divf %q_b, %c : f64
// CHECK-NEXT:    [[SHARE:%.*]] = arith.mulf %p_b, %q : f64
// CHECK-NEXT:    %c_b = arith.negf [[SHARE]] : f64
// CHECK-NEXT:    %a_b = arith.mulf %p_b, %b : f64
// CHECK-NEXT:    func.return %q, %p, %a_b, %c_b : f64, f64, f64, f64

// -----

// Triangular bounds are computed again from the outer variable; the reservation is their sum.

ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index {tapeflow.name = "n"}, %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %from = arith.addi %i, %c1 : index
    %t = scf.for %j = %from to %n step %c1 iter_args(%t_j = %s_i) -> (f64) {
      %v = memref.load %x[%j] : memref<?xf64>
      %e = math.exp %v : f64
      %t_new = arith.addf %t_j, %e : f64
      scf.yield %t_new : f64
    }
    scf.yield %t : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         [[LESS:%.*]] = arith.subi %n, %c1 : index
// CHECK-NEXT:    [[SQUARE:%.*]] = arith.muli %n, [[LESS]] : index
// CHECK-NEXT:    [[TRIANGLE:%.*]] = arith.divsi [[SQUARE]], {{%.*}} : index
// CHECK-NEXT:    %tape_e = tape.create reserve [[TRIANGLE]] : !tape.tape<f64>
// CHECK:         scf.for %i_r = %c0 to %n step %c1 {
// CHECK-NEXT:      [[I:%.*]] = arith.subi [[LESS]], %i_r : index
// CHECK-NEXT:      [[FROM:%.*]] = arith.addi [[I]], %c1 : index
// CHECK-NEXT:      %j_trips = arith.subi %n, [[FROM]] : index
// CHECK-NEXT:      scf.for %j_r = %c0 to %j_trips step %c1 {
// CHECK-NEXT:        [[J:%.*]] = arith.subi [[LESS]], %j_r : index

// -----

// The bounds of a loop that are read from memory are taped, where the loop is; with them the reservation of what the
// loop tapes is unknown. Integers are taped in their narrow form.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %rows: memref<?xi32>, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %count = memref.load %rows[%i] : memref<?xi32>
    %to = arith.index_cast %count : i32 to index
    %t = scf.for %j = %c0 to %to step %c1 iter_args(%t_j = %s_i) -> (f64) {
      %v = memref.load %x[%j] : memref<?xf64>
      %t_new = arith.mulf %t_j, %v : f64
      scf.yield %t_new : f64
    }
    scf.yield %t : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         [[N:%.*]] = arith.maxsi %n, %c0 : index
// CHECK-NEXT:    %tape_count = tape.create reserve [[N]] : !tape.tape<i32>
// CHECK-NEXT:    %tape_t_j = tape.create : !tape.tape<f64>
// CHECK-NEXT:    %tape_v = tape.create : !tape.tape<f64>
// CHECK:         tape.push %count onto %tape_count
// CHECK:         scf.for %i_r
// CHECK:           [[COUNT:%.*]] = tape.pop %tape_count : !tape.tape<i32>
// CHECK-NEXT:      [[TO:%.*]] = arith.index_cast [[COUNT]] : i32 to index
// CHECK:           scf.for %j_r = %c0 to [[TO]] step %c1

// -----

// A local array has a local shadow, cleared where the mirror of its block begins. The stores that only clear it again
// at the end of its life are left out.

ad.vjp @f_grad of @f (const, const, active) -> (active)
func.func @f(%n: index, %k: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero) -> (f64) {
    %row = memref.alloca() : memref<2xf64>
    memref.store %zero, %row[%c0] : memref<2xf64>
    memref.store %zero, %row[%c1] : memref<2xf64>
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %row[%c1] : memref<2xf64>
    %a = memref.load %row[%c0] : memref<2xf64>
    %b = memref.load %row[%k] : memref<2xf64>
    %c = arith.addf %a, %b : f64
    %s_new = arith.addf %s_i, %c : f64
    scf.yield %s_new : f64
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         scf.for %i_r
// CHECK:           %row_b = memref.alloca() : memref<2xf64>
// CHECK-NEXT:      scf.for [[K:%.*]] = %c0 to {{%.*}} step %c1 {
// CHECK-NEXT:        memref.store %zero, %row_b[[[K]]] : memref<2xf64>
// CHECK-NEXT:      }
// CHECK-NEXT:      ad.accumulate %s_b into %row_b[%k] : memref<2xf64>
// CHECK-NEXT:      %v_b = memref.load %row_b[%c1] : memref<2xf64>
// CHECK-NEXT:      ad.accumulate %v_b into %x_b[{{%.*}}] : memref<?xf64>
// CHECK-NEXT:    }

// -----

// What is inactive has no adjoint: neither the float that comes from an integer, nor what only it goes into. A branch
// whose mirror only chooses becomes a choice of values.

ad.vjp @f_grad of @f (active, const, const) -> (active)
func.func @f(%a: f64, %b: f64, %k: i32) -> f64 {
  %zero = arith.constant 0 : i32
  %kf = arith.sitofp %k : i32 to f64
  %e = math.exp %kf : f64
  %c = arith.cmpi sgt, %k, %zero : i32
  %u = scf.if %c -> (f64) {
    scf.yield %a : f64
  } else {
    scf.yield %b : f64
  }
  %r = arith.mulf %u, %e : f64
  func.return %r : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %u_b = arith.mulf %r_b, %e : f64
// CHECK-NEXT:    %a_b = arith.select %c, %u_b, {{%.*}} : f64
// CHECK-NEXT:    func.return %r, %a_b : f64, f64

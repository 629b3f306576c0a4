// RUN: tapeflow-opt %s --split-input-file -p tape-form-regions | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p "tape-form-regions{layout=aos}" | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p "canonicalize,cse,tape-form-regions,canonicalize,cse" | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p "tape-form-regions{layout=soa}" | filecheck %s --check-prefix SOA

// The worked example: `t` and `v` are pushed and popped in the same blocks, so they share a record; `c` and the final
// `t` have blocks of their own. A region is named after its loop.

func.func @f_grad(%n: i32, %m: i32, %A: memref<?x?xf64>, %w: memref<?xf64>,
                  %s_b: f64, %A_b: memref<?x?xf64>, %w_b: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %half = arith.constant 0.5 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
  %NM = arith.muli %N, %M : index
  %tape_t_i = tape.create reserve %N : !tape.tape<f64>
  %tape_c = tape.create reserve %NM : !tape.tape<i1>
  %tape_t = tape.create reserve %NM : !tape.tape<f64>
  %tape_v = tape.create reserve %NM : !tape.tape<f64>
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_0 = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      tape.push %c onto %tape_c : !tape.tape<i1>
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        tape.push %t_0 onto %tape_t : !tape.tape<f64>
        tape.push %v onto %tape_v : !tape.tape<f64>
        %p = arith.mulf %t_0, %v : f64
        scf.yield %p : f64
      } else {
        scf.yield %t_0 : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      scf.yield %t_new : f64
    }
    tape.push %t onto %tape_t_i : !tape.tape<f64>
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    scf.yield %s_new : f64
  }
  %i_last = arith.subi %N, %c1 : index
  %j_last = arith.subi %M, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i = arith.subi %i_last, %i_r : index
    %t = tape.pop %tape_t_i : !tape.tape<f64>
    %cos = math.cos %t : f64
    %t_b = arith.mulf %s_b, %cos : f64
    %init_b = scf.for %j_r = %c0 to %M step %c1 iter_args(%t_out_b = %t_b) -> (f64) {
      %j = arith.subi %j_last, %j_r : index
      %w_new_b = memref.load %w_b[%j] : memref<?xf64>
      %w_old_b = arith.mulf %w_new_b, %half : f64
      memref.store %w_old_b, %w_b[%j] : memref<?xf64>
      %c = tape.pop %tape_c : !tape.tape<i1>
      %t_in_b = scf.if %c -> (f64) {
        %v = tape.pop %tape_v : !tape.tape<f64>
        %t_j = tape.pop %tape_t : !tape.tape<f64>
        %v_b = arith.mulf %t_out_b, %t_j : f64
        %t_mul_b = arith.mulf %t_out_b, %v : f64
        ad.accumulate %v_b into %A_b[%i, %j] : memref<?x?xf64>
        ad.accumulate %v_b into %w_b[%j] : memref<?xf64>
        scf.yield %t_mul_b : f64
      } else {
        scf.yield %t_out_b : f64
      }
      scf.yield %t_in_b : f64
    }
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:           %tape_i = tape.create reserve %N : !tape.region<{t: f64}, aos>
// CHECK-NEXT:      %tape_j = tape.create reserve %NM : !tape.region<{c: i1}, aos>
// CHECK-NEXT:      %tape_j_if = tape.create reserve %NM : !tape.region<{t: f64, v: f64}, aos>
// CHECK-NEXT:      %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
// CHECK-NEXT:        %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_1 = %one) -> (f64) {
// CHECK-NEXT:          %a = memref.load %A[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:          %c = arith.cmpf ogt, %a, %zero : f64
// CHECK-NEXT:          %t_new = scf.if %c -> (f64) {
// CHECK-NEXT:            %wj = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:            %v = arith.addf %a, %wj : f64
// CHECK-NEXT:            %p = arith.mulf %t_1, %v : f64
// CHECK-NEXT:            tape.record %t_1, %v onto %tape_j_if : !tape.region<{t: f64, v: f64}, aos>
// CHECK-NEXT:            scf.yield %p : f64
// CHECK-NEXT:          } else {
// CHECK-NEXT:            scf.yield %t_1 : f64
// CHECK-NEXT:          }
// CHECK-NEXT:          %w_old = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:          %w_new = arith.mulf %w_old, %half : f64
// CHECK-NEXT:          memref.store %w_new, %w[%j] : memref<?xf64>
// CHECK-NEXT:          tape.record %c onto %tape_j : !tape.region<{c: i1}, aos>
// CHECK-NEXT:          scf.yield %t_new : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        %y = math.sin %t : f64
// CHECK-NEXT:        %s_new = arith.addf %s_i, %y : f64
// CHECK-NEXT:        tape.record %t onto %tape_i : !tape.region<{t: f64}, aos>
// CHECK-NEXT:        scf.yield %s_new : f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %i_last = arith.subi %N, %c1 : index
// CHECK-NEXT:      %j_last = arith.subi %M, %c1 : index
// CHECK-NEXT:      scf.for %i_r = %c0 to %N step %c1 {
// CHECK-NEXT:        %i_1 = arith.subi %i_last, %i_r : index
// CHECK-NEXT:        %t_2 = tape.replay %tape_i : !tape.region<{t: f64}, aos>
// CHECK-NEXT:        %cos = math.cos %t_2 : f64
// CHECK-NEXT:        %t_b = arith.mulf %s_b, %cos : f64
// CHECK-NEXT:        %init_b = scf.for %j_r = %c0 to %M step %c1 iter_args(%t_out_b = %t_b) -> (f64) {
// CHECK-NEXT:          %j_1 = arith.subi %j_last, %j_r : index
// CHECK-NEXT:          %c_1 = tape.replay %tape_j : !tape.region<{c: i1}, aos>
// CHECK-NEXT:          %w_new_b = memref.load %w_b[%j_1] : memref<?xf64>
// CHECK-NEXT:          %w_old_b = arith.mulf %w_new_b, %half : f64
// CHECK-NEXT:          memref.store %w_old_b, %w_b[%j_1] : memref<?xf64>
// CHECK-NEXT:          %t_in_b = scf.if %c_1 -> (f64) {
// CHECK-NEXT:            %t_j, %v_1 = tape.replay %tape_j_if : !tape.region<{t: f64, v: f64}, aos>
// CHECK-NEXT:            %v_b = arith.mulf %t_out_b, %t_j : f64
// CHECK-NEXT:            %t_mul_b = arith.mulf %t_out_b, %v_1 : f64

// SOA-LABEL: func.func @f_grad
// SOA:         %tape_i = tape.create reserve %N : !tape.region<{t: f64}, soa>
// SOA-NEXT:    %tape_j = tape.create reserve %NM : !tape.region<{c: i1}, soa>
// SOA-NEXT:    %tape_j_if = tape.create reserve %NM : !tape.region<{t: f64, v: f64}, soa>
// SOA:         tape.record %t_1, %v onto %tape_j_if : !tape.region<{t: f64, v: f64}, soa>
// SOA:         %t_j, %v_1 = tape.replay %tape_j_if : !tape.region<{t: f64, v: f64}, soa>

// -----

// In memory the widest field comes first, and of equal width the first pushed, so a record has no holes. The order of
// the creations and of the pops does not matter.

func.func @widest_first(%n: index, %b: i1, %k: i32, %x: f64, %h: f32, %y: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_y = tape.create reserve %n : !tape.tape<f64>
  %tape_x = tape.create reserve %n : !tape.tape<f64>
  %tape_b = tape.create reserve %n : !tape.tape<i1>
  %tape_i = tape.create reserve %n : !tape.tape<index>
  %tape_k = tape.create reserve %n : !tape.tape<i32>
  %tape_h = tape.create reserve %n : !tape.tape<f32>
  scf.for %i = %c0 to %n step %c1 {
    tape.push %b onto %tape_b : !tape.tape<i1>
    tape.push %k onto %tape_k : !tape.tape<i32>
    tape.push %x onto %tape_x : !tape.tape<f64>
    tape.push %h onto %tape_h : !tape.tape<f32>
    tape.push %i onto %tape_i : !tape.tape<index>
    tape.push %y onto %tape_y : !tape.tape<f64>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %i = tape.pop %tape_i : !tape.tape<index>
    %h_1 = tape.pop %tape_h : !tape.tape<f32>
    %b_1 = tape.pop %tape_b : !tape.tape<i1>
    %k_1 = tape.pop %tape_k : !tape.tape<i32>
    %x_1 = tape.pop %tape_x : !tape.tape<f64>
    %y_1 = tape.pop %tape_y : !tape.tape<f64>
    "test.op"(%y_1, %x_1, %k_1, %b_1, %h_1, %i) : (f64, f64, i32, i1, f32, index) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @widest_first
// CHECK:         %tape_i = tape.create reserve %n : !tape.region<{x: f64, i: index, y: f64, k: i32, h: f32, b: i1}, aos>
// CHECK-NEXT:    scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      tape.record %x, %i, %y, %k, %h, %b onto %tape_i
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i_r = %c0 to %n step %c1 {
// CHECK-NEXT:      %x_1, %i_1, %y_1, %k_1, %h_1, %b_1 = tape.replay %tape_i
// CHECK-NEXT:      "test.op"(%y_1, %x_1, %k_1, %b_1, %h_1, %i_1)

// -----

// A value that is pushed onto two tapes is one field. Two values of one name get different ones.

func.func @names(%n: index, %u_1: f64, %u_2: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_a = tape.create reserve %n : !tape.tape<f64>
  %tape_b = tape.create reserve %n : !tape.tape<f64>
  %tape_c = tape.create reserve %n : !tape.tape<f64>
  scf.for %k = %c0 to %n step %c1 {
    tape.push %u_1 onto %tape_a : !tape.tape<f64>
    tape.push %u_2 onto %tape_b : !tape.tape<f64>
    tape.push %u_1 onto %tape_c : !tape.tape<f64>
  }
  scf.for %k_r = %c0 to %n step %c1 {
    %a = tape.pop %tape_a : !tape.tape<f64>
    %b = tape.pop %tape_b : !tape.tape<f64>
    %c = tape.pop %tape_c : !tape.tape<f64>
    "test.op"(%a, %b, %c) : (f64, f64, f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @names
// CHECK:         %tape_k = tape.create reserve %n : !tape.region<{u: f64, u_2: f64}, aos>
// CHECK:           tape.record %u, %u_1 onto %tape_k
// CHECK:           %a, %b = tape.replay %tape_k
// CHECK-NEXT:      "test.op"(%a, %b, %a)

// -----

// Each block has its own region: two loops over `j`, the arms of a branch, a branch in a branch.

func.func @blocks(%n: index, %c: i1, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_1 = tape.create reserve %n : !tape.tape<f64>
  %tape_2 = tape.create reserve %n : !tape.tape<f64>
  %tape_3 = tape.create reserve %n : !tape.tape<f64>
  %tape_4 = tape.create reserve %n : !tape.tape<f64>
  scf.for %j = %c0 to %n step %c1 {
    scf.if %c {
      tape.push %x onto %tape_1 : !tape.tape<f64>
      scf.if %c {
        tape.push %x onto %tape_2 : !tape.tape<f64>
      }
    } else {
      tape.push %x onto %tape_3 : !tape.tape<f64>
    }
  }
  scf.for %j = %c0 to %n step %c1 {
    tape.push %x onto %tape_4 : !tape.tape<f64>
  }
  scf.for %j_r = %c0 to %n step %c1 {
    %x_4 = tape.pop %tape_4 : !tape.tape<f64>
    "test.op"(%x_4) : (f64) -> ()
  }
  scf.for %j_r = %c0 to %n step %c1 {
    scf.if %c {
      scf.if %c {
        %x_2 = tape.pop %tape_2 : !tape.tape<f64>
        "test.op"(%x_2) : (f64) -> ()
      }
      %x_1 = tape.pop %tape_1 : !tape.tape<f64>
      "test.op"(%x_1) : (f64) -> ()
    } else {
      %x_3 = tape.pop %tape_3 : !tape.tape<f64>
      "test.op"(%x_3) : (f64) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: func.func @blocks
// CHECK:         %tape_j_if = tape.create reserve %n : !tape.region<{x: f64}, aos>
// CHECK-NEXT:    %tape_j_if_if = tape.create reserve %n : !tape.region<{x: f64}, aos>
// CHECK-NEXT:    %tape_j_else = tape.create reserve %n : !tape.region<{x: f64}, aos>
// CHECK-NEXT:    %tape_j = tape.create reserve %n : !tape.region<{x: f64}, aos>
// CHECK-NEXT:    scf.for %j = %c0 to %n step %c1 {
// CHECK-NEXT:      scf.if %c {
// CHECK-NEXT:        scf.if %c {
// CHECK-NEXT:          tape.record %x onto %tape_j_if_if
// CHECK-NEXT:        }
// CHECK-NEXT:        tape.record %x onto %tape_j_if
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tape.record %x onto %tape_j_else
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %j_1 = %c0 to %n step %c1 {
// CHECK-NEXT:      tape.record %x onto %tape_j
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %j_r = %c0 to %n step %c1 {
// CHECK-NEXT:      %x_1 = tape.replay %tape_j
// CHECK-NEXT:      "test.op"(%x_1)
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %j_r_1 = %c0 to %n step %c1 {
// CHECK-NEXT:      scf.if %c {
// CHECK-NEXT:        %x_2 = tape.replay %tape_j_if
// CHECK-NEXT:        scf.if %c {
// CHECK-NEXT:          %x_3 = tape.replay %tape_j_if_if
// CHECK-NEXT:          "test.op"(%x_3)
// CHECK-NEXT:        }
// CHECK-NEXT:        "test.op"(%x_2)
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %x_4 = tape.replay %tape_j_else

// -----

// Without a reservation there is none afterwards: the region grows.

func.func @grows(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_x = tape.create : !tape.tape<f64>
  scf.for %i = %c0 to %n step %c1 {
    tape.push %x onto %tape_x : !tape.tape<f64>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.pop %tape_x : !tape.tape<f64>
    "test.op"(%x_1) : (f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @grows
// CHECK:         %tape_i = tape.create : !tape.region<{x: f64}, aos>

// -----

// Both sweeps in one block: the record is written at the last push and replayed at the first pop. A region of a top
// block is named after the primal function.

func.func @g_grad(%x: f64, %y: f64) -> (f64, f64) attributes {"tapeflow.gradient_of" = "g"} {
  %tape_x = tape.create : !tape.tape<f64>
  %tape_y = tape.create : !tape.tape<f64>
  tape.push %x onto %tape_x : !tape.tape<f64>
  tape.push %y onto %tape_y : !tape.tape<f64>
  %turn = "test.op"() {around} : () -> index
  %y_1 = tape.pop %tape_y : !tape.tape<f64>
  %x_1 = tape.pop %tape_x : !tape.tape<f64>
  func.return %x_1, %y_1 : f64, f64
}

// CHECK-LABEL: func.func @g_grad
// CHECK-NEXT:    %tape_g = tape.create : !tape.region<{x: f64, y: f64}, aos>
// CHECK-NEXT:    tape.record %x, %y onto %tape_g
// CHECK-NEXT:    %turn = "test.op"()
// CHECK-NEXT:    %x_1, %y_1 = tape.replay %tape_g
// CHECK-NEXT:    func.return %x_1, %y_1

// -----

// One value is popped before the other is pushed: no record can carry both.

func.func @in_turn(%x: f64, %y: f64) -> (f64, f64) {
  %tape_x = tape.create : !tape.tape<f64>
  %tape_y = tape.create : !tape.tape<f64>
  tape.push %x onto %tape_x : !tape.tape<f64>
  %x_1 = tape.pop %tape_x : !tape.tape<f64>
  tape.push %y onto %tape_y : !tape.tape<f64>
  %y_1 = tape.pop %tape_y : !tape.tape<f64>
  func.return %x_1, %y_1 : f64, f64
}

// CHECK-LABEL: func.func @in_turn
// CHECK-NEXT:    %tape_in_turn = tape.create : !tape.region<{x: f64}, aos>
// CHECK-NEXT:    %{{.*}} = tape.create : !tape.region<{y: f64}, aos>

// -----

// What is pushed in two places, popped in two places, passed to a function or popped by the next iteration stays a tape.

func.func private @g(!tape.tape<f64>) -> ()

func.func @stay_tapes(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %twice = tape.create : !tape.tape<f64>
  %passed = tape.create : !tape.tape<f64>
  %later = tape.create : !tape.tape<f64>
  tape.push %x onto %later : !tape.tape<f64>
  scf.for %i = %c0 to %n step %c1 {
    tape.push %x onto %twice : !tape.tape<f64>
    tape.push %x onto %twice : !tape.tape<f64>
    tape.push %x onto %passed : !tape.tape<f64>
    func.call @g(%passed) : (!tape.tape<f64>) -> ()
    %x_1 = tape.pop %later : !tape.tape<f64>
    tape.push %x_1 onto %later : !tape.tape<f64>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_2 = tape.pop %twice : !tape.tape<f64>
    %x_3 = tape.pop %twice : !tape.tape<f64>
    %x_4 = tape.pop %passed : !tape.tape<f64>
    "test.op"(%x_2, %x_3, %x_4) : (f64, f64, f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @stay_tapes
// CHECK:         %twice = tape.create : !tape.tape<f64>
// CHECK-NEXT:    %passed = tape.create : !tape.tape<f64>
// CHECK-NEXT:    %later = tape.create : !tape.tape<f64>

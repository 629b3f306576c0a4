// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=1024 buffers=2}" | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p "canonicalize,cse,spad-form-layers,canonicalize,cse" | filecheck %s

// The worked example: 1024 bytes are two buffers of 64 + 64 + 384. The `j` loop records once an iteration into
// `tape_j`: it becomes a layer, cut where that buffer is full (forward) or empty (reverse). The other two regions record
// under a branch or round an inner loop: a test after the write, and before the read.

func.func @f_grad(%n: i32, %m: i32, %A: memref<?x?xf64>, %w: memref<?xf64>, %s_b: f64, %A_b: memref<?x?xf64>, %w_b: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.000000e+00 : f64
  %one = arith.constant 1.000000e+00 : f64
  %half = arith.constant 5.000000e-01 : f64
  %N = arith.index_cast %n : i32 to index
  %M = arith.index_cast %m : i32 to index
  %NM = arith.muli %N, %M : index
  %tape_i = tape.create reserve %N : !tape.region<{t: f64}, aos>
  %tape_j = tape.create reserve %NM : !tape.region<{c: i1}, aos>
  %tape_j_if = tape.create reserve %NM : !tape.region<{t: f64, v: f64}, aos>
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_1 = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        %p = arith.mulf %t_1, %v : f64
        tape.record %t_1, %v onto %tape_j_if : !tape.region<{t: f64, v: f64}, aos>
        scf.yield %p : f64
      } else {
        scf.yield %t_1 : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      tape.record %c onto %tape_j : !tape.region<{c: i1}, aos>
      scf.yield %t_new : f64
    }
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    tape.record %t onto %tape_i : !tape.region<{t: f64}, aos>
    scf.yield %s_new : f64
  }
  %i_last = arith.subi %N, %c1 : index
  %j_last = arith.subi %M, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i_1 = arith.subi %i_last, %i_r : index
    %t_2 = tape.replay %tape_i : !tape.region<{t: f64}, aos>
    %cos = math.cos %t_2 : f64
    %t_b = arith.mulf %s_b, %cos : f64
    %init_b = scf.for %j_r = %c0 to %M step %c1 iter_args(%t_out_b = %t_b) -> (f64) {
      %j_1 = arith.subi %j_last, %j_r : index
      %c_1 = tape.replay %tape_j : !tape.region<{c: i1}, aos>
      %w_new_b = memref.load %w_b[%j_1] : memref<?xf64>
      %w_old_b = arith.mulf %w_new_b, %half : f64
      memref.store %w_old_b, %w_b[%j_1] : memref<?xf64>
      %t_in_b = scf.if %c_1 -> (f64) {
        %t_j, %v_1 = tape.replay %tape_j_if : !tape.region<{t: f64, v: f64}, aos>
        %v_b = arith.mulf %t_out_b, %t_j : f64
        %t_mul_b = arith.mulf %t_out_b, %v_1 : f64
        ad.accumulate %v_b into %A_b[%i_1, %j_1] : memref<?x?xf64>
        ad.accumulate %v_b into %w_b[%j_1] : memref<?xf64>
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
// CHECK:         %tape_i = tape.create reserve %N : !tape.region<{t: f64}, aos>
// CHECK-NEXT:    %tape_j = tape.create reserve %NM : !tape.region<{c: i1}, aos>
// CHECK-NEXT:    %tape_j_if = tape.create reserve %NM : !tape.region<{t: f64, v: f64}, aos>
// CHECK-NEXT:    %spad_i = spad.alloc : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:    %spad_j = spad.alloc : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:    %spad_j_if = spad.alloc : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:    %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
// CHECK-NEXT:      %t = spad.layer %j = %c0 to %M in %spad_j : !spad.buffer<2 x 64 x {c: i1}> iter_args(%t_1 = %one) -> (f64) {
// CHECK-NEXT:        %a = memref.load %A[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:        %c = arith.cmpf ogt, %a, %zero : f64
// CHECK-NEXT:        %t_new = scf.if %c -> (f64) {
// CHECK-NEXT:          %wj = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:          %v = arith.addf %a, %wj : f64
// CHECK-NEXT:          %p = arith.mulf %t_1, %v : f64
// CHECK-NEXT:          spad.write %t_1, %v onto %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          %full_j_if = spad.full %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          scf.if %full_j_if {
// CHECK-NEXT:            spad.dma_start %spad_j_if to %tape_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}> to !tape.region<{t: f64, v: f64}, aos>
// CHECK-NEXT:            spad.dma_wait %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          }
// CHECK-NEXT:          scf.yield %p : f64
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %t_1 : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        %w_old = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:        %w_new = arith.mulf %w_old, %half : f64
// CHECK-NEXT:        memref.store %w_new, %w[%j] : memref<?xf64>
// CHECK-NEXT:        spad.write %c onto %spad_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:        spad.yield %t_new : f64
// CHECK-NEXT:      } when full {
// CHECK-NEXT:        spad.dma_start %spad_j to %tape_j : !spad.buffer<2 x 64 x {c: i1}> to !tape.region<{c: i1}, aos>
// CHECK-NEXT:        spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:      }
// CHECK-NEXT:      %y = math.sin %t : f64
// CHECK-NEXT:      %s_new = arith.addf %s_i, %y : f64
// CHECK-NEXT:      spad.write %t onto %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      %full_i = spad.full %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      scf.if %full_i {
// CHECK-NEXT:        spad.dma_start %spad_i to %tape_i : !spad.buffer<2 x 8 x {t: f64}> to !tape.region<{t: f64}, aos>
// CHECK-NEXT:        spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %s_new : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_last = arith.subi %N, %c1 : index
// CHECK-NEXT:    %j_last = arith.subi %M, %c1 : index
// CHECK-NEXT:    scf.for %i_r = %c0 to %N step %c1 {
// CHECK-NEXT:      %i_1 = arith.subi %i_last, %i_r : index
// CHECK-NEXT:      %empty_i = spad.empty %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      scf.if %empty_i {
// CHECK-NEXT:        spad.dma_start %tape_i to %spad_i : !tape.region<{t: f64}, aos> to !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:        spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      }
// CHECK-NEXT:      %t_2 = spad.read %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      %cos = math.cos %t_2 : f64
// CHECK-NEXT:      %t_b = arith.mulf %s_b, %cos : f64
// CHECK-NEXT:      %init_b = spad.layer %j_r = %c0 to %M in %spad_j : !spad.buffer<2 x 64 x {c: i1}> iter_args(%t_out_b = %t_b) -> (f64) {
// CHECK-NEXT:        %j_1 = arith.subi %j_last, %j_r : index
// CHECK-NEXT:        %c_1 = spad.read %spad_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:        %w_new_b = memref.load %w_b[%j_1] : memref<?xf64>
// CHECK-NEXT:        %w_old_b = arith.mulf %w_new_b, %half : f64
// CHECK-NEXT:        memref.store %w_old_b, %w_b[%j_1] : memref<?xf64>
// CHECK-NEXT:        %t_in_b = scf.if %c_1 -> (f64) {
// CHECK-NEXT:          %empty_j_if = spad.empty %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          scf.if %empty_j_if {
// CHECK-NEXT:            spad.dma_start %tape_j_if to %spad_j_if : !tape.region<{t: f64, v: f64}, aos> to !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:            spad.dma_wait %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          }
// CHECK-NEXT:          %t_j, %v_1 = spad.read %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:          %v_b = arith.mulf %t_out_b, %t_j : f64
// CHECK-NEXT:          %t_mul_b = arith.mulf %t_out_b, %v_1 : f64
// CHECK-NEXT:          ad.accumulate %v_b into %A_b[%i_1, %j_1] : memref<?x?xf64>
// CHECK-NEXT:          ad.accumulate %v_b into %w_b[%j_1] : memref<?xf64>
// CHECK-NEXT:          scf.yield %t_mul_b : f64
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %t_out_b : f64
// CHECK-NEXT:        }
// CHECK-NEXT:        spad.yield %t_in_b : f64
// CHECK-NEXT:      } when empty {
// CHECK-NEXT:        spad.dma_start %tape_j to %spad_j : !tape.region<{c: i1}, aos> to !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:        spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s : f64
// CHECK-NEXT:  }

// -----

// Two regions of one loop, here because they are replayed in loops of their own: the loop is a layer for the first, the
// other one is guarded in it. In reverse each has a loop to itself.

func.func @two_in_one_loop(%n: index, %x: f64, %y: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64}, aos>
  %tape_i_2 = tape.create reserve %n : !tape.region<{y: f64}, aos>
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x onto %tape_i : !tape.region<{x: f64}, aos>
    tape.record %y onto %tape_i_2 : !tape.region<{y: f64}, aos>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %y_1 = tape.replay %tape_i_2 : !tape.region<{y: f64}, aos>
    "test.op"(%y_1) : (f64) -> ()
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    "test.op"(%x_1) : (f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @two_in_one_loop
// CHECK:         %spad_i = spad.alloc : !spad.buffer<2 x 32 x {x: f64}>
// CHECK-NEXT:    %{{.*}} = spad.alloc : !spad.buffer<2 x 32 x {y: f64}>
// CHECK-NEXT:    spad.layer %i = %c0 to %n in %spad_i : !spad.buffer<2 x 32 x {x: f64}> {
// CHECK-NEXT:      spad.write %x onto %spad_i : !spad.buffer<2 x 32 x {x: f64}>
// CHECK-NEXT:      spad.write %y onto
// CHECK-NEXT:      %{{.*}} = spad.full
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        spad.dma_start
// CHECK-NEXT:        spad.dma_wait
// CHECK-NEXT:      }
// CHECK-NEXT:    } when full {
// CHECK-NEXT:      spad.dma_start %spad_i to %tape_i
// CHECK-NEXT:      spad.dma_wait %spad_i
// CHECK-NEXT:    }
// CHECK-NEXT:    spad.layer
// CHECK-NEXT:      %{{.*}} = spad.read
// CHECK-NEXT:      "test.op"
// CHECK-NEXT:    } when empty {
// CHECK:         spad.layer
// CHECK-NEXT:      %{{.*}} = spad.read %spad_i
// CHECK-NEXT:      "test.op"
// CHECK-NEXT:    } when empty {

// -----

// A layer keeps the bounds and the step of its loop; a loop round another loop is no layer.

func.func @outer_and_inner(%n: index, %m: index, %step: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create : !tape.region<{x: f64}, aos>
  %tape_j = tape.create : !tape.region<{x: f64}, aos>
  scf.for %i = %c1 to %n step %c1 {
    scf.for %j = %i to %m step %step {
      tape.record %x onto %tape_j : !tape.region<{x: f64}, aos>
    }
    tape.record %x onto %tape_i : !tape.region<{x: f64}, aos>
  }
  scf.for %i_r = %c1 to %n step %c1 {
    %x_1 = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    scf.for %j_r = %i_r to %m step %step {
      %x_2 = tape.replay %tape_j : !tape.region<{x: f64}, aos>
      "test.op"(%x_1, %x_2) : (f64, f64) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: func.func @outer_and_inner
// CHECK:         scf.for %i = %c1 to %n step %c1 {
// CHECK-NEXT:      spad.layer %j = %i to %m step %step in %spad_j
// CHECK:         scf.for %i_r = %c1 to %n step %c1 {
// CHECK-NEXT:      %empty_i = spad.empty %spad_i
// CHECK:           spad.layer %j_r = %i_r to %m step %step in %spad_j

// -----

// Both arms record: each is guarded, and the loop is no layer.

func.func @both_arms(%n: index, %c: i1, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i_if = tape.create reserve %n : !tape.region<{x: f64}, aos>
  %tape_i_else = tape.create reserve %n : !tape.region<{x: f64}, aos>
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      tape.record %x onto %tape_i_if : !tape.region<{x: f64}, aos>
    } else {
      tape.record %x onto %tape_i_else : !tape.region<{x: f64}, aos>
    }
  }
  scf.for %i_r = %c0 to %n step %c1 {
    scf.if %c {
      %x_1 = tape.replay %tape_i_if : !tape.region<{x: f64}, aos>
      "test.op"(%x_1) : (f64) -> ()
    } else {
      %x_2 = tape.replay %tape_i_else : !tape.region<{x: f64}, aos>
      "test.op"(%x_2) : (f64) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: func.func @both_arms
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      scf.if %c {
// CHECK-NEXT:        spad.write %x onto %spad_i_if
// CHECK-NEXT:        %full_i_if = spad.full %spad_i_if
// CHECK-NEXT:        scf.if %full_i_if {
// CHECK:           } else {
// CHECK-NEXT:        spad.write %x onto %spad_i_else
// CHECK-NEXT:        %full_i_else = spad.full %spad_i_else
// CHECK-NEXT:        scf.if %full_i_else {

// -----

// Outside of loops there is nothing to cut a layer in.

func.func @top_level(%x: f64) -> f64 {
  %tape_f = tape.create : !tape.region<{x: f64}, aos>
  tape.record %x onto %tape_f : !tape.region<{x: f64}, aos>
  "test.op"() : () -> ()
  %x_1 = tape.replay %tape_f : !tape.region<{x: f64}, aos>
  func.return %x_1 : f64
}

// CHECK-LABEL: func.func @top_level
// CHECK:         spad.write %x onto %spad_f
// CHECK-NEXT:    %full_f = spad.full %spad_f
// CHECK-NEXT:    scf.if %full_f {
// CHECK:         "test.op"() : () -> ()
// CHECK-NEXT:    %empty_f = spad.empty %spad_f
// CHECK-NEXT:    scf.if %empty_f {
// CHECK:         %x_1 = spad.read %spad_f

// -----

// Each function has the whole scratchpad to itself, for they do not run at once; one without regions stays as it is.

func.func @primal(%x: f64) -> f64 {
  func.return %x : f64
}

func.func @first(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64}, aos>
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x onto %tape_i : !tape.region<{x: f64}, aos>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    "test.op"(%x_1) : (f64) -> ()
  }
  func.return
}

func.func @second(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_k = tape.create reserve %n : !tape.region<{x: f64}, aos>
  scf.for %k = %c0 to %n step %c1 {
    tape.record %x onto %tape_k : !tape.region<{x: f64}, aos>
  }
  scf.for %k_r = %c0 to %n step %c1 {
    %x_1 = tape.replay %tape_k : !tape.region<{x: f64}, aos>
    "test.op"(%x_1) : (f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @primal
// CHECK-NEXT:    func.return %x : f64
// CHECK-LABEL: func.func @first
// CHECK:         %spad_i = spad.alloc : !spad.buffer<2 x 64 x {x: f64}>
// CHECK-LABEL: func.func @second
// CHECK:         %spad_k = spad.alloc : !spad.buffer<2 x 64 x {x: f64}>

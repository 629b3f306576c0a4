// After tape-form-regions{layout=aos}: one region a block, named after its loops.
!tape_i    = !tape.region<{t: f64}, aos>             // each i
!tape_j    = !tape.region<{c: i1}, aos>              // each i, j
!tape_j_if = !tape.region<{t: f64, v: f64}, aos>     // each i, j where c

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
  %tape_i = tape.create reserve %N : !tape_i
  %tape_j = tape.create reserve %NM : !tape_j
  %tape_j_if = tape.create reserve %NM : !tape_j_if

  // forward sweep: the primal, and a push for each value the reverse sweep needs
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = scf.for %j = %c0 to %M step %c1 iter_args(%t_j = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        %p = arith.mulf %t_j, %v : f64
        tape.record %t_j, %v onto %tape_j_if : !tape_j_if
        scf.yield %p : f64
      } else {
        scf.yield %t_j : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      tape.record %c onto %tape_j : !tape_j
      scf.yield %t_new : f64
    }
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    tape.record %t onto %tape_i : !tape_i
    scf.yield %s_new : f64
  }

  // reverse sweep: mirrored blocks, so each tape alone is last in, first out
  %i_last = arith.subi %N, %c1 : index
  %j_last = arith.subi %M, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i = arith.subi %i_last, %i_r : index
    %t = tape.replay %tape_i : !tape_i
    %cos = math.cos %t : f64
    %t_b = arith.mulf %s_b, %cos : f64
    %init_b = scf.for %j_r = %c0 to %M step %c1 iter_args(%t_out_b = %t_b) -> (f64) {
      %j = arith.subi %j_last, %j_r : index
      %c = tape.replay %tape_j : !tape_j
      // adjoint of w[j] = w[j] * 0.5
      %w_new_b = memref.load %w_b[%j] : memref<?xf64>
      %w_old_b = arith.mulf %w_new_b, %half : f64
      memref.store %w_old_b, %w_b[%j] : memref<?xf64>
      %t_in_b = scf.if %c -> (f64) {
        %t_j, %v = tape.replay %tape_j_if : !tape_j_if
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

func.func @f_grad(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"},
    %A: memref<?x?xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "m"], tapeflow.const},
    %w: memref<?xf64> {tapeflow.name = "w", tapeflow.extents = [""]}, %s_b: f64 {tapeflow.name = "s_b"},
    %A_b: memref<?x?xf64> {tapeflow.name = "A_b", tapeflow.extents = ["n", "m"]},
    %w_b: memref<?xf64> {tapeflow.name = "w_b", tapeflow.extents = [""]}) -> (f64 {tapeflow.name = "s"})
    attributes {tapeflow.gradient_of = "f"} {
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

// After stream-form-fifos: tiles, drained while the next fills, fetched ahead of use.
!spad_i    = !spad.buffer<2 x 8 x {t: f64}>
!spad_j    = !spad.buffer<2 x 64 x {c: i1}>
!spad_j_if = !spad.buffer<2 x 24 x {t: f64, v: f64}>
!fifo_i    = !stream.fifo<8 x {t: f64}>
!fifo_j    = !stream.fifo<64 x {c: i1}>
!fifo_j_if = !stream.fifo<24 x {t: f64, v: f64}>

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
  %fifo_i = stream.create reserve %N : !fifo_i
  %fifo_j = stream.create reserve %NM : !fifo_j
  %fifo_j_if = stream.create reserve %NM : !fifo_j_if
  %spad_i    = spad.alloc : !spad_i
  %spad_j    = spad.alloc : !spad_j
  %spad_j_if = spad.alloc : !spad_j_if

  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = spad.layer %j = %c0 to %M in %spad_j : !spad_j iter_args(%t_j = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        %p = arith.mulf %t_j, %v : f64
        spad.write %t_j, %v onto %spad_j_if : !spad_j_if
        %full_j_if = spad.full %spad_j_if : !spad_j_if
        scf.if %full_j_if {
          stream.push %spad_j_if into %fifo_j_if : !spad_j_if
        }
        scf.yield %p : f64
      } else {
        scf.yield %t_j : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      spad.write %c onto %spad_j : !spad_j
      spad.yield %t_new : f64
    } when full {
      stream.push %spad_j into %fifo_j : !spad_j
    }
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    spad.write %t onto %spad_i : !spad_i
    %full_i = spad.full %spad_i : !spad_i
    scf.if %full_i {
      stream.push %spad_i into %fifo_i : !spad_i
    }
    scf.yield %s_new : f64
  }
  %i_last = arith.subi %N, %c1 : index
  %j_last = arith.subi %M, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i = arith.subi %i_last, %i_r : index
    %empty_i = spad.empty %spad_i : !spad_i
    scf.if %empty_i {
      stream.prefetch %spad_i from %fifo_i : !spad_i
      stream.pop %spad_i from %fifo_i : !spad_i
    }
    %t = spad.read %spad_i : !spad_i
    %cos = math.cos %t : f64
    %t_b = arith.mulf %s_b, %cos : f64
    %init_b = spad.layer %j_r = %c0 to %M in %spad_j : !spad_j iter_args(%t_out_b = %t_b) -> (f64) {
      %j = arith.subi %j_last, %j_r : index
      %c = spad.read %spad_j : !spad_j
      %w_new_b = memref.load %w_b[%j] : memref<?xf64>
      %w_old_b = arith.mulf %w_new_b, %half : f64
      memref.store %w_old_b, %w_b[%j] : memref<?xf64>
      %t_in_b = scf.if %c -> (f64) {
        %empty_j_if = spad.empty %spad_j_if : !spad_j_if
        scf.if %empty_j_if {
          stream.prefetch %spad_j_if from %fifo_j_if : !spad_j_if
          stream.pop %spad_j_if from %fifo_j_if : !spad_j_if
        }
        %t_j, %v = spad.read %spad_j_if : !spad_j_if
        %v_b = arith.mulf %t_out_b, %t_j : f64
        %t_mul_b = arith.mulf %t_out_b, %v : f64
        ad.accumulate %v_b into %A_b[%i, %j] : memref<?x?xf64>
        ad.accumulate %v_b into %w_b[%j] : memref<?xf64>
        scf.yield %t_mul_b : f64
      } else {
        scf.yield %t_out_b : f64
      }
      spad.yield %t_in_b : f64
    } when empty {
      stream.prefetch %spad_j from %fifo_j : !spad_j
      stream.pop %spad_j from %fifo_j : !spad_j
    }
  }
  stream.close %fifo_j_if : !fifo_j_if
  stream.close %fifo_j : !fifo_j
  stream.close %fifo_i : !fifo_i
  func.return %s : f64
}

// RUN: tapeflow-opt %s --split-input-file -p stream-form-fifos | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p "canonicalize,cse,stream-form-fifos,canonicalize,cse" | filecheck %s

// The worked example: forward, a tile drains while the next one fills; reverse, it is fetched ahead of use. A FIFO takes
// the place of each tape, and is closed at the end.

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
  %spad_i = spad.alloc : !spad.buffer<2 x 8 x {t: f64}>
  %spad_j = spad.alloc : !spad.buffer<2 x 64 x {c: i1}>
  %spad_j_if = spad.alloc : !spad.buffer<2 x 24 x {t: f64, v: f64}>
  %s = scf.for %i = %c0 to %N step %c1 iter_args(%s_i = %zero) -> (f64) {
    %t = spad.layer %j = %c0 to %M in %spad_j : !spad.buffer<2 x 64 x {c: i1}> iter_args(%t_1 = %one) -> (f64) {
      %a = memref.load %A[%i, %j] : memref<?x?xf64>
      %c = arith.cmpf ogt, %a, %zero : f64
      %t_new = scf.if %c -> (f64) {
        %wj = memref.load %w[%j] : memref<?xf64>
        %v = arith.addf %a, %wj : f64
        %p = arith.mulf %t_1, %v : f64
        spad.write %t_1, %v onto %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        %full_j_if = spad.full %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        scf.if %full_j_if {
          spad.dma_start %spad_j_if to %tape_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}> to !tape.region<{t: f64, v: f64}, aos>
          spad.dma_wait %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        }
        scf.yield %p : f64
      } else {
        scf.yield %t_1 : f64
      }
      %w_old = memref.load %w[%j] : memref<?xf64>
      %w_new = arith.mulf %w_old, %half : f64
      memref.store %w_new, %w[%j] : memref<?xf64>
      spad.write %c onto %spad_j : !spad.buffer<2 x 64 x {c: i1}>
      spad.yield %t_new : f64
    } when full {
      spad.dma_start %spad_j to %tape_j : !spad.buffer<2 x 64 x {c: i1}> to !tape.region<{c: i1}, aos>
      spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {c: i1}>
    }
    %y = math.sin %t : f64
    %s_new = arith.addf %s_i, %y : f64
    spad.write %t onto %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    %full_i = spad.full %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    scf.if %full_i {
      spad.dma_start %spad_i to %tape_i : !spad.buffer<2 x 8 x {t: f64}> to !tape.region<{t: f64}, aos>
      spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    }
    scf.yield %s_new : f64
  }
  %i_last = arith.subi %N, %c1 : index
  %j_last = arith.subi %M, %c1 : index
  scf.for %i_r = %c0 to %N step %c1 {
    %i_1 = arith.subi %i_last, %i_r : index
    %empty_i = spad.empty %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    scf.if %empty_i {
      spad.dma_start %tape_i to %spad_i : !tape.region<{t: f64}, aos> to !spad.buffer<2 x 8 x {t: f64}>
      spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    }
    %t_2 = spad.read %spad_i : !spad.buffer<2 x 8 x {t: f64}>
    %cos = math.cos %t_2 : f64
    %t_b = arith.mulf %s_b, %cos : f64
    %init_b = spad.layer %j_r = %c0 to %M in %spad_j : !spad.buffer<2 x 64 x {c: i1}> iter_args(%t_out_b = %t_b) -> (f64) {
      %j_1 = arith.subi %j_last, %j_r : index
      %c_1 = spad.read %spad_j : !spad.buffer<2 x 64 x {c: i1}>
      %w_new_b = memref.load %w_b[%j_1] : memref<?xf64>
      %w_old_b = arith.mulf %w_new_b, %half : f64
      memref.store %w_old_b, %w_b[%j_1] : memref<?xf64>
      %t_in_b = scf.if %c_1 -> (f64) {
        %empty_j_if = spad.empty %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        scf.if %empty_j_if {
          spad.dma_start %tape_j_if to %spad_j_if : !tape.region<{t: f64, v: f64}, aos> to !spad.buffer<2 x 24 x {t: f64, v: f64}>
          spad.dma_wait %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        }
        %t_j, %v_1 = spad.read %spad_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
        %v_b = arith.mulf %t_out_b, %t_j : f64
        %t_mul_b = arith.mulf %t_out_b, %v_1 : f64
        ad.accumulate %v_b into %A_b[%i_1, %j_1] : memref<?x?xf64>
        ad.accumulate %v_b into %w_b[%j_1] : memref<?xf64>
        scf.yield %t_mul_b : f64
      } else {
        scf.yield %t_out_b : f64
      }
      spad.yield %t_in_b : f64
    } when empty {
      spad.dma_start %tape_j to %spad_j : !tape.region<{c: i1}, aos> to !spad.buffer<2 x 64 x {c: i1}>
      spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {c: i1}>
    }
  }
  func.return %s : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK:         %fifo_i = stream.create reserve %N : !stream.fifo<8 x {t: f64}>
// CHECK-NEXT:    %fifo_j = stream.create reserve %NM : !stream.fifo<64 x {c: i1}>
// CHECK-NEXT:    %fifo_j_if = stream.create reserve %NM : !stream.fifo<24 x {t: f64, v: f64}>
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
// CHECK-NEXT:            stream.push %spad_j_if into %fifo_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
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
// CHECK-NEXT:        stream.push %spad_j into %fifo_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:      }
// CHECK-NEXT:      %y = math.sin %t : f64
// CHECK-NEXT:      %s_new = arith.addf %s_i, %y : f64
// CHECK-NEXT:      spad.write %t onto %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      %full_i = spad.full %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      scf.if %full_i {
// CHECK-NEXT:        stream.push %spad_i into %fifo_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %s_new : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_last = arith.subi %N, %c1 : index
// CHECK-NEXT:    %j_last = arith.subi %M, %c1 : index
// CHECK-NEXT:    scf.for %i_r = %c0 to %N step %c1 {
// CHECK-NEXT:      %i_1 = arith.subi %i_last, %i_r : index
// CHECK-NEXT:      %empty_i = spad.empty %spad_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:      scf.if %empty_i {
// CHECK-NEXT:        stream.prefetch %spad_i from %fifo_i : !spad.buffer<2 x 8 x {t: f64}>
// CHECK-NEXT:        stream.pop %spad_i from %fifo_i : !spad.buffer<2 x 8 x {t: f64}>
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
// CHECK-NEXT:            stream.prefetch %spad_j_if from %fifo_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
// CHECK-NEXT:            stream.pop %spad_j_if from %fifo_j_if : !spad.buffer<2 x 24 x {t: f64, v: f64}>
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
// CHECK-NEXT:        stream.prefetch %spad_j from %fifo_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:        stream.pop %spad_j from %fifo_j : !spad.buffer<2 x 64 x {c: i1}>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    stream.close %fifo_j_if : !stream.fifo<24 x {t: f64, v: f64}>
// CHECK-NEXT:    stream.close %fifo_j : !stream.fifo<64 x {c: i1}>
// CHECK-NEXT:    stream.close %fifo_i : !stream.fifo<8 x {t: f64}>
// CHECK-NEXT:    func.return %s : f64
// CHECK-NEXT:  }

// -----

// Without a reservation there is none afterwards. A region that stayed in cache is left alone.

func.func @grows_beside_cache(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create : !tape.region<{x: f64}, aos>
  %spad_i = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
  %tape_j = tape.create : !tape.region<{x: f64}, aos>
  spad.layer %i = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
    tape.record %x onto %tape_j : !tape.region<{x: f64}, aos>
    spad.write %x onto %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  } when full {
    spad.dma_start %spad_i to %tape_i : !spad.buffer<2 x 8 x {x: f64}> to !tape.region<{x: f64}, aos>
    spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  }
  spad.layer %i_r = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
    %x_1 = tape.replay %tape_j : !tape.region<{x: f64}, aos>
    %x_2 = spad.read %spad_i : !spad.buffer<2 x 8 x {x: f64}>
    "test.op"(%x_1, %x_2) : (f64, f64) -> ()
  } when empty {
    spad.dma_start %tape_i to %spad_i : !tape.region<{x: f64}, aos> to !spad.buffer<2 x 8 x {x: f64}>
    spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  }
  func.return
}

// CHECK-LABEL: func.func @grows_beside_cache
// CHECK:         %fifo_i = stream.create : !stream.fifo<8 x {x: f64}>
// CHECK:         %tape_j = tape.create : !tape.region<{x: f64}, aos>
// CHECK:         tape.record %x onto %tape_j
// CHECK:         } when full {
// CHECK-NEXT:      stream.push %spad_i into %fifo_i
// CHECK-NEXT:    }
// CHECK:         tape.replay %tape_j
// CHECK:         } when empty {
// CHECK-NEXT:      stream.prefetch %spad_i from %fifo_i
// CHECK-NEXT:      stream.pop %spad_i from %fifo_i
// CHECK-NEXT:    }
// CHECK-NEXT:    stream.close %fifo_i
// CHECK-NEXT:    func.return

// -----

// A FIFO that is made inside of a loop is closed at the end of each iteration.

func.func @created_in_a_loop(%k: index, %n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %step = %c0 to %k step %c1 {
    %tape_i = tape.create reserve %n : !tape.region<{x: f64}, aos>
    %spad_i = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
    spad.layer %i = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
      spad.write %x onto %spad_i : !spad.buffer<2 x 8 x {x: f64}>
    } when full {
      spad.dma_start %spad_i to %tape_i : !spad.buffer<2 x 8 x {x: f64}> to !tape.region<{x: f64}, aos>
      spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
    }
    spad.layer %i_r = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
      %x_1 = spad.read %spad_i : !spad.buffer<2 x 8 x {x: f64}>
      "test.op"(%x_1) : (f64) -> ()
    } when empty {
      spad.dma_start %tape_i to %spad_i : !tape.region<{x: f64}, aos> to !spad.buffer<2 x 8 x {x: f64}>
      spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @created_in_a_loop
// CHECK:         scf.for %step = %c0 to %k step %c1 {
// CHECK-NEXT:      %fifo_i = stream.create reserve %n
// CHECK:           } when empty {
// CHECK-NEXT:        stream.prefetch
// CHECK-NEXT:        stream.pop
// CHECK-NEXT:      }
// CHECK-NEXT:      stream.close %fifo_i
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// A transfer that is not waited for at once is somebody else's schedule: the region keeps its transfers.

func.func @parted_already(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64}, aos>
  %spad_i = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
  spad.layer %i = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
    spad.write %x onto %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  } when full {
    spad.dma_start %spad_i to %tape_i : !spad.buffer<2 x 8 x {x: f64}> to !tape.region<{x: f64}, aos>
    "test.op"() : () -> ()
    spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  }
  spad.layer %i_r = %c0 to %n in %spad_i : !spad.buffer<2 x 8 x {x: f64}> {
    %x_1 = spad.read %spad_i : !spad.buffer<2 x 8 x {x: f64}>
    "test.op"(%x_1) : (f64) -> ()
  } when empty {
    spad.dma_start %tape_i to %spad_i : !tape.region<{x: f64}, aos> to !spad.buffer<2 x 8 x {x: f64}>
    spad.dma_wait %spad_i : !spad.buffer<2 x 8 x {x: f64}>
  }
  func.return
}

// CHECK-LABEL: func.func @parted_already
// CHECK-NOT:     stream

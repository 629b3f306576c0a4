// RUN: tapeflow-opt %s --print-debuginfo -p tape-form-regions | filecheck %s --check-prefix REGIONS
// RUN: tapeflow-opt %s --print-debuginfo -p tape-form-regions,spad-form-layers | filecheck %s --check-prefix LAYERS
// RUN: tapeflow-opt %s --print-debuginfo -p tape-form-regions,spad-form-layers,stream-form-fifos | filecheck %s --check-prefix STREAMS

// Every op made carries the place of the op it is made for: of the first push and pop of its record. Handles, fields and
// what is replayed carry source names, which survive where name hints lose a suffix: `x_1` is the name of a field here.

func.func @f(%n: index, %A: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tape.create reserve %n : !tape.tape<f64> loc("tape_x_1"("f.c":4:10))
  %b = tape.create reserve %n : !tape.tape<f64> loc("tape_y"("f.c":5:10))
  scf.for %k = %c0 to %n step %c1 {
    %x = memref.load %A[%k] : memref<?xf64> loc("x_1"("f.c":4:14))
    tape.push %x onto %a : !tape.tape<f64> loc("f.c":4:14)
    %y = arith.mulf %x, %x : f64 loc("y"("f.c":5:14))
    tape.push %y onto %b : !tape.tape<f64> loc("f.c":5:14)
  } loc("f.c":3:3)
  scf.for %k_r = %c0 to %n step %c1 {
    %y = tape.pop %b : !tape.tape<f64> loc("y"("f.c":5:14))
    "test.op"(%y) : (f64) -> ()
    %x = tape.pop %a : !tape.tape<f64> loc("x_1"("f.c":4:14))
    "test.op"(%x) : (f64) -> ()
  } loc("f.c":3:3)
  func.return loc("f.c":7:3)
}

// REGIONS:      %tape_k = tape.create reserve %n : !tape.region<{x_1: f64, y: f64}, aos> loc("tape_k"("f.c":4:10))
// REGIONS:      tape.record %x, %y onto %tape_k : !tape.region<{x_1: f64, y: f64}, aos> loc("f.c":4:14)
// REGIONS:      tape.replay %tape_k : !tape.region<{x_1: f64, y: f64}, aos> loc(fused["x_1"("f.c":5:14), "y"("f.c":5:14)])

// LAYERS:       %spad_k = spad.alloc : !spad.buffer<2 x 32 x {x_1: f64, y: f64}> loc("spad_k"("f.c":4:10))
// LAYERS:       spad.write %x, %y onto %spad_k : !spad.buffer<2 x 32 x {x_1: f64, y: f64}> loc("f.c":4:14)
// LAYERS-NEXT:  } when full {
// LAYERS-NEXT:    spad.dma_start %spad_k to %tape_k : {{.*}} loc("f.c":4:14)
// LAYERS-NEXT:    spad.dma_wait %spad_k : {{.*}} loc("f.c":4:14)
// LAYERS-NEXT:  } loc("f.c":3:3)
// LAYERS:       spad.read %spad_k : !spad.buffer<2 x 32 x {x_1: f64, y: f64}> loc(fused["x_1"("f.c":5:14), "y"("f.c":5:14)])

// STREAMS:      %fifo_k = stream.create reserve %n : !stream.fifo<32 x {x_1: f64, y: f64}> loc("fifo_k"("f.c":4:10))
// STREAMS:      stream.push %spad_k into %fifo_k : {{.*}} loc("f.c":4:14)
// STREAMS:      stream.prefetch %spad_k from %fifo_k : {{.*}} loc("f.c":5:14)
// STREAMS-NEXT: stream.pop %spad_k from %fifo_k : {{.*}} loc("f.c":5:14)
// STREAMS:      stream.close %fifo_k : !stream.fifo<32 x {x_1: f64, y: f64}> loc("f.c":4:10)

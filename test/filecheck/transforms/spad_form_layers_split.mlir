// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=1024 buffers=1}" 2>&1 | filecheck %s --check-prefixes CHECK,ONE
// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=1024 buffers=3}" 2>&1 | filecheck %s --check-prefixes CHECK,THREE
// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=4096 buffers=4}" 2>&1 | filecheck %s --check-prefixes CHECK,FOUR

// `bytes` is the whole scratchpad: more buffers make smaller tiles. Tiles hold whole records, 24 bytes each here, and
// end where a burst of 64 bytes ends, after 8 of them.

func.func @whole_records(%n: index, %x: f64, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64, y: f64, c: i1}, aos>
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x, %x, %c onto %tape_i : !tape.region<{x: f64, y: f64, c: i1}, aos>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1, %y_1, %c_1 = tape.replay %tape_i : !tape.region<{x: f64, y: f64, c: i1}, aos>
    "test.op"(%x_1, %y_1, %c_1) : (f64, f64, i1) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @whole_records
// ONE:           %spad_i = spad.alloc : !spad.buffer<1 x 40 x {x: f64, y: f64, c: i1}>
// THREE:         %spad_i = spad.alloc : !spad.buffer<3 x 8 x {x: f64, y: f64, c: i1}>
// FOUR:          %spad_i = spad.alloc : !spad.buffer<4 x 40 x {x: f64, y: f64, c: i1}>

// -----

// A record wider than a burst gets the bursts that one record takes, and more where there is room. A region with a
// constant count gets no more than it can fill: the rest goes to the other one.

func.func @wide_and_few(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %tape_i = tape.create reserve %n : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos>
  %tape_k = tape.create reserve %c10 : !tape.region<{x: f64}, aos>
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x, %x, %x, %x, %x, %x, %x, %x, %x onto %tape_i : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos>
  }
  scf.for %k = %c0 to %c10 step %c1 {
    tape.record %x onto %tape_k : !tape.region<{x: f64}, aos>
  }
  scf.for %k_r = %c0 to %c10 step %c1 {
    %x_1 = tape.replay %tape_k : !tape.region<{x: f64}, aos>
    "test.op"(%x_1) : (f64) -> ()
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1:9 = tape.replay %tape_i : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos>
    "test.op"(%x_1#0) : (f64) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @wide_and_few
// ONE:           %spad_i = spad.alloc : !spad.buffer<1 x 8 x
// ONE-NEXT:      %spad_k = spad.alloc : !spad.buffer<1 x 16 x
// THREE:         %spad_i = spad.alloc : !spad.buffer<3 x 3 x
// THREE-NEXT:    %spad_k = spad.alloc : !spad.buffer<3 x 8 x
// FOUR:          %spad_i = spad.alloc : !spad.buffer<4 x 8 x
// FOUR-NEXT:     %spad_k = spad.alloc : !spad.buffer<4 x 16 x

// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=256 buffers=2}" 2>&1 >/dev/null | filecheck %s --check-prefix REMARK
// RUN: tapeflow-opt %s --split-input-file -p "spad-form-layers{bytes=256 buffers=2}" 2>/dev/null | filecheck %s

// Two of three regions fit, those with the most traffic; the third stays in cache, untouched.

func.func @two_of_three(%n: index, %m: index, %c: i1, %x: f64, %y: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create : !tape.region<{x: f64}, aos> loc("tape_i"("f.c":2:3))
  %tape_j = tape.create : !tape.region<{x: f64}, aos> loc("tape_j"("f.c":3:5))
  %tape_j_if = tape.create : !tape.region<{y: f32}, aos> loc("tape_j_if"("f.c":4:7))
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      scf.if %c {
        tape.record %y onto %tape_j_if : !tape.region<{y: f32}, aos>
      }
      tape.record %x onto %tape_j : !tape.region<{x: f64}, aos>
    }
    tape.record %x onto %tape_i : !tape.region<{x: f64}, aos>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    "test.op"(%x_1) : (f64) -> ()
    scf.for %j_r = %c0 to %m step %c1 {
      %x_2 = tape.replay %tape_j : !tape.region<{x: f64}, aos>
      scf.if %c {
        %y_1 = tape.replay %tape_j_if : !tape.region<{y: f32}, aos>
        "test.op"(%y_1) : (f32) -> ()
      }
      "test.op"(%x_2) : (f64) -> ()
    }
  }
  func.return
}

// REMARK: f.c:2:3: remark: region 'i' stays in cache: it needs 128 bytes of the scratchpad, whose 256 go to regions with more traffic

// CHECK-LABEL: func.func @two_of_three
// CHECK:         %spad_j = spad.alloc : !spad.buffer<2 x 8 x {x: f64}>
// CHECK-NEXT:    %spad_j_if = spad.alloc : !spad.buffer<2 x 16 x {y: f32}>
// CHECK:         spad.layer %j
// CHECK:         tape.record %x onto %tape_i
// CHECK:         tape.replay %tape_i
// CHECK:         spad.layer %j_r

// -----

// A bare tape, and a region that is passed to a function, stay in cache.

func.func private @g(!tape.region<{x: f64}, aos>) -> ()

func.func @not_only_records(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_x = tape.create : !tape.tape<f64> loc("tape_x"("f.c":12:3))
  %tape_i = tape.create : !tape.region<{x: f64}, aos> loc("tape_i"("f.c":13:3))
  scf.for %i = %c0 to %n step %c1 {
    tape.push %x onto %tape_x : !tape.tape<f64>
    tape.record %x onto %tape_i : !tape.region<{x: f64}, aos>
  }
  func.call @g(%tape_i) : (!tape.region<{x: f64}, aos>) -> ()
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.pop %tape_x : !tape.tape<f64>
    %x_2 = tape.replay %tape_i : !tape.region<{x: f64}, aos>
    "test.op"(%x_1, %x_2) : (f64, f64) -> ()
  }
  func.return
}

// REMARK: f.c:12:3: remark: tape 'x' stays in cache: it is not part of a region
// REMARK: f.c:13:3: remark: region 'i' stays in cache: it is passed on, or not both recorded and replayed

// CHECK-LABEL: func.func @not_only_records
// CHECK-NOT:     spad

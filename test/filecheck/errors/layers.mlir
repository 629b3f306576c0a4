// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics -p "spad-form-layers{bytes=64 buffers=2}" | filecheck %s
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics -p "spad-form-layers{bytes=100 buffers=1}" | filecheck %s --check-prefix ONE
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics -p "spad-form-layers{bytes=0}" | filecheck %s --check-prefix ZERO
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics -p "spad-form-layers{bytes=1024 buffers=0}" | filecheck %s --check-prefix NONE

// A scratchpad that is too small for any region: the one that needs least is named.

func.func @too_small(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos> loc("tape_i"("f.c":3:5))
  %tape_k = tape.create : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64, j: f32}, aos> loc("tape_k"("f.c":6:5))
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x, %x, %x, %x, %x, %x, %x, %x, %x onto %tape_i : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1:9 = tape.replay %tape_i : !tape.region<{a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64}, aos>
    "test.op"(%x_1#0) : (f64) -> ()
  }
  func.return
}

// CHECK:      f.c:3:5: error: a scratchpad of 64 bytes is too small for any region: 'i', 72 bytes a record, needs 256 bytes (2 buffers of 128)
// CHECK-NEXT:   help: give the scratchpad at least 256 bytes, or fewer buffers
// ONE:        f.c:3:5: error: a scratchpad of 100 bytes is too small for any region: 'i', 72 bytes a record, needs 128 bytes (1 buffer of 128)
// ONE-NEXT:     help: give the scratchpad at least 128 bytes
// ZERO:       error: spad-form-layers needs bytes of at least 1, not 0
// ZERO-NEXT:    help: without a scratchpad, leave the pass out
// NONE:       error: spad-form-layers needs buffers of at least 1, not 0
// NONE-NEXT:    help: 1 is a single buffer, 2 double buffering

// -----

// Tiles are moved by whole records, so the layout must be aos.

func.func @soa(%n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape_i = tape.create reserve %n : !tape.region<{x: f64}, soa> loc("tape_i"("f.c":13:5))
  scf.for %i = %c0 to %n step %c1 {
    tape.record %x onto %tape_i : !tape.region<{x: f64}, soa>
  }
  scf.for %i_r = %c0 to %n step %c1 {
    %x_1 = tape.replay %tape_i : !tape.region<{x: f64}, soa>
    "test.op"(%x_1) : (f64) -> ()
  }
  func.return
}

// CHECK:      f.c:13:5: error: spad-form-layers moves whole records, but region 'i' is laid out soa
// CHECK-NEXT:   help: form regions with tape-form-regions{layout=aos}

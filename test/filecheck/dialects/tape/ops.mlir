// Every operation and type of the tape dialect, as text, in the generic form, and back.
// RUN: tapeflow-opt %s | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: tapeflow-opt %s --print-op-generic | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-debuginfo | tapeflow-opt --print-debuginfo | filecheck %s --check-prefix LOCATION

!tape_j = !tape.region<{t: f64, c: i1}, aos>

func.func @tape(%n: index, %v: f64) -> f64 {
  %tape_v = tape.create reserve %n : !tape.tape<f64> loc("tape_v"("f.c":3:7))
  %tape_c = tape.create : !tape.tape<i1>
  tape.push %v onto %tape_v : !tape.tape<f64>
  %v_1 = tape.pop %tape_v : !tape.tape<f64>
  func.return %v_1 : f64
}

func.func @region(%n: index, %t: f64, %c: i1) -> (f64, i1) {
  %tape_j = tape.create reserve %n : !tape_j loc("tape_j"("f.c":4:5))
  tape.record %t, %c onto %tape_j : !tape_j loc("f.c":5:3)
  %t_1, %c_1 = tape.replay %tape_j : !tape_j loc(fused["t"("f.c":5:3), "c"("f.c":6:3)])
  func.return %t_1, %c_1 : f64, i1
}

// Handles are values: a callee may push what its caller pops.
func.func private @callee(!tape.tape<index>, !tape.region<{i: i32, l: i64, s: i8, h: f16, f: f32, k: index}, soa>) -> ()

// CHECK:       %tape_v = tape.create reserve %n : !tape.tape<f64>
// CHECK-NEXT:  %tape_c = tape.create : !tape.tape<i1>
// CHECK-NEXT:  tape.push %v onto %tape_v : !tape.tape<f64>
// CHECK-NEXT:  %v_1 = tape.pop %tape_v : !tape.tape<f64>
// CHECK:       %tape_j = tape.create reserve %n : !tape.region<{t: f64, c: i1}, aos>
// CHECK-NEXT:  tape.record %t, %c onto %tape_j : !tape.region<{t: f64, c: i1}, aos>
// CHECK-NEXT:  %t_1, %c_1 = tape.replay %tape_j : !tape.region<{t: f64, c: i1}, aos>
// CHECK:       @callee(!tape.tape<index>, !tape.region<{i: i32, l: i64, s: i8, h: f16, f: f32, k: index}, soa>) -> ()

// GENERIC:      %tape_v = "tape.create"(%n) : (index) -> !tape.tape<f64>
// GENERIC-NEXT: %tape_c = "tape.create"() : () -> !tape.tape<i1>
// GENERIC-NEXT: "tape.push"(%v, %tape_v) : (f64, !tape.tape<f64>) -> ()
// GENERIC-NEXT: %v_1 = "tape.pop"(%tape_v) : (!tape.tape<f64>) -> f64
// GENERIC:      "tape.record"(%t, %c, %tape_j) : (f64, i1, !tape.region<{t: f64, c: i1}, aos>) -> ()
// GENERIC-NEXT: %t_1, %c_1 = "tape.replay"(%tape_j) : (!tape.region<{t: f64, c: i1}, aos>) -> (f64, i1)

// LOCATION:     tape.create reserve %n : !tape.tape<f64> loc("tape_v"("f.c":3:7))
// LOCATION:     tape.create reserve %n : !tape.region<{t: f64, c: i1}, aos> loc("tape_j"("f.c":4:5))
// LOCATION:     tape.replay %tape_j : !tape.region<{t: f64, c: i1}, aos> loc(fused["t"("f.c":5:3), "c"("f.c":6:3)])

// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s

// A do-while, with its body in the test, becomes a while that carries whether it goes on.

// CHECK-LABEL: func.func @repeat
// CHECK:         %{{.*}}, %go = scf.while (%{{.*}} = %x, %{{.*}} = %{{.*}}) : (f64, i1) -> (f64, i1) {
// CHECK-NEXT:      scf.condition(%{{.*}}) %{{.*}}, %{{.*}} : f64, i1
// CHECK:           arith.mulf
// CHECK:           [[C:%.*]] = arith.cmpf
// CHECK-NEXT:      scf.yield %{{.*}}, [[C]] : f64, i1
func.func @repeat(%x: f64) -> f64 {
  %limit = arith.constant 100.0 : f64
  %y = scf.while (%y0 = %x) : (f64) -> f64 {
    %n = arith.mulf %y0, %y0 : f64
    %c = arith.cmpf olt, %n, %limit : f64
    scf.condition(%c) %n : f64
  } do {
  ^bb0(%y1: f64):
    scf.yield %y1 : f64
  }
  func.return %y : f64
}

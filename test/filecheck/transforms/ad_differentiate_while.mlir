// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-form-regions{layout=aos}" | filecheck %s

// A while counts its iterations, and is undone by a loop that runs as often; its tape grows as needed.

func.func @halve(%x: f64) -> f64 {
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %y = scf.while (%y = %x) : (f64) -> f64 {
    %c = arith.cmpf ogt, %y, %one : f64
    scf.condition(%c) %y : f64
  } do {
  ^bb0(%y1: f64):
    %sq = arith.mulf %y1, %y1 : f64
    %n = arith.mulf %half, %sq : f64
    scf.yield %n : f64
  }
  func.return %y : f64
}
ad.vjp @halve_grad of @halve (active) -> (active)

// CHECK-LABEL: func.func @halve_grad
// CHECK:         %tape_while = tape.create : !tape.region<{y1: f64}, aos>
// CHECK:         %{{.*}}, %trips = scf.while (%{{.*}} = %x, %{{.*}} = %{{.*}}) : (f64, index) -> (f64, index) {
// CHECK:           tape.record %y1 onto %tape_while
// CHECK:         scf.for %while_r = %{{.*}} to %trips step %{{.*}} iter_args
// CHECK:           tape.replay %tape_while

// RUN: tapeflow-opt %s -p "ad-prepare,ad-differentiate,tape-plan" | filecheck %s

// What a while counts follows from the number of the iteration, and is not taped; how often it ran is, once a row.

func.func @rows(%n: index, %m: i32, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i32
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (f64) {
    %s1, %k1 = scf.while (%s2 = %s0, %k = %m) : (f64, i32) -> (f64, i32) {
      %j = arith.index_cast %k : i32 to index
      %c = arith.cmpi sgt, %j, %i : index
      scf.condition(%c) %s2, %k : f64, i32
    } do {
    ^bb0(%s3: f64, %kb: i32):
      %j = arith.index_cast %kb : i32 to index
      %v = memref.load %x[%j] : memref<?xf64>
      %sq = arith.mulf %v, %v : f64
      %s4 = arith.addf %s3, %sq : f64
      %next = arith.subi %kb, %two : i32
      scf.yield %s4, %next : f64, i32
    }
    scf.yield %s1 : f64
  }
  func.return %s : f64
}
ad.vjp @rows_grad of @rows (const, const, active) -> (active)

// CHECK-LABEL: func.func @rows_grad
// CHECK:         %tape_trips = tape.create
// CHECK-NOT:     tape.create
// CHECK:         tape.push %trips onto %tape_trips
// CHECK:         scf.for %i_r = 
// CHECK:           %[[TRIPS:[^ ]*]] = tape.pop %tape_trips
// CHECK:           %[[LAST:[^ ]*]] = arith.subi %[[TRIPS]], %{{.*}} : index
// CHECK:           scf.for %while_r = %{{.*}} to %[[TRIPS]]
// CHECK:             %[[K:[^ ]*]] = arith.subi %[[LAST]], %while_r : index
// CHECK:             %[[N:[^ ]*]] = arith.index_cast %[[K]] : index to i32
// CHECK:             %[[DOWN:[^ ]*]] = arith.muli %[[N]], %two : i32
// CHECK:             %{{.*}} = arith.subi %m, %[[DOWN]] : i32

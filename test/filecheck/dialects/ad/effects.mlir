// Stock passes know that an accumulation reads and writes its shadow.
// RUN: tapeflow-opt %s -p cse,licm,dce,canonicalize,cse | filecheck %s

// Equal accumulations stay as many as they are, also when nobody reads the shadow, and in their loop.
func.func @accumulate(%v: f64, %x_b: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  ad.accumulate %v into %x_b[%c0] : memref<?xf64>
  ad.accumulate %v into %x_b[%c0] : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    ad.accumulate %v into %x_b[%c0] : memref<?xf64>
  }
  func.return
}
// CHECK-LABEL: @accumulate
// CHECK:         ad.accumulate %v into %x_b[%c0]
// CHECK-NEXT:    ad.accumulate %v into %x_b[%c0]
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      ad.accumulate %v into %x_b[%c0]

// A load before and a load after are two.
func.func @loads(%v: f64, %x_b: memref<?xf64>, %i: index) -> f64 {
  %before = memref.load %x_b[%i] : memref<?xf64>
  ad.accumulate %v into %x_b[%i] : memref<?xf64>
  %after = memref.load %x_b[%i] : memref<?xf64>
  %s = arith.addf %before, %after : f64
  func.return %s : f64
}
// CHECK-LABEL: @loads
// CHECK-NEXT:    %before = memref.load
// CHECK-NEXT:    ad.accumulate
// CHECK-NEXT:    %after = memref.load
// CHECK-NEXT:    arith.addf %before, %after

// Requests stay.
ad.vjp @f_grad of @f (active) -> (active)
ad.jvp @f_tangent of @f (active) -> (active)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}
// CHECK:       ad.vjp @f_grad of @f (active) -> (active)
// CHECK-NEXT:  ad.jvp @f_tangent of @f (active) -> (active)

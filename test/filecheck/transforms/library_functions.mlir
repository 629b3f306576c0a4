// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan -t tapeflow-c --split-input-file | filecheck %s --check-prefix C

// Calls of the C library's functions have rules; what a rule calls is declared. Equal calls are one.

ad.vjp @f_grad of @f (active) -> (active)
func.func private @lgamma(f64) -> f64
func.func @f(%x: f64) -> f64 {
  %y = func.call @lgamma(%x) : (f64) -> f64
  %z = func.call @lgamma(%x) : (f64) -> f64
  %s = arith.mulf %y, %z : f64
  func.return %s : f64
}
// CHECK-LABEL: func.func @f_grad
// CHECK:       %y = func.call @lgamma(%x)
// CHECK-NOT:   func.call @lgamma
// CHECK:       func.call @tf_polygamma(%{{.*}}, %x) : (f64, f64) -> f64
// CHECK:       func.func private @tf_polygamma(f64, f64) -> f64
// C:           lgamma(x)
// C:           tf_polygamma(0.0, x)


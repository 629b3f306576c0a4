// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file --verify-diagnostics | filecheck %s --check-prefix GRAD

// A call of a function with a rule is differentiated by its rule, not by its body: here the rule says 7.

ad.rule @g vjp @g_vjp
ad.vjp @f_grad of @f (active) -> (active)
func.func private @g(%x: f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
func.func private @g_vjp(%x: f64, %y_b: f64) -> f64 {
  %seven = arith.constant 7.0 : f64
  %x_b = arith.mulf %y_b, %seven : f64
  func.return %x_b : f64
}
func.func @f(%x: f64) -> f64 {
  %y = func.call @g(%x) : (f64) -> f64
  func.return %y : f64
}
// CHECK:       ad.rule @g vjp @g_vjp
// GRAD-LABEL:  func.func @f_grad
// GRAD:          %seven = arith.constant 7.000000e+00 : f64
// GRAD:          %y = arith.mulf %x, %x : f64
// GRAD:          arith.mulf %{{.*}}, %seven : f64
// GRAD-NOT:      arith.addf

// -----

// The derivative takes the arguments and the seeds, and returns the adjoints of the floats.

ad.rule @g vjp @h
func.func private @g(%n: i32, %x: f64) -> f64 {
  func.return %x : f64
}
func.func private @h(%n: i32, %x: f64) -> f64 {
  func.return %x : f64
}
// CHECK:      @h has type (i32, f64) -> f64, but as the vjp of @g it takes its arguments, a seed for each float result and a shadow for each array of floats, and returns an adjoint for each float argument: (i32, f64, f64) -> f64

// -----

ad.rule @g vjp @missing
func.func private @g(%x: f64) -> f64 {
  func.return %x : f64
}
// CHECK:      'ad.rule' names @missing, but there is no such function in this module

// -----

ad.rule @g vjp @g
func.func private @g(%x: memref<4xf64>) {
  func.return
}
// CHECK:      @g has type (memref<4xf64>) -> (), but as the vjp of @g it takes its arguments, a seed for each float result and a shadow for each array of floats, and returns an adjoint for each float argument: (memref<4xf64>, memref<4xf64>) -> ()

// -----

// What is only declared has a rule too, and either mode may be left out, but not both.

ad.rule @g jvp @g_jvp
func.func private @g(f64) -> f64
func.func private @g_jvp(f64, f64) -> f64
// CHECK:      @g_jvp has type (f64, f64) -> f64, but as the jvp of @g it takes its arguments, a tangent for each float argument and a tangent array for each array of floats, and returns the results and a tangent for each float one: (f64, f64) -> (f64, f64)

// -----

ad.rule @g
func.func private @g(f64) -> f64
// CHECK:      'ad.rule' of @g names neither a vjp nor a jvp

// -----

// A rule is for calls: the function itself cannot be asked for.

ad.rule @g vjp @g_vjp
ad.vjp @g_grad of @g (active) -> (active)
func.func private @g(%x: f64) -> f64 {
  func.return %x : f64
}
func.func private @g_vjp(%x: f64, %y_b: f64) -> f64 {
  func.return %y_b : f64
}
// GRAD:      error: ad.vjp of 'g', whose derivative is given by 'g_vjp'

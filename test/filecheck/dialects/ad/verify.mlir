// What the ad dialect refuses.
// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// A request is for a function of the module, which need not come first.

ad.vjp @f_grad of @missing () -> ()

// CHECK: {{^}}'ad.vjp' of @missing: there is no such function in this module

// -----

// A function that another request makes is there, one that is only declared is not.

ad.jvp @f_hvp of @f_grad (active, const) -> (const, active)
ad.vjp @f_grad of @f (active) -> (active)
func.func private @f(f64) -> f64

// CHECK: {{^}}'ad.vjp' of @f: the function is only declared, without a body

// -----

ad.vjp @f_grad of @f (active) -> (active)
func.func private @f(f64) -> f64

// CHECK: {{^}}'ad.vjp' of @f: the function is only declared, without a body

// -----

// It marks each argument and each result.

ad.vjp @f_grad of @f (active, const) -> (active)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}the primal has 1 arguments, but 2 are marked

// -----

ad.jvp @f_tangent of @f (active) -> ()
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}the primal has 1 results, but 0 are marked

// -----

ad.vjp @f_grad of @f (inactive) -> ()
func.func @f(%x: f64) {
  func.return
}

// CHECK: Expected `const`, `active`, `input`, or `scratch`.

// -----

// What is no output is an array, and matters in reverse mode.

ad.vjp @f_grad of @f (input) -> (active)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}argument 0 is marked input, which is for arrays that 'ad.vjp' takes; mark it active

// -----

ad.jvp @f_jvp of @f (active, scratch) -> (active)
func.func @f(%x: f64, %t: memref<?xf64>) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}argument 1 is marked scratch, which is for arrays that 'ad.vjp' takes; mark it active

// -----

ad.vjp @f_grad of @f (active) -> (scratch)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}result 0 is marked scratch, which is for arrays that 'ad.vjp' takes; mark it active

// -----

ad.vjp @f_grad of @f (scratch) -> ()
func.func @f(%k: memref<?xi32>) {
  func.return
}

// CHECK: {{^}}argument 0 is marked scratch, but memref<?xi32> has no derivative; mark it const

// -----

// Only floats and arrays of floats have derivatives.

ad.vjp @f_grad of @f (active, active) -> ()
func.func @f(%x: memref<4xf32>, %n: i32) {
  func.return
}

// CHECK: {{^}}argument 1 is marked active, but i32 has no derivative; mark it const

// -----

ad.vjp @f_grad of @f (active) -> ()
func.func @f(%x: memref<4xi32>) {
  func.return
}

// CHECK: {{^}}argument 0 is marked active, but memref<4xi32> has no derivative; mark it const

// -----

ad.jvp @f_tangent of @f (const) -> (active)
func.func @f(%n: i64) -> i64 {
  func.return %n : i64
}

// CHECK: {{^}}result 0 is marked active, but i64 has no derivative; mark it const

// -----

// A batch has a member, and not so many that their code is without measure.

ad.vjp @f_grad of @f (active) -> (active) batch 0
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}'ad.vjp' with batch 0: a batch has 1 to 64 members, each with code of its own

// -----

ad.jvp @f_jvp of @f (active) -> (active) batch 1000
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}'ad.jvp' with batch 1000: a batch has 1 to 64 members, each with code of its own

// -----

ad.jvp @f_jvp of @f (active) -> (active) batch true
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: Expected integer literal

// -----

// Two requests do not share a name.

ad.vjp @f_grad of @f (active) -> (active)
ad.jvp @f_grad of @f (active) -> (active)
func.func @f(%x: f64) -> f64 {
  func.return %x : f64
}

// CHECK: {{^}}Redefinition of symbol "f_grad"

// -----

// What is accumulated is a float, of the shadow's element type, at an index a dimension.

func.func @f(%v: f32, %x_b: memref<4xf64>, %i: index) {
  ad.accumulate %v into %x_b[%i] : memref<4xf64>
  func.return
}

// CHECK: operand is used with type f64, but has been previously used or defined with type f32

// -----

func.func @f(%v: f32, %x_b: memref<4xf64>, %i: index) {
  "ad.accumulate"(%v, %x_b, %i) : (f32, memref<4xf64>, index) -> ()
  func.return
}

// CHECK:      {{^}}operand 'memref' at position 1 does not verify:
// CHECK-NEXT: attribute f32 expected from variable 'T', but got f64

// -----

func.func @f(%v: i32, %x_b: memref<4xi32>, %i: index) {
  ad.accumulate %v into %x_b[%i] : memref<4xi32>
  func.return
}

// CHECK: {{^}}only floats accumulate, not i32

// -----

func.func @f(%v: f64, %x_b: memref<4x4xf64>, %i: index) {
  ad.accumulate %v into %x_b[%i] : memref<4x4xf64>
  func.return
}

// CHECK: {{^}}the shadow has rank 2, but 1 indices are given

// -----

func.func @f(%v: f64, %x_b: memref<4xf64>, %i: i32) {
  "ad.accumulate"(%v, %x_b, %i) : (f64, memref<4xf64>, i32) -> ()
  func.return
}

// CHECK:      {{^}}operand 'indices' at position 2 does not verify:
// CHECK-NEXT: i32 should be of base attribute index

// -----

func.func @f(%v: f64, %x_b: f64) {
  "ad.accumulate"(%v, %x_b) : (f64, f64) -> ()
  func.return
}

// CHECK:      {{^}}operand 'memref' at position 1 does not verify:
// CHECK-NEXT: f64 should be of base attribute memref

// Every operation of the ad dialect, as text, in the generic form, and back.
// RUN: tapeflow-opt %s | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: tapeflow-opt %s --print-op-generic | tapeflow-opt | filecheck %s
// RUN: tapeflow-opt %s --print-debuginfo | tapeflow-opt --print-debuginfo | filecheck %s --check-prefix LOCATION

// The requests: reverse mode and forward mode, a mark for each argument and result of the primal.
ad.vjp @f_grad of @f (const, active, active) -> (active) loc("kernel.c":1:8)
ad.jvp @f_tangent of @f (const, const, active) -> (const) attributes {note = "held"}
ad.vjp @g_grad of @g () -> ()
ad.vjp @f_grad_of_result of @f (const, active, input) -> (active)
ad.vjp @f_grad_by_x of @f (const, active, scratch) -> (active)

// Several cotangents, or tangents, at once.
ad.vjp @f_grads of @f (const, active, active) -> (active) batch 8
ad.jvp @f_tangents of @f (const, active, active) -> (active) batch 1 attributes {note = "one"}

func.func @f(%n: i32, %x: f64, %A: memref<?x?xf64>) -> f64 {
  func.return %x : f64
}

func.func @g() {
  func.return
}

// Accumulation, on any float and rank.
func.func @accumulate(%v: f64, %u: f32, %i: index, %s_b: memref<f64>, %A_b: memref<?x4xf64>, %w_b: memref<8xf32>) {
  ad.accumulate %v into %s_b[] : memref<f64>
  ad.accumulate %v into %A_b[%i, %i] : memref<?x4xf64> loc("v_b"("kernel.c":4:9))
  ad.accumulate %u into %w_b[%i] {note = "single"} : memref<8xf32>
  func.return
}

// CHECK:       ad.vjp @f_grad of @f (const, active, active) -> (active)
// CHECK-NEXT:  ad.jvp @f_tangent of @f (const, const, active) -> (const) attributes {note = "held"}
// CHECK-NEXT:  ad.vjp @g_grad of @g () -> ()
// CHECK-NEXT:  ad.vjp @f_grad_of_result of @f (const, active, input) -> (active)
// CHECK-NEXT:  ad.vjp @f_grad_by_x of @f (const, active, scratch) -> (active)
// CHECK-NEXT:  ad.vjp @f_grads of @f (const, active, active) -> (active) batch 8
// CHECK-NEXT:  ad.jvp @f_tangents of @f (const, active, active) -> (active) batch 1 attributes {note = "one"}
// CHECK:       ad.accumulate %v into %s_b[] : memref<f64>
// CHECK-NEXT:  ad.accumulate %v into %A_b[%i, %i] : memref<?x4xf64>
// CHECK-NEXT:  ad.accumulate %u into %w_b[%i] {note = "single"} : memref<8xf32>

// GENERIC:      "ad.vjp"() <{sym_name = "f_grad", primal = @f, arguments = [#ad<activity const>, #ad<activity active>, #ad<activity active>], results = [#ad<activity active>]}> : () -> ()
// GENERIC-NEXT: "ad.jvp"() <{sym_name = "f_tangent", primal = @f, arguments = [#ad<activity const>, #ad<activity const>, #ad<activity active>], results = [#ad<activity const>]}> {note = "held"} : () -> ()
// GENERIC:      "ad.vjp"() <{sym_name = "f_grads", {{.*}}, batch = 8 : i64}> : () -> ()
// GENERIC:      "ad.accumulate"(%v, %s_b) : (f64, memref<f64>) -> ()
// GENERIC-NEXT: "ad.accumulate"(%v, %A_b, %i, %i) : (f64, memref<?x4xf64>, index, index) -> ()

// LOCATION:     ad.vjp @f_grad of @f (const, active, active) -> (active) loc("kernel.c":1:8)
// LOCATION:     ad.accumulate %v into %A_b[%i, %i] : memref<?x4xf64> loc("v_b"("kernel.c":4:9))

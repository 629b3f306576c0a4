// RUN: tapeflow-opt %s -p ad-prepare --split-input-file | filecheck %s

// A complex number is two floats, an array of them has an axis of 2 behind the others, and a request marks both parts.

ad.vjp @f_grad of @f (active, active, const) -> (active)
func.func @f(%z: complex<f64>, %a: memref<?xcomplex<f64>>, %n: index) -> complex<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (complex<f64>) {
    %v = memref.load %a[%i] : memref<?xcomplex<f64>>
    %w = complex.mul %v, %acc : complex<f64>
    memref.store %w, %a[%i] : memref<?xcomplex<f64>>
    scf.yield %w : complex<f64>
  }
  return %s : complex<f64>
}

// CHECK:       ad.vjp @f_grad of @f (active, active, active, const) -> (active, active)
// CHECK-NEXT:  func.func @f(%z_re: f64, %z_im: f64, %a: memref<?x2xf64>, %n: index) -> (f64, f64) {
// CHECK:         %s_re, %s_im = scf.for %i = %c0 to %n step %c1 iter_args(%acc_re = %z_re, %acc_im = %z_im) -> (f64, f64) {
// CHECK-NEXT:      %v_re = memref.load %a[%i, %c0] : memref<?x2xf64>
// CHECK-NEXT:      %v_im = memref.load %a[%i, %c1] : memref<?x2xf64>
// CHECK-NEXT:      [[AC:%.*]] = arith.mulf %v_re, %acc_re : f64
// CHECK-NEXT:      [[BD:%.*]] = arith.mulf %v_im, %acc_im : f64
// CHECK-NEXT:      %w_re = arith.subf [[AC]], [[BD]] : f64
// CHECK-NEXT:      [[AD:%.*]] = arith.mulf %v_re, %acc_im : f64
// CHECK-NEXT:      [[BC:%.*]] = arith.mulf %v_im, %acc_re : f64
// CHECK-NEXT:      %w_im = arith.addf [[AD]], [[BC]] : f64
// CHECK-NEXT:      memref.store %w_re, %a[%i, %c0] : memref<?x2xf64>
// CHECK-NEXT:      memref.store %w_im, %a[%i, %c1] : memref<?x2xf64>
// CHECK-NEXT:      scf.yield %w_re, %w_im : f64, f64
// CHECK:         func.return %s_re, %s_im : f64, f64

// -----

// A request about what another makes is about its pairs too: seeds, shadows and adjoints of complex numbers are pairs.

ad.vjp @g_grad of @g (active, active) -> (active)
ad.jvp @g_hvp of @g_grad (active, active, const, active) -> (const, active)
func.func @g(%z: complex<f32>, %x: memref<2xcomplex<f32>>) -> complex<f32> {
  %r = complex.conj %z : complex<f32>
  return %r : complex<f32>
}

// CHECK:       ad.vjp @g_grad of @g (active, active, active) -> (active, active)
// CHECK-NEXT:  ad.jvp @g_hvp of @g_grad (active, active, active, const, const, active) -> (const, const, active, active)

// -----

// What has a signature with complex numbers is lowered with what calls it; what is not about them stays.

ad.jvp @h_jvp of @h (active) -> (active)
func.func @h(%z: complex<f64>) -> f64 {
  %r = complex.abs %z : complex<f64>
  return %r : f64
}
func.func @calls(%z: complex<f64>) -> f64 {
  %r = func.call @h(%z) : (complex<f64>) -> f64
  return %r : f64
}
func.func @other(%x: f64) -> f64 {
  return %x : f64
}

// CHECK-LABEL: func.func @h(%z_re: f64, %z_im: f64) -> f64 {
// CHECK-NEXT:    %r = func.call @hypot(%z_re, %z_im) : (f64, f64) -> f64
// CHECK-LABEL: func.func @calls(%z_re: f64, %z_im: f64) -> f64 {
// CHECK-NEXT:    %r = func.call @h(%z_re, %z_im) : (f64, f64) -> f64
// CHECK-LABEL: func.func @other(%x: f64) -> f64 {
// CHECK:       func.func private @hypot(f64, f64) -> f64

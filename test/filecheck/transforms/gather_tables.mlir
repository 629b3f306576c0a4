// RUN: tapeflow-opt %s --split-input-file -p ad-prepare,ad-differentiate,tape-plan,canonicalize,cse --verify-diagnostics | filecheck %s
// RUN: tapeflow-opt %s --split-input-file -p ad-prepare,ad-differentiate,tape-plan -t tapeflow-c --verify-diagnostics | filecheck %s --check-prefix=C

// A constant table is read once, at the start; it has no shadow, and is read again in the reverse sweep: nothing is taped.
// CHECK-LABEL: func.func @smooth_grad
// CHECK:         memref.get_global @w : memref<3xf64>
// CHECK-NOT:     memref.get_global
// CHECK-NOT:     tape.create
// C:           static const double w[3] = {0.25, 0.5, -0.25};
// C:           TF_ARRAY(w, 3);
// C-NOT:       tape_
builtin.module {
  "memref.global"() <{constant, initial_value = dense<[0.25, 0.5, -0.25]> : tensor<3xf64>, sym_name = "w", sym_visibility = "private", type = memref<3xf64>}> : () -> ()
  func.func @smooth(%x : memref<3xf64>) -> f64 {
    %zero = arith.constant 0.0 : f64
    %lb = arith.constant 0 : index
    %ub = arith.constant 3 : index
    %step = arith.constant 1 : index
    %s = scf.for %i = %lb to %ub step %step iter_args(%before = %zero) -> (f64) {
      %w = memref.get_global @w : memref<3xf64>
      %w_1 = memref.get_global @w : memref<3xf64>
      %a = memref.load %w[%i] : memref<3xf64>
      %b = memref.load %w_1[%i] : memref<3xf64>
      %v = memref.load %x[%i] : memref<3xf64>
      %av = arith.mulf %a, %v : f64
      %bv = arith.mulf %b, %av : f64
      %after = arith.addf %before, %bv : f64
      scf.yield %after : f64
    }
    func.return %s : f64
  }
  ad.vjp @smooth_grad of @smooth (active) -> (active)
}

// -----

// What may change between calls is refused.
// CHECK: 'm' is a global that may change, so its derivative has no place
builtin.module {
  "memref.global"() <{initial_value = dense<[1.0, 2.0]> : tensor<2xf64>, sym_name = "m", sym_visibility = "private", type = memref<2xf64>}> : () -> ()
  func.func @read(%x : f64) -> f64 {
    %i = arith.constant 0 : index
    %m = memref.get_global @m : memref<2xf64>
    %v = memref.load %m[%i] : memref<2xf64>
    %r = arith.mulf %x, %v : f64
    func.return %r : f64
  }
}

// -----

// CHECK: this may write to 'c', which is constant
builtin.module {
  "memref.global"() <{constant, initial_value = dense<[1.0, 2.0]> : tensor<2xf64>, sym_name = "c", sym_visibility = "private", type = memref<2xf64>}> : () -> ()
  func.func @write(%x : f64) {
    %i = arith.constant 0 : index
    %c = memref.get_global @c : memref<2xf64>
    memref.store %x, %c[%i] : memref<2xf64>
    func.return
  }
}

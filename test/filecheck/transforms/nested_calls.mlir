// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan --split-input-file | filecheck %s
// RUN: tapeflow-opt %s -p "ad-prepare{inline-limit=2},ad-differentiate,tape-plan,tape-form-regions{layout=soa}" --split-input-file | filecheck %s --check-prefix LARGE

// A recursive function is split into its forward and its reverse sweep. Both take its tape, which f_grad makes: one stack
// for all calls, on which each pushes behind the calls nested in it, and from which each pops before their mirrors.

ad.vjp @f_grad of @f (active, const) -> (active)
func.func private @power(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %unit = arith.constant 1.0 : f64
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    scf.yield %unit : f64
  } else {
    %m = arith.subi %n, %one : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
func.func @f(%x: f64, %n: index) -> f64 {
  %r = func.call @power(%x, %n) : (f64, index) -> f64
  func.return %r : f64
}

// CHECK-LABEL: func.func @f_grad
// CHECK-NEXT:    %tape_p_power_fwd = tape.create : !tape.tape<f64>
// CHECK-NEXT:    %r = func.call @power_fwd(%x, %n, %tape_p_power_fwd)
// CHECK-NEXT:    %x_b = func.call @power_rev(%x, %n, %r_b, %tape_p_power_fwd)
// CHECK-NEXT:    func.return %r, %x_b : f64, f64

// CHECK-LABEL: func.func private @power_fwd(%x: f64, %n: index, %tape_p_power_fwd: !tape.tape<f64>
// CHECK:         } else {
// CHECK-NEXT:      %m = arith.subi %n, %one : index
// CHECK-NEXT:      %p = func.call @power_fwd(%x, %m, %tape_p_power_fwd)
// CHECK-NEXT:      %q = arith.mulf %p, %x : f64
// CHECK-NEXT:      tape.push %p onto %tape_p_power_fwd : !tape.tape<f64>
// CHECK-NEXT:      scf.yield %q : f64

// CHECK-LABEL: func.func private @power_rev(%x: f64, %n: index, %r_b: f64 {{.*}}, %tape_p_power_fwd: !tape.tape<f64>
// CHECK:         } else {
// CHECK-NEXT:      %p = tape.pop %tape_p_power_fwd : !tape.tape<f64>
// CHECK-NEXT:      %p_b = arith.mulf %r_b, %x : f64
// CHECK-NEXT:      %x_b_1 = arith.mulf %r_b, %p : f64
// CHECK-NEXT:      %x_b_2 = func.call @power_rev(%x, %m, %p_b, %tape_p_power_fwd)
// CHECK-NEXT:      %x_b_3 = arith.addf %x_b_1, %x_b_2 : f64
// CHECK-NEXT:      scf.yield %x_b_3 : f64

// -----

// A function of more operations than the limit is not inlined; each way of calling it is a pair of its own. What is
// not active has no shadow and no adjoint, and a call without anything active is the primal's.

ad.vjp @g_grad of @g (active, const) -> (active)
func.func private @wave(%x: f64, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %v = memref.load %w[%c0] : memref<?xf64>
  %p = arith.mulf %x, %v : f64
  %s = math.sin %p : f64
  func.return %s : f64
}
func.func @g(%x: memref<?xf64>, %w: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1.0 : f64
  %a = func.call @wave(%c1, %w) : (f64, memref<?xf64>) -> f64
  %v = memref.load %x[%c0] : memref<?xf64>
  %b = func.call @wave(%v, %w) : (f64, memref<?xf64>) -> f64
  %c = func.call @wave(%a, %x) : (f64, memref<?xf64>) -> f64
  %r = arith.addf %b, %c : f64
  func.return %r : f64
}

// LARGE-LABEL: func.func @g_grad
// LARGE:         %a = func.call @wave(%c1, %w)
// LARGE:         %b = func.call @wave_fwd_2(%v, %w)
// LARGE:         %c = func.call @wave_fwd(%a, %x)
// LARGE:         func.call @wave_rev(%a, %x, %r_b, %x_b)
// LARGE:         %v_b = func.call @wave_rev_2(%v, %w, %r_b)

// What nobody writes is loaded again, so that nothing is taped.
// LARGE-LABEL: func.func private @wave_rev(
// LARGE:         %v = memref.load %w[%c0] : memref<?xf64>
// LARGE:         ad.accumulate %v_b into %w_b[%c0] : memref<?xf64>
// LARGE-LABEL: func.func private @wave_rev_2(%x: f64, %w: memref<?xf64> {{.*}}, %s_b: f64 {{.*}}) -> (f64

// CHECK-LABEL: func.func @g_grad
// CHECK-NOT:     func.call

// -----

// What a batch calls is made for as many cotangents: scalars are handed on one a member, the tape is that of one. The
// tangents of both sweeps are made together and split again: the forward sweep takes the tangents of what it is given.

ad.vjp @f_grads of @f (active, const) -> (active) batch 2
ad.jvp @f_hvp of @f_grad (active, const, const) -> (const, active)
ad.vjp @f_grad of @f (active, const) -> (active)
func.func private @power(%x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %done = arith.cmpi eq, %n, %zero : index
  %r = scf.if %done -> (f64) {
    scf.yield %x : f64
  } else {
    %m = arith.subi %n, %one : index
    %p = func.call @power(%x, %m) : (f64, index) -> f64
    %q = arith.mulf %p, %x : f64
    scf.yield %q : f64
  }
  func.return %r : f64
}
func.func @f(%x: f64, %n: index) -> f64 {
  %r = func.call @power(%x, %n) : (f64, index) -> f64
  func.return %r : f64
}

// CHECK-LABEL: func.func @f_grads
// CHECK:         %r = func.call @power_fwd_2(%x, %n, %tape_p_power_fwd)
// CHECK:         %x_b0, %x_b1 = func.call @power_rev_2(%x, %n, %r_b0, %r_b1, %tape_p_power_fwd)

// CHECK-LABEL: func.func @f_hvp
// CHECK:         %r = func.call @power_fwd_jvp(%x, %n, %x_d, {{.*}}) -> f64
// CHECK:         %x_b, %x_b_d = func.call @power_rev_jvp(%x, %n, %x_d, %r_b, {{.*}}) -> (f64, f64)

// CHECK-LABEL: func.func private @power_rev_2(
// CHECK:           %p = tape.pop
// CHECK-NEXT:      %p_b0 = arith.mulf %r_b0, %x : f64
// CHECK-NEXT:      %p_b1 = arith.mulf %r_b1, %x : f64

// CHECK-LABEL: func.func private @power_fwd_jvp_2(
// CHECK:           tape.push %p onto %tape_p_power_fwd_jvp
// CHECK-NEXT:      tape.push %p_d onto %tape_p_d_power_fwd_jvp
// CHECK-LABEL: func.func private @power_rev_jvp_2(
// CHECK:           %p = tape.pop %tape_p_power_fwd_jvp
// CHECK-NEXT:      %p_d = tape.pop %tape_p_d_power_fwd_jvp
// CHECK:           func.call @power_rev_jvp_2(%x, %m, %x_d, %p_b, %p_b_d, {{.*}}) -> (f64, f64)

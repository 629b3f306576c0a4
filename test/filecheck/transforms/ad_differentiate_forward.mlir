// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate --split-input-file | filecheck %s

// Forward mode: beside each active operation the one that computes its tangent, no tape. `w` is constant, so neither
// its elements nor their cosines nor their sum `t` have tangents; the local array has a tangent array; where a constant
// is stored into the active `y`, its tangent is set to zero. Widths are converted as the primal converts them.

ad.jvp @f_jvp of @f (const, active, const, active, active) -> (active, const)
func.func @f(%n: index {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"}, %w: memref<?xf64> {tapeflow.name = "w", tapeflow.extents = ["n"]},
             %x: memref<?xf32> {tapeflow.name = "x", tapeflow.extents = ["n"]}, %y: memref<?xf64> {tapeflow.name = "y", tapeflow.extents = ["n"]}) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %line = memref.alloca(%n) : memref<?xf64>
  %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero, %t_i = %zero) -> (f64, f64) {
    %wi = memref.load %w[%i] : memref<?xf64>
    %cosine = math.cos %wi : f64
    %xi = memref.load %x[%i] : memref<?xf32>
    %wide = arith.extf %xi : f32 to f64
    %p = arith.mulf %wide, %cosine : f64
    memref.store %p, %line[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %p, %s_i : f64
    %q = scf.if %c -> (f64) {
      %e = math.exp %p : f64
      scf.yield %e : f64
    } else {
      memref.store %wi, %y[%i] : memref<?xf64>
      scf.yield %wi : f64
    }
    %r = arith.select %c, %q, %a : f64
    %m = arith.maximumf %r, %p : f64
    %s_new = arith.addf %s_i, %m : f64
    %t_new = arith.addf %t_i, %wi : f64
    scf.yield %s_new, %t_new : f64, f64
  }
  %l = memref.load %line[%c0] : memref<?xf64>
  %z = arith.divf %s, %l : f64
  func.return %z, %t : f64, f64
}

// CHECK:       func.func @f_jvp(%n: index
// CHECK-SAME:    %a_d: f64 {tapeflow.name = "a_d"}, %x_d: memref<?xf32> {tapeflow.name = "x_d", tapeflow.extents = ["n"]}, %y_d: memref<?xf64>
// CHECK-SAME:    -> (f64 {tapeflow.name = "z"}, f64 {tapeflow.name = "t"}, f64 {tapeflow.name = "z_d", tapeflow.tangent_of = "z"}) attributes {tapeflow.tangent_of = "f"} {
// CHECK:         %line = memref.alloca(%n) : memref<?xf64>
// CHECK-NEXT:    %line_d = memref.alloca(%n) : memref<?xf64>
// CHECK-NEXT:    %s, %t, %s_d = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %zero, %t_i = %zero, %s_i_d = %zero) -> (f64, f64, f64) {
// CHECK-NEXT:      %wi = memref.load %w[%i] : memref<?xf64>
// CHECK-NEXT:      %cosine = math.cos %wi : f64
// CHECK-NEXT:      %xi = memref.load %x[%i] : memref<?xf32>
// CHECK-NEXT:      %xi_d = memref.load %x_d[%i] : memref<?xf32>
// CHECK-NEXT:      %wide = arith.extf %xi : f32 to f64
// CHECK-NEXT:      %wide_d = arith.extf %xi_d : f32 to f64
// CHECK-NEXT:      %p = arith.mulf %wide, %cosine : f64
// CHECK-NEXT:      %p_d = arith.mulf %wide_d, %cosine : f64
// CHECK-NEXT:      memref.store %p, %line[%i] : memref<?xf64>
// CHECK-NEXT:      memref.store %p_d, %line_d[%i] : memref<?xf64>
// CHECK-NEXT:      %c = arith.cmpf ogt, %p, %s_i : f64
// CHECK-NEXT:      %q, %q_d = scf.if %c -> (f64, f64) {
// CHECK-NEXT:        %e = math.exp %p : f64
// CHECK-NEXT:        %e_d = arith.mulf %p_d, %e : f64
// CHECK-NEXT:        scf.yield %e, %e_d : f64, f64
// CHECK-NEXT:      } else {
// CHECK-NEXT:        memref.store %wi, %y[%i] : memref<?xf64>
// CHECK-NEXT:        memref.store %zero, %y_d[%i] : memref<?xf64>
// CHECK-NEXT:        scf.yield %wi, %zero : f64, f64
// CHECK-NEXT:      }
// CHECK-NEXT:      %r = arith.select %c, %q, %a : f64
// CHECK-NEXT:      %r_d = arith.select %c, %q_d, %a_d : f64
// CHECK-NEXT:      %m = arith.maximumf %r, %p : f64
// CHECK-NEXT:      %1 = arith.cmpf oge, %p, %r : f64
// CHECK-NEXT:      %2 = arith.cmpf oge, %r, %p : f64
// CHECK-NEXT:      %3 = arith.mulf %r_d, %0 : f64
// CHECK-NEXT:      %4 = arith.select %2, %3, %zero : f64
// CHECK-NEXT:      %5 = arith.select %1, %4, %r_d : f64
// CHECK-NEXT:      %6 = arith.mulf %p_d, %0 : f64
// CHECK-NEXT:      %7 = arith.select %1, %6, %zero : f64
// CHECK-NEXT:      %8 = arith.select %2, %7, %p_d : f64
// CHECK-NEXT:      %m_d = arith.addf %5, %8 : f64
// CHECK-NEXT:      %s_new = arith.addf %s_i, %m : f64
// CHECK-NEXT:      %s_new_d = arith.addf %s_i_d, %m_d : f64
// CHECK-NEXT:      %t_new = arith.addf %t_i, %wi : f64
// CHECK-NEXT:      scf.yield %s_new, %t_new, %s_new_d : f64, f64, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %l = memref.load %line[%c0] : memref<?xf64>
// CHECK-NEXT:    %l_d = memref.load %line_d[%c0] : memref<?xf64>
// CHECK-NEXT:    %z = arith.divf %s, %l : f64
// CHECK-NEXT:    %9 = arith.divf %s_d, %l : f64
// CHECK-NEXT:    %10 = arith.divf %l_d, %l : f64
// CHECK-NEXT:    %11 = arith.mulf %10, %z : f64
// CHECK-NEXT:    %z_d = arith.subf %9, %11 : f64
// CHECK-NEXT:    func.return %z, %t, %z_d : f64, f64, f64
// CHECK-NEXT:  }

// -----

// The tangents of a gradient, which another request makes, are Hessian-vector products: a tape of tangents beside the
// tape, pushed and popped where that is, with the same reservation; the shadow has a tangent too.

ad.jvp @f_hvp of @f_grad (const, active, const, active) -> (const)
ad.vjp @f_grad of @f (const, active) -> (active)
func.func @f(%n: index, %x: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %p = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %one) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %q = arith.mulf %p_i, %xi : f64
    scf.yield %q : f64
  }
  func.return %p : f64
}

// CHECK:       func.func @f_hvp(%n: index, %x: memref<?xf64>, %p_b: f64 {tapeflow.name = "p_b"}, %x_b: memref<?xf64> {tapeflow.name = "x_b"}, %x_d: memref<?xf64> {tapeflow.name = "x_d"}, %x_b_d: memref<?xf64> {tapeflow.name = "x_b_d"})
// CHECK:         %0 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:    %1 = arith.maxsi %n, %c0 : index
// CHECK-NEXT:    %tape_p_i = tape.create reserve %1 : !tape.tape<f64>
// CHECK-NEXT:    %tape_p_i_d = tape.create reserve %1 : !tape.tape<f64>
// CHECK-NEXT:    %tape_xi = tape.create reserve %1 : !tape.tape<f64>
// CHECK-NEXT:    %tape_xi_d = tape.create reserve %1 : !tape.tape<f64>
// CHECK-NEXT:    %p, %p_d = scf.for %i = %c0 to %n step %c1 iter_args(%p_i = %one, %p_i_d = %0) -> (f64, f64) {
// CHECK-NEXT:      tape.push %p_i onto %tape_p_i : !tape.tape<f64>
// CHECK-NEXT:      tape.push %p_i_d onto %tape_p_i_d : !tape.tape<f64>
// CHECK-NEXT:      %xi = memref.load %x[%i] : memref<?xf64>
// CHECK-NEXT:      %xi_d = memref.load %x_d[%i] : memref<?xf64>
// CHECK-NEXT:      tape.push %xi onto %tape_xi : !tape.tape<f64>
// CHECK-NEXT:      tape.push %xi_d onto %tape_xi_d : !tape.tape<f64>
// CHECK-NEXT:      %q = arith.mulf %p_i, %xi : f64
// CHECK-NEXT:      %2 = arith.mulf %p_i_d, %xi : f64
// CHECK-NEXT:      %3 = arith.mulf %xi_d, %p_i : f64
// CHECK-NEXT:      %q_d = arith.addf %2, %3 : f64
// CHECK-NEXT:      scf.yield %q, %q_d : f64, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %i_last = arith.subi %n, %c1 : index
// CHECK-NEXT:    %p_i_b, %p_i_b_d = scf.for %i_r = %c0 to %n step %c1 iter_args(%p_i_b_1 = %p_b, %p_i_b_d_1 = %0) -> (f64, f64) {
// CHECK-NEXT:      %i_1 = arith.subi %i_last, %i_r : index
// CHECK-NEXT:      %p_i_1 = tape.pop %tape_p_i : !tape.tape<f64>
// CHECK-NEXT:      %p_i_d_1 = tape.pop %tape_p_i_d : !tape.tape<f64>
// CHECK-NEXT:      %xi_1 = tape.pop %tape_xi : !tape.tape<f64>
// CHECK-NEXT:      %xi_d_1 = tape.pop %tape_xi_d : !tape.tape<f64>
// CHECK-NEXT:      %p_i_b_2 = arith.mulf %p_i_b_1, %xi_1 : f64
// CHECK-NEXT:      %4 = arith.mulf %p_i_b_d_1, %xi_1 : f64
// CHECK-NEXT:      %5 = arith.mulf %xi_d_1, %p_i_b_1 : f64
// CHECK-NEXT:      %p_i_b_d_2 = arith.addf %4, %5 : f64
// CHECK-NEXT:      %xi_b = arith.mulf %p_i_b_1, %p_i_1 : f64
// CHECK-NEXT:      %6 = arith.mulf %p_i_b_d_1, %p_i_1 : f64
// CHECK-NEXT:      %7 = arith.mulf %p_i_d_1, %p_i_b_1 : f64
// CHECK-NEXT:      %xi_b_d = arith.addf %6, %7 : f64
// CHECK-NEXT:      ad.accumulate %xi_b into %x_b[%i_1] : memref<?xf64>
// CHECK-NEXT:      ad.accumulate %xi_b_d into %x_b_d[%i_1] : memref<?xf64>
// CHECK-NEXT:      scf.yield %p_i_b_2, %p_i_b_d_2 : f64, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %p : f64
// CHECK-NEXT:  }

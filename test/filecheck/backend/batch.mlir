// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan,tape-form-regions -t "tapeflow-c{function=f_grad}" | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate,tape-plan,tape-form-regions -t "tapeflow-c{function=f_grad header=true}" | filecheck %s --check-prefix HEADER
// RUN: tapeflow-opt %s -p ad-prepare,ad-differentiate -t "tapeflow-c{function=f_jvp header=true}" | filecheck %s --check-prefix JVP

// Two cotangents at once: one primal, one tape, and in the reverse sweep a statement a member where the seeds count.

ad.vjp @f_grad of @f (const, active, active) -> (active) batch 2
ad.jvp @f_jvp of @f (const, active, active) -> (active) batch 2
func.func @f(%n: index {tapeflow.name = "n"}, %a: f64 {tapeflow.name = "a"},
             %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> (f64 {tapeflow.name = "s"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_i = %a) -> (f64) {
    %xi = memref.load %x[%i] : memref<?xf64>
    %p = arith.mulf %s_i, %xi : f64
    %y = math.sin %p : f64
    scf.yield %y : f64
  }
  func.return %s : f64
}

// CHECK:      double f_grad(tf_tape *tf, ptrdiff_t n, double a, const double *restrict x,
// CHECK-NEXT:               const double *restrict s_b, double *restrict x_b, double *restrict a_b)
// CHECK-NEXT: {
// CHECK-NEXT:     if (!tf_reserve(tf, TF_BYTES(f_i, n)))
// CHECK:          TF_ARRAY(s_b, 2);
// CHECK-NEXT:     TF_ARRAY(x_b, n * 2);
// CHECK-NEXT:     TF_ARRAY(a_b, 2);
// CHECK:          double s_i_b0 = TF_LOAD(s_b, 0);
// CHECK-NEXT:     double s_i_b1 = TF_LOAD(s_b, 1);
// CHECK-NEXT:     for (ptrdiff_t i = n - 1; i >= 0; i--) {
// CHECK-NEXT:         TF_STEP_SUM();
// CHECK-NEXT:         const f_i at_i = TF_REPLAY(tape_i);
// CHECK-NEXT:         const double xi = TF_LOAD(x, i);
// CHECK-NEXT:         const double cos_value = cos(at_i.s_i * xi);
// CHECK-NEXT:         const double p_b0 = s_i_b0 * cos_value;
// CHECK-NEXT:         const double p_b1 = s_i_b1 * cos_value;
// CHECK-NEXT:         s_i_b0 = p_b0 * xi;
// CHECK-NEXT:         s_i_b1 = p_b1 * xi;
// CHECK-NEXT:         TF_ADD(x_b, i * 2, p_b0 * at_i.s_i);
// CHECK-NEXT:         TF_ADD(x_b, i * 2 + 1, p_b1 * at_i.s_i);
// CHECK-NEXT:     }
// CHECK-NEXT:     TF_STEP();
// CHECK-NEXT:     TF_STORE(a_b, 0, s_i_b0);
// CHECK-NEXT:     TF_STORE(a_b, 1, s_i_b1);
// CHECK-NEXT:     return s;

// HEADER:      /* f and its gradient.
// HEADER-NEXT:  * For 2 cotangents at once: arrays with [2] at the end have an element for each of them.
// HEADER:       *   s_b   [2], seeds: the cotangents of the result
// HEADER-NEXT:  *   x_b   [n][2], shadow: on entry the cotangent of x's final value, on exit that of its initial value
// HEADER-NEXT:  *   a_b   [2], set to adjoints

// JVP:         /* f, the tangents of all that it computes.
// JVP-NEXT:     * For 2 directions at once: arrays with [2] at the end have an element for each of them.
// JVP:          *   a_d   [2], tangent of a
// JVP-NEXT:     *   x_d   [n][2], tangent of x
// JVP-NEXT:     *   s_d   [2], set to tangents

// RUN: tapeflow-opt %s | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare | filecheck %s --check-prefix=PAIRS

#include <complex.h>

// Complex numbers are those of the `complex` dialect; ad-prepare makes pairs of them, and of arrays an axis of 2.
double complex polynomial(int n, double complex z, const double complex c[n][2], float complex *y)
{
  double complex s = 0;
  for (int i = 0; i < n; i++)
    s = s * z + c[i][1];
  *y = s;
  return s;
}
// CHECK-LABEL: func.func @polynomial
// CHECK-SAME:    %z: complex<f64> {tapeflow.name = "z"}
// CHECK-SAME:    %c: memref<?x2xcomplex<f64>> {tapeflow.name = "c", tapeflow.extents = ["n", "2"], tapeflow.const}
// CHECK-SAME:    %y: memref<?xcomplex<f32>>
// CHECK-SAME:    -> (complex<f64> {tapeflow.name = "s"})
// CHECK:         complex.constant [0.000000e+00 : f64, 0.000000e+00 : f64] : complex<f64>
// CHECK:         memref.alloca() : memref<complex<f64>>
// CHECK:         complex.mul %{{.*}}, %z : complex<f64>
// CHECK:         memref.load %c[%i, %c1] : memref<?x2xcomplex<f64>>
// CHECK:         complex.add
// CHECK:         complex.re
// CHECK:         arith.truncf
// CHECK:         complex.create %{{.*}}, %{{.*}} : complex<f32>
// PAIRS-LABEL: func.func @polynomial
// PAIRS-SAME:    %z_re: f64 {tapeflow.name = "z_re"}, %z_im: f64
// PAIRS-SAME:    %c: memref<?x2x2xf64> {tapeflow.name = "c", tapeflow.extents = ["n", "2", "2"], tapeflow.const, tapeflow.complex}
// PAIRS-SAME:    %y: memref<?x2xf32>
// The variable is no memory any more.
// PAIRS-NOT:     alloca
// PAIRS:         scf.for %i = {{.*}} iter_args(%s_re_1 = %{{.*}}, %s_im_1 = %{{.*}}) -> (f64, f64)

// A real operand stays real: no product with the zero that it would have as its imaginary part.
double complex mixed(double x, double complex z)
{
  return x * z + x / z;
}
// CHECK-LABEL: func.func @mixed
// CHECK:         arith.mulf %x, %
// CHECK-NEXT:    arith.mulf %x, %
// CHECK-NEXT:    complex.create
// CHECK:         complex.create %x, %
// CHECK-NEXT:    complex.div %{{.*}}, %z

// I is a constant, whatever it is converted to.
float complex constant(float complex z, double complex w)
{
  return z * I + (w == 2.0i);
}
// CHECK-LABEL: func.func @constant
// CHECK-DAG:     complex.constant [0.000000e+00 : f32, 1.000000e+00 : f32] : complex<f32>
// CHECK-DAG:     complex.constant [0.000000e+00 : f64, 2.000000e+00 : f64] : complex<f64>
// CHECK:         complex.eq %w, %

double functions(double complex z)
{
  return cabs(cexp(z)) + carg(conj(csqrt(z))) + cimag(cpow(z, clog(z))) + creal(ccosh(z));
}
// CHECK-LABEL: func.func @functions
// CHECK:         complex.exp %z
// CHECK:         complex.abs
// CHECK:         complex.sqrt %z
// CHECK:         complex.conj
// CHECK:         complex.angle
// CHECK:         complex.log %z
// CHECK:         complex.pow %z
// CHECK:         complex.im
// CHECK:         complex.cos
// CHECK:         complex.re

// RUN: tapeflow-opt %s | filecheck %s

// The whole form of an import: attributes of the parameters, constants and casts of the parameters at the top, scalars
// that are assigned in memory, counters as the loops' own variables.
#include <math.h>

double f(int n, int m, const double A[n][m], double *w)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double t = 1;
    for (int j = 0; j < m; j++) {
      if (A[i][j] > 0)
        t = t * (A[i][j] + w[j]);
      w[j] = w[j] * 0.5;
    }
    s += sin(t);
  }
  return s;
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @f(%n: i32 {tapeflow.name = "n"}, %m: i32 {tapeflow.name = "m"}, %A: memref<?x?xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "m"], tapeflow.const}, %w: memref<?xf64> {tapeflow.name = "w", tapeflow.extents = [""]}) -> (f64 {tapeflow.name = "s"}) {
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %c1 = arith.constant 1 : index
// CHECK-NEXT:     %cst_1 = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:     %cst_2 = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:     %m_1 = arith.index_cast %m : i32 to index
// CHECK-NEXT:     %n_1 = arith.index_cast %n : i32 to index
// CHECK-NEXT:     %s = memref.alloca() : memref<f64>
// CHECK-NEXT:     memref.store %cst, %s[] : memref<f64>
// CHECK-NEXT:     scf.for %i = %c0 to %n_1 step %c1 {
// CHECK-NEXT:       %t = memref.alloca() : memref<f64>
// CHECK-NEXT:       memref.store %cst_1, %t[] : memref<f64>
// CHECK-NEXT:       scf.for %j = %c0 to %m_1 step %c1 {
// CHECK-NEXT:         %0 = memref.load %A[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:         %1 = arith.cmpf ogt, %0, %cst : f64
// CHECK-NEXT:         scf.if %1 {
// CHECK-NEXT:           %2 = memref.load %t[] : memref<f64>
// CHECK-NEXT:           %3 = memref.load %A[%i, %j] : memref<?x?xf64>
// CHECK-NEXT:           %4 = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:           %5 = arith.addf %3, %4 : f64
// CHECK-NEXT:           %t_1 = arith.mulf %2, %5 : f64
// CHECK-NEXT:           memref.store %t_1, %t[] : memref<f64>
// CHECK-NEXT:         }
// CHECK-NEXT:         %6 = memref.load %w[%j] : memref<?xf64>
// CHECK-NEXT:         %7 = arith.mulf %6, %cst_2 : f64
// CHECK-NEXT:         memref.store %7, %w[%j] : memref<?xf64>
// CHECK-NEXT:       }
// CHECK-NEXT:       %8 = memref.load %s[] : memref<f64>
// CHECK-NEXT:       %9 = memref.load %t[] : memref<f64>
// CHECK-NEXT:       %10 = math.sin %9 : f64
// CHECK-NEXT:       %s_1 = arith.addf %8, %10 : f64
// CHECK-NEXT:       memref.store %s_1, %s[] : memref<f64>
// CHECK-NEXT:     }
// CHECK-NEXT:     %11 = memref.load %s[] : memref<f64>
// CHECK-NEXT:     func.return %11 : f64
// CHECK-NEXT:   }
// CHECK-NEXT: }

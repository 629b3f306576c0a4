// RUN: tapeflow-opt %s | filecheck %s

// Extents that are constants are in the type; parameters' names are in tapeflow.extents; an outermost extent that is
// left out is open.
#define N 3
void shapes(int n, double A[n][N], const float *w, int (*k)[2], double x[], _Bool b[]) {}
// CHECK-LABEL: func.func @shapes(
// CHECK-SAME:    %A: memref<?x3xf64> {tapeflow.name = "A", tapeflow.extents = ["n", "3"]},
// CHECK-SAME:    %w: memref<?xf32> {tapeflow.name = "w", tapeflow.extents = [""], tapeflow.const},
// CHECK-SAME:    %k: memref<?x2xi32> {tapeflow.name = "k", tapeflow.extents = ["", "2"]},
// CHECK-SAME:    %x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = [""]},
// CHECK-SAME:    %b: memref<?xi1> {tapeflow.name = "b", tapeflow.extents = [""]})

// A table of constants becomes a local array of the functions that use it.
static const double TABLE[2] = {0.5, 2};
double local(int n)
{
  double t[n][N], u[2] = {1, n};
  t[0][2] = u[1] * TABLE[1];
  return t[n - 1][0];
}
// CHECK-LABEL: func.func @local
// CHECK:         %TABLE = memref.alloca() : memref<2xf64>
// CHECK-NEXT:    memref.store %cst, %TABLE[%c0] : memref<2xf64>
// CHECK-NEXT:    memref.store %cst_1, %TABLE[%c1] : memref<2xf64>
// CHECK-NEXT:    %t = memref.alloca(%n_1) : memref<?x3xf64>
// CHECK-NEXT:    %u = memref.alloca() : memref<2xf64>
// CHECK-NEXT:    memref.store %cst_2, %u[%c0] : memref<2xf64>
// CHECK-NEXT:    %[[N:.*]] = arith.sitofp %n : i32 to f64
// CHECK-NEXT:    memref.store %[[N]], %u[%c1] : memref<2xf64>
// CHECK:         memref.store %{{.*}}, %t[%c0, %c2] : memref<?x3xf64>

// Few missing elements are cleared one by one, many by a loop, and so is what memset clears.
#include <string.h>
void cleared(double y[4])
{
  double few[3] = {1}, many[20] = {0, 0, 7};
  memset(y, 0, 2 * sizeof(double));
}
// CHECK-LABEL: func.func @cleared
// CHECK:         %few = memref.alloca() : memref<3xf64>
// CHECK-NEXT:    memref.store %cst, %few[%c1] : memref<3xf64>
// CHECK-NEXT:    memref.store %cst, %few[%c2] : memref<3xf64>
// CHECK-NEXT:    memref.store %cst_1, %few[%c0] : memref<3xf64>
// CHECK-NEXT:    %many = memref.alloca() : memref<20xf64>
// CHECK-NEXT:    scf.for %[[K:.*]] = %c0 to %c20 step %c1 {
// CHECK-NEXT:      memref.store %cst, %many[%[[K]]] : memref<20xf64>
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %cst_2, %many[%c2] : memref<20xf64>
// CHECK-NEXT:    scf.for %[[K:.*]] = %c0 to %c2 step %c1 {
// CHECK-NEXT:      memref.store %cst, %y[%[[K]]] : memref<4xf64>
// CHECK-NEXT:    }

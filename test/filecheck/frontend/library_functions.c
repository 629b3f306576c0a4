// RUN: tapeflow-opt %s | filecheck %s
// RUN: tapeflow-opt %s -p ad-prepare | filecheck %s

// A function of <math.h> that is no operation of the IR is a call of its declaration.

#include <math.h>

double f(double x, double y, float z)
{
  return hypot(x, y) + fmod(x, y) + hypotf(z, 2) + hypot(y, x) + rint(x);
}
// CHECK-LABEL: func.func @f
// CHECK-DAG:   func.call @hypot(%x, %y) : (f64, f64) -> f64
// CHECK-DAG:   func.call @fmod(%x, %y) : (f64, f64) -> f64
// CHECK-DAG:   func.call @hypotf({{.*}}) : (f32, f32) -> f32
// CHECK-DAG:   math.roundeven %x : f64
// CHECK:       func.func private @hypot(f64, f64) -> f64
// CHECK-NEXT:  func.func private @fmod(f64, f64) -> f64
// CHECK-NEXT:  func.func private @hypotf(f32, f32) -> f32

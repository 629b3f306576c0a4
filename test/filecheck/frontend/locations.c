// RUN: tapeflow-opt %s --print-debuginfo | filecheck %s

// Every operation has the place it comes from, and what the source calls its value.
double f(double x)
{
  double y = x * x;
  double z = y;
  z += 3;
  return z;
}
// CHECK:      func.func @f(%x: f64 {tapeflow.name = "x"} loc("x"("{{.*}}locations.c":4:17))) -> (f64 {tapeflow.name = "z"}) {
// CHECK-NEXT:   %cst = arith.constant 3.000000e+00 : f64 loc("{{.*}}locations.c":8:3)
// CHECK-NEXT:   %y = arith.mulf %x, %x : f64 loc("y"("{{.*}}locations.c":6:14))
// CHECK-NEXT:   %z = memref.alloca() : memref<f64> loc("z"("{{.*}}locations.c":7:10))
// CHECK-NEXT:   memref.store %y, %z[] : memref<f64> loc("z"("{{.*}}locations.c":7:10))
// CHECK-NEXT:   %0 = memref.load %z[] : memref<f64> loc("{{.*}}locations.c":8:3)
// CHECK-NEXT:   %z_1 = arith.addf %0, %cst : f64 loc("z"("{{.*}}locations.c":8:3))
// CHECK-NEXT:   memref.store %z_1, %z[] : memref<f64> loc("z"("{{.*}}locations.c":8:3))
// CHECK-NEXT:   %1 = memref.load %z[] : memref<f64> loc("{{.*}}locations.c":9:10)
// CHECK-NEXT:   func.return %1 : f64 loc("{{.*}}locations.c":9:3)
// CHECK-NEXT: } loc("{{.*}}locations.c":4:8)

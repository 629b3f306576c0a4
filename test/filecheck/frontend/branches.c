// RUN: tapeflow-opt %s | filecheck %s

// The right side of && is evaluated only where the left side holds, when it could fail or touches memory.
double guarded(int n, const double x[n], int i)
{
  return i < n && x[i] > 0 ? x[i] : -1;
}
// CHECK-LABEL: func.func @guarded
// CHECK:         %[[IN:.*]] = arith.cmpi slt, %i, %n : i32
// CHECK-NEXT:    %[[BOTH:.*]] = scf.if %[[IN]] -> (i1) {
// CHECK-NEXT:      %[[X:.*]] = memref.load %x[%{{.*}}] : memref<?xf64>
// CHECK-NEXT:      %[[POSITIVE:.*]] = arith.cmpf ogt, %[[X]], %cst : f64
// CHECK-NEXT:      scf.yield %[[POSITIVE]] : i1
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %false : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %[[BOTH]] -> (f64) {

// It is evaluated at once when it is cheap and safe.
int cheap(int a, double b)
{
  int r;
  if (a > 0 && !(b < 1))
    r = 1;
  else
    r = a / 2;
  return r;
}
// CHECK-LABEL: func.func @cheap
// CHECK:         %r = memref.alloca() : memref<i32>
// CHECK-NEXT:    %[[LEFT:.*]] = arith.cmpi sgt, %a, %c0_i32 : i32
// CHECK-NEXT:    %[[LESS:.*]] = arith.cmpf olt, %b, %cst : f64
// CHECK-NEXT:    %[[RIGHT:.*]] = arith.xori %[[LESS]], %true : i1
// CHECK-NEXT:    %[[BOTH:.*]] = arith.andi %[[LEFT]], %[[RIGHT]] : i1
// CHECK-NEXT:    scf.if %[[BOTH]] {
// CHECK-NEXT:      memref.store %c1_i32, %r[] : memref<i32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[HALF:.*]] = arith.divsi %a, %c2_i32 : i32
// CHECK-NEXT:      memref.store %[[HALF]], %r[] : memref<i32>
// CHECK-NEXT:    }

// C's conversions are operations; signedness is in the operation.
double converted(int a, float b, unsigned long c)
{
  double d = a + b;
  unsigned e = c;
  return d * (a < 3) + e / 2 + (int)d;
}
// CHECK-LABEL: func.func @converted
// CHECK:         %[[A:.*]] = arith.sitofp %a : i32 to f32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[A]], %b : f32
// CHECK-NEXT:    %d = arith.extf %[[SUM]] : f32 to f64
// CHECK-NEXT:    %e = arith.trunci %c : i64 to i32
// CHECK-NEXT:    %[[LESS:.*]] = arith.cmpi slt, %a, %c3_i32 : i32
// CHECK-NEXT:    arith.uitofp %[[LESS]] : i1 to f64
// CHECK:         %[[HALF:.*]] = arith.divui %e, %c2_i32 : i32
// CHECK-NEXT:    arith.uitofp %[[HALF]] : i32 to f64
// CHECK:         arith.fptosi %d : f64 to i32

// A condition that is known is decided here.
double debug(double a)
{
  if (0)
    a = 0;
  return a;
}
// CHECK-LABEL: func.func @debug
// CHECK-NOT:     scf.if

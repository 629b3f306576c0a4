// RUN: tapeflow-opt %s | filecheck %s
// RUN: tapeflow-opt %s -f "c{function=unrelated}" | filecheck %s --check-prefix ONE

// A callee of the file is imported too; arrays are cast where their extents are known better on one side.
static double total(int n, const double x[n]) { return x[n - 1]; }

double caller(const double y[4])
{
  return total(4, y);
}
// CHECK-LABEL: func.func private @total(%n: i32 {tapeflow.name = "n"}, %x: memref<?xf64>
// CHECK-LABEL: func.func @caller(%y: memref<4xf64>
// CHECK:         %[[Y:.*]] = "memref.cast"(%y) : (memref<4xf64>) -> memref<?xf64>
// CHECK-NEXT:    %[[TOTAL:.*]] = func.call @total(%c4_i32, %[[Y]]) : (i32, memref<?xf64>) -> f64
// CHECK-NEXT:    func.return %[[TOTAL]] : f64

// Of a file with more, only what is asked for and what it calls is imported.
double unrelated(double a) { return a; }
// ONE-NOT: @total
// ONE:     func.func @unrelated

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

// A prototype that a rule is about is declared, with the arrays that it promises not to write to; what it sets through
// pointers, a function around it returns.
double weigh(int, double, const double *w);
void weigh_vjp(int n, double a, const double *w, double r_b, double *w_b, double *a_b);
#pragma tapeflow rule(weigh, vjp=weigh_vjp)
double calls_what_is_linked(int n, double a, const double w[n]) { return weigh(n, a, w); }
// CHECK:       func.func private @weigh(i32, f64, memref<?xf64>) -> f64 attributes {tapeflow.reads_only = array<i64: 2>}
// CHECK-NEXT:  func.func private @weigh_vjp(i32, f64, memref<?xf64>, f64, memref<?xf64>, memref<?xf64>) -> () attributes
// CHECK-LABEL: func.func @calls_what_is_linked
// CHECK-LABEL: func.func private @weigh_vjp_rule
// CHECK:         func.call @weigh_vjp({{.*}}) {tapeflow.writes = array<i64: 4, 5>}
// CHECK:       ad.rule @weigh vjp @weigh_vjp_rule

// Of a file with more, only what is asked for and what it calls is imported.
double unrelated(double a) { return a; }
// ONE-NOT: @total
// ONE:     func.func @unrelated

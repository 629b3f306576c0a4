// RUN: tapeflow-opt %s | filecheck %s

// A pointer that keeps its value is an array and subscripts: a row keeps its number, and accesses name the whole array.
double corner(int n, const double A[n][n], int i)
{
  const double *row = A[i];
  return row[0] + row[n - 1];
}
// CHECK-LABEL: func.func @corner
// CHECK:         %[[I:.*]] = arith.index_cast %i : i32 to index
// CHECK-NEXT:    memref.load %A[%[[I]], %c0] : memref<?x?xf64>
// CHECK-NEXT:    %[[J:.*]] = arith.subi %{{.*}}, %c1 : index
// CHECK-NEXT:    memref.load %A[%[[I]], %[[J]]] : memref<?x?xf64>

// One that moves is an array and a distance, which is a variable like others.
double total(int n, const double *x)
{
  double s = 0;
  for (const double *p = x; p < x + n; p++)
    s += *p;
  return s;
}
// CHECK-LABEL: func.func @total
// CHECK:         %p = memref.alloca() : memref<index>
// CHECK-NEXT:    memref.store %c0, %p[] : memref<index>
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK-NEXT:      %[[AT:.*]] = memref.load %p[] : memref<index>
// CHECK-NEXT:      %[[MORE:.*]] = arith.cmpi slt, %[[AT]], %n_1 : index
// CHECK-NEXT:      scf.condition(%[[MORE]])

// A part of an array is passed as the array, and where in it the part begins.
static double first(const double *x) { return x[0]; }
double pick(int n, const double A[n][n], const double *x, int i)
{
  return first(A[i]) * first(x + i) * first(x);
}
// CHECK-LABEL: func.func private @first(
// CHECK-LABEL: func.func @pick
// CHECK:         func.call @first_at(%A, %[[I:.*]], %c0) : (memref<?x?xf64>, index, index) -> f64
// CHECK-NEXT:    func.call @first_at2(%x, %[[I]]) : (memref<?xf64>, index) -> f64
// CHECK:         func.call @first(%x) : (memref<?xf64>) -> f64

// A variable whose address is taken is an array of one element.
static void split(double a, double *whole, double *rest)
{
  *whole = (int)a;
  *rest = a - *whole;
}
double product(double a)
{
  double whole, rest;
  split(a, &whole, &rest);
  return whole * rest;
}
// CHECK-LABEL: func.func @product
// CHECK:         %whole = memref.alloca() : memref<1xf64>
// CHECK-NEXT:    %rest = memref.alloca() : memref<1xf64>
// CHECK-NEXT:    %[[WHOLE:.*]] = "memref.cast"(%whole) : (memref<1xf64>) -> memref<?xf64>
// CHECK-NEXT:    %[[REST:.*]] = "memref.cast"(%rest) : (memref<1xf64>) -> memref<?xf64>
// CHECK-NEXT:    func.call @split(%a, %[[WHOLE]], %[[REST]])

// CHECK-LABEL: func.func private @first_at(%x: memref<?x?xf64> {{.*}}, %x_row0: index {{.*}}, %x_at: index {{.*}}) -> (f64
// CHECK:         memref.load %x[%x_row0, %x_at] : memref<?x?xf64>

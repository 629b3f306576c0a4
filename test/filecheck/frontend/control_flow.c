// RUN: tapeflow-opt %s | filecheck %s

// A condition is evaluated where C does, before each iteration.
double halve(double a)
{
  while (a > 1)
    a /= 2;
  return a;
}
// CHECK-LABEL: func.func @halve
// CHECK:         memref.store %a, %a_1[] : memref<f64>
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK-NEXT:      %[[A:.*]] = memref.load %a_1[] : memref<f64>
// CHECK-NEXT:      %[[MORE:.*]] = arith.cmpf ogt, %[[A]], %{{.*}} : f64
// CHECK-NEXT:      scf.condition(%[[MORE]])
// CHECK-NEXT:    } do {

// '&&' guards the read: x[i] is read only where i < n.
int leading(int n, const double x[n])
{
  int i = 0;
  while (i < n && x[i] > 0)
    i++;
  return i;
}
// CHECK-LABEL: func.func @leading
// CHECK:         scf.while
// CHECK:           %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %n : i32
// CHECK-NEXT:      %[[MORE:.*]] = scf.if %[[IN]] -> (i1) {
// CHECK:             memref.load %x[%{{.*}}] : memref<?xf64>
// CHECK:           scf.condition(%[[MORE]])

// A counted loop with 'break' carries its counter; only the code after the break is guarded, by the branch that is there.
double until(int n, const double x[n], double most)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] > most)
      break;
    s += x[i];
  }
  return s;
}
// CHECK-LABEL: func.func @until
// CHECK:         %running = memref.alloca() : memref<i1>
// CHECK-NEXT:    memref.store %true, %running[] : memref<i1>
// CHECK-NEXT:    %i_last = scf.while (%i = %c0) : (index) -> index {
// CHECK-NEXT:      %[[IN:.*]] = arith.cmpi slt, %i, %n_1 : index
// CHECK-NEXT:      %[[RUNS:.*]] = memref.load %running[] : memref<i1>
// CHECK-NEXT:      %[[MORE:.*]] = arith.andi %[[RUNS]], %[[IN]] : i1
// CHECK-NEXT:      scf.condition(%[[MORE]]) %i : index
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb{{.*}}(%[[I:.*]]: index):
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        memref.store %false, %running[] : memref<i1>
// CHECK-NEXT:      } else {
// CHECK:             memref.store %s_1, %s[] : memref<f64>
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[I]], %c1 : index
// CHECK-NEXT:      scf.yield %[[NEXT]] : index

// 'continue' needs no flag where what follows it fits into the other arm; the loop stays counted.
double positive(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] < 0)
      continue;
    s += x[i];
  }
  return s;
}
// CHECK-LABEL: func.func @positive
// CHECK-NOT:     memref<i1>
// CHECK:         scf.for %i = %c0 to %n_1 step %c1 {
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:      } else {

// So does an early 'return'.
double relu(double a)
{
  if (a > 0)
    return a;
  return 0;
}
// CHECK-LABEL: func.func @relu
// CHECK:         %return = memref.alloca() : memref<f64>
// CHECK-NOT:     memref<i1>
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      memref.store %a, %return[] : memref<f64>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      memref.store %{{.*}}, %return[] : memref<f64>
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[R:.*]] = memref.load %return[] : memref<f64>
// CHECK-NEXT:    func.return %[[R]] : f64

// A 'switch' becomes branches; what falls through stands in both.
int days(int kind)
{
  int d = 0;
  switch (kind) {
  case 1:
  case 2:
    d += 1;
  case 3:
    d += 10;
    break;
  default:
    d = 100;
  }
  return d;
}
// CHECK-LABEL: func.func @days
// CHECK:         %[[ONE:.*]] = arith.cmpi eq, %kind, %c1_i32 : i32
// CHECK-NEXT:    %[[TWO:.*]] = arith.cmpi eq, %kind, %c2_i32 : i32
// CHECK-NEXT:    %[[EITHER:.*]] = arith.ori %[[ONE]], %[[TWO]] : i1
// CHECK-NEXT:    scf.if %[[EITHER]] {
// CHECK:           arith.addi %{{.*}}, %c1_i32 : i32
// CHECK:           arith.addi %{{.*}}, %c10_i32 : i32
// CHECK:         } else {
// CHECK-NEXT:      %[[THREE:.*]] = arith.cmpi eq, %kind, %c3_i32 : i32
// CHECK-NEXT:      scf.if %[[THREE]] {
// CHECK:           } else {
// CHECK-NEXT:        memref.store %c100_i32, %d[] : memref<i32>

// 'do' runs once before its condition is looked at.
double at_least_once(double a)
{
  do
    a /= 2;
  while (a > 1);
  return a;
}
// CHECK-LABEL: func.func @at_least_once
// CHECK:         memref.store %true, %running[] : memref<i1>
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK-NEXT:      %[[RUNS:.*]] = memref.load %running[] : memref<i1>
// CHECK-NEXT:      scf.condition(%[[RUNS]])
// CHECK-NEXT:    } do {
// CHECK:           %[[MORE:.*]] = arith.cmpf ogt
// CHECK-NEXT:      memref.store %[[MORE]], %running[] : memref<i1>
// CHECK-NEXT:      scf.yield

// Steps inside expressions happen in place: the old value is used, the new one stored.
void copy(int n, double *x, const double *y)
{
  int i = 0;
  while (n > 0)
    x[i++] = y[--n];
}
// CHECK-LABEL: func.func @copy
// CHECK:         } do {
// CHECK-NEXT:      %[[OLD:.*]] = memref.load %i[] : memref<i32>
// CHECK-NEXT:      %[[NEW:.*]] = arith.addi %[[OLD]], %c1_i32 : i32
// CHECK-NEXT:      memref.store %[[NEW]], %i[] : memref<i32>
// CHECK-NEXT:      %[[AT:.*]] = arith.index_cast %[[OLD]] : i32 to index

// RUN: tapeflow-opt %s | filecheck %s

// Start, bound and step of scf.for are the loop's own, in index; '<=' adds one.
double up(int n, const double x[n])
{
  double s = 0;
  for (int i = 2; i <= n; i += 3)
    s += x[i - 1];
  return s;
}
// CHECK-LABEL: func.func @up
// CHECK:         %[[N:.*]] = arith.index_cast %n : i32 to index
// CHECK:         %[[END:.*]] = arith.addi %[[N]], %c1 : index
// CHECK-NEXT:    scf.for %i = %c2 to %[[END]] step %c3 {
// CHECK:           %[[AT:.*]] = arith.subi %i, %c1 : index
// CHECK-NEXT:      memref.load %x[%[[AT]]] : memref<?xf64>

// Counting down becomes counting up how far down: the counter is computed at the top of the body.
void down(int n, double x[n])
{
  for (int i = n - 1; i > 0; i--)
    x[i] = x[i - 1] * i;
}
// CHECK-LABEL: func.func @down
// CHECK:         %[[START:.*]] = arith.subi %n_1, %c1 : index
// CHECK-NEXT:    scf.for %i_down = %c0 to %[[START]] step %c1 {
// CHECK-NEXT:      %i = arith.subi %[[START]], %i_down : index
// CHECK-NEXT:      %[[INT:.*]] = arith.index_cast %i : index to i32
// CHECK-NEXT:      %[[BELOW:.*]] = arith.subi %i, %c1 : index
// CHECK-NEXT:      %[[X:.*]] = memref.load %x[%[[BELOW]]] : memref<?xf64>
// CHECK-NEXT:      %[[DOUBLE:.*]] = arith.sitofp %[[INT]] : i32 to f64
// CHECK-NEXT:      %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[DOUBLE]] : f64
// CHECK-NEXT:      memref.store %[[PRODUCT]], %x[%i] : memref<?xf64>

// The same for the idiom that counts down an unsigned counter.
void down_unsigned(unsigned long n, double x[n])
{
  for (unsigned long i = n; i-- > 0;)
    x[i] = 1;
}
// CHECK-LABEL: func.func @down_unsigned
// CHECK:         %[[START:.*]] = arith.subi %n_1, %c1 : index
// CHECK-NEXT:    %[[TRIPS:.*]] = arith.addi %[[START]], %c1 : index
// CHECK-NEXT:    scf.for %i_down = %c0 to %[[TRIPS]] step %c1 {
// CHECK-NEXT:      %i = arith.subi %[[START]], %i_down : index

// A counter has memory only if it is used outside its loops; it then holds what C leaves in it.
int after(int n)
{
  int i;
  for (i = 0; i < n; i++)
    ;
  return i;
}
// CHECK-LABEL: func.func @after
// CHECK:         %i = memref.alloca() : memref<i32>
// CHECK-NEXT:    scf.for %{{.*}} = %c0 to %n_1 step %c1 {
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LAST:.*]] = arith.maxsi %c0, %n_1 : index
// CHECK-NEXT:    %[[INT:.*]] = arith.index_cast %[[LAST]] : index to i32
// CHECK-NEXT:    memref.store %[[INT]], %i[] : memref<i32>

double triangle(int n, const double A[n][n])
{
  double s = 0;
  int i, j;
  for (i = 0; i < n; i++)
    for (j = i + 1; j < n; j++)
      s += A[i][j];
  return s;
}
// CHECK-LABEL: func.func @triangle
// CHECK-NOT:     memref<i32>
// CHECK:         scf.for %i = %c0 to %n_1 step %c1 {
// CHECK-NEXT:      %[[START:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:      scf.for %j = %[[START]] to %n_1 step %c1 {

// C may skip the loop whatever h is; the step of scf.for must be positive even then.
void by_step(int n, int h, double x[n])
{
  for (int i = 0; i < n; i += h)
    x[i] = 0;
}
// CHECK-LABEL: func.func @by_step
// CHECK:         %[[STEP:.*]] = arith.maxsi %h_1, %c1 : index
// CHECK-NEXT:    scf.for %i = %c0 to %n_1 step %[[STEP]] {

// What is computed from counters stays in index, and comparisons of them are made there.
double flat(int n, int m, const double *x)
{
  double s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      int k = i * m + j;
      if (j < i)
        s += x[k];
    }
  return s;
}
// CHECK-LABEL: func.func @flat
// CHECK:         scf.for %j
// CHECK-NEXT:      %[[ROW:.*]] = arith.muli %i, %m_1 : index
// CHECK-NEXT:      %k = arith.addi %[[ROW]], %j : index
// CHECK-NEXT:      %[[BELOW:.*]] = arith.cmpi slt, %j, %i : index
// CHECK-NEXT:      scf.if %[[BELOW]] {
// CHECK:             memref.load %x[%k] : memref<?xf64>

// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What is not nested or not certain is refused where it stands, with what to write instead.
double halved(double a)
{
again:
  a /= 2;
  if (a > 1)
    goto again;
  return a;
}
// CHECK:      c_refusals.c:6:1: error: labels are not supported: control must be nested
// CHECK-NEXT:   help: write the loop with 'while', leave it with 'break' or 'return', and skip code with 'if'

// -----
double spin(double a)
{
  for (;;)
    a += 1;
}
// CHECK:      c_refusals.c:4:3: error: this loop does not end
// CHECK-NEXT:   help: give it a condition, or leave it with 'break' or 'return'

// -----
double either(int c, const double *x, const double *y)
{
  const double *p = x;
  if (c)
    p = y;
  return *p;
}
// CHECK:      c_refusals.c:6:5: error: 'p' may point into more than one array, which is not supported: which array an access touches must be certain
// CHECK-NEXT:   help: use one variable for each array, or an index into a single array

// -----
double duff(int n, double a)
{
  switch (n % 2) {
  case 0:
    while (n > 0) {
      a *= 2;
  case 1:
      a *= 3;
      n -= 2;
    }
  }
  return a;
}
// CHECK:      c_refusals.c:8:3: error: this label stands inside another statement of its 'switch', which is not supported: control must be nested
// CHECK-NEXT:   help: put the labels into the braces of the 'switch' itself

// -----
double bump(double *x) { return (x[0] += 1) * x[1]; }
// CHECK:      c_refusals.c:2:34: error: this assignment may change 'x', which the same expression uses: C leaves open which comes first
// CHECK-NEXT:   help: make the assignment a statement of its own

// -----
double external(double x);
double f(double x) { return external(x); }
// CHECK:      c_refusals.c:3:29: error: 'external' is declared but not defined in this file: it cannot be differentiated
// CHECK-NEXT:   help: define it in this file

// -----
double f(double x)
{
  y = 1;
  return z;
}
// CHECK:      c_refusals.c:4:3: error: use of undeclared identifier 'y'
// CHECK-NEXT: c_refusals.c:5:10: error: use of undeclared identifier 'z'

// -----
double f(const double A[n][m], int n, int m) { return A[0][0]; }
// CHECK:      c_refusals.c:2:25: error: use of undeclared identifier 'n'
// CHECK:        help: declare the parameter 'n' before the arrays whose extent it is

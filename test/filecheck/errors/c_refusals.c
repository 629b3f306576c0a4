// RUN: tapeflow-opt %s --split-input-file --verify-diagnostics | filecheck %s

// What is not counted, structured or certain is refused where it stands, with what to write instead.
double halved(double a)
{
  while (a > 1)
    a /= 2;
  return a;
}
// CHECK:      c_refusals.c:6:3: error: 'while' is not supported: the number of iterations is not known on entry
// CHECK-NEXT:   help: write it as a counted loop: 'for (int i = start; i < bound; i++)'

// -----
double relu(double a)
{
  if (a > 0)
    return a;
  return 0;
}
// CHECK:      c_refusals.c:5:5: error: 'return' before the end of the function is not supported
// CHECK-NEXT:   help: set a variable in the branches, and return it in the function's last statement

// -----
double row(int n, const double A[n][n])
{
  const double *first = A[0];
  return first[1];
}
// CHECK:      c_refusals.c:4:17: error: 'first' is a pointer of type 'const double *', which is not supported: a pointer could escape
// CHECK-NEXT:   help: use the array itself by its name, with all its subscripts

// -----
double bisect(int n)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    s += i;
    n /= 2;
  }
  return s;
}
// CHECK:      c_refusals.c:7:5: error: 'n' is part of the loop's bound and is changed in the loop
// CHECK-NEXT:   help: copy the bound to a variable before the loop, if the loop should not follow the change

// -----
static double bump(double *x) { return x[0] += 1; }
// CHECK:      c_refusals.c:2:40: error: an assignment inside another expression is not supported
// CHECK-NEXT:   help: make it a statement of its own, before or after this one

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

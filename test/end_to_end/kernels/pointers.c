/* Rows as moving pointers, a helper with two outputs and an early return, an output parameter. */
#include <math.h>

static double dot(int n, const double *a, const double *b)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    if (a[i] < 0.5)
      continue;
    s += a[i] * *b++;
  }
  return s;
}

static void norms(int n, const double *x, double *one, double *two)
{
  *one = 0;
  *two = 0;
  for (int i = 0; i < n; i++) {
    *one += fabs(x[i]);
    *two += x[i] * x[i];
  }
  if (*two == 0)
    return;
  *two = sqrt(*two);
}

double pointers(int n, const double *A, const double *x, double *out)
{
  double s = 0, one, two;
  for (int i = 0; i < n; i++) {
    const double *row = A + i * n;
    s += sin(dot(n, row, x)) + row[i];
  }
  norms(n, x, &one, &two);
  *out = one * two;
  return s + *out;
}

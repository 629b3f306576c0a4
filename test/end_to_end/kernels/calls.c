// Functions of the file are called: on a scalar, and on an array.
#include <math.h>

static double softplus(double x)
{
  return log1p(exp(x));
}

static void scale(int n, double factor, double x[n])
{
  for (int i = 0; i < n; i++)
    x[i] *= factor * x[i];
}

double calls(int n, double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    s += softplus(x[i]);
  scale(n, s, x);
  for (int i = 0; i < n; i++)
    s += softplus(x[i]) * x[i];
  return s;
}

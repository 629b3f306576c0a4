// sum_i sin(x_i) x_i: independent iterations, which need no tape.

#include <math.h>

double sum_sin(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    s += sin(x[i]) * x[i];
  return s;
}

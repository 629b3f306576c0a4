// Two inner loops in one loop, and a record of the outer loop itself.
#include <math.h>

double two_regions(int n, int m, int k, double *x, const double y[k])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double p = x[i];
    for (int j = 0; j < m; j++)
      p = p * cos(p + y[0]);
    double q = p * x[i];
    for (int l = 0; l < k; l++)
      q = sin(q) * y[l] + p;
    x[i] = p * q;
    s += p * q * x[i];
  }
  return s;
}

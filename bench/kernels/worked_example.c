// The worked example of the design: a product under a branch, and a vector that is overwritten.
#include <math.h>

double f(int n, int m, const double A[n][m], double *w)
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double t = 1;
    for (int j = 0; j < m; j++) {
      if (A[i][j] > 0)
        t = t * (A[i][j] + w[j]);
      w[j] = w[j] * 0.5;
    }
    s += sin(t);
  }
  return s;
}

// All extents and bounds are constants.
#include <math.h>

double constant_bounds(double A[4][5], const double x[5])
{
  double s = 0;
  for (int i = 0; i < 4; i++) {
    double t = 1;
    for (int j = 0; j < 5; j++) {
      t = t * (A[i][j] + x[j]);
      A[i][j] = t;
    }
    s += sin(t);
  }
  return s;
}

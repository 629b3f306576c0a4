// A return value, two output arrays and a scalar that is differentiated.
#include <math.h>

double outputs(int n, double a, const double x[n], double y[n], double z[n])
{
  double largest = 0;
  for (int i = 0; i < n; i++) {
    y[i] = exp(a * x[i]);
    z[i] = y[i] * y[i] - a;
    largest = fmax(largest, z[i]);
  }
  return largest * a;
}

// log(sum_i exp(x_i)), as the formula says.
#include <math.h>

double logsum(int n, const double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    s += exp(x[i]);
  return log(s);
}

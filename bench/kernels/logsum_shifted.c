// log(sum_i exp(x_i)) with the largest x_i taken out, so that nothing overflows; n >= 1.
#include <math.h>

double logsum_shifted(int n, const double x[n])
{
  double largest = x[0];
  for (int i = 1; i < n; i++) {
    if (x[i] > largest)
      largest = x[i];
  }
  double s = 0;
  for (int i = 0; i < n; i++)
    s += exp(x[i] - largest);
  return largest + log(s);
}

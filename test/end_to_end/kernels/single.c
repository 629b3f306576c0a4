// Single precision.
#include <math.h>

float single(int n, const float x[n], float w)
{
  float s = 0;
  for (int i = 0; i < n; i++)
    s = s * w + sinf(x[i]) * x[i];
  return s;
}

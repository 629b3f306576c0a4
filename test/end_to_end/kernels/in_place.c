// A void function: the array is state, its cotangent comes from outside.
#include <math.h>

void in_place(int n, int steps, double x[n])
{
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n; i++)
      x[i] = sin(x[i]) * x[i - 1] + x[i];
  }
}

// Branches in branches, on integers and on the data; both arms remember something.
#include <math.h>

double branches(int n, const double x[n], double w)
{
  double s = 0.5;
  for (int i = 0; i < n; i++) {
    if (x[i] > 0) {
      s = s * sin(x[i] + s);
      if (i % 3 == 0)
        s = s * s + w;
    } else {
      double t = s > 0 ? s * w : -s;
      s = t * cos(t);
    }
  }
  return s * s;
}

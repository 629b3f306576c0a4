/* A switch over an enum that falls through to its default. */
enum unit { METRE, FOOT, MILE };

static double metres(double v, enum unit u)
{
  switch (u) {
  case FOOT:
    return v * 0.3048;
  case MILE:
    v *= 1.609;
    v *= v;
  default:
    return v;
  }
}

double units(int n, const double x[n], const int kind[n])
{
  double s = 0;
  for (int i = 0; i < n; i++)
    s += metres(x[i] * x[i], kind[i]);
  return s;
}

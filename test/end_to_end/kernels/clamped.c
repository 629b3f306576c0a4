/* Early returns, a guarded read, and steps inside subscripts. */
static double clamp(double a, double lo, double hi)
{
  if (a < lo)
    return lo * lo;
  if (a > hi)
    return hi;
  return a * a;
}

double clamped(int n, const double x[n], double lo, double hi)
{
  double s = 0, t[2];
  for (int i = 0; i < n; i++) {
    int k = 0;
    t[k++] = clamp(x[i], lo, hi);
    t[k] = i > 0 && x[i - 1] > x[i] ? x[i - 1] : t[k - 1] * 3;
    s += t[0] * t[1];
  }
  return s;
}

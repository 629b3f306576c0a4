// The inner bound is the outer variable.

double triangular(int n, double x[n])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++)
      x[i] = x[i] * x[j] + 0.25 * x[j];
    s += x[i] * x[i];
  }
  return s;
}

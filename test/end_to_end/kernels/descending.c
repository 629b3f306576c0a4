// Loops that go down, by more than one, and from a start that is not 0.

double descending(int n, int first, double x[n])
{
  double s = 1;
  for (int i = n - 1; i >= first; i -= 2) {
    s = s * (1 + 0.1 * x[i]) + i;
    x[i] = s;
  }
  for (int i = n; i > 0; i--)
    s += x[i - 1] * x[i - 1];
  return s;
}

// The outer variable is nothing but the inner bound, and the value that the outer loop starts from is carried through
// iterations that never read it.

double carried_triangle(int n, double s)
{
  double t = s, last = s * s;
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < i; j++)
      t *= 1 + 0.1 * s * t;
    last = s * t;
  }
  return t + 2 * last;
}

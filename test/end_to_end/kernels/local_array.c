// A local array in a loop, of constant and of run-time size.

double local_array(int n, int m, const double x[m])
{
  double s = 0;
  for (int i = 0; i < n; i++) {
    double row[m], last[3];
    for (int j = 0; j < m; j++)
      row[j] = x[j] * (i + 1);
    for (int j = 0; j < 3; j++)
      last[j] = 0;
    for (int j = 1; j < m; j++) {
      row[j] = row[j] * row[j - 1];
      last[j % 3] += row[j] * row[j];
    }
    s += last[0] * last[1] + last[2] + row[0];
  }
  return s;
}

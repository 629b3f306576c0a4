// sum_i (sum_j A_ij x_j)^2

double matdescent(int n, int m, const double A[n][m], const double x[m])
{
  double loss = 0;
  for (int i = 0; i < n; i++) {
    double y = 0;
    for (int j = 0; j < m; j++)
      y += A[i][j] * x[j];
    loss += y * y;
  }
  return loss;
}

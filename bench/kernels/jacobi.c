// Explicit time steps of u' = lap u + u^2 on a square grid of spacing 1 whose border stays as it is; the loss is
// sum_ij u_ij^2 after the last step.

double jacobi(int n, int steps, double dt, double u[n][n])
{
  double v[n][n];
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) {
      for (int j = 1; j < n - 1; j++) {
        double lap = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j];
        v[i][j] = u[i][j] + dt * (lap + u[i][j] * u[i][j]);
      }
    }
    for (int i = 1; i < n - 1; i++) {
      for (int j = 1; j < n - 1; j++)
        u[i][j] = v[i][j];
    }
  }
  double loss = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      loss += u[i][j] * u[i][j];
  }
  return loss;
}

// The cheapest ways down a grid: d[i][j] = w[i][j] + min of d[i-1][j-1], d[i-1][j], d[i-1][j+1]; the loss is the sum of
// the last row. n, m >= 1.

double pathfinder(int n, int m, const double w[n][m])
{
  double above[m], row[m];
  for (int j = 0; j < m; j++)
    above[j] = w[0][j];
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < m; j++) {
      double best = above[j];
      if (j > 0 && above[j - 1] < best)
        best = above[j - 1];
      if (j < m - 1 && above[j + 1] < best)
        best = above[j + 1];
      row[j] = w[i][j] + best;
    }
    for (int j = 0; j < m; j++)
      above[j] = row[j];
  }
  double loss = 0;
  for (int j = 0; j < m; j++)
    loss += above[j];
  return loss;
}

// A_if = sum_jk X_ijk B_jf C_kf, the matricised tensor times a Khatri-Rao product; the loss is sum_if A_if^2.

double mttkrp(int I, int J, int K, int F, const double X[I][J][K], const double B[J][F], const double C[K][F])
{
  double loss = 0;
  for (int i = 0; i < I; i++) {
    double row[F];
    for (int f = 0; f < F; f++)
      row[f] = 0;
    for (int j = 0; j < J; j++) {
      for (int k = 0; k < K; k++) {
        for (int f = 0; f < F; f++)
          row[f] += X[i][j][k] * B[j][f] * C[k][f];
      }
    }
    for (int f = 0; f < F; f++)
      loss += row[f] * row[f];
  }
  return loss;
}

// The potential energy of n bodies of masses m at r, with G = 1 and softened by eps: sum over pairs of
// -m_i m_j / sqrt(|r_i - r_j|^2 + eps).
#include <math.h>

double gravity(int n, const double m[n], const double r[n][3], double eps)
{
  double energy = 0;
  for (int i = 0; i < n; i++) {
    for (int j = i + 1; j < n; j++) {
      double dx = r[i][0] - r[j][0];
      double dy = r[i][1] - r[j][1];
      double dz = r[i][2] - r[j][2];
      energy -= m[i] * m[j] / sqrt(dx * dx + dy * dy + dz * dz + eps);
    }
  }
  return energy;
}

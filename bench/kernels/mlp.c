// Three layers x -> tanh(x W) of a network on a batch of inputs; the loss is the sum of the last layer's squares.

#include <math.h>

static void layer(int batch, int width, const double x[batch][width], const double w[width][width],
                  double y[batch][width])
{
  for (int b = 0; b < batch; b++) {
    double z[width];
    for (int j = 0; j < width; j++)
      z[j] = 0;
    for (int k = 0; k < width; k++) {
      for (int j = 0; j < width; j++)
        z[j] += x[b][k] * w[k][j];
    }
    for (int j = 0; j < width; j++)
      y[b][j] = tanh(z[j]);
  }
}

double mlp(int batch, int width, const double x[batch][width], const double w1[width][width],
           const double w2[width][width], const double w3[width][width])
{
  double h1[batch][width], h2[batch][width], h3[batch][width];
  layer(batch, width, x, w1, h1);
  layer(batch, width, h1, w2, h2);
  layer(batch, width, h2, w3, h3);
  double loss = 0;
  for (int b = 0; b < batch; b++) {
    for (int j = 0; j < width; j++)
      loss += h3[b][j] * h3[b][j];
  }
  return loss;
}

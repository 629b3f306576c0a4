#include <math.h>

double newton(double a, double tol)
{
    double x = a;
    int k = 0;
    while (fabs(x * x - a) > tol && k < 50) {
        x = 0.5 * (x + a / x);
        k++;
    }
    return x;
}

double collatz(int n, double x, const double w[5])
{
    double s = x;
    while (n != 1) {
        if (n % 2 == 0) {
            n = n / 2;
            s = s * w[n % 5];
        } else {
            n = 3 * n + 1;
            s = s + sin(s) * w[n % 5];
        }
    }
    return s;
}

double adaptive(double x, double end, double tol)
{
    double t = 0, h = 0.1;
    while (t < end) {
        if (t + h > end) h = end - t;
        double k1 = -x * x, y = x + h * k1, k2 = -y * y;
        if (fabs(0.5 * h * (k2 - k1)) < tol) {
            x = x + 0.5 * h * (k1 + k2);
            t = t + h;
            h = h * 1.5;
        } else {
            h = h * 0.5;
        }
    }
    return x;
}

double nest(int n, double *x, double tol)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double y = x[i];
        while (y > tol) {
            double b[2];
            b[0] = y;
            b[1] = b[0] + y * y;
            int j = 0;
            while (b[1] > 1.0 && j < 3) {
                b[1] = b[1] * 0.5 * cos(b[1]);
                j++;
            }
            y = y * 0.7 + 0.01 * b[1];
            x[i] = x[i] * y;
        }
        s += y * x[i];
    }
    return s;
}

double repeated(double x)
{
    do {
        x = x * 1.5;
    } while (x < 100);
    return x;
}

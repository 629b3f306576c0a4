#include <math.h>
static double power(double x, int n) { return n == 0 ? 1.0 : x * power(x, n - 1); }

static double tree(int lo, int hi, const double *x, double *level, int depth)
{
    if (hi - lo == 1) return sin(x[lo]) * level[depth];
    const int mid = (lo + hi) / 2;
    const double l = tree(lo, mid, x, level, depth + 1);
    const double r = tree(mid, hi, x, level, depth + 1);
    level[depth] = level[depth] * l + r;
    return l * r;
}

static double halves(const double *x, int n)
{
    if (n == 1) return x[0] * x[0];
    return halves(x, n / 2) * cos(halves(x + n / 2, n - n / 2));
}

static double quad(double a, double b, const double *p, int n, double tol)
{
    const double m = 0.5 * (a + b);
    double t = 0;
    int k = 0;
    while (k < n) { t = tanh(t * m + p[k]); k++; }
    const double whole = t * (b - a);
    if (fabs(whole) < tol) return whole;
    return quad(a, m, p, n, tol) + quad(m, b, p, n, tol);
}

static double odd(double x, int n);
static double even(double x, int n) { return n == 0 ? x : odd(cos(x), n - 1) * x; }
static double odd(double x, int n) { return exp(even(sin(x), n - 1)) * x; }

double f(int n, int m, double x[n], double level[m], double a)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] > 1.0) s += power(x[i], i);
        x[i] = even(x[i] * a, 4);
    }
    s += tree(0, n, x, level, 0);
    s *= halves(x, n);
    return s + quad(a, a + 0.1, level, m, 1e-2);
}

#include "f_grad.h"

void f_grad(tf_tape *tf, int n, int m, const double *restrict A, const double *restrict x,
            double *restrict t, double *restrict y, double *restrict x_b, double *restrict y_b)
{
    if (!tf_reserve(tf, TF_BYTES(double, n)))
        return;
    TF_ARRAY(A, (ptrdiff_t)n * m);
    TF_ARRAY(x, m);
    TF_ARRAY(t, n);
    TF_ARRAY(y, m);
    TF_ARRAY(x_b, m);
    TF_ARRAY(y_b, m);
    TF_LOCAL(t_b, double, n);

    /* forward sweep */
    for (ptrdiff_t i = 0; i < n; i++) {
        TF_STEP();
        double t_2 = 0.0;
        for (ptrdiff_t j = 0; j < m; j++) {
            TF_STEP_SUM();
            const double A_ij = TF_LOAD(A, i * m + j);
            const double x_j = TF_LOAD(x, j);
            t_2 += A_ij * x_j;
        }
        TF_STEP();
        TF_STORE(t, i, t_2);
    }
    for (ptrdiff_t j = 0; j < m; j++) {
        TF_STEP();
        TF_STORE(y, j, 0.0);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        TF_STEP();
        for (ptrdiff_t j = 0; j < m; j++) {
            TF_STEP();
            const double y_j = TF_LOAD(y, j);
            const double A_ij = TF_LOAD(A, i * m + j);
            const double t_i = TF_LOAD(t, i);
            TF_STORE(y, j, y_j + A_ij * t_i);
        }
    }

    /* reverse sweep */
    for (ptrdiff_t k = 0; k < n; k++) {
        TF_STEP();
        TF_STORE(t_b, k, 0.0);
    }
    TF_STEP();
    const bool condition = 0 < m;
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        TF_STEP();
        double t_b_2 = 0.0;
        for (ptrdiff_t j = m - 1; j >= 0; j--) {
            TF_STEP_SUM();
            const double A_ij = TF_LOAD(A, i * m + j);
            const double y_b_j = TF_LOAD(y_b, j);
            t_b_2 += y_b_j * A_ij;
        }
        TF_STEP();
        if (condition) {
            TF_ARM();
            TF_ADD(t_b, i, t_b_2);
        }
    }
    for (ptrdiff_t j = m - 1; j >= 0; j--) {
        TF_STEP();
        TF_STORE(y_b, j, 0.0);
    }
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        TF_STEP();
        const double t_b_i = TF_LOAD(t_b, i);
        for (ptrdiff_t j = m - 1; j >= 0; j--) {
            TF_STEP();
            const double A_ij = TF_LOAD(A, i * m + j);
            TF_ADD(x_b, j, t_b_i * A_ij);
        }
    }
}

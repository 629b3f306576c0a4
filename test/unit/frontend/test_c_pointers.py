"""Pointers: into arrays, into rows, moving, to variables, and as arguments: the C compiler and the import do the "
"same."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from oracle import case, check, compile_all, needs_compiler
from test_semantics import with_headers


def reals(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


INC = "static void h(double *x) { x[0] += 1; }\n"
SUM = (
    "static double h(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s = 3 * s + x[i]; "
    "return s; }\n"
)

VALUES = [
    case("arithmetic", "double f(const double *x) { return *(x + 1) + *x + 2[x] + *(3 + x) + (x + 2)[-1]; }",
         (reals(4),)),
    case("local", "double f(int i, const double *x) { const double *p = x + i; return p[0] + p[1] + *p; }", (2,
         reals(4))),
    case("local_of_local", "double f(const double *x) { const double *p = x + 3; const double *q = p - 2; return *q "
         "+ p[-1]; }",
         (reals(4),)),
    case("keeps_place", "double f(int i, const double *x) { const double *p = x + i; i = 0; return p[i]; }", (2,
         reals(4))),
    case("written_through", "double f(double *x) { double *p = x + 1; *p = 5; p[1] = *p + x[1]; return x[2]; }",
         (reals(4),)),
    case("row", "double f(int i, const double A[3][4]) { const double *r = A[i]; return r[0] + r[3]; }", (2, reals(3,
         4))),
    case("row_of_pointer", "double f(int i, int n, const double (*A)[n]) { const double *r = A[i] + 1; return r[0]; }",
         (2, 4, reals(3, 4))),
    case("rows", "double f(int i, const double A[3][4]) { const double (*r)[4] = A + i; return r[1][2] + (*r)[1] + "
         "r[0][0]; }",
         (1, reals(3, 4))),
    case("planes", "double f(int i, const double A[3][4][5]) { const double (*p)[5] = A[i]; const double *q = p[2]; "
         "return q[3] + p[1][1]; }",
         (1, reals(3, 4, 5))),
    case("address", "double f(const double A[3][4], double *x) { const double *p = &A[1][2]; double *q = &x[2]; *q = "
         "4; return p[1] + *&x[1]; }",
         (reals(3, 4), reals(4))),
    case("whole", "double f(const double A[3][4]) { const double *p = &A[0][0]; double s = 0; for (int i = 0; i < "
         "12; i++) s = 2 * s + p[i]; return s; }",
         (reals(3, 4),)),
    case("whole_of_rows", "double f(int n, int m, double A[n][m]) { double *p = A[0], s = 0; for (int i = 0; i < n * "
         "m; i++) { s = 2 * s + p[i]; p[i] = i; } return s; }",
         (3, 4, reals(3, 4))),
    case("whole_cast", "double f(int n, const double A[n][4]) { const double *p = (const double *)A; return p[9] + "
         "*((double *)A + 5); }", (3, reals(3, 4))),
    case("whole_of_five", "double f(const double A[2][3][2][2][3]) { const double *p = &A[0][0][0][0][0]; return "
         "p[71] + p[40]; }", (reals(2, 3, 2, 2, 3),)),
    case("casts_const_away", "void f(const double *x) { double *p = (double *)x; p[0] = 2; }", (reals(2),)),
    case("local_array", "double f(double a) { double t[4] = {1, a, 3}; double *p = t + 1; p[1] = 7; return t[2] + "
         "*p; }", (2.5,)),
]  # fmt: skip

MOVING = [
    case("dot", "double f(int n, const double *x, const double *y) { double s = 0; while (n--) s += *x++ * *y++; "
         "return s; }",
         (4, reals(4), reals(4, seed=1)), (0, reals(1), reals(1))),
    case("for_pointer", "double f(int n, const double *x) { double s = 0; for (const double *p = x; p < x + n; p++) "
         "s = 2 * s + *p; return s; }",
         (4, reals(4)), (0, reals(1))),
    case("end_pointer", "double f(int n, const double *x) { double s = 0; const double *end = x + n, *p = x; while "
         "(p != end) s = 2 * s + *p++; return s; }",
         (4, reals(4)), (0, reals(1))),
    case("down", "double f(int n, const double *x) { double s = 0; for (const double *p = x + n; p-- > x;) s = 2 * s "
         "+ *p; return s; }",
         (4, reals(4))),
    case("stride", "double f(int n, int m, const double *a) { double s = 0; for (int i = 0; i < n; i++) { s = 2 * s "
         "+ a[0]; a += m; } return s; }",
         (3, 4, reals(12))),
    case("rows", "double f(int n, const double A[n][4]) { double s = 0; const double (*r)[4] = A; for (int i = 0; i "
         "< n; i++, r++) s = 2 * s + (*r)[2] + r[0][1]; return s; }",
         (3, reals(3, 4))),
    case("through_all_rows", "double f(int n, double A[n][4]) { double s = 0, *p = A[0]; for (int i = 0; i < n; i++) "
         "{ for (int j = 0; j < 4; j++) s = 2 * s + p[j]; p += 4; } return s; }",
         (3, reals(3, 4))),
    case("row_of_each", "double f(int n, double A[n][4]) { double s = 0, *p; for (int i = 1; i < n; i++) { p = A[i]; "
         "while (*p < 0.5 && p < A[i] + 3) *p++ = i; s = 2 * s + *p; } return s; }",
         (3, reals(3, 4))),
    case("swap_ends", "void f(int n, double *x) { double *a = x, *b = x + n - 1; while (a < b) { double t = *a; *a++ "
         "= *b; *b-- = t; } }",
         (5, reals(5))),
    case("set_later", "double f(int c, double *x) { double *p; if (c) p = x + 1; else p = x + 2; *p = 9; p = p + 1; "
         "return *p; }", (0, reals(4)), (1, reals(4))),
    case("difference", "int f(int n, const double *x) { const double *p = x; while (p - x < n && *p > -1) p++; "
         "return (int)(p - x); }",
         (4, reals(4))),
    case("prefix", "double f(double *x) { double *p = x; *++p = 3; double a = *--p; p += 2; p -= 1; return a + *p; "
         "}", (reals(4),)),
    case("compares", "int f(int i, int j, const double *x) { const double *p = x + i, *q = x + j; return (p < q) + 2 "
         "* (p == q) + 4 * (p >= q) + 8 * (p != q); }",
         (1, 2, reals(4)), (2, 2, reals(4)), (3, 1, reals(4))),
    case("bound_by_pointer", "int f(int *x) { int *p = x, i; for (i = 0; i < x[0]; i++) *p -= 1; return i; }",
         (ints(9),)),
    case("bound_through_pointer", "int f(int *x) { const int *p = x; int i; for (i = 0; i < *p; i++) x[0] -= 1; "
         "return i; }", (ints(9),)),
]  # fmt: skip

VARIABLES = [
    case("address_of_variable", "double f(double a) { double *p = &a; *p += 1; return a + *p; }", (1.5,)),
    case("out_arguments", "static void h(double x, double *s, double *c) { *s = x * 2; *c = x + 1; }\n"
         "double f(double a) { double s, c; h(a, &s, &c); return s * c; }", (1.5,)),
    case("in_out_argument", INC + "double f(double a) { double b = a; h(&b); h(&b); h(&a); return a + 10 * b; }",
         (1.5,)),
    case("int_out", "static int h(int n, int *r) { *r = n % 3; return n / 3; }\nint f(int n) { int r; int q = h(n, "
         "&r); return 10 * q + r; }",
         (7,), (2,)),
    case("counter_seen", "int f(int n) { int s = 0, i; int *p = &i; for (i = 0; i < n; i++) { s = 2 * s + *p; if (s "
         "> 5) *p += 1; } return 100 * s + i; }", (9,)),
    case("addressed_parameter", "static double h(const double *x) { return *x * 2; }\ndouble f(double a) { return "
         "h(&a) + a; }", (1.5,)),
    case("addressed_result", "static int h(int *k) { *k *= 2; if (*k > 9) return 1; return 0; }\nint f(int n) { "
         "while (!h(&n)) ; return n; }", (1,), (20,)),
]  # fmt: skip

CALLS = [
    case("bound_in_the_same_array", "static double h(double *a, const double *b) { double s = 0; for (int i = 0; i < "
         "(int)b[0]; i++) { a[0] += 0.5; s += i; } return s; }\n"
         "double f(double *x) { x[0] = 3; double s = h(x, x); return s + x[0]; }", (reals(2),)),
    case("bound_in_the_same_array_of_callers", "static double h(double *a, const double *b) { double s = 0; for (int i "
         "= 0; i < (int)*b; i++) { a[1] += 0.5; s += i; } return s; }\n"
         "static double g(double *a, double *b) { double *p = a; double s = h(p, b); return s * a[0]; }\n"
         "double f(double *x) { x[1] = 3; double s = g(x, x + 1); return s + x[1]; }", (reals(2),)),
    case("bound_in_the_same_struct", "typedef struct { double v; int n; } N;\n"
         "static double h(N *a, const N *b) { double s = 0; for (int i = 0; i < b->n; i++) { s += a->v; if (i == 1) "
         "a->n = 3; } return s; }\n"
         "double f(double v) { N p = {v, 6}; double s = h(&p, &p); return s + p.v; }", (0.5,)),
    case("bound_of_ints", "static void g(int *a, const int *b) { for (int i = 0; i < b[0]; i++) a[0] -= 1; }\n"
         "double f(int *k) { g(k, k); return k[0]; }", (ints(7, 1),)),
    case("offset", SUM + "double f(int i, const double *x) { return h(2, x + i) + h(1, &x[3]) + h(4, x); }", (1,
         reals(4))),
    case("row_argument", SUM + "double f(int n, const double A[n][4]) { double s = 0; for (int i = 0; i < n; i++) s "
         "+= h(4, A[i]); return s; }",
         (3, reals(3, 4))),
    case("row_and_offset", SUM + "double f(const double A[3][4]) { return h(2, A[1] + 1) + h(2, &A[2][2]) + h(12, "
         "&A[0][0]) + h(12, A[0]); }", (reals(3, 4),)),
    case("flat_matrix", SUM + "double f(int n, int m, const double *a) { double s = 0; for (int i = 0; i < n; i++) s "
         "+= h(m, a + i * m); return s; }",
         (3, 4, reals(12))),
    case("written", INC + "void f(double *x, double A[2][2]) { h(x + 1); h(&x[2]); h(A[1]); h(&A[1][1]); }",
         (reals(4), reals(2, 2))),
    case("passed_on", SUM + "static double g(int n, const double *x) { return n > 1 ? h(n - 1, x + 1) : *x; }\n"
         "double f(const double *x) { return g(3, x + 1) + g(4, x) + g(1, x + 3); }", (reals(5),)),
    case("moved_in_callee", "static double h(const double *p, const double *end) { double s = 0; while (p < end) s = "
         "2 * s + *p++; return s; }\n"
         "double f(int n, const double *x) { return h(x, x + n) + h(x + 1, x + n - 1); }", (4, reals(4))),
    case("two_parts", "static void h(int n, double *y, const double *x) { for (int i = 0; i < n; i++) y[i] += 2 * "
         "x[i]; }\n"
         "void f(double *x) { h(2, x, x + 2); h(1, x + 3, x); }", (reals(4),)),
    case("matrix_part", "static double h(int n, const double A[n][n]) { return A[0][0] + A[1][1]; }\n"
         "double f(const double A[3][2][2]) { return h(2, A[1]) + h(2, A[2]); }", (reals(3, 2, 2),)),
    case("memcpy_part", "void f(int n, double *x, const double *y) { memcpy(x + 1, y, n * sizeof(double)); "
         "memset(&x[n], 0, 2 * sizeof *x); }",
         (2, reals(5), reals(3, seed=1))),
    case("memcpy_row", "void f(double A[3][4], const double *y) { memcpy(A[1], y, sizeof A[1]); memset(A[2], 0, 4 * "
         "sizeof(double)); }",
         (reals(3, 4), reals(4, seed=1))),
    case("table", "static const double TABLE[4] = {3, 4, 5, 6};\n" + SUM + "double f(int i) { const double *p = "
         "TABLE + 1; return h(2, TABLE + i) + p[1]; }", (1,)),
]  # fmt: skip

CASES = [*VALUES, *MOVING, *VARIABLES, *CALLS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_all(CASES, tmp_path_factory.mktemp("pointers"))


@needs_compiler
@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(each) for each in CASES])
def test_import_does_what_c_does(number: int, library: ctypes.CDLL) -> None:
    each = with_headers(CASES[number])
    check(type(each)(each.name, "#include <string.h>\n" + each.text, each.calls), number, library)

"""C's meaning: each function is compiled by the C compiler and imported, and both must do the same, bit for bit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from oracle import Case, case, check, compile_all, needs_compiler

NAN, INF = float("nan"), float("inf")
NEAR = (-3, -2, -1, 0, 1, 2, 3, 7)


def reals(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def pairs(*values: float) -> tuple[tuple[float, float], ...]:
    return tuple((a, b) for a in values for b in values)


def of(type_name: str, result: str, body: str) -> str:
    return f"{result} f({type_name} a, {type_name} b) {{ {body} }}"


FLOATS = pairs(0.0, -0.0, 1.5, -2.25, 1e300, INF, -INF, NAN)
SMALL = pairs(0.5, -1.25, 2.0, 3.75)
INTS = pairs(-7, -2, -1, 1, 2, 7, 100)

ARITHMETIC = [
    *(case(f"double_{name}", of("double", "double", f"return a {op} b;"), *FLOATS)
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))),
    *(case(f"double_compare_{name}", of("double", "int", f"return a {op} b;"), *FLOATS)
      for name, op in (("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">="), ("eq", "=="), ("ne", "!="))),
    *(case(f"float_{name}", of("float", "float", f"return a {op} b;"), *pairs(0.1, 1.7, -3.3, 1e30))
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))),
    *(case(f"int_{name}", of("int", "int", f"return a {op} b;"), *INTS)
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("rem", "%"), ("and", "&"), ("or", "|"),
                       ("xor", "^"))),
    *(case(f"long_{name}", of("long", "long", f"return a {op} b;"), *pairs(-(10**12), -3, 5, 10**15))
      for name, op in (("add", "+"), ("sub", "-"), ("div", "/"), ("rem", "%"))),
    *(case(f"unsigned_{name}", of("unsigned", "unsigned", f"return a {op} b;"), *pairs(1, 7, 2**31 + 5, 2**32 - 1))
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("rem", "%"))),
    *(case(f"size_{name}", of("size_t", "size_t", f"return a {op} b;"), *pairs(1, 7, 2**63 + 5, 2**64 - 1))
      for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("rem", "%"), ("shift", ">> 3 ^"))),
    *(case(f"unsigned_compare_{name}", of("unsigned", "int", f"return a {op} b;"), *pairs(0, 1, 2**31, 2**32 - 1))
      for name, op in (("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">="))),
    *(case(f"int_compare_{name}", of("int", "int", f"return (a {op} b) + 2 * (b {op} a);"), *INTS)
      for name, op in (("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">="), ("eq", "=="), ("ne", "!="))),
    case("shifts", "int f(int a, int b) { return (a << 3) + (a >> b) + (1 << b); }", (5, 1), (1000, 7), (3, 0)),
    case("shift_of_negative", "int f(int a) { return a >> 2; }", (-9,), (-1,), (8,)),
    case("unsigned_shift", "unsigned f(unsigned a) { return (a >> 4) + (a << 30); }", (2**32 - 1,), (77,)),
    case("complement", "long f(int a, long b) { return ~a + ~b; }", (5, 9), (-1, -7)),
    case("unary", "double f(double a, int b) { return -a + +b - -b; }", (1.5, 3), (-0.0, -4)),
    case("minus_zero", "double f(double a) { return -a; }", (0.0,), (-0.0,)),
    case("not", "int f(double a, int b) { return !a + 2 * !b + 4 * !!b; }", (0.0, 0), (2.0, 5), (NAN, 0)),
    case("not_of_comparison", "int f(double a, double b) { return !(a < b); }", *FLOATS),
    case("precedence", "int f(int a, int b, int c) { return a - b - c * a / b % 5; }", (9, 2, 3), (-9, 4, 7)),
    case("mixed_int_double", "double f(int a, double b) { return a / 2 + a / 2.0 + a * b; }", (7, 0.5), (-7, 3.0)),
    case("mixed_float_double", "double f(float a, double b) { return a * b + 0.1f + 0.1; }", (0.1, 3.0)),
    case("mixed_signedness", "int f(int a, unsigned b) { return a < b; }", (-1, 1), (1, 2)),
    case("mixed_long_unsigned", "int f(long a, unsigned b) { return a < b; }", (-1, 1), (1, 2)),
    case("int_to_size", "int f(int a, size_t b) { return a < b; }", (-1, 1), (1, 2)),
    case("long_to_float", "float f(long a) { return a; }", (2**53 + 1,), (16777217,), (-5,)),
    case("unsigned_to_double", "double f(unsigned a, size_t b) { return a + (double)b; }", (2**32 - 1, 2**64 - 1)),
    case("double_to_int", "int f(double a) { return a; }", (2.9,), (-2.9,), (0.0,)),
    case("double_to_unsigned", "unsigned f(double a) { return a; }", (4e9,), (2.5,)),
    case("casts",
         "double f(double a) { return (int)a + (float)a + (long)(a * 10) + (double)(int)a; }", (2.7,), (-0.3,)),
    case("narrowing", "int f(long a) { int b = a; return b; }", (2**32 + 7,), (-5,)),
    case("narrowing_to_unsigned", "long f(long a) { unsigned b = a; return b; }", (-5,), (2**33 + 1,)),
    case("bool_of_double", "bool f(double a) { return a; }", (0.0,), (0.3,), (NAN,), (-0.0,)),
    case("bool_arithmetic", "int f(bool a, bool b) { return a + b + a * 3; }", (True, True), (False, True)),
    case("bool_variable", "double f(double a) { bool b = a > 1; b = !b; return b ? 2.5 : b + 0.5; }", (0.0,), (2.0,)),
    case("bool_to_double", "double f(bool a) { return a; }", (True,), (False,)),
    case("bool_increment", "int f(bool a) { a++; return a; }", (True,), (False,)),
    case("bool_compound", "bool f(bool a, double b) { a += b; return a; }", (False, 0.5), (False, 0.0), (True, -1.0)),
    case("comparison_as_int", "int f(double a, double b) { int c = a < b; return c + (a > b) * 10; }", *SMALL),
    case("comparison_as_double", "double f(double a, double b) { return (a < b) * 0.5; }", *SMALL),
    case("literals", "double f(void) { return 1 + 2.5 + 0x10 + 010 + 1e-3 + 0x1p-2 + 1.5f + 'a' + 3L + 4UL + .5; }"),
    case("float_literal_is_rounded", "double f(void) { return 0.1f; }"),
    case("double_into_float", "float f(void) { float a = 0.1; return a; }"),
    case("large_integers", "long f(void) { return 9223372036854775807L - 4294967296L; }"),
    case("size_max", "size_t f(size_t a) { return SIZE_MAX - a; }", (5,)),
    case("limits", "double f(void) { return DBL_MAX / 2 + FLT_MAX + DBL_EPSILON + INT_MAX + (double)LONG_MAX; }"),
    case("infinity", "double f(double a) { return a < INFINITY ? -INFINITY : HUGE_VAL; }", (0.0,), (INF,)),
    case("nan", "double f(double a) { return a * NAN; }", (1.0,)),
    case("classify",
         "int f(double a) { return isnan(a) + 2 * !!isinf(a) + 4 * isfinite(a); }", (0.0,), (NAN,), (INF,), (-INF,)),
    case("sizeof", "size_t f(size_t n) { return n * sizeof(double) + sizeof(int); }", (3,)),
    case("enumerators", "enum { E_A = 3, E_B };\ndouble f(double a) { return a * E_A + E_B; }", (2.0,)),
    case("typedefs", "typedef double h;\ntypedef const h g;\ndouble f(g a) { h b = a; return b * 2; }", (2.0,)),
    case("constants", "static const double CONST_A = 1.0 / 3;\nconst int CONST_N = 2 * 3 + 1;\n"
         "double f(double a) { return a * CONST_A + CONST_N / 2; }", (2.0,)),
    case("macros",
         "#define N (2 + 3)\n#define SQUARE(x) ((x) * (x))\ndouble f(double a) { return SQUARE(a + N) - N / 2; }",
         (1.5,)),
    case("pi", "double f(double a) { return a * M_PI + M_SQRT2 + M_E; }", (2.0,)),
    case("fold_division", "int f(void) { return -7 / 2 * 100 + -7 % 3 + 7 / -2; }"),
    case("unsigned_fold", "unsigned f(void) { return 0u - 1u; }"),
    case("unsigned_fold_division", "size_t f(void) { return (0ul - 2ul) / 3ul; }"),
]  # fmt: skip

UNARY_MATH = (
    "acos", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "fabs",
    "floor", "log", "log10", "log1p", "log2", "round", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
BINARY_MATH = ("atan2", "copysign", "fmax", "fmin", "pow")

MATH = [
    *(case(name,
           f"#include <math.h>\ndouble f(double a) {{ return {name}(a); }}", (0.5,), (-0.25,), (0.0,), (NAN,), (2.5,))
      for name in UNARY_MATH),
    case("acosh", "#include <math.h>\ndouble f(double a) { return acosh(a); }", (1.5,), (0.5,)),
    *(case(f"{name}_float", f"#include <math.h>\nfloat f(float a) {{ return {name}f(a); }}", (0.5,), (0.7,))
      for name in UNARY_MATH),
    *(case(name, f"#include <math.h>\ndouble f(double a, double b) {{ return {name}(a, b); }}", *FLOATS, *SMALL)
      for name in BINARY_MATH),
    *(case(f"{name}_float", f"#include <math.h>\nfloat f(float a, float b) {{ return {name}f(a, b); }}", *SMALL)
      for name in BINARY_MATH),
    case("fma", "#include <math.h>\ndouble f(double a, double b) { return fma(a, b, -a); }", *SMALL),
    case("abs", "#include <stdlib.h>\nlong f(int a, long b) { return abs(a) + labs(b); }", (-3, -5), (4, 6)),
    case("int_argument", "#include <math.h>\ndouble f(int a) { return sqrt(a) + pow(a, 2); }", (4,), (3,)),
    case("float_argument", "#include <math.h>\ndouble f(float a) { return exp(a); }", (0.1,)),
    case("nested_calls",
         "#include <math.h>\ndouble f(double a) { return sin(cos(exp(fabs(a)))) + log(1 + a * a); }", (0.3,)),
    case("own_function_of_a_known_name",
         "static double h(double x) { return x * 3; }\ndouble f(double a) { return h(a); }", (2.0,)),
]  # fmt: skip

CONTROL = [
    case("if", "double f(double a) { double r = 1; if (a > 0) r = a; return r; }", (2.0,), (-2.0,), (NAN,)),
    case("if_else",
         "double f(double a) { double r; if (a > 0) { r = a; } else { r = -a; } return r; }", (2.0,), (-2.0,)),
    case("else_if",
         "int f(int a) { int r; if (a < 0) r = -1; else if (a == 0) r = 0; else if (a < 3) r = 1; else r = 2; "
         "return r; }",
         *((a,) for a in NEAR)),
    case("if_int", "int f(int a) { int r = 0; if (a) r = 5; return r; }", (0,), (3,)),
    case("if_double", "int f(double a) { int r = 0; if (a) r = 5; return r; }", (0.0,), (-0.0,), (3.0,), (NAN,)),
    case("if_constant",
         "int f(int a) { int r = 0; if (0) r = 1; else r += a; if (1) r *= 2; if (0) { r = 9; } return r; }", (4,)),
    case("dangling_else",
         "int f(int a, int b) { int r = 0; if (a) if (b) r = 1; else r = 2; return r; }", *pairs(0, 1)),
    case("choice", "double f(double a, double b) { return a > b ? a - b : b > 0 ? b : 1; }", *SMALL),
    case("choice_types", "double f(int a, double b) { return a ? a : b; }", (0, 1.5), (3, 1.5)),
    case("choice_int_bool", "int f(int a, double b) { return a ? b > 1 : 7; }", (0, 1.5), (3, 1.5), (3, 0.5)),
    case("choice_guards", "double f(int n, const double x[n], int i) { return i >= 0 && i < n ? x[i] : -1; }",
         (3, reals(3), 2), (3, reals(3), 3), (3, reals(3), -1)),
    case("choice_with_effects", "void f(int n, int m, double (*restrict A)[m], double *restrict lo, double *restrict "
         "hi) { *lo = *hi = A[0][0]; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { double v = A[i][j]; v < "
         "*lo ? (*lo = v) : (v > *hi ? (*hi = v * v) : 0.0); A[i][j] = j > 0 ? A[i][j - 1] : (*lo += 1, 2.0); } }",
         (2, 2, np.array([[1.0, 0.5], [2.5, 2.0]]), np.zeros(1), np.zeros(1))),
    case("choice_constant", "double f(double a) { return 1 ? a : 1 / a; }", (0.0,)),
    case("and_guards", "int f(int n, const int x[n], int i) { int r = 0; if (i < n && x[i] > 0) r = 1; return r; }",
         (2, ints(1, -1), 0), (2, ints(1, -1), 1), (2, ints(1, -1), 2)),
    case("or_guards", "int f(int n, const int x[n], int i) { return i >= n || x[i] > 0; }",
         (2, ints(1, -1), 0), (2, ints(1, -1), 1), (2, ints(1, -1), 2)),
    case("and_guards_division", "int f(int a, int b) { return b != 0 && a / b > 1; }", (6, 2), (6, 0), (1, 2)),
    case("and_guards_remainder",
         "int f(int a, int b) { return !(b && a % b) || b > 3; }", (6, 2), (6, 0), (7, 2), (9, 4)),
    case("and_or", "int f(double a, double b, int c) { return (a < b && c) || (a > b && !c) || a == 3; }",
         (1.0, 2.0, 0), (1.0, 2.0, 1), (2.0, 1.0, 0), (2.0, 1.0, 1), (3.0, 3.0, 1), (NAN, 1.0, 1)),
    case("and_constants",
         "int f(int a) { return (1 && a) + (a || 1) * 2 + (0 && a) * 4 + (a && 0) * 8 + (0 || a) * 16; }", (0,), (3,)),
    case("and_is_one", "int f(int a, int b) { return (a && b) + (a || b) * 2; }", (5, 9), (0, 4)),
    case("and_with_call", "#include <math.h>\nint f(double a) { return a > 0 && log(a) > 1; }", (0.0,), (2.0,), (4.0,)),
    case("or_chain", "int f(int n, const int x[n]) { return n < 1 || x[0] > 5 || n < 2 || x[1] > 5; }",
         (0, ints()), (1, ints(6)), (1, ints(1)), (2, ints(1, 2)), (2, ints(1, 9))),
    case("guarded_conversion", "int f(double a) { return a < 100 && (int)a == 3; }", (3.5,), (1e30,)),
    case("empty_statements", "int f(int a) { ; { } { ; } if (a) ; else a = 3; return a; }", (0,), (1,)),
    case("scopes",
         "int f(int a) { int b = a; { int b = 2; a += b; { int a = 5; b += a; } a += b; } return a * 100 + b; }", (1,)),
    case("pure_statements", "double f(double a, int b) { (void)b; a; a + 1; return a; }", (1.0, 2)),
]  # fmt: skip

VARIABLES = [
    case("compound",
         "double f(double a, double b) { double r = a; r += b; r -= 2; r *= b; r /= a; return r; }", *SMALL),
    case("compound_int",
         "int f(int a, int b) { int r = a; r += b; r *= 3; r -= 1; r /= 2; r %= 7; r <<= 2; r >>= 1; r |= 8; r &= 13; "
         "r ^= 5; return r; }", *INTS),
    case("compound_converts",
         "int f(int a, double b) { a += b; a *= 1.5; a -= 0.25; return a; }", (3, 2.75), (-3, 0.5)),
    case("compound_float", "float f(float a) { a += 0.1; a *= 3; return a; }", (0.3,), (7.7,)),
    case("compound_unsigned", "unsigned f(unsigned a, int b) { a += b; a /= 3; return a; }", (5, -7), (9, 3)),
    case("compound_long_int", "int f(int a, long b) { a *= b; return a; }", (3, 5)),
    case("steps", "int f(int a) { int r = a; r++; ++r; r--; --r; r++; return r; }", (5,)),
    case("step_double", "double f(double a) { a++; --a; ++a; return a; }", (0.5,)),
    case("chain", "double f(double a) { double b, c; b = c = a * 2; return b + c; }", (1.5,)),
    case("chain_converts", "double f(double a) { int b; double c; c = b = a; return c + b; }", (2.7,), (-2.7,)),
    case("chain_three", "double f(double a) { float b; int c; double d; d = b = c = a; return d + b + c; }", (2.7,)),
    case("chain_compound", "double f(double a) { double b = 1, c; c = b += a; return b * c; }", (2.5,)),
    case("chain_element", "void f(int n, double x[n]) { x[0] = x[1] = x[2]; }", (3, reals(3))),
    case("chain_initializer", "double f(double a) { double b; double c = b = a; return b + c; }", (2.5,)),
    case("parameter_assigned", "double f(double a, int n) { a *= 2; n = n + 1; a = a + n; return a; }", (1.5, 3)),
    case("several_declarators", "int f(int a) { int b = a, c = b + 1, d; d = c; return b + c * d; }", (3,)),
    case("const_local", "double f(double a) { const double b = a * a; const int n = 3; return b * n; }", (1.5,)),
    case("fixed_local_keeps_value",
         "double f(int n, double x[n]) { double b = x[0]; x[0] = 5; return b + x[0]; }", (1, reals(1))),
    case("fixed_local_of_variable", "double f(double a) { double b = a; a = 7; return b + a; }", (1.5,)),
    case("int_local", "long f(int a) { int b = a * 3; long c = b; return c * b; }", (7,)),
    case("self", "int f(int a) { a = a; a = a - a; return a; }", (3,)),
    case("static_const_local",
         "double f(double a) { static const double b = 2.5; static const int n = 4; return a * b * n; }", (1.5,)),
    case("uninitialised_then_set", "double f(double a) { double b; b = a; return b; }", (3.5,)),
    case("register_auto", "double f(double a) { register double b = a; auto double c = b; return c; }", (3.5,)),
    case("restrict_and_static", "double f(int n, double x[static restrict n]) { return x[n - 1]; }", (2, reals(2))),
    case("in_header_order",
         "double f(int n, double x[n], double *y) { *y = x[0]; y[1] = *x + *y; return *y; }", (1, reals(1), reals(2))),
]  # fmt: skip

ARRAYS = [
    case("dot",
         "double f(int n, const double x[n], const double *y) { double s = 0; for (int i = 0; i < n; "
         "i++) s += x[i] * y[i]; return s; }",
         (4, reals(4), reals(4, seed=1)), (0, reals(0), reals(0))),
    case("matrix",
         "void f(int n, int m, double A[n][m], const double B[n][m]) { for (int i = 0; i < n; i++) for (int j = 0; "
         "j < m; j++) A[i][j] += 2 * B[i][j]; }",
         (3, 2, reals(3, 2), reals(3, 2, seed=1))),
    case("constant_extents",
         "#define N 3\ndouble f(double A[N][2], const float B[2][N + 1]) { A[1][1] = B[1][3]; "
         "return A[2][0] + B[0][2]; }",
         (reals(3, 2), reals(2, 4).astype(np.float32))),
    case("pointer_to_row", "double f(int m, const double (*A)[m]) { return A[1][0] * (*A)[1]; }", (2, reals(2, 2))),
    case("unsized", "double f(double x[], int y[][2]) { y[1][1] = 3; return x[2] + y[1][0]; }",
         (reals(3), np.array([[1, 2], [3, 4]], dtype=np.int32))),
    case("three_dimensions",
         "double f(int n, int m, int k, double T[n][m][k]) { T[0][1][2] = T[1][0][1]; return T[0][1][2] + T[1][1][1]; "
         "}",
         (2, 2, 3, reals(2, 2, 3))),
    case("flat",
         "double f(int n, int m, const double *x) { double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; "
         "j++) s += (i + 1) * x[i * m + j]; return s; }",
         (3, 2, reals(6))),
    case("reversed_subscript", "double f(int i, const double *x) { return i[x] + 1[x]; }", (2, reals(3))),
    case("indirect", "void f(int n, const int k[n], double x[n]) { for (int i = 0; i < n; i++) x[k[i]] += x[i]; }",
         (3, ints(2, 0, 1), reals(3))),
    case("indirect_twice", "double f(const int *k, const double *x) { return x[k[k[0]]]; }", (ints(1, 2, 0), reals(3))),
    case("long_indices", "double f(long n, const double *x) { return x[n - 1] + x[n / 2]; }", (3, reals(3))),
    case("size_indices",
         "double f(size_t n, const double *x) { size_t k = n - 1; return x[k] + x[k - 1]; }", (3, reals(3))),
    case("unsigned_indices",
         "double f(unsigned n, const double *x) { return x[n - 1] + x[(n + 1) % 2]; }", (3, reals(3))),
    case("unsigned_index_wraps", "double f(unsigned n, const double *x) { return x[n + 4294967295u]; }", (3, reals(3))),
    case("narrowed_index", "double f(long n, const double *x) { return x[(int)n]; }", (2**32 + 1, reals(3))),
    case("bool_index",
         "double f(double a, const double *x) { return x[a > 0] + x[!a]; }", (1.0, reals(2)), (0.0, reals(2))),
    case("double_index", "double f(double a, const double *x) { return x[(int)a]; }", (1.7, reals(2))),
    case("index_arithmetic",
         "double f(int i, const double *x) { return x[(i * 2 - 1) / 3 % 5 + -i + 4]; }",
         *((i, reals(9)) for i in range(5))),
    case("index_variable",
         "double f(int n, const double *x) { int k = 0; k += n; k = k * 2 - n; return x[k - 1]; }", (3, reals(3))),
    case("local_array",
         "double f(double a) { double t[3]; t[0] = a; t[1] = t[0] * 2; t[2] = t[1] + t[0]; return t[2]; }", (1.5,)),
    case("local_run_time_array",
         "double f(int n) { double t[n], u[n][n + 1]; for (int i = 0; i < n; i++) { t[i] = i; for (int j = 0; j <= n; "
         "j++) u[i][j] = t[i] * j; } return u[n - 1][n]; }",
         (3,), (1,)),
    case("local_extent_is_fixed",
         "double f(int n) { double t[n]; n = 1; for (int i = 0; i < 3; i++) t[i] = i; return t[2] + n; }", (3,)),
    case("local_array_in_loop",
         "double f(int n) { double s = 0; for (int i = 1; i <= n; i++) { double t[i]; for (int j = 0; j < i; "
         "j++) t[j] = j * i; s += t[i - 1]; } return s; }",
         (4,)),
    case("extent_of_const", "double f(void) { const int n = 3; double t[n]; t[2] = 4; return t[2]; }"),
    case("braces", "double f(int k) { double t[3] = {1, 2.5, 3}; return t[k]; }", (0,), (1,), (2,)),
    case("braces_partial", "double f(int k) { double t[4] = {1, 2}; return t[k]; }", *((k,) for k in range(4))),
    case("braces_zero", "double f(int k) { double t[40] = {0}; t[3] = 1; return t[k]; }", (0,), (3,), (39,)),
    case("braces_mostly_zero", "double f(int k) { int t[40] = {5, 0, 7}; return t[k]; }", (0,), (1,), (2,), (39,)),
    case("braces_rows",
         "double f(int i, int j) { double t[3][2] = {{1, 2}, {3}}; return t[i][j]; }",
         *((i, j) for i in range(3) for j in range(2))),
    case("braces_flat",
         "double f(int i, int j) { double t[2][2] = {1, 2, 3}; return t[i][j]; }",
         *((i, j) for i in range(2) for j in range(2))),
    case("braces_zero_rows",
         "double f(int i, int j) { double t[8][9] = {{0}}; t[7][8] = 2; return t[i][j]; }", (0, 0), (7, 8)),
    case("braces_unsized", "double f(int k) { const double t[] = {1, 2, 4}; return t[k]; }", (0,), (2,)),
    case("braces_expressions",
         "double f(double a, int b) { double t[3] = {a * 2, b, -a}; return t[0] + t[1] * t[2]; }", (1.5, 3)),
    case("braces_nested_scalar", "int f(void) { int t[2] = {{3}, 4}; return t[0] + t[1]; }"),
    case("braces_convert", "int f(void) { int t[2] = {2.7, -2.7}; return t[0] * 10 + t[1]; }"),
    case("bool_array",
         "int f(int n, const double x[n], bool m[n]) { int s = 0; for (int i = 0; i < n; i++) { m[i] = x[i] > 0; "
         "s += m[i]; } return s; }",
         (4, reals(4), np.zeros(4, dtype=np.bool_))),
    case("long_array",
         "long f(int n, long x[n]) { long s = 0; for (int i = 0; i < n; i++) { x[i] *= 3; s += x[i]; } return s; }",
         (3, np.array([1, -5, 10**12]))),
    case("table",
         "static const double TABLE[3] = {0.25, 0.5, 0.25};\ndouble f(int n, const double x[n]) { double s = 0; "
         "for (int i = 0; i < 3; i++) s += TABLE[i] * x[i]; return s; }",
         (3, reals(3))),
    case("table_of_rows",
         "static const int TABLE[2][2] = {{0, 1}, {-1, 0}};\nint f(int i, int j) { return TABLE[i][j]; }",
         (1, 0), (0, 1)),
    case("static_const_table", "int f(int i) { static const int t[3] = {4, 5, 6}; return t[i]; }", (2,)),
    case("compound_element",
         "void f(int n, double x[n]) { x[0] += x[1]; x[1] *= x[0]; x[n - 1] -= 1; x[0]++; --x[1]; }", (3, reals(3))),
    case("in_place",
         "void f(int n, double x[n]) { for (int i = 1; i < n; i++) x[i] = x[i] * x[i - 1]; }", (5, reals(5))),
    case("memset",
         "void f(int n, double x[n], int y[4]) { memset(x, 0, n * sizeof(double)); "
              "memset(y, 0, sizeof(int) * 2); }".join(["#include <string.h>\n", ""]),
         (3, reals(3), ints(1, 2, 3, 4))),
    case("memset_rows",
         "#include <string.h>\nvoid f(double A[2][3]) { memset(A, 0, 6 * sizeof(double)); }", (reals(2, 3),)),
    case("memset_local",
         "#include <string.h>\ndouble f(void) { float t[2][2]; memset(t, 0, sizeof(t)); t[1][0] = 2; "
         "return t[0][0] + t[1][0]; }"),
    case("memcpy",
         "#include <string.h>\nvoid f(int n, int m, double *x, const double *y) { "
         "memcpy(x, y, sizeof(double) * n * m); }",
         (2, 2, reals(4), reals(4, seed=1))),
    case("memcpy_rows",
         "#include <string.h>\nvoid f(double x[2][2], double y[2][2]) { memcpy(x, y, 2 * 2 * sizeof(double)); }",
         (reals(2, 2), reals(2, 2, seed=1))),
    case("copies_of_arrays_with_run_time_extents",
         "#include <string.h>\nvoid f(int n, int m, double x[n][m], double y[m][n]) { double t[n][m], r[m]; "
         "memcpy(t, x, sizeof t); memcpy(r, t[1], sizeof t[1]); memset(t[0], 0, sizeof r); "
         "memcpy(y, t, n * sizeof *t); memset(x, 0, n * m * sizeof(double)); memcpy(x, r, sizeof r); "
         "memset(y[1], 0, 2 * sizeof(double)); }",
         (2, 3, reals(2, 3), reals(3, 2, seed=1))),
    case("copies_from_the_first_element",
         "#include <string.h>\ndouble f(int n, int m, double x[n][m]) { double t[n][m], u[2][2]; t[1][0] = 7; "
         "u[1][0] = 7; memcpy(&t[0][0], &x[0][0], n * m * sizeof(double)); memcpy(u[0], x, 4 * sizeof(double)); "
         "return t[1][0] + 10 * u[1][0]; }",
         (2, 3, reals(2, 3))),
]  # fmt: skip


def loop(name: str, head: str, *calls: tuple[int, int]) -> Case:
    """A loop whose trace is written to an array: each value of its counter, in order."""
    text = f"int f(int n, int m, long t[64]) {{ int k = 0; {head} {{ t[k] = i; k++; }} return k; }}"
    trace = np.full(64, -77, dtype=np.int64)
    return case(f"loop_{name}", text, *((n, m, trace) for n, m in calls or pairs(-3, -1, 0, 1, 2, 5, 8)))


def loop_after(name: str, head: str, *calls: tuple[int, int]) -> Case:
    """A loop whose counter is declared before it and read after it."""
    text = f"long f(int n, int m) {{ int k = 0; long i = 99; {head} {{ k += i; }} return i * 1000 + k; }}"
    return case(f"loop_after_{name}", text, *(calls or pairs(-3, -1, 0, 1, 2, 5, 8)))


POSITIVE = pairs(0, 1, 2, 5, 8)
LOOPS = [
    loop("up", "for (int i = 0; i < n; i++)"),
    loop("up_prefix", "for (int i = 0; i < n; ++i)"),
    loop("up_from", "for (int i = m; i < n; i++)"),
    loop("up_inclusive", "for (int i = m; i <= n; i++)"),
    loop("up_not_equal", "for (int i = 0; i != n; i++)", *pairs(0, 1, 5)),
    loop("up_mirrored", "for (int i = m; n > i; i++)"),
    loop("up_mirrored_inclusive", "for (int i = m; n >= i; i++)"),
    loop("up_by_two", "for (int i = m; i < n; i += 2)"),
    loop("up_by_three_inclusive", "for (int i = m; i <= n; i += 3)"),
    loop("up_assigned", "for (int i = m; i < n; i = i + 2)"),
    loop("up_assigned_mirrored", "for (int i = m; i < n; i = 2 + i)"),
    loop("up_minus_negative", "for (int i = m; i < n; i -= -1)"),
    loop("up_by_run_time", "for (int i = 0; i < n; i += m)", *((n, m) for n in (-1, 0, 1, 5, 8) for m in (1, 2, 3))),
    loop("up_by_run_time_unused", "for (int i = 0; i < n; i += m)", (0, 0), (-5, -2), (0, -3)),
    loop("up_by_macro", "\n#define STEP 2\nfor (int i = 0; i < n; i += STEP)"),
    loop("up_bound_expression", "for (int i = 1; i < 2 * n - m + 1; i++)"),
    loop("up_bound_division", "for (int i = 0; i < (n + 1) / 2; i++)"),
    loop("up_bound_choice", "for (int i = 0; i < (n < m ? n : m); i++)"),
    loop("up_bound_call", "for (int i = 0; i < abs(n); i++)"),
    loop("up_bound_long", "for (int i = 0; i < (long)n; i++)"),
    loop("up_bound_size", "for (int i = 0; i < (size_t)n; i++)", *POSITIVE),
    loop("up_counter_size", "for (size_t i = 0; i < n; i++)", *POSITIVE),
    loop("up_counter_long", "for (long i = m; i < n; i++)"),
    loop("up_counter_unsigned", "for (unsigned i = 1; i <= n; i++)", *POSITIVE),
    loop("up_counter_ptrdiff", "for (ptrdiff_t i = 0; i < n; i++)"),
    loop("up_constant", "for (int i = 2; i < 7; i++)", (0, 0)),
    loop("up_constant_empty", "for (int i = 2; i < 2; i++)", (0, 0)),
    loop("down", "for (int i = n - 1; i >= 0; i--)"),
    loop("down_exclusive", "for (int i = n; i > 0; --i)"),
    loop("down_to", "for (int i = n; i > m; i--)"),
    loop("down_mirrored", "for (int i = n; m <= i; i--)"),
    loop("down_not_equal", "for (int i = n; i != 0; i--)", *POSITIVE),
    loop("down_by_two", "for (int i = n; i > m; i -= 2)"),
    loop("down_by_three_inclusive", "for (int i = n; i >= m; i -= 3)"),
    loop("down_assigned", "for (int i = n; i >= m; i = i - 2)"),
    loop("down_plus_negative", "for (int i = n; i >= m; i += -2)"),
    loop("down_by_run_time", "for (int i = n; i > 0; i -= m)", *((n, m) for n in (-1, 0, 1, 5, 8) for m in (1, 2, 3))),
    loop("down_idiom", "for (int i = n; i-- > 0;)"),
    loop("down_idiom_prefix", "for (int i = n; --i >= 0;)"),
    loop("down_idiom_size", "for (size_t i = n; i-- > 0;)", *POSITIVE),
    loop("down_idiom_to", "for (int i = n; i-- > m;)"),
    loop("down_counter_size", "for (size_t i = n; i > 0; i--)", *POSITIVE),
    loop("down_unsigned_by_two", "for (unsigned i = n; i >= 2; i -= 2)", *POSITIVE),
    loop("down_unsigned_by_three", "for (unsigned i = n; i > 2; i -= 3)", *POSITIVE),
    loop("up_signed_below_unsigned",
         "for (int j = 0; j < n; j++) for (int i = j + 1; i < (unsigned)n; i++)", *POSITIVE),
    loop("triangle", "for (int j = 0; j < n; j++) for (int i = j + 1; i < n; i++)"),
    loop("triangle_down", "for (int j = n; j > 0; j--) for (int i = j; i >= m; i -= 2)", *pairs(0, 1, 2, 5)),
    loop("triangle_below", "for (int j = 0; j < n; j++) for (int i = 0; i <= j; i++)"),
    loop("outside", "int i; for (i = 0; i < n; i++)"),
    loop("outside_reused",
         "int i; for (i = 0; i < n; i++) { t[k] = i; k++; } for (i = n; i > 0; i--)", *pairs(0, 2, 5)),
    loop("outside_two", "int i, j; for (j = 0; j < n; j++) for (i = j; i < n; i++)", *pairs(0, 2, 5)),
    loop("comma",
         "int j = 0; int i; for (i = 0, j = m; i < n; i++, j += 2) {} for (i = 0; i < j - m; i++)", *pairs(0, 2, 5)),
    loop("two_declared", "for (int i = 0, e = n - 1; i < e; i++)"),
    loop("after_each",
         "int j = 0; for (int i = 0; i < n; j++, i++) { t[60] = j; } for (int i = j; i < n + 2; i++)", *POSITIVE),
    loop("bound_changed_after",
         "int e = n; for (int i = 0; i < e; i++) {} e = e + 1; for (int i = 0; i < e; i++)", *POSITIVE),
    loop("bound_of_array", "t[0] = n; for (int i = 0; i < t[0]; i++) {} for (int i = 0; i < m; i++)", *POSITIVE),
    loop("in_branch", "if (n > 1) for (int i = 0; i < n; i++)"),
    loop("parameter", "for (m = 0; m < n; m++) {} for (int i = 0; i < m; i++)"),
    loop("no_start", "int i = m; for (; i < n; i++)"),
    loop("macro_loop", "\n#define FOR(x, a, b) for (int x = (a); x < (b); x++)\nFOR(i, m, n)"),
    loop_after("up", "for (i = 0; i < n; i++)"),
    loop_after("up_inclusive", "for (i = m; i <= n; i++)"),
    loop_after("up_by_three", "for (i = m; i < n; i += 3)"),
    loop_after("up_by_run_time", "for (i = 0; i < n; i += m)", *((n, m) for n in (-1, 0, 1, 5, 8) for m in (1, 2, 3))),
    loop_after("up_no_start", "for (; i < n + 100; i++)"),
    loop_after("down", "for (i = n; i >= m; i--)"),
    loop_after("down_by_three", "for (i = n; i > m; i -= 3)"),
    loop_after("down_idiom", "for (i = n; i-- > 0;)"),
    loop_after("down_idiom_prefix", "for (i = n; --i >= m;)"),
    loop_after("nested", "for (i = 0; i < n; i++) for (int j = 0; j < i; j++) k += j;"),
    loop_after("reassigned", "for (i = 0; i < n; i++) k++; i = i * 2; for (; i < m; i++)"),
    loop_after("used_as_bound", "for (i = 0; i < n; i++) k++; for (int j = 0; j < i; j++) k += j; if (0)"),
    case("counter_as_value",
         "double f(int n, double h) { double s = 0; for (int i = 0; i < n; i++) { double t = i * h; "
         "s += t + i / 2 + (i % 2 == 0) + (i > 1 ? i : -i); } return s; }",
         (5, 0.1), (0, 0.1)),
    case("counter_compared",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) for (int j = n; j > 0; j--) { if (i < j) s += 1; "
         "if (i == j - 1 && i != 2) s += 10; if (2 * i >= n + j) s += 100; } return s; }",
         (5,)),
    case("counter_compared_size",
         "int f(size_t n) { int s = 0; for (size_t i = 0; i < n; i++) { if (i - 1 < n) s++; if (i > n / 2) s += 10; } "
         "return s; }", (5,)),
    case("counter_unsigned_wraps",
         "int f(unsigned n) { int s = 0; for (unsigned i = 0; i < n; i++) if (i - 1 < n) s++; return s; }", (5,)),
    case("counter_copied",
         "double f(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) { int k = n - 1 - i; "
         "s = s * 0.5 + x[k] * k; } return s; }",
         (4, reals(4))),
    case("counter_copied_and_changed",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { int k = i; k *= 2; s += k; } return s; }", (4,)),
    case("counter_long_from_int",
         "long f(int n) { long s = 0; for (int i = 0; i < n; i++) { long k = i; s += k * 4000000000; } return s; "
              "}", (4,)),
    case("counter_to_float",
         "float f(int n) { float s = 0; for (int i = 0; i < n; i++) s += i * 0.1f; return s; }", (6,)),
    case("stencil",
         "void f(int n, const double x[n], double y[n]) { for (int i = 1; i < n - 1; "
         "i++) y[i] = x[i - 1] - 2 * x[i] + x[i + 1]; }",
         (5, reals(5), reals(5, seed=1)), (1, reals(1), reals(1))),
    case("max",
         "double f(int n, const double x[n]) { double r = x[0]; for (int i = 1; i < n; i++) if (x[i] > r) r = x[i]; "
         "return r; }", (5, reals(5))),
    case("loop_local",
         "double f(int n) { double s = 0; for (int i = 0; i < n; i++) { double t = 1; for (int j = 0; j < i; "
         "j++) t *= 2; s += t; } return s; }", (5,)),
    case("loop_conditional_counter",
         "int f(int n) { int c = 0; for (int i = 0; i < n; i++) if (i % 3 == 1) c++; return c; }", (10,)),
    case("time_steps",
         "void f(int n, int steps, double u[n], double v[n]) { for (int t = 0; t < steps; t++) { for (int i = 1; "
         "i < n - 1; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]); for (int i = 1; i < n - 1; i++) u[i] = v[i]; } }",
         (6, 3, reals(6), reals(6, seed=1))),
]  # fmt: skip

CALLS = [
    case("call", "static double h(double x) { return x * x; }\ndouble f(double a) { return h(a) + h(2 * a); }", (1.5,)),
    case("call_converts",
         "static double h(double x, int k) { return x * k; }\ndouble f(int a, double b) { return h(a, b); }", (3, 2.7)),
    case("call_nested",
         "static double h(double x) { return x + 1; }\nstatic double g(double x) { return h(x) * 2; }\n"
         "double f(double a) { return g(h(g(a))); }", (1.5,)),
    case("call_void",
         "static void h(int n, double x[n], double a) { for (int i = 0; i < n; i++) x[i] *= a; }\n"
         "void f(int n, double x[n]) { h(n, x, 2.0); h(n, x, 0.5); h(1, x, 3); }",
         (3, reals(3))),
    case("call_matrix",
         "static double h(int n, int m, const double A[n][m]) { double s = 0; for (int i = 0; i < n; "
         "i++) s += A[i][m - 1]; return s; }\ndouble f(int n, const double A[n][2]) { return h(n, 2, A); }",
         (3, reals(3, 2))),
    case("call_local_array",
         "static double h(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
         "double f(double a) { double t[3] = {a, 2, 3}; return h(3, t) + h(2, t); }", (1.5,)),
    case("call_fixed_extent",
         "static double h(const double x[3]) { return x[0] + x[2]; }\ndouble f(const double *x) { return h(x); }",
         (reals(3),)),
    case("call_before_definition",
         "double h(double x);\ndouble f(double a) { return h(a); }\ndouble h(double x) { return 3 * x; }", (1.5,)),
    case("call_result_unused",
         "static double h(double *x) { x[0] += 1; return x[0]; }\nvoid f(double *x) { h(x); (void)h(x); }",
         (reals(1),)),
    case("call_then_read",
         "static double h(double *x) { x[0] += 1; return 2; }\ndouble f(double *x) { double a = h(x); a = a + x[0]; "
         "x[1] = h(x); return a; }", (reals(2),)),
    case("call_in_bound",
         "static int h(int a, int b) { return a < b ? a : b; }\nint f(int n, int m) { int s = 0; for (int i = 0; "
         "i < h(n, m); i++) s += i; return s; }", (4, 6), (6, 4)),
    case("call_in_condition",
         "static bool h(double x) { return x > 1; }\nint f(double a) { int r = 0; if (h(a) && !h(a - 1)) r = 3; "
         "return r; }", (0.5,), (1.5,), (2.5,)),
    case("call_twice_pure",
         "static double h(const double *x) { return x[0]; }\ndouble f(double *x) { x[1] = h(x) + h(x) * x[0]; "
         "return x[1]; }", (reals(2),)),
    case("call_no_parameters",
         "static double h() { return 2.5; }\nstatic double g(void) { return 1.5; }\ndouble f(double a) { "
         "return h() * g() * a; }", (2.0,)),
    case("call_table",
         "static const double TABLE[2] = {3, 4};\nstatic double h(const double *x) { return x[0] * x[1]; }\n"
         "double f(void) { return h(TABLE); }"),
    case("call_inline",
         "static inline float h(float x) { return x > 0 ? x : 0; }\ndouble f(double a) { return h(a) + h(-a); }",
         (0.1,)),
]  # fmt: skip

CASES = [*ARITHMETIC, *MATH, *CONTROL, *VARIABLES, *ARRAYS, *LOOPS, *CALLS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_all(CASES, tmp_path_factory.mktemp("semantics"))


def with_headers(each: Case) -> Case:
    """`each` with the headers that it needs in front; the compiler's copy has them all."""
    headers = "".join(
        f"#include <{name}.h>\n" for name in ("math", "stddef", "stdbool", "stdint", "stdlib", "float", "limits")
    )
    return Case(each.name, headers + each.text, each.calls)


@needs_compiler
@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(each) for each in CASES])
def test_import_does_what_c_does(number: int, library: ctypes.CDLL) -> None:
    check(with_headers(CASES[number]), number, library)

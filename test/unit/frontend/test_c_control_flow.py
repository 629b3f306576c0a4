"""Jumps, loops that are not counted, and expressions with effects: the C compiler and the import do the same."""

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


NUMBERS = tuple((n,) for n in range(-2, 9))
VECTORS = tuple((n, reals(8, seed=n)) for n in range(9))
X = "int n, const double *x"

LOOPS = [
    case("while", "double f(double a) { while (a > 1) a /= 2; return a; }", (9.0,), (0.5,)),
    case("while_counts", "int f(int n) { int k = 0; while (n > 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }",
         *((n,) for n in range(-1, 12))),
    case("while_step_in_condition", "int f(int n) { int s = 0; while (n-- > 0) s = 3 * s + n; return s + n; }",
         *NUMBERS),
    case("while_assign_in_condition",
         "double f(double a) { double d, s = 0; while ((d = a - s) > 0.1) s += d / 2; return s; }", (1.0,), (0.0,)),
    case("while_guarded_read", f"int f({X}) {{ int i = 0; while (i < n && x[i] > -0.5) i++; return i; }}", *VECTORS),
    case("while_or", "int f(int n, int m) { int k = 0; while (n > 0 || m > 2) { n -= 2; m--; k++; } return k; }",
         (5, 3), (0, 9), (0, 0)),
    case("while_zero", "double f(double a) { while (0) a = 2; for (; 0;) a = 3; return a; }", (1.0,)),
    case("while_comma", "int f(int n) { int k = 0; while (k++, n > k * k) n--; return 100 * k + n; }", *NUMBERS),
    case("do", "double f(double a) { do a /= 2; while (a > 1); return a; }", (9.0,), (0.5,)),
    case("do_once", "double f(double a) { do { if (a > 2) break; a += 1; if (a > 2) continue; a *= 4; } while (0); "
         "return a; }",
         (3.0,), (1.5,), (0.5,)),
    case("do_continue", "int f(int n) { int s = 0; do { if (n % 3 == 0) continue; s = 5 * s + n; } while (--n > 0); "
         "return s; }",
         *NUMBERS),
    case("do_break", "int f(int n) { int s = 0; do { s += n; if (s > 9) break; s++; } while (n-- > 0); return 100 * "
         "s + n; }",
         *NUMBERS),
    case("do_endless", "int f(int n) { do { if (n > 9) return n; n = 2 * n + 3; } while (1); }", (0,), (12,)),
    case("do_never_repeats", "int f(int n) { do { n += 5; break; } while (n < 100); return n; }", (1,)),
    case("for_float", "double f(double h) { double s = 0; for (double t = 0; t < 1; t += h) s += t; return s; }",
         (0.1,), (2.0,)),
    case("for_float_bound", "double f(double a) { double s = 0; for (int i = 0; i < a; i++) s += i; return s; }",
         (3.5,), (-1.0,)),
    case("for_times", "int f(int n) { int s = 0; for (int i = 1; i < n; i *= 2) s += i; return s; }", *NUMBERS),
    case("for_shift", "int f(int n) { int s = 0; for (int i = n; i > 0; i >>= 1) s += i; return s; }", *NUMBERS),
    case("for_counter_changed", "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s += i; if (s > 5) i += 2; "
         "} return s; }",
         *NUMBERS),
    case("for_counter_nested", "int f(int n) { int i, s = 0; for (i = 0; i < n; i++) for (i = 1; i < n; i++) s += i; "
         "return s + 100 * i; }",
         *NUMBERS),
    case("for_bound_changed", "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s = 2 * s + i; n--; } return "
         "s; }", *NUMBERS),
    case("for_bound_array", "int f(int *n) { int s = 0; for (int i = 0; i < n[0]; i++) { s += i; n[0] -= i; } return "
         "s; }", (ints(9),)),
    case("for_bound_array_called",
         "static void g(int *k) { k[0]--; }\nint f(int *n) { int i; for (i = 0; i < n[0]; i++) g(n); return i; }",
         (ints(9),)),
    case("for_step_changed", "int f(int n, int h) { int s = 0; for (int i = 0; i < n; i += h) { s += i; h = h + 1; } "
         "return s; }", (20, 1)),
    case("for_bound_of_counter", "int f(int n) { int s = 0; for (int i = 0; i < n - i; i++) s += i; return s; }",
         *NUMBERS),
    case("for_ne_two", "int f(int n) { int s = 0; for (int i = 0; i != 2 * n; i += 2) s += i; return s; }", (0,), (3,)),
    case("for_two_conditions", f"int f({X}) {{ int i; for (i = 0; i < n && x[i] < 0.9; i++) ; return i; }}", *VECTORS),
    case("for_flag", "int f(int n) { int s = 0; for (int i = n, go = n > 0; go; i--, go = i > 2) s += i; return s; "
         "}", *NUMBERS),
    case("for_two_counters", "int f(int n) { int s = 0; for (int i = 0, j = n; i < j; i++, j--) s += i * j; return "
         "s; }", *NUMBERS),
    case("for_no_parts", "int f(int n) { int i = 0; for (;;) { if (i * i > n) break; i++; } return i; }", *NUMBERS),
    case("for_no_step", "int f(int n) { int s = 0; for (int i = 0; i < n;) { s += i; i += 2; } return s; }", *NUMBERS),
    case("for_unsigned_down", "int f(unsigned n) { int s = 0; for (unsigned i = n; i > 1; i -= 2) s += i; return s; "
         "}", (8,), (0,), (6,)),
    case("for_unsigned_wraps", "int f(unsigned n) { int s = 0; for (unsigned i = n; i < 9; i--) s += i; return s; }",
         (8,), (3,), (9,)),
    case("for_signed_unsigned", "int f(int n, unsigned m) { int s = 0; for (int i = n; i < m; i++) s += i; return s; "
         "}", (2, 6), (-1, 6)),
    case("for_signed_unsigned_after",
         "int f(int n, unsigned m) { int i, s = 0; for (i = n; i < m; i++) s += i; return 100 * s + i; }", (2, 6),
         (-1, 6)),
    case("for_size_t_down", "int f(size_t n) { int s = 0; for (size_t i = n; i != 0; i /= 2) s += i; return s; }",
         (8,), (0,)),
    case("for_step_uses_counter", "int f(int n) { int j = 0; for (int i = 0; i < n; i++, j += i) ; return j; }",
         *NUMBERS),
    case("for_macro", "#define EACH(i, n) for (int i = 0; i < (n); i++)\nint f(int n) { int s = 0; EACH(i, n) "
         "EACH(j, i) s += j; return s; }",
         *NUMBERS),
]  # fmt: skip

JUMPS = [
    case("break", f"double f({X}) {{ double s = 0; for (int i = 0; i < n; i++) {{ if (x[i] > 0.7) break; s += x[i]; "
         f"}} return s; }}", *VECTORS),
    case("break_index", f"int f({X}) {{ int i; for (i = 0; i < n; i++) if (x[i] > 0.7) break; return i; }}", *VECTORS),
    case("break_index_down", f"int f({X}) {{ int i; for (i = n - 1; i >= 0; i--) if (x[i] > 0.7) break; return i; "
         f"}}", *VECTORS),
    case("break_index_stride", f"int f({X}) {{ int i; for (i = 1; i < n; i += 3) if (x[i] > 0.2) break; return i; "
         f"}}", *VECTORS),
    case("break_unsigned", f"int f({X}) {{ size_t i; for (i = n; i-- > 0;) if (x[i] > 0.7) break; return (int)i; }}",
         *VECTORS),
    case("break_then_code",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { if (i % 2) { if (i > 4) break; s += 7; } s = 2 * s "
         "+ i; } return s; }", *NUMBERS),
    case("break_other_step", "int f(int n) { int j = 0, i; for (i = 0; i < n; i++, j += 2) if (i == 3) break; return "
         "10 * i + j; }", *NUMBERS),
    case("continue", f"double f({X}) {{ double s = 0; for (int i = 0; i < n; i++) {{ if (x[i] < 0) continue; s += "
         f"x[i]; }} return s; }}", *VECTORS),
    case("continue_else",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { if (i % 3) s += i; else continue; s *= 2; } return "
         "s; }", *NUMBERS),
    case("continue_nested",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { if (i % 2) { if (i % 3) continue; s += 5; } s = 2 "
         "* s + 1; } return s; }", *NUMBERS),
    case("continue_while",
         "int f(int n) { int s = 0; while (n > 0) { n--; if (n % 2) continue; s = 3 * s + n; } return s; }", *NUMBERS),
    case("continue_uncounted", "int f(int n) { int s = 0; for (int i = 1; i < 50; i *= 2) { if (i == n) continue; s "
         "+= i; } return s; }", *NUMBERS),
    case("break_and_continue",
         "int f(int n) { int s = 0, i; for (i = 0; i < 20; i++) { if (i % 3 == 1) continue; if (i > n) break; if (i "
         "== 5) { s++; continue; } s += i; }"
         " return 100 * s + i; }", *NUMBERS),
    case("break_inner",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (i * j > 4) "
         "break; s += j; } s *= 2; } return s; }",
         *NUMBERS),
    case("flag_and_break_out",
         "int f(int n) { int found = -1; for (int i = 0; i < n && found < 0; i++) for (int j = 0; j < i; j++) if (i "
         "* j == 12) { found = 10 * i + j; break; }"
         " return found; }", *NUMBERS),
    case("return_early", "double f(double a) { if (a > 0) return a; return -2 * a; }", (1.5,), (-1.5,), (0.0,)),
    case("return_both", "double f(double a) { if (a > 0) return a; else return -2 * a; }", (1.5,), (-1.5,)),
    case("return_chain", "int f(int n) { if (n < 0) return 1; if (n == 0) return 2; n *= 3; if (n > 9) return n; "
         "return -n; }", *NUMBERS),
    case("return_in_one_arm",
         "int f(int n) { if (n > 1) { if (n > 4) return 9; n++; } else n--; n *= 2; return n; }", *NUMBERS),
    case("return_void", "void f(double *x) { if (x[0] > 0) return; x[0] = 1; if (x[1] > 0) { x[1] = 3; return; } "
         "x[2] = 7; }",
         (np.array([1.0, 1, 1]),), (np.array([-1.0, 1, 1]),), (np.array([-1.0, -1, 1]),)),
    case("return_in_loop", "int f(int n) { for (int i = 0; i < 10; i++) if (i * i > n) return i; return -1; }",
         *NUMBERS, (100,)),
    case("return_in_nest",
         f"int f({X}) {{ for (int i = 0; i < n; i++) {{ for (int j = 0; j < i; j++) if (x[i] * x[j] > 0.5) return 10 "
         f"* i + j; }} return -1; }}", *VECTORS),
    case("return_in_nest_then_code",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (i * j == 6) "
         "return s; s++; } s += 100; } return -s; }",
         *NUMBERS),
    case("return_in_while", "int f(int n) { while (1) { n = n * 2 + 3; if (n > 50) return n; } }", *NUMBERS),
    case("return_last_in_loop", "int f(int n) { for (int i = 0; i < n; i++) return i + 5; return 0; }", *NUMBERS),
    case("return_callee",
         "static double g(double a) { if (a < 0) return 0; return a > 1 ? 1 : a; }\ndouble f(double a) { return g(a) "
         "+ g(2 * a) + g(-a); }",
         (0.3,), (0.7,), (-3.0,)),
    case("dead_code", "int f(int n) { if (n) { return 1; n = 7; } return n; n = 8; }", *NUMBERS),
    case("block", "int f(int n) { { if (n > 2) { return 1; } n += 4; } return n; }", *NUMBERS),
]  # fmt: skip

SWITCHES = [
    case("switch", "int f(int n) { switch (n) { case 1: n = 10; break; case 2: n = 20; break; default: n = 30; } "
         "return n; }", *NUMBERS),
    case("switch_falls", "int f(int n) { int s = 0; switch (n) { case 0: s += 1; case 1: s += 10; case 2: s += 100; "
         "break; case 3: s += 1000; } return s; }",
         *NUMBERS),
    case("switch_default_first", "int f(int n) { int s = 0; switch (n) { default: s = 5; case 3: s += 2; break; case "
         "4: s = 9; } return s; }", *NUMBERS),
    case("switch_default_middle", "int f(int n) { int s = 0; switch (n) { case 1: s = 1; default: s += 5; case 3: s "
         "+= 2; } return s; }", *NUMBERS),
    case("switch_labels", "int f(int n) { switch (n) { case 1: case 2: case -1: return 4; case 5: default: case 6: "
         "n++; } return n; }", *NUMBERS),
    case("switch_break_in_if",
         "int f(int n, int m) { int s = 0; switch (n) { case 1: if (m) break; s = 3; case 2: s += 4; if (m > 1) { s "
         "= 9; break; } s++; break; } return s; }",
         (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0)),
    case("switch_returns", "int f(int n) { switch (n) { case 1: return 5; case 2: return 6; default: return 7; } }",
         *NUMBERS),
    case("switch_in_loop",
         "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { switch (i % 4) { case 0: s++; break; case 1: "
         "continue; case 2: s *= 3; } s += 10; } return s; }",
         *NUMBERS),
    case("loop_in_switch",
         "int f(int n) { int s = 0; switch (n % 3) { case 0: for (int i = 0; i < 9; i++) { if (i > n) break; s += i; "
         "} break; case 1: while (n > 0) n -= 2;"
         " s = n; } return s; }", *NUMBERS),
    case("switch_enum",
         "enum kind { E_A, E_B = 4, E_C };\nint f(int n) { enum kind k = n > 4 ? E_C : n > 2 ? E_B : E_A; switch (k) "
         "{ case E_A: return 1; case E_B: return 2;"
         " case E_C: return 3; } return 0; }", *NUMBERS),
    case("switch_long", "int f(long n) { switch (n) { case 4294967296: return 1; case 0: return 2; } return 3; }",
         (0,), (2**32,), (5,)),
    case("switch_unsigned", "int f(unsigned n) { switch (n) { case 4294967295u: return 1; case 0: return 2; } return "
         "3; }", (0,), (2**32 - 1,), (5,)),
    case("switch_negative", "int f(int n) { switch (n + 1) { case -1: return 1; case +1: return 2; } return 3; }",
         *NUMBERS),
    case("switch_empty", "int f(int n) { switch (n) { } switch (n) case 3: n = 8; return n; }", *NUMBERS),
    case("switch_declares", "int f(int n) { switch (n) { int t; case 1: t = 5; n += t; break; case 2: { int u = 7; n "
         "+= u; } } return n; }", *NUMBERS),
    case("switch_scope", "int f(int n) { switch (n) { case 1:; int t = 3, u[2] = {4, 5}; n += t + u[1]; break; case 2: "
         "t = n * 5; u[1] = 2; n += t + u[1]; break; case 3: t = 2; default: t = n; n -= 2 * t; } return n; }",
         *NUMBERS),
    case("switch_nested", "int f(int n) { switch (n > 3) { case 1: switch (n) { case 4: n = 50; break; default: n++; "
         "} n += 2; break; default: n = -n; } return n; }",
         *NUMBERS),
    case("switch_effect", "int f(int n) { int s = 0; switch (n++) { case 2: s = n; break; default: s = -n; } return "
         "s; }", *NUMBERS),
    case("switch_only_default", "int f(int n) { switch (n) { default: n = 3; } return n; }", *NUMBERS),
]  # fmt: skip

EFFECTS = [
    case("postfix", "int f(int n) { int a = n++; int b = n--; return 100 * a + 10 * b + n; }", *NUMBERS),
    case("prefix", "int f(int n) { int a = ++n; int b = --n; return 100 * a + 10 * b + n; }", *NUMBERS),
    case("subscript_step", "int f(int *x) { int i = 0; x[i++] = 5; x[i++] = 6; x[++i] = 7; return i; }", (ints(0, 0,
         0, 0),)),
    case("copy_steps", "void f(int n, double *x, const double *y) { int i = 0, j = n; while (j > 0) x[i++] = y[--j]; "
         "}", (4, reals(4), reals(4, seed=1))),
    case("assign_sum", "double f(double a) { double b; double c = (b = a * 2) + 1; return b * c; }", (1.5,)),
    case("assign_narrows", "double f(double a) { int i; double c = i = a; return c + i; }", (2.9,)),
    case("compound_value", "int f(int n) { int m = 3; int k = (m += n) * 2; return m + 10 * k; }", *NUMBERS),
    case("assign_in_if", "int f(int n) { int m; if ((m = n % 3)) return m; return 50 + m; }", *NUMBERS),
    case("choice_effects", "int f(int n) { int a = 0, b = 0; int c = n > 2 ? a++ : (b += 2); return c + 10 * a + 100 "
         "* b; }", *NUMBERS),
    case("choice_statement", "int f(int n) { int a = 0; n > 2 ? a++ : (a += 20); return a; }", *NUMBERS),
    case("choice_void", "static void g(int *x) { x[0]++; }\nstatic void h(int *x) { x[0] *= 3; }\nvoid f(int n, int "
         "*x) { n > 2 ? g(x) : h(x); }",
         (1, ints(4)), (5, ints(4))),
    case("and_effects", "int f(int n) { int a = 0; int b = n > 2 && ++a; n > 4 && (a += 10); return 100 * b + a; }",
         *NUMBERS),
    case("or_effects", "int f(int n) { int a = 0; if (n > 2 || a++) a += 5; return a; }", *NUMBERS),
    case("comma", "int f(int n) { int a = (n++, n * 2); n = 3, a += n; return a; }", *NUMBERS),
    case("guarded", f"double f(int i, {X}) {{ return i >= 0 && i < n && x[i] > 0 ? x[i] : -1.0; }}",
         *((i, n, reals(4)) for i in (-1, 0, 2, 7) for n in (0, 4))),
    case("bool_step", "int f(bool b) { b++; int c = b; b -= 1; return c + 10 * b; }", (True,), (False,)),
    case("float_step", "float f(float a) { float b = a++; return b * 10 + a; }", (1.5,)),
]  # fmt: skip

CASES = [*LOOPS, *JUMPS, *SWITCHES, *EFFECTS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_all(CASES, tmp_path_factory.mktemp("control_flow"))


@needs_compiler
@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(each) for each in CASES])
def test_import_does_what_c_does(number: int, library: ctypes.CDLL) -> None:
    check(with_headers(CASES[number]), number, library)

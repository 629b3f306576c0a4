"""What the frontend refuses: each construct with its place and the exact message."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c import DEEPEST_SOURCE, import_c
from tapeflow.frontend.function_top import DEEPEST_NESTING


@dataclass(frozen=True)
class Refused:
    """A C text with a function `f`, and where and why it is refused."""

    name: str
    text: str
    position: str
    message: str

    def __str__(self) -> str:
        return self.name


STATEMENTS = [
    Refused(
        "goto",
        "double f(double a) {\nagain:\n  a /= 2;\n  if (a > 1) goto again;\n  return a;\n}",
        "2:1",
        "labels are not supported: control must be nested",
    ),
    Refused(
        "gotoonly",
        "double f(double a) {\n  if (a > 1) goto end;\n  a = 2;\nend:\n  return a;\n}",
        "2:14",
        "'goto' is not supported: control must be nested",
    ),
]  # fmt: skip

TYPES = [
    Refused(
        "struct_union_param",
        "union u { double x; long y; };\ndouble f(union u a) { return 1; }",
        "2:18",
        "the parameter 'a' is of type 'union u', which is no struct that the file defines and not supported",
    ),
    Refused(
        "union",
        "union u { double x; long y; };\ndouble f(double a) {\n  union u v;\n  v.x = a;\n  return v.x;\n}",
        "3:11",
        "'v' is of type 'union u', which is no struct that the file defines and not supported",
    ),
    Refused(
        "struct_undefined",
        "struct p;\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', which is no struct that the file defines and not supported",
    ),
    Refused(
        "struct_union_member",
        "struct p { union { int a; double b; } u; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the member 'u' of 'struct p' is of type 'union (unnamed union at k.c:1:12)', which is no struct that the file "
        "defines and not supported",
    ),
    Refused(
        "struct_bit_field",
        "struct p { double x; int n : 3; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'n' is a bit field, which is not supported",
    ),
    Refused(
        "struct_pointer_member",
        "struct p { int n; double *x; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'x' is a pointer, which is not supported: it "
        "must be certain which array an access touches",
    ),
    Refused(
        "struct_function_member",
        "struct p { double (*g)(double); };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'g' is a pointer to a function, which is not "
        "supported: which function runs is not known",
    ),
    Refused(
        "struct_flexible",
        "struct p { int n; double x[]; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'x' is an array without a length, which is not "
        "supported",
    ),
    Refused(
        "struct_long_double",
        "struct p { long double x; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'x' has type 'long double', which is not supported",
    ),
    Refused(
        "struct_volatile",
        "struct p { volatile double x; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose member 'x' is volatile, which is not supported",
    ),
    Refused(
        "struct_unnamed_member",
        "struct p { struct { double x; }; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', which has a member without a name: that is not supported",
    ),
    Refused(
        "struct_empty",
        "struct p {  };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', which has no members",
    ),
    Refused(
        "struct_packed",
        "struct __attribute__((packed)) p { int n; double x; };\ndouble f(struct p *a) { return 1; }",
        "2:20",
        "the parameter 'a' is of type 'struct p', whose members are not aligned, which is not supported",
    ),
    Refused(
        "struct_returned",
        "struct p { double x; };\nstruct p f(double a) { struct p b = {a}; return b; }",
        "2:10",
        "'f' returns a struct, which is only supported for functions that others in the file call",
    ),
    Refused(
        "struct_global",
        "struct p { double x; } s;\ndouble f(void) { return s.x; }",
        "2:25",
        "the global variable 's' is not constant, which is not supported",
    ),
    Refused(
        "struct_global_set",
        "struct p { double x; } s;\nvoid f(struct p *a) { s = *a; }",
        "2:23",
        "the global variable 's' is assigned, which is not supported",
    ),
    Refused(
        "struct_of_extension",
        "struct p { double x; };\nvoid f(struct p *a) { *a = ({ struct p b = {1}; b; }); }",
        "2:28",
        "statement expressions are a GNU extension and not supported",
    ),
    Refused(
        "struct_moved",
        "struct p { double x; };\ndouble f(double a) {\n  struct p s = {a}, *p = &s;\n  p++;\n  return a;\n}",
        "4:3",
        "a pointer to a single variable is moved away from it",
    ),
    Refused(
        "struct_memset",
        "#include <string.h>\nstruct p { double x; int n; };\nvoid f(int n, struct p *a) { memset(a, 0, n * 8); }",
        "3:43",
        "this number of bytes is not a multiple of the struct's size that is recognized",
    ),
    Refused(
        "struct_memset_ones",
        "#include <string.h>\nstruct p { double x; int n; };\nvoid f(struct p *a) { memset(a, 1, sizeof *a); }",
        "3:33",
        "memset with anything but 0 is not supported",
    ),
    Refused(
        "struct_memcpy",
        "#include <string.h>\nstruct p { double x; };\nvoid f(struct p *a, double *x) { memcpy(a, x, sizeof *a); }",
        "3:34",
        "memcpy between different types is not supported",
    ),
    Refused(
        "struct_as_number",
        "struct p { double x; };\ndouble f(struct p *a) { return *(double *)a; }",
        "2:33",
        "the cast of a pointer to 'double *' is not supported",
    ),
    Refused(
        "struct_names",
        "struct p { double x; int n; };\ndouble f(struct p *a, double *a_int) { return a->x; }",
        "2:20",
        "two parameters are called 'a_int' where a struct is taken apart, which is not supported",
    ),
    Refused(
        "member_all",
        "struct p { double A[2][2]; };\ndouble f(struct p *a) { return ((double *)a->A)[3]; }",
        "2:33",
        "a pointer that runs over all of a member of several dimensions is not supported",
    ),
]  # fmt: skip

POINTERS = [
    Refused(
        "ptr_assign",
        "double f(double *x, double *y) {\n  x = y;\n  return x[0];\n}",
        "2:3",
        "'x' may point into more than one array, which is not supported: which array an access touches must be certain",
    ),
    Refused(
        "ptr_return",
        "double *f(double *x) { return x; }",
        "1:9",
        "'f' returns a value of type 'double *', which is not supported",
    ),
    Refused(
        "ptr_compare",
        "int f(double *x) {\n  if (x) return 1;\n  return 0;\n}",
        "2:7",
        "a value of type 'double *' is not supported here: it must be certain which array is meant",
    ),
    Refused(
        "ptr_null",
        "#include <stddef.h>\ndouble f(double *x) {\n  double s = 0;\n  if (x != NULL) s = x[0];\n"
        "  return s;\n}",
        "4:7",
        "a pointer is compared with something else, which is not supported: no array is absent",
    ),
    Refused(
        "ptr_ptr",
        "double f(double **x) { return x[0][0]; }",
        "1:19",
        "the parameter 'x' is a pointer to pointers, which is not supported",
    ),
    Refused(
        "ptr_array",
        "double f(double *x[3]) { return x[0][0]; }",
        "1:18",
        "the parameter 'x' is a pointer to pointers, which is not supported",
    ),
    Refused(
        "func_ptr_param",
        "double f(double (*g)(double), double a) { return g(a); }",
        "1:19",
        "the parameter 'g' is a pointer to a function, which is not supported: which function runs is not known",
    ),
    Refused(
        "func_ptr_local",
        "#include <math.h>\ndouble f(double a) {\n  double (*g)(double) = sin;\n  return g(a);\n}",
        "3:12",
        "'g' is a pointer to a function, which is not supported: which function runs is not known",
    ),
]  # fmt: skip

CALLS = [
    Refused(
        "unknown_callee",
        "double g(double x);\ndouble f(double a) { return g(a); }",
        "2:29",
        "'g' is declared but not defined in this file: it cannot be differentiated",
    ),
]  # fmt: skip

VARIABLES = [
    Refused(
        "global",
        "double total;\nvoid f(double a) { total += a; }",
        "2:20",
        "the global variable 'total' is assigned, which is not supported",
    ),
    Refused(
        "global_read",
        "double scale = 2;\ndouble f(double a) { return a * scale; }",
        "2:33",
        "the global variable 'scale' is not constant, which is not supported",
    ),
    Refused(
        "global_array",
        "double table[3];\ndouble f(int i) { return table[i]; }",
        "2:26",
        "the global variable 'table' is not constant, which is not supported",
    ),
    Refused(
        "global_array_arg",
        "double table[3];\nstatic double g(const double *x) { return x[0]; }\n"
        "double f(int i) { return g(table); }",
        "3:28",
        "the global variable 'table' is not constant, which is not supported",
    ),
    Refused(
        "static_local",
        "double f(double a) {\n  static double total = 0;\n  total += a;\n  return total;\n}",
        "2:17",
        "the static variable 'total' can change between calls, which is not supported",
    ),
    Refused(
        "extern_local",
        "double f(double a) {\n  extern double total;\n  return a * total;\n}",
        "2:17",
        "the global variable 'total' can change between calls, which is not supported",
    ),
    Refused(
        "string",
        "double f(double a) {\n  const char *s = \"x\";\n  return a;\n}",
        "2:19",
        "strings are not supported",
    ),
    Refused(
        "char_array",
        "double f(double a) {\n  char s[2] = \"x\";\n  return a;\n}",
        "2:15",
        "this initial value of an array is not supported",
    ),
]  # fmt: skip

LOOPS = [
    Refused(
        "no_cond",
        "double f(int n) {\n  double s = 0;\n  for (int i = 0; ; i++) s += i;\n  return s;\n}",
        "3:3",
        "this loop does not end",
    ),
    Refused(
        "forever",
        "double f(int n) {\n  for (;;) n++;\n  return n;\n}",
        "2:3",
        "this loop does not end",
    ),
    Refused(
        "global_counter",
        "int i;\ndouble f(int n) {\n  double s = 0;\n  for (i = 0; i < n; i++) s += 1;\n  return s;\n}",
        "4:8",
        "the global variable 'i' is assigned, which is not supported",
    ),
]  # fmt: skip

ORDER = [
    Refused(
        "call_order",
        "static double g(double *x) { x[0] += 1; return x[0]; }\ndouble f(double *x) {\n"
        "  return x[0] + g(x);\n}",
        "3:17",
        "'g' may change 'x', which the same expression uses: C leaves open which comes first",
    ),
    Refused(
        "call_order2",
        "static double g(double *x) { x[0] += 1; return x[0]; }\ndouble f(double *x) {\n"
        "  return g(x) * g(x);\n}",
        "3:10",
        "'g' may change 'x', which the same expression uses: C leaves open which comes first",
    ),
    Refused(
        "call_order3",
        "static double g(double *x) { x[0] += 1; return x[0]; }\nvoid f(double *x) {\n  x[0] += g(x);\n}",
        "3:11",
        "'g' may change 'x', which the same expression uses: C leaves open which comes first",
    ),
]  # fmt: skip

CLANG = [
    Refused(
        "syntax",
        "double f(double a) {\n  return a +;\n}",
        "2:13",
        "expected expression",
    ),
    Refused(
        "two_errors",
        "double f(double a) {\n  b = 1;\n  return c;\n}",
        "2:3",
        "use of undeclared identifier 'b'\nk.c:3:10: error: use of undeclared identifier 'c'",
    ),
    Refused(
        "type_error",
        "double f(double *x, double *y) { return x * y; }",
        "1:43",
        "invalid operands to binary expression ('double *' and 'double *')",
    ),
    Refused(
        "assign_const",
        "void f(const double *x) {\n  x[0] = 1;\n}",
        "2:8",
        "read-only variable is not assignable",
    ),
    Refused(
        "discard",
        "static void g(double *x) { x[0] = 1; }\nvoid f(const double *x) {\n  g(x);\n}",
        "3:5",
        "passing 'const double *' to parameter of type 'double *' discards qualifiers",
    ),
    Refused(
        "shape_arg",
        "static double g(int n, const double A[n][n]) { return A[0][0]; }\n"
        "double f(int n, const double *x) {\n  return g(n, x);\n}",
        "3:15",
        "incompatible pointer types passing 'const double *' to parameter of type 'const double (*)[*]'",
    ),
    Refused(
        "few_args",
        "static double g(double a, double b) { return a + b; }\ndouble f(double a) { return g(a); }",
        "2:32",
        "too few arguments to function call, expected 2, have 1",
    ),
    Refused(
        "no_return",
        "double f(double a) {\n  a = 1;\n}",
        "3:1",
        "non-void function does not return a value",
    ),
    Refused(
        "bounds",
        "double f(double a) {\n  double b[2] = {a, a};\n  return b[2];\n}",
        "3:10",
        "array index 2 is past the end of the array (that has type 'double[2]')",
    ),
    Refused(
        "div0",
        "int f(int a) { return a / 0; }",
        "1:25",
        "division by zero is undefined",
    ),
    Refused(
        "unseq",
        "void f(double *a, int i) { a[i++] = i; }",
        "1:31",
        "unsequenced modification and access to 'i'",
    ),
    Refused(
        "chain_index",
        "void f(double *x, int i) { x[i] = i = 2; }",
        "1:37",
        "unsequenced modification and access to 'i'",
    ),
    Refused(
        "implicit_int",
        "f(double a) { return 1; }",
        "1:1",
        "type specifier missing, defaults to 'int'; ISO C99 and later do not support implicit int",
    ),
    Refused(
        "void_arith",
        "void g(void) {}\ndouble f(double a) { return a + g(); }",
        "2:31",
        "invalid operands to binary expression ('double' and 'void')",
    ),
    Refused(
        "return_value_void",
        "void f(double *x) { return 1; }",
        "1:21",
        "void function 'f' should not return a value",
    ),
    Refused(
        "error_directive",
        "#error stop here\ndouble f(double a) { return a; }",
        "1:2",
        "stop here",
    ),
    Refused(
        "dup",
        "double f(double a) { return a; }\ndouble f(double a) { return a; }",
        "2:8",
        "redefinition of 'f'",
    ),
    Refused(
        "vla_order",
        "double f(double A[n][m], int n, int m) { return A[0][0]; }",
        "1:19",
        "use of undeclared identifier 'n'\nk.c:1:22: error: use of undeclared identifier 'm'",
    ),
    Refused(
        "bad_include",
        "#include \"nothing.h\"\ndouble f(double a) { return a; }",
        "1:10",
        "'nothing.h' file not found",
    ),
    Refused(
        "cpp",
        "template <class T> T f(T a) { return a; }",
        "1:1",
        "unknown type name 'template'\nk.c:1:10: error: expected identifier or '('",
    ),
    Refused(
        "undeclared",
        "double f(double a) { return g(a); }",
        "1:29",
        "call to undeclared function 'g'; ISO C99 and later do not support implicit function declarations",
    ),
    Refused(
        "undeclared_lib",
        "double f(double a) { return sin(a); }",
        "1:29",
        "call to undeclared library function 'sin' with type 'double (double)'; ISO C99 and later do not "
        "support implicit function declarations",
    ),
    Refused(
        "printf",
        "#include <stdio.h>\nvoid f(double a) { printf(\"%f\", a); }",
        "1:10",
        "'stdio.h' file not found",
    ),
]  # fmt: skip

REST = [
    Refused(
        "extent_expr",
        "double f(int n, const double A[n][n + 1]) { return A[0][0]; }",
        "1:35",
        "this extent of 'A' is an expression, which is not supported",
    ),
    Refused(
        "outer_extent_expr",
        "double f(int n, const double x[n & 6]) { return x[n]; }",
        "1:32",
        "this extent of 'x' is an expression, which is not supported",
    ),
    Refused(
        "place_of_assigned",
        "void f(double *x, int i) { int *k = &i; x[*k] = i = 3; }",
        "1:41",
        "this place depends on a variable that the same statement assigns: C leaves open which value is meant",
    ),
    Refused(
        "may_not_return",
        "int f(int i) { if (i > 3) return 1; __builtin_unreachable(); }",
        "1:5",
        "'f' may end without a 'return'",
    ),
    Refused(
        "ptr_unset",
        "double f(int i, double *x) {\n  double *p;\n  for (; i > 0; i--) {\n    if (i < 3) return *p;\n    p "
        "= x;\n  }\n  return 1;\n}",
        "4:24",
        "'p' is used before it points at anything",
    ),
    Refused(
        "for_in_macro",
        "#define FROM(i, n) int i = 0; i < n;\ndouble f(int n) { double s = 0; for (FROM(i, n)) { i++; s++; } "
        "return s; }",
        "2:33",
        "this 'for' leaves out a part and is written by a macro: its parts cannot be told apart",
    ),
    Refused(
        "value_of_memset",
        "#include <string.h>\ndouble f(double *x) { return (memset(x, 0, 8), x[0]); }",
        "2:31",
        "the value of 'memset' is not supported",
    ),
    Refused(
        "complex_parameter",
        "double f(long double _Complex a) { return 1; }",
        "1:31",
        "the parameter 'a' has type '_Complex long double', which is not supported",
    ),
    Refused(
        "function_parameter",
        "double f(int x(int)) { return 1; }",
        "1:14",
        "the parameter 'x' has type 'int (int)', which is not supported",
    ),
    Refused(
        "long_double_array",
        "double f(long double *x) { return 1; }",
        "1:23",
        "the parameter 'x' has elements of type 'long double', which is not supported",
    ),
    Refused(
        "offsetof",
        "struct s { double x; int n; };\nint f(void) { return __builtin_offsetof(struct s, n); }",
        "2:51",
        "this construct is not supported (member ref)",
    ),
    Refused(
        "choose_expr",
        "double f(double a) { return __builtin_choose_expr(1, a, 2); }",
        "1:29",
        "this expression is an extension of C and not supported",
    ),
    Refused(
        "row_as_number",
        "double f(const double A[2][3]) { return *A ? 1 : 2; }",
        "1:41",
        "a value of type 'const double *' is not supported here: it must be certain which array is meant",
    ),
    Refused(
        "function_value",
        "#include <string.h>\ndouble f(double *x) { return memset == 0; }",
        "2:30",
        "a value of type 'void *(void *, int, unsigned long)' is not supported",
    ),
    Refused(
        "subscript_of_parameter",
        "double f(const double x[3]) { return x[0] + x[3]; }",
        "1:45",
        "the subscript 3 is outside of the 3 elements that this array is declared with",
    ),
    Refused(
        "subscript_of_row",
        "void f(double A[][2][3], int i) { double (*r)[3] = A[i]; r[2][0] = 1; }",
        "1:58",
        "the subscript 2 is outside of the 2 elements that this array is declared with",
    ),
    Refused(
        "subscript_negative",
        "double f(const double *x, const double A[4]) { x++; return A[x[0] > 0 ? 1 : 2] + *(A - 1); }",
        "1:82",
        "the subscript -1 is outside of the 4 elements that this array is declared with",
    ),
    Refused(
        "long_double",
        "double f(double a) {\n  long double b = a;\n  return b;\n}",
        "2:15",
        "'b' has type 'long double', which is not supported",
    ),
    Refused(
        "complex_integer",
        "double f(double a) {\n  int _Complex z = a;\n  return __real__ z;\n}",
        "2:16",
        "'z' has type '_Complex int', which is not supported",
    ),
    Refused(
        "complex_member",
        "struct P {double _Complex z;};\ndouble f(struct P *p) { return 1; }",
        "2:20",
        "the parameter 'p' is of type 'struct P', whose member 'z' is complex, "
        "which is only supported in structs that the file itself makes",
    ),
    Refused(
        "part_of_complex_assigned",
        "double f(double _Complex z) {\n  __imag__ z = 1;\n  return __real__ z;\n}",
        "2:3",
        "a part of a complex number is not supported where a variable is wanted",
    ),
    Refused(
        "part_of_complex_updated",
        "double f(double _Complex *z) {\n  __real__ z[0] += 1;\n  return __real__ z[0];\n}",
        "2:3",
        "a part of a complex number is not supported where a variable is wanted",
    ),
    Refused(
        "complex_conjugate",
        "double f(double _Complex z) { return __real__ ~z; }",
        "1:47",
        "'~' of a complex number is a GNU extension and not supported",
    ),
    Refused(
        "complex_literal_of_integers",
        "double f(double _Complex z) { return __real__ (z + 2i); }",
        "1:52",
        "a complex integer is not supported",
    ),
    Refused(
        "complex_projection",
        "#include <complex.h>\ndouble f(double complex z) { return creal(cproj(z)); }",
        "2:43",
        "'cproj' is not supported",
    ),
    Refused(
        "complex_pointer_as_pairs",
        "double f(double _Complex *z) {\n  double *x = (double *)z;\n  return x[0];\n}",
        "2:15",
        "the cast of a pointer to 'double *' is not supported",
    ),
    Refused(
        "complex_rule",
        "#pragma tapeflow rule(g, vjp=h)\ndouble _Complex g(double _Complex z) { return z; }\n"
        "double h(double _Complex z, double _Complex s) { return 1; }\n"
        "double f(double _Complex z) { return __real__ g(z); }",
        "1:1",
        "'h' does not fit as the vjp of 'g'",
    ),
    Refused(
        "volatile",
        "double f(double a) {\n  volatile double b = a;\n  return b;\n}",
        "2:19",
        "'b' is volatile, which is not supported",
    ),
    Refused(
        "volatile_param",
        "double f(volatile double *a) { return a[0]; }",
        "1:27",
        "'a' is volatile, which is not supported",
    ),
    Refused(
        "designated",
        "double f(void) {\n  double t[3] = {[0 ... 1] = 2};\n  return t[0];\n}",
        "2:18",
        "a range of elements in an initial value is a GNU extension and not supported",
    ),
    Refused(
        "variadic",
        "double f(int n, ...) { return n; }",
        "1:8",
        "'f' takes a variable number of arguments, which is not supported",
    ),
    Refused(
        "unnamed",
        "double f(int) { return 1; }",
        "1:13",
        "a parameter without a name is not supported",
    ),
    Refused(
        "asm",
        "double f(double a) {\n  __asm__(\"nop\");\n  return a;\n}",
        "2:3",
        "inline assembly is not supported",
    ),
    Refused(
        "stmt_expr",
        "double f(double a) { return ({ double b = a; b; }); }",
        "1:29",
        "statement expressions are a GNU extension and not supported",
    ),
    Refused(
        "gnu_elvis",
        "double f(int a, double b) { return a ?: b; }",
        "1:36",
        "this expression is an extension of C and not supported",
    ),
    Refused(
        "compound_literal",
        "static double g(const double *x) { return x[0]; }\n"
        "double f(void) { return g((double[]){1, 2}); }",
        "2:27",
        "compound literals are not supported",
    ),
    Refused(
        "generic",
        "double f(double a) { return _Generic(a, double: 1.0, default: 2.0); }",
        "1:29",
        "_Generic is not supported",
    ),
    Refused(
        "void_ptr",
        "double f(void *p) { return 1; }",
        "1:16",
        "the parameter 'p' is a pointer of type 'void *', which is not supported: a pointer could escape",
    ),
    Refused(
        "cast_ptr",
        "double f(double *x) { return ((float *)x)[0]; }",
        "1:31",
        "the cast of a pointer to 'float *' is not supported",
    ),
    Refused(
        "memset_one",
        "#include <string.h>\nvoid f(int n, double *x) {\n  memset(x, 1, n * sizeof(double));\n}",
        "3:13",
        "memset with anything but 0 is not supported",
    ),
    Refused(
        "memset_bytes",
        "#include <string.h>\nvoid f(int n, double *x) {\n  memset(x, 0, n);\n}",
        "3:16",
        "this number of bytes is not a multiple of the element's size that is recognized",
    ),
    Refused(
        "memcpy_types",
        "#include <string.h>\nvoid f(double *x, const float *y) {\n  memcpy(x, y, 8 * sizeof(double));\n}",
        "3:3",
        "memcpy between different types, or of single variables, is not supported",
    ),
    Refused(
        "memcpy_value",
        "#include <string.h>\ndouble f(double *x, const double *y) {\n"
        "  double *z = memcpy(x, y, 8 * sizeof(double));\n  return z[0];\n}",
        "3:15",
        "'memcpy' returns a pointer, which is not supported",
    ),
    Refused(
        "nextafter",
        "#include <math.h>\ndouble f(double a) { return nextafter(a, 2); }",
        "2:29",
        "call to undeclared library function 'nextafter' with type 'double (double, double)'; ISO C99 and later do "
        "not support implicit function declarations",
    ),
    Refused(
        "sizeof_vla",
        "double f(int n) { double t[n]; t[0] = sizeof t; return t[0]; }",
        "1:39",
        "'sizeof' of what is only known at run time is not supported",
    ),
    Refused(
        "negative_extent",
        "double f(void) { const int n = -3; double t[n]; t[0] = 1; return t[0]; }",
        "1:45",
        "this extent of 't' is -3",
    ),
    Refused(
        "typedef_extent",
        "double f(int n, int m) { typedef double row[m]; row t[n]; t[0][0] = 1; return t[0][0]; }",
        "1:53",
        "an extent of 't' is hidden in a typedef, which is not supported",
    ),
    Refused(
        "indirect_call",
        "double f(double a) { return (*f)(a); }",
        "1:29",
        "a call through a pointer is not supported: which function runs is not known",
    ),
    Refused(
        "ternary_ptr",
        "double f(int c, double *x, double *y) { return (c ? x : y)[0]; }",
        "1:49",
        "a choice between pointers is not supported: which array an access touches must be certain",
    ),
    Refused(
        "compound_literal_value",
        "double f(double a) { return (_Bool){1}; }",
        "1:29",
        "compound literals are not supported",
    ),
    Refused(
        "braces_round_scalar",
        "double f(double a) {\n  double b = {a};\n  return b;\n}",
        "2:14",
        "braces are only supported round the initial values of an array",
    ),
    Refused(
        "extern_const",
        "extern const double W[2];\ndouble f(double a) { return a * W[0]; }",
        "2:33",
        "the global variable 'W' is not constant, which is not supported",
    ),
    Refused(
        "half",
        "_Float16 f(_Float16 a) { return a; }",
        "1:10",
        "'f' returns a value of type '_Float16', which is not supported",
    ),
    Refused(
        "own_declaration_of_library_function",
        "float sin(float a);\ndouble f(double a) { return sin(a); }",
        "2:29",
        "'sin' is not declared here as the C library declares it",
    ),
]  # fmt: skip

UNSET = [
    Refused(
        "unset",
        "double f(double a) {\n  double b;\n  return a + b;\n}",
        "3:14",
        "'b' is read before it is written",
    ),
    Refused(
        "unset_itself",
        "double f(double a) {\n  double b = a + b;\n  return b;\n}",
        "2:18",
        "'b' is read before it is written",
    ),
    Refused(
        "unset_in_both_arms",
        "double f(double a) {\n  double b;\n  if (a > 0) { a += 1; }\n  else { a += b; }\n  b = 1;\n  return a + b;\n}",
        "4:15",
        "'b' is read before it is written",
    ),
    Refused(
        "unset_in_the_first_iteration",
        "double f(double a) {\n  double b;\n  do { a += b; b = a; } while (a < 3);\n  return a;\n}",
        "3:13",
        "'b' is read before it is written",
    ),
    Refused(
        "unset_by_an_arm",
        "double f(double a) {\n  double b;\n  if (a > 0)\n    b = a;\n  return b;\n}",
        "5:10",
        "'b' is read here, where the 'if' in line 3 may have left it without a value",
    ),
    Refused(
        "unset_by_a_switch",
        "double f(int k) {\n  double b;\n  switch (k) {\n  case 0: b = 1; break;\n  case 1: b = 2;\n  }\n"
        "  return b;\n}",
        "7:10",
        "'b' is read here, where the 'switch' in line 3 may have left it without a value",
    ),
    Refused(
        "unset_by_a_condition",
        "double f(double a) {\n  double b;\n  if (a > 1 || (b = a) > 0)\n    return b;\n  return a;\n}",
        "4:12",
        "'b' is read here, where the '||' in line 3 may have left it without a value",
    ),
    Refused(
        "unset_by_a_loop",
        "double f(double a) {\n  double b;\n  while (a < 3) {\n    b = a;\n    break;\n  }\n  return b;\n}",
        "7:10",
        "'b' is read here, where the 'while' in line 3 may have left it without a value",
    ),
    Refused(
        "unset_member",
        "double f(double a) {\n  struct {double x, y;} p;\n  p.x = a;\n  return p.x + p.y;\n}",
        "4:18",
        "'p.y' is read before it is written",
    ),
    Refused(
        "unset_member_of_a_copy",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct {struct P v; int n;} p, q;\n  struct P "
        "r;\n  p.v.x = a;\n  q = p;\n  r = q.v;\n  return r.x + r.y;\n}",
        "8:18",
        "'r.y', a copy of 'p.v.y', is read before it is written",
    ),
    Refused(
        "unset_member_by_an_exchange",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct P p = {a, a}, q, t;\n  q.x = a;\n  t = p; "
        "p = q; q = t;\n  return p.y;\n}",
        "6:12",
        "'p.y', a copy of 'q.y', is read before it is written",
    ),
    Refused(
        "unset_member_by_an_arm",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct P p = {a, a}, q;\n  q.x = a;\n  if (a > "
        "0)\n    p = q;\n  return p.y;\n}",
        "7:12",
        "'p.y', a copy of 'q.y', is read here, where the 'if' in line 5 may have left it without a value",
    ),
    Refused(
        "unset_member_by_a_choice",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct P p = {a, a}, q;\n  q.x = a;\n  struct P r "
        "=\n    a > 0 ? p : q;\n  return r.y;\n}",
        "7:12",
        "'r.y', a copy of 'q.y', is read here, where the '?:' in line 6 may have left it without a value",
    ),
    Refused(
        "unset_member_by_a_loop",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct P p = {a, a}, q;\n  q.x = a;\n  while (p.x "
        "> 1) { p = q; q.x /= 2; }\n  return p.y;\n}",
        "6:12",
        "'p.y', a copy of 'q.y', is read here, where the 'while' in line 5 may have left it without a value",
    ),
    Refused(
        "unset_member_in_the_first_iteration",
        "struct P {double x, y;};\ndouble f(double a) {\n  struct P p, q;\n  do { p = q;\n    a += p.y; q.y "
        "= a; } while (a < 3);\n  return a;\n}",
        "5:12",
        "'p.y', a copy of 'q.y', is read before it is written",
    ),
]  # fmt: skip
"""Reads of variables without a value. Where other conditions decide, too, variables are taken to have one."""

SET = {
    "as_it_was_set": "if (a > 0) b = a;\n  if (a > 0) a += b;",
    "in_an_earlier_iteration": "for (int i = 0; i < n; i++) { if (i > 0) a += b; b = a; }",
    "first_of_a_do": "int first = 1;\n  do { if (first) { b = a; first = 0; } a += b; b = a; } while (a < 3);",
    "by_the_loop": "for (int i = 0; i < n; i++) b = a;\n  a += b;",
    "before_an_endless_loop_is_left": "while (1) { b = a; if (a > 0) break; a += 1; }\n  a += b;",
    "by_what_goes_on": "if (a > 0) b = 1; else return a;\n  a += b;",
    "by_all_cases": "switch (n) { case 0: b = 1; break; default: b = 2; }\n  a += b;",
    "by_a_condition": "if (a > 0 && (b = a) < 3) a += b;",
    "in_no_arithmetic": "(void)b;\n  a += sizeof b;",
    "members_that_are_set": "P p, q; p.x = a; q = p; q.y = a; P r = q; a += r.x + r.y;",
    "member_as_it_was_set": "P p, q; if (a > 0) p.y = a;\n  q = p;\n  if (a > 0) a += q.y;",
    "copy_of_an_earlier_iteration": "P p, q; for (int i = 0; i < n; i++) { if (i > 1) a += q.y; q = p; p.y = a; }",
    "exchanged_in_a_loop": "P p, q, t; q.y = a; for (int i = 0; i < n; i++) { t = p; p = q; q = t; } a += p.y;",
    "member_by_its_address": "P p, q, *r = &p; q.x = a; p = q; r->y = a; a += p.y;",
    "member_by_a_condition": "P p, q; p.x = a; if (a > 0 && (p.y = a) < 3) { q = p; a += q.y; }",
    "member_by_all_arms": "P p, q = {a, a}; if (a > 0) p = q; else p.y = a;\n  a += p.y;",
    "member_by_both_choices": "P p = {a, a}, q; q.y = a; P r = a > 0 ? p : q; a += r.y;",
    "member_of_no_use": "P p; p.x = a; P q = p, r = a > 0 ? q : p; (void)r.y; a += r.x * sizeof r.y;",
}

OURS = [*STATEMENTS, *TYPES, *POINTERS, *CALLS, *VARIABLES, *LOOPS, *ORDER, *UNSET, *REST]


def refusal_of(text: str, function: str | None = "f") -> TapeflowError:
    with pytest.raises(TapeflowError) as caught:
        import_c(text + "\n", filename="k.c", function=function)
    return caught.value


@pytest.mark.parametrize("each", [*OURS, *CLANG], ids=str)
def test_refusal(each: Refused) -> None:
    error = refusal_of(each.text)
    assert error.message == each.message
    assert error.position == f"k.c:{each.position}"


@pytest.mark.parametrize("statements", SET.values(), ids=SET)
def test_variables_that_may_have_a_value_are_taken_to_have_one(statements: str) -> None:
    types = "typedef struct {double x, y;} P;"
    import_c(f"{types}\ndouble f(int n, double a) {{\n  double b;\n  {statements}\n  return a;\n}}\n", filename="k.c")


def test_messages_say_where_what_and_what_to_do() -> None:
    error = refusal_of("double f(double a) {\n  while (1) a /= 2;\n}")
    assert str(error) == (
        "k.c:2:3: error: this loop does not end\n  help: give it a condition, or leave it with 'break' or 'return'"
    )


@pytest.mark.parametrize("each", OURS, ids=str)
def test_refusals_of_ours_say_what_to_do(each: Refused) -> None:
    assert refusal_of(each.text).hint


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TapeflowError, match=r"cannot read '.*none\.c': No such file or directory"):
        import_c(tmp_path / "none.c")
    with pytest.raises(TapeflowError, match=r"cannot read 'none\.c'"):
        import_c("none.c")
    with pytest.raises(TapeflowError, match="cannot read"):
        import_c(tmp_path)


@pytest.mark.parametrize("text", ["", "\n", "// nothing\n", "int x;", "double f(double a);"])
def test_file_without_functions(text: str, tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    path.write_text(text)
    for source in (text, path):
        with pytest.raises(TapeflowError, match=r"k\.c:1:1: error: this file defines no function"):
            import_c(source, filename="k.c")


def test_function_not_found_lists_those_there_are() -> None:
    error = refusal_of("double g(double a) { return a; }\nstatic void h(void) {}", "f")
    assert str(error) == "k.c:1:1: error: there is no function 'f' in this file\n  help: it defines 'g', 'h'"


def test_bytes_that_are_no_c(tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(TapeflowError, match=r"k\.c:1:"):
        import_c(path)


def test_all_of_clangs_errors_are_shown() -> None:
    text = "".join(f"double g{k}(void) {{ return undeclared{k}; }}\n" for k in range(30))
    lines = str(refusal_of(text)).split("\n")
    assert lines[0] == "k.c:1:26: error: use of undeclared identifier 'undeclared0'"
    assert lines[19] == "k.c:20:27: error: use of undeclared identifier 'undeclared19'"
    assert lines[20] == "and 10 more errors"


def test_functions_that_are_not_needed_may_be_anything() -> None:
    text = (
        "void g(double *x) { x: goto x; }\n"
        "static double h(double a) { return a; }\n"
        "double f(double a) { return h(a); }\n"
    )
    names = [op.sym_name.data for op in import_c(text, function="f").ops]
    assert names == ["h", "f"]
    assert refusal_of(text, None).position == "k.c:1:21"


def test_a_refusal_in_a_callee_is_located_there() -> None:
    error = refusal_of(
        "static double g(double a) {\n  if (a > 0) goto end;\nend:\n  return a;\n}\ndouble f(double a) { return g(a); }"
    )
    assert error.position == "k.c:2:14"


def test_a_refusal_in_an_include_is_located_there(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("static double g(double a) {\n  if (a > 0) goto end;\nend:\n  return a;\n}\n")
    (tmp_path / "k.c").write_text('#include "own.h"\ndouble f(double a) { return g(a); }\n')
    with pytest.raises(TapeflowError, match=r"own\.h:2:14: error: 'goto'"):
        import_c(tmp_path / "k.c")


def test_blocks_nested_too_deep() -> None:
    def nested(depth: int) -> str:
        return "double f(double a) {" + "if (a > 1) {" * depth + "a = 1;" + "}" * depth + "return a; }"

    import_c(nested(DEEPEST_NESTING))
    assert (
        refusal_of(nested(DEEPEST_NESTING + 1)).message == "blocks are nested more than 64 deep, which is not supported"
    )


def test_expressions_nested_too_deep() -> None:
    def chain(terms: int) -> str:
        return "double f(double a) { return a" + " + a * 0.5" * terms + "; }"

    # A thread of its own has little stack: depth must not cost any of C's.
    threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: import_c(chain(DEEPEST_SOURCE - 10)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert "nested more than 1000 deep" in refusal_of(chain(DEEPEST_SOURCE + 10)).message


def test_headers_are_always_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "math.h").write_text("#error not this one\n")
    for variable in ("CPATH", "C_INCLUDE_PATH"):
        monkeypatch.setenv(variable, os.fspath(tmp_path))
    import_c("#include <math.h>\ndouble f(double a) { return sin(a); }")

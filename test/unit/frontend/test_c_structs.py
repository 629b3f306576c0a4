"""Structs: members, copies, initial values, arrays of them, parameters, results: the compiler and the import agree."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import COMPILER, Case, case, compile_all, needs_compiler, same
from xdsl.dialects.func import FuncOp

import tapeflow
from tapeflow.arguments import parameters_of
from tapeflow.errors import ArgumentError, TapeflowError
from tapeflow.frontend.c import import_c
from tapeflow.gradient_check import check
from tapeflow.interpreters import run
from tapeflow.records import unpacked

V = "struct E_V {double x, y;};\n"
P = V + "typedef struct {double m; double w[3]; int n; struct E_V v; float h[2][2]; struct E_V c[2];} E_P;\n"

V_TYPE = np.dtype([("x", "f8"), ("y", "f8")], align=True)
P_TYPE = np.dtype(
    [("m", "f8"), ("w", "f8", (3,)), ("n", "i4"), ("v", V_TYPE), ("h", "f4", (2, 2)), ("c", V_TYPE, (2,))], align=True
)


def vectors(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 2)).view(V_TYPE)[:, 0]


def filled(structs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    for name in structs.dtype.names or ():
        member = structs[name]
        if member.dtype.names is not None:
            filled(member, rng)
        elif member.dtype.kind == "f":
            structs[name] = rng.uniform(0.5, 1.5, member.shape)
        else:
            structs[name] = rng.integers(1, 3, member.shape)
    return structs


def things(count: int) -> np.ndarray:
    return filled(np.zeros(count, P_TYPE), np.random.default_rng(count))


CASES = [
    case("pointer", V + "double f(const struct E_V *p) { return p->x - (*p).y; }", (vectors(1),)),
    case("written", V + "void f(struct E_V *p) { p->x += p->y; p[1].y = -p->x; (p + 1)->x++; }", (vectors(2),)),
    case("array", V + "double f(int n, struct E_V ps[n]) { double s = 0; for (int i = 0; i < n; i++) s = 2 * s + "
         "ps[i].x * ps[n - 1 - i].y; return s; }", (4, vectors(4))),
    case("matrix", V + "double f(int n, struct E_V A[n][2]) { double s = 0; for (int i = 0; i < n; i++) { struct E_V "
         "*r = A[i]; r[1].x += i; s = 2 * s + r->y + A[i][1].x; } return s; }", (2, vectors(4).reshape(2, 2))),
    case("whole_matrix", V + "double f(const struct E_V A[2][2]) { const struct E_V *p = &A[0][0]; return p[3].x - "
         "p[1].y; }", (vectors(4).reshape(2, 2),)),
    case("moving", V + "double f(int n, struct E_V *ps) { double s = 0; for (struct E_V *p = ps; p < ps + n; "
         "p++) { s = 2 * s + p->x; p->y = s; } return s; }", (3, vectors(3))),
    case("mixed", P + "double f(int n, E_P *ps) { double s = 0; for (int i = 0; i < n; i++) { E_P *p = &ps[i]; "
         "for (int k = 0; k < p->n; k++) { s = 2 * s + p->w[k] * p->h[1][k]; p->c[k].y -= s; } p->n += 1; "
         "p->h[0][1] = s; } return s + ps[0].c[1].y; }", (2, things(2))),
    case("local", V + "double f(double a) { struct E_V p; p.x = a; p.y = 2 * p.x; p.x -= 1; return p.x * p.y; }",
         (3.0,)),
    case("anonymous", "double f(double a) { struct {double x; int n;} p = {a}; p.n += 2; return p.x * p.n; }", (3.0,)),
    case("copies", P + "double f(E_P *p) { E_P q = *p, r; q.w[1] = 5; q.c[1].x = 6; r = q; r.v = q.c[1]; p[1] = r; "
         "p->c[0] = p[1].c[1]; return r.v.x + q.w[1] + r.h[1][0]; }", (things(2),)),
    case("assigned_value", V + "double f(struct E_V *p) { struct E_V a, b; a = b = p[1]; b.x = 1; return a.x + "
         "(a = b).x + b.x; }", (vectors(2),)),
    case("braces", P + "double f(int i) { E_P p = {1, {2, 3}, 4, {5, 6}, {{7}, {8, 9}}, {{10, 11}, {12}}}; return "
         "p.m + 2 * p.w[i] + 3 * p.n + 5 * p.v.y + 7 * p.h[i][1] + 9 * p.c[1].x + 11 * p.c[i].y; }", (0,), (1,)),
    case("no_inner_braces", P + "double f(int i) { E_P p = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}; return "
         "p.w[i] + 2 * p.n + 3 * p.v.x + 4 * p.v.y + 5 * p.h[i][1] + 6 * p.c[0].y + 7 * p.c[i].x; }", (0,), (1,)),
    case("designated", P + "double f(int i) { E_P p = {.n = 3, {1, .y = 2}, .w = {[1] = 4, 5}, .c[1].x = 6, 7, "
         ".h[1][0] = 8, 9, .m = 1, .m = 2}; return p.m + 2 * p.n + 3 * p.v.x + 4 * p.v.y + 5 * p.w[i] + 6 * "
         "p.c[i].x + 7 * p.c[i].y + 8 * p.h[i][0] + 9 * p.h[1][1]; }", (0,), (1,)),
    case("designated_array", "double f(int i) { double x[5] = {[2] = 1, 2, [0] = 3}; int t[2][2] = {[1][0] = 4, "
         "5, [0] = {6}}; return x[i] + 10 * t[i][0] + 100 * t[1][i]; }", (0,), (1,)),
    case("of_structs", V + "double f(const struct E_V *p) { struct E_V a[3] = {p[0], {.y = 2}, *p}, b = a[2]; struct "
         "{struct E_V u, v;} d = {p[1], .v.x = 3}; return a[0].x + a[1].y + b.y + d.u.x + d.v.x + d.v.y; }",
         (vectors(2),)),
    case("many_zeros", V + "double f(int i) { struct E_V a[20] = {[3] = {1, 2}, [i > 0 ? 1 : 1].y = 5}; return "
         "a[i].x + 2 * a[i].y + a[19].x; }" .replace("[i > 0 ? 1 : 1]", "[1]"), (1,), (3,)),
    case("literal", V + "double f(double a) { struct E_V p; p = (struct E_V){a, .y = 3}; return p.x + ((struct E_V){1, "
         "a}).y + p.y; }", (2.0,)),
    case("chosen", V + "double f(int i, struct E_V *p) { struct E_V q = i ? p[0] : p[1]; q.x += 1; p[0] = i > 1 ? q : "
         "(struct E_V){4, 5}; return q.x; }", (0, vectors(2)), (1, vectors(2)), (2, vectors(2))),
    case("local_array", P + "double f(int n, const E_P *ps) { E_P t[n]; for (int i = 0; i < n; i++) t[i] = ps[n - 1 - "
         "i]; t[0].w[2] += t[n - 1].v.x; return t[0].w[2] + t[1].c[1].y + t[1].h[1][1]; }", (2, things(2))),
    case("table", V + "static const struct E_V TABLE[2] = {{1, 2}, {.y = 4, .x = 3}};\nstatic const struct E_V "
         "TABLEone = {5, 6};\ndouble f(int i) { const struct E_V *p = TABLE; return TABLE[i].x + 10 * p[1].y + "
         "TABLEone.y; }",
         (0,), (1,)),
    case("by_value", V + "static double h(struct E_V a, double s) { a.x *= s; return a.x + a.y; }\ndouble f(struct E_V "
         "*p) { struct E_V q = {1, 2}; return h(p[1], 2) + h(q, 3) + 10 * h(p[0], 4) + q.x; }", (vectors(2),)),
    case("by_value_aliased", V + "static double h(struct E_V a, struct E_V *b) { b->x = 7; return a.x + 10 * b->x; }\n"
         "double f(struct E_V *p) { struct E_V q = {1, 2}; double s = h(*p, p); s += h(q, &q); return s + q.x; }",
         (vectors(1),)),
    case("address_of_value", V + "static double g(const struct E_V *a) { return a->x - a->y; }\nstatic double h(struct "
         "E_V a) { return g(&a) + g(&(struct E_V){a.y, 1}); }\ndouble f(struct E_V *p) { return h(p[1]); }",
         (vectors(2),)),
    case("by_pointer", P + "static void h(E_P *p, double s) { for (int i = 0; i < 3; i++) p->w[i] *= s; p->v.x = s; }\n"
         "double f(E_P *ps) { E_P q = *ps; h(&q, 2); h(ps, 3); h(ps + 1, 4); h(&ps[1], 5); return q.w[0] + q.v.x; }",
         (things(2),)),
    case("returned", V + "static struct E_V h(double a) { struct E_V r = {a, 2 * a}; if (a > 1) return r; r.x = 9; "
         "return r; }\nstatic struct E_V g(const struct E_V *p, int i) { return p[i]; }\ndouble f(struct E_V *p) { "
         "struct E_V q = h(1); q = h(q.y); p[0] = g(p, 1); return q.x + h(3).y + g(p, 0).x; }", (vectors(2),)),
    case("returned_in_call", V + "static struct E_V h(struct E_V a, struct E_V b) { return (struct E_V){a.x + b.x, a.y "
         "* b.y}; }\ndouble f(const struct E_V *p) { return h(h(p[0], p[1]), h(p[1], p[1])).y; }", (vectors(2),)),
    case("member_array", P + "static double h(int n, const double *x) { double s = 0; for (int i = 0; i < n; "
         "i++) s = 2 * s + x[i]; return s; }\nstatic double g(const float A[2][2]) { return A[0][1] + 2 * "
         "A[1][0]; }\ndouble f(E_P *ps) { E_P q = ps[1]; const double *w = ps[0].w + 1; return h(3, ps[1].w) + "
         "h(2, w) + h(2, &q.w[1]) + g(q.h) + g(ps[1].h) + h(1, &q.m) + h(1, &ps[1].v.y); }", (things(2),)),
    case("member_rows", P + "double f(const E_P *ps) { const float *r = ps[1].h[1]; const float (*a)[2] = ps[0].h; "
         "return r[1] + 2 * a[1][0] + *a[0]; }", (things(2),)),
    case("nested_pointer", P + "static void h(struct E_V *v, int n) { for (int i = 0; i < n; i++) v[i].y += v[i].x; }\n"
         "double f(E_P *ps) { E_P q = ps[0]; h(&ps[1].v, 1); h(ps[0].c, 2); h(q.c, 2); h(&q.v, 1); struct E_V *c = "
         "&ps[0].c[1]; c->x = 2; c--; return c->y + q.c[1].y + q.v.y; }", (things(2),)),
    case("out_members", V + "static void h(double a, double *s, double *c) { *s = a; *c = 2 * a; }\ndouble f(double a, "
         "struct E_V *p) { struct E_V q; h(a, &q.x, &q.y); h(q.y, &p->x, &p->y); return q.x; }", (3.0, vectors(1))),
    case("memset_memcpy", P + "void f(int n, E_P *ps) { E_P q; memset(&q, 0, sizeof(q)); q.n = 7; memcpy(&ps[1], &q, "
         "sizeof(E_P)); memcpy(ps + 2, ps, n * sizeof(E_P)); memset(ps[0].w, 0, sizeof ps[0].w); }", (1, things(3))),
    case("swapped", V + "void f(int n, struct E_V *ps) { for (int i = 0; i < n / 2; i++) { struct E_V t = "
         "ps[i]; ps[i] = ps[n - 1 - i]; ps[n - 1 - i] = t; } }", (5, vectors(5))),
    case("bound", P + "double f(E_P *p) { double s = 0; for (int i = 0; i < p->n; i++) { p->w[i] = s; s += p->m; } for "
         "(int i = 0; i < p->n; i++) if (i == 0) { p->n = 1; s += 100; } return s; }", (things(1),)),
    case("conditions", V + "double f(int n, const struct E_V *p) { int i = 0; while (i < n && p[i].x < 5) i++; "
         "return i + (i < n ? p[i].y : 0); }", (2, vectors(2))),
    case("sizes", P + "int f(void) { E_P p; return sizeof(E_P) + sizeof(struct E_V) + sizeof p.w; }"),
]  # fmt: skip


def with_includes(each: Case) -> str:
    return f"#include <string.h>\n{each.text}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    # Types are names too, and each case brings its own.
    named = [Case(each.name, each.text.replace("E_V", f"E_V{k}").replace("E_P", f"E_P{k}"), each.calls)
             for k, each in enumerate(CASES)]  # fmt: skip
    return compile_all(named, tmp_path_factory.mktemp("structs"))


def native(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int(value)


def copies(args: tuple[Any, ...]) -> list[Any]:
    return [value.copy() if isinstance(value, np.ndarray) else value for value in args]


@needs_compiler
@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(each) for each in CASES])
def test_import_does_what_c_does(number: int, library: ctypes.CDLL) -> None:
    each = CASES[number]
    module = import_c(with_includes(each), filename="k.c", function="f")
    module.verify()
    function = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "f")
    results = function.function_type.outputs.data
    compiled = library[f"case{number}_f"]
    compiled.restype = None if not results else ctypes.c_double if str(results[0]) == "f64" else ctypes.c_int
    for args in each.calls:
        ours, theirs = copies(args), copies(args)
        expected = compiled(*map(native, theirs))
        actual = run(module, "f", unpacked(parameters_of(function), ours))
        assert [expected] == [*actual, *([] if results else [None])] or same(actual[0], expected)
        for got, want in zip(ours, theirs, strict=True):
            if isinstance(got, np.ndarray):
                np.testing.assert_array_equal(got, want)


DERIVED = """
#include <math.h>
#include <string.h>
typedef struct {double x, y;} V;
typedef struct {float a; double w[2]; int n; V v[2]; double z;} M;
static V add(V a, V b) { return (V){a.x + b.x, .y = a.y * b.y}; }
static M twice(M m) { for (int i = 0; i < 2; i++) m.w[i] *= 2; m.n += 1; return m; }
double mixed(int n, M *ps, M one) {
  double s = 0;
  for (M *p = ps; p < ps + n; p++) {
    M t = twice(*p);
    for (int i = 0; i < t.n; i++) s += t.w[i % 2] * sin(p->z) * one.z;
    p->v[0] = add(p->v[1], t.v[0]);
    p->z = t.a * p->z + p->v[0].x * one.v[1].y;
    *p = p->n > 1 ? t : one;
  }
  return s + ps[0].z * ps[n - 1].w[1];
}
double moment(int n, const V *ps, V about) {
  V c = {0};
  for (int i = 0; i < n; i++) c = add(c, (V){ps[i].x - about.x, 1.0});
  return c.x * c.x * exp(about.y);
}
static V part(double a) { V r; r.x = a * a; if (a > 0) return r; r.x = -a; return r; }
static double first(V v, double s) { v.x *= s; return v.x; }
static void set(V *to, V v) { *to = v; to->y = v.x; }
void unset(int n, const double *x, double *y) {
  V a, b, t, st[5];
  a.x = x[0]; b.x = x[1]; b.y = x[2];
  t = a; a = b; b = t;
  y[0] = a.x * a.y - b.x;
  t = part(x[0]);
  y[1] = first(t, x[1]);
  set(&t, b);
  y[2] = t.x * t.y;
  struct {V v; double z; int k;} q, r;
  q.v = b; q.k = n; r = q; r.z = x[1];
  V c = x[2] > 0 ? r.v : a, best;
  y[3] = c.x * r.z * r.k;
  best.x = -1;
  for (int i = 0; i < n; i++) {
    V one;
    one.x = x[i] * x[i];
    if (one.x > best.x) best = one;
    st[i] = one;
  }
  for (int i = 0; i + 1 < n; i++)
    if (st[i].x > st[i + 1].x) { V u = st[i]; st[i] = st[i + 1]; st[i + 1] = u; }
  V s, last;
  s.x = 1;
  for (int i = 0; i < n; i++) {
    last = s;
    if (i > 0) y[0] += last.y * x[i];
    s.x *= 1 + st[i].x * best.x;
    s.y = s.x;
  }
  memcpy(&a, &s, sizeof a);
  y[4] = a.x * st[n - 1].x;
}
"""


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("structs") / "k.c"
    path.write_text(DERIVED)
    return path


@needs_compiler
def test_gradients_of_structs_of_several_types_are_structs(derived: Path) -> None:
    kernel = tapeflow.load(derived, "mixed")
    rng = np.random.default_rng(0)
    ps, one = (filled(np.zeros(shape, kernel.dtype(name)), rng) for shape, name in (((3,), "ps"), ((), "one")))
    gradient = tapeflow.gradient(kernel, wrt=["ps", "one"])
    report = check(gradient, (3, ps, one))
    assert report.passed, report
    assert "[][18], the memory of M seen as float, written" in gradient.header
    assert "[9], the memory of M seen as double, shadow:" in gradient.header
    assert set(report.errors) == {"ps_float", "ps_double", "one_float", "one_double"}
    moved = ps.copy()
    result = gradient(3, moved, one)
    found = result.gradients
    assert set(found) == {"ps", "one"}
    assert found["ps"].dtype == ps.dtype and found["ps"].shape == (3,) and found["one"].shape == ()
    assert not found["ps"]["n"].any() and (moved["n"] != ps["n"]).any()
    step = 1e-6

    def value_at(moved_by: float) -> float:
        there = one.copy()
        there["v"]["y"][1] += moved_by
        value = gradient(3, ps.copy(), there).value
        assert value is not None
        return value

    difference = (value_at(step) - value_at(-step)) / (2 * step)
    assert difference == pytest.approx(found["one"]["v"]["y"][1], rel=1e-6, abs=1e-8)


@needs_compiler
def test_structs_of_one_type_are_arrays_of_numbers_too(derived: Path) -> None:
    kernel = tapeflow.load(derived, "moment")
    numbers, about = np.random.default_rng(0).standard_normal((4, 2)), np.array([0.5, 0.25])
    gradient = tapeflow.gradient(kernel, wrt=["ps", "about"])
    plain = gradient(4, numbers, about)
    structs = gradient(4, numbers.view(kernel.dtype("ps"))[:, 0], about.view(kernel.dtype("about"))[0])
    assert plain.value == structs.value == pytest.approx((numbers[:, 0] - 0.5).sum() ** 2 * np.exp(0.25))
    np.testing.assert_array_equal(plain.gradients["ps"][:, 0], structs.gradients["ps"]["x"])
    assert plain.gradients["about"][1] == structs.gradients["about"]["y"] == pytest.approx(plain.value)
    assert check(gradient, (4, numbers, about)).passed
    jvp = tapeflow.jvp(kernel, wrt=["about"])
    tangent = np.zeros((), kernel.dtype("about"))
    tangent["y"] = 1
    along = jvp(4, numbers, about.view(kernel.dtype("about"))[0], tangents={"about": tangent}).tangents["return"]
    assert along == pytest.approx(plain.value)


@needs_compiler
def test_copies_of_structs_of_which_not_all_is_set(derived: Path) -> None:
    library = derived.parent / "plain.so"
    subprocess.run([str(COMPILER), "-O1", "-w", "-shared", "-fPIC", derived, "-o", library, "-lm"], check=True)
    plain = ctypes.CDLL(str(library)).unset
    gradient = tapeflow.gradient(tapeflow.load(derived, "unset"), wrt=["x", "y"])
    for x in np.array([[0.7, 0.9, 1.3, -0.2], [1.2, -0.4, -0.8, 0.3], [-0.3, 0.5, 2.0, 0.1]]):
        expected, found = np.zeros(5), np.zeros(5)
        plain(4, native(x), native(expected))
        report = check(gradient, (4, x, found))
        assert report.passed, report
        gradient(4, x, found, seeds={"y": np.zeros(5)})
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_structured_arrays_are_checked(derived: Path) -> None:
    gradient = tapeflow.gradient(tapeflow.load(derived, "mixed"), wrt=["ps"])
    ps, one = (np.zeros(shape, gradient.kernel.dtype("ps")) for shape in ((4,), ()))
    with pytest.raises(ArgumentError, match=r"ps: the structs do not lie side by side"):
        gradient(2, ps[::2], one)
    with pytest.raises(ArgumentError, match=r"ps: expected a structured array: the members .* several types"):
        gradient(2, np.zeros((2, 9)), one)
    with pytest.raises(ArgumentError, match=r"one: expected structs of"):
        gradient(4, ps, np.zeros((), [("a", "f4"), ("w", "f8")]))
    with pytest.raises(ArgumentError, match=r"one: expected 0 dimensions of structs, got shape \(4,\)"):
        gradient(4, ps, ps)
    with pytest.raises(ArgumentError, match=r"seeds\['ps'\]: expected structs of"):
        gradient(4, ps, one, seeds={"ps": np.zeros(4, [("a", "f4")])})


def test_two_names_that_meet_are_refused() -> None:
    text = "typedef struct {double x; int n;} S;\ndouble f(S *p, double *p_double) { return p->x; }"
    with pytest.raises(TapeflowError, match=r"k\.c:2:\d+: error: two parameters are called 'p_double'"):
        import_c(text, filename="k.c")

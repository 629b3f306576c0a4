"""Values that the kernel's own arrays remember for the reverse sweep, and elements that loops carry in registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow
from tapeflow.gradient_check import check

N = 5
PLACES = np.array([2, 0, 2, 4, 1], dtype=np.int64)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.3, 0.9, shape)


@pytest.mark.parametrize(
    ("text", "wrt", "arguments", "tape"),
    [
        pytest.param(
            """#include <math.h>
            double f(int n, const double x[n], double h[n][n]) {
              double s = 0;
              for (int b = 0; b < n; b++) {
                for (int i = 0; i <= b; i++) h[b][i] = tanh(x[i] * (b == 0 ? 1 : h[b - 1][i]));
                for (int i = 0; i < n; i++) s += h[b][i] * h[b][i];
              }
              return s; }""",
            "x",
            [N, numbers(N), numbers(N, N)],
            0,
            id="rows",
        ),
        pytest.param(
            """#include <math.h>
            void f(int n, const double x[n], double y[n]) {
              for (int i = 1; i < n; i++) y[i] = exp(y[i - 1] * x[i]); }""",
            "x,y",
            [N, numbers(N), numbers(N)],
            0,
            id="recurrence",
        ),
        pytest.param(
            "void f(int n, double y[n], const long p[n]) { for (int i = 0; i < n; i++) y[p[i]] = y[p[i]] * y[p[i]]; }",
            "y",
            [N, numbers(N), PLACES],
            8 * N,
            id="indirect",
        ),
        pytest.param(
            """void f(int n, double y[9]) {
              double *q = y;
              for (int i = 0; i < n; i++) { *q = *q * *q; q += 1 + i % 2; } }""",
            "y",
            [N, numbers(9)],
            None,
            id="moving pointer",
        ),
        pytest.param(
            """double f(int n, const double x[n], int *count) {
              double s = 0;
              for (int i = 0; i < n; i++) { (*count)++; s += x[i] * x[i]; }
              return s; }""",
            "x",
            [N, numbers(N), np.zeros(1, dtype=np.int32)],
            0,
            id="an integer counted in an array",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, double x[n]) {
              double s = 0;
              for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) s += sin(x[i] * j); x[i] = x[i] * x[i]; }
              return s; }""",
            "x",
            [N, numbers(N)],
            8 * N,
            id="overwritten behind the loop that reads it",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, int m, double *x, double *c) {
              double s = 0;
              for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++) {
                  for (int k = 0; k < m; k++) c[i * m + j] += sin(x[i * m + 1] * k);
                  while (s < c[i * m + j]) s = s * 1.5 + x[i * m + 1] * x[i * m + 1] * 0.1;
                }
              for (int i = 0; i < n * m; i++) x[i] = c[i] * 2;
              return s; }""",
            "x,c",
            [3, 4, numbers(12), numbers(12)],
            8 * 3 + 8 * 3 * 4,
            id="overwritten in another loop",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, int m, double *x, double *c) {
              double s = 0;
              for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++) {
                  for (int k = i; k < m; k++) c[i * m + j] += sin(x[i * m + 1] * k);
                  while (s < c[i * m + j]) s = s * 1.5 + x[i * m + 1] * x[i * m + 1] * 0.1;
                }
              for (int i = 0; i < n * m; i++) x[i] = c[i] * 2;
              return s; }""",
            "x,c",
            [3, 2, numbers(6), numbers(6)],
            None,
            id="overwritten in another loop, read where the loop that reads it first does not run",
        ),
        pytest.param(
            """void f(int n, const double x[n], double y[n]) {
              double t[n];
              for (int i = 0; i < n; i++) t[i] = 0.5;
              for (int i = 0; i < n; i++) y[i] = t[i] * x[i];
              for (int j = 0; j < n; j++) { if (x[j] > 0.6) t[j] = x[j] * x[j]; } }""",
            "x,y",
            [N, numbers(N), numbers(N)],
            0,
            id="a dead branch, of which the reverse sweep has a mirror",
        ),
        pytest.param(
            """void f(int n, const double x[n], double y[n]) {
              double t[n];
              for (int i = 0; i < n; i++) t[i] = x[i];
              for (int i = 0; i < n; i++) y[i] = t[i] * x[i];
              for (int j = 0; j < n; j++) { double a = x[j] * x[j];
                for (int k = 0; k < n; k++) t[k] = a * x[k] * k * j; } }""",
            "x,y",
            [N, numbers(N), numbers(N)],
            None,
            id="dead loops, of which the reverse sweep has mirrors",
        ),
        pytest.param(
            """double f(int n, const double x[n], double y[n]) {
              double s = 0;
              for (int i = 0; i < n; i++) {
                y[i] = 0;
                for (int j = 2; j < i; j++) y[i] += x[i] * x[j];
                s += y[i] * x[i];
                y[i] = x[i];
              }
              return s; }""",
            "x,y",
            [N, numbers(N), numbers(N)],
            8 * N,
            id="sums that start from zero, of nothing too, and are overwritten",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, int steps, const double *x, double *u) {
              double s = 0, w[n][4], v[n];
              for (int t = 0; t < steps; t++) {
                for (int i = 0; i < n; i++)
                  for (int k = 0; k < 4; k++) w[i][k] = x[i] * t + k;
                for (int i = 1; i < n; i++) v[i] = x[i - 1] * x[i] - t;
                for (int j = 0; j < n - 1; j++) {
                  if (x[j] > 0.5) s += w[j + 1][j % 4] * w[j + 1][j % 4] * t;
                  for (int i = j; i < n; i++) s = s * 0.9 + sin(w[i][3] * w[j][0]);
                }
                for (int i = 1; i < n; i++) u[i] += v[i] * v[i];
              }
              return s; }""",
            "x,u",
            [N, 3, numbers(N), numbers(N)],
            0,
            id="arrays that loops fill with what can be computed again",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, int steps, double *x) {
              double s = 0, w[n], v[n], z[n], old[n];
              for (int i = 0; i < n; i++) { v[i] = 0.5; old[i] = x[i]; }
              for (int t = 0; t < steps; t++) {
                for (int i = 0; i < n; i++) w[i] = x[i] * t;
                for (int i = t; i < n; i++) v[i] = t * 0.25;
                for (int i = 0; i < n; i++) z[i] = i * 0.1 * t;
                z[t] = s;
                for (int i = 0; i < n; i++) { s += v[i] * v[i] * old[i]; s += sin(w[i] + z[i]); x[i] = s; }
              }
              return s; }""",
            "x",
            [N, 3, numbers(N)],
            None,
            id="arrays that loops fill, but with what is overwritten, not all of them, or not last",
        ),
        pytest.param(
            """#include <math.h>
            double f(int n, int m, double *x, double s) {
              for (int i = 1; i < n - 1; i++)
                for (int k = 0; k < 4; k++) {
                  for (int j = 0; j < m; j++) s += sin(x[i] * (0.25 * j));
                  x[i] = sin(x[i] * x[i]);
                }
              return s; }""",
            "x,s",
            [N, 0, numbers(N), 0.5],
            None,
            id="an element that is read in a loop that does not run, and outside of it",
        ),
        pytest.param(
            """static double g(int n, double *p) { if (n < 0) return 1; double t = p[n]; return t * t * g(n - 1, p); }
            double f(double a, double x[3]) {
              double s = 0;
              for (int k = 0; k < 2; k++) s += a * g(2, x);
              return s; }""",
            "a,x",
            [0.5, numbers(3)],
            None,
            id="an array of known extent handed to a recursive function in a loop",
        ),
    ],
)
def test_gradients_are_right(tmp_path: Path, text: str, wrt: str, arguments: list[Any], tape: int | None):
    (tmp_path / "f.c").write_text(text)
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "f.c", "f"), wrt=wrt.split(","))
    report = check(grad, arguments)
    assert report.passed, str(report)
    if tape is not None:
        seeds = None if grad.returns_float else {name: np.ones(N) for name in grad.outputs}
        grad(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments), seeds=seeds)
        assert sum(region.bytes or 0 for region in grad.tape_report().regions) == tape

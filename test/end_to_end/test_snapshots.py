"""Elements that loops load over and over before they are overwritten are recorded once, and gradients are right."""

# ruff: noqa: F821 # The names in f64["n"] are those of parameters.

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeflow
from tapeflow import f64, kernel
from tapeflow.gradient_check import check

T, H, B = 3, 4, 2
STREAMED = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(11).uniform(0.3, 0.9, shape)


CASES = [
    pytest.param(
        """#include <math.h>
        double f(int T, int H, const double *W, const double *U, const double *x, double *h) {
          double hn[H], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int r = 0; r < H; r++) {
              double s = W[r] * x[t];
              for (int k = 0; k < H; k++) s += U[r * H + k] * h[k];
              hn[r] = tanh(s);
            }
            for (int r = 0; r < H; r++) h[r] = hn[r];
          }
          for (int r = 0; r < H; r++) loss += h[r] * h[r];
          return loss; }""",
        "W,U,x,h",
        [T, H, numbers(H), numbers(H * H), numbers(T), numbers(H)],
        {"tanh": T * H, "h": T * H},
        id="a recurrent network",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, const double W[4], const double U[4][4], const double *x) {
          double h[4] = {0.1, 0.2, 0.3, 0.4}, hn[4], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int r = 0; r < 4; r++) {
              double s = W[r] * x[t];
              for (int k = 0; k < 4; k++) s += U[r][k] * h[k];
              hn[r] = tanh(s);
            }
            for (int r = 0; r < 4; r++) h[r] = hn[r];
          }
          for (int r = 0; r < 4; r++) loss += h[r] * h[r];
          return loss; }""",
        "W,U,x",
        [T, numbers(H), numbers(H, H), numbers(T)],
        {"tanh": T * H, "h": T * H},
        id="of constant extents",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, int H, const double *Z, const double *R, const double *N, double *h) {
          double z[H], r[H], hn[H], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int i = 0; i < H; i++) {
              double s = 0.0;
              for (int k = 0; k < H; k++) s += Z[i * H + k] * h[k];
              z[i] = 1.0 / (1.0 + exp(-s));
            }
            for (int i = 0; i < H; i++) {
              double s = 0.0;
              for (int k = 0; k < H; k++) s += R[i * H + k] * h[k];
              r[i] = 1.0 / (1.0 + exp(-s));
            }
            for (int i = 0; i < H; i++) {
              double s = 0.0;
              for (int k = 0; k < H; k++) s += N[i * H + k] * r[k] * h[k];
              hn[i] = tanh(s);
            }
            for (int i = 0; i < H; i++) h[i] = (1.0 - z[i]) * hn[i] + z[i] * h[i];
          }
          for (int i = 0; i < H; i++) loss += h[i] * h[i];
          return loss; }""",
        "Z,R,N,h",
        [T, H, numbers(H * H), numbers(H * H), numbers(H * H), numbers(H)],
        {"h": 2 * T * H, "r": T * H},
        id="gates that share a snapshot",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, int B, int H, const double *U, double *h) {
          double hn[B * H], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int r = 0; r < H; r++)
              for (int b = 0; b < B; b++) {
                double s = 0.0;
                for (int k = 0; k < H; k++) s += U[r * H + k] * h[b * H + k];
                hn[b * H + r] = tanh(s);
              }
            for (int r = 0; r < B * H; r++) h[r] = hn[r];
          }
          for (int r = 0; r < B * H; r++) loss += h[r] * h[r];
          return loss; }""",
        "U,h",
        [T, B, H, numbers(H * H), numbers(B * H)],
        {"tanh": T * B * H, "h": T * B * H},
        id="two axes in one subscript",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, int n, const double *A, double h[n][n]) {
          double g[n][n], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int i = 0; i < n; i++)
              for (int j = 0; j < n; j++) {
                double s = 0.0;
                for (int k = 1; k < n; k++) s += A[i * n + k] * h[k - 1][j];
                g[i][j] = sin(s);
              }
            for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) h[i][j] = g[i][j];
          }
          for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) loss += h[i][j] * h[i][j];
          return loss; }""",
        "A,h",
        [T, H, numbers(H * H), numbers(H, H)],
        {"h": T * H * (H - 1)},
        id="two dimensions, not from the first element",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, int n, const double *A, double *h) {
          double g[n], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int i = 0; i < n; i++) {
              double s = 0.0;
              for (int k = 0; k <= i; k++) s += A[i * n + k] * h[k];
              for (int k = i + 1; k < n; k++) s += A[i * n + k] * h[k] * h[k];
              g[i] = sin(s);
            }
            for (int i = 0; i < n; i++) h[i] = g[i];
          }
          for (int i = 0; i < n; i++) loss += h[i] * h[i];
          return loss; }""",
        "A,h",
        [T, H, numbers(H * H), numbers(H)],
        {"h": T * H + T * (H - 1)},
        id="triangles",
    ),
    pytest.param(
        """#include <math.h>
        static void step(int n, const double *g, double *h) { for (int i = 0; i < n; i++) h[i] = sin(g[i]); }
        double f(int T, int n, const double *A, double *h) {
          double g[n], loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int i = 0; i < n; i++) {
              g[i] = 0.0;
              for (int k = 0; k < n; k++) g[i] += A[i * n + k] * h[k];
            }
            step(n, g, h);
          }
          for (int i = 0; i < n; i++) loss += h[i] * h[i];
          return loss; }""",
        "A,h",
        [T, H, numbers(H * H), numbers(H)],
        {"h": T * H},
        id="overwritten by a call",
    ),
    pytest.param(
        """#include <math.h>
        double f(int T, int m, int n, const double *A, double *h) {
          double loss = 0.0;
          for (int t = 0; t < T; t++) {
            for (int i = 0; i < m; i++)
              for (int k = 2; k < n; k++) loss += sin(A[i] * h[k]);
            for (int k = 0; k < n; k++) h[k] = h[k] * 0.5 + t * loss;
          }
          return loss; }""",
        "A,h",
        [T, 2, H, numbers(2), numbers(H)],
        {"h": T * (H - 2)},
        id="behind a branch",
    ),
    pytest.param(
        """#include <math.h>
        double f(int m, int n, const double *A, double *h) {
          double loss = 0.0;
          for (int i = 0; i < m; i++)
            for (int k = 2; k < n; k++) loss += sin(A[i] * h[k]);
          for (int k = 0; k < n; k++) h[k] = loss * k;
          return loss; }""",
        "A,h",
        [2, H, numbers(2), numbers(H)],
        {"h": H - 2},
        id="behind a branch, outside of loops",
    ),
]


@pytest.mark.parametrize("options", [tapeflow.Options(), STREAMED], ids=["soa", "streamed"])
@pytest.mark.parametrize(("text", "wrt", "arguments", "records"), CASES)
def test_each_element_is_recorded_once(
    tmp_path: Path,
    text: str,
    wrt: str,
    arguments: list[Any],
    records: Mapping[str, int],
    options: tapeflow.Options,
):
    (tmp_path / "f.c").write_text(text)
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "f.c", "f"), wrt=wrt.split(","), options=options)
    report = check(grad, arguments)
    assert report.passed, str(report)
    grad(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    counted: Counter[str] = Counter()
    for region in grad.tape_report().regions:
        for name in {field.name for field in region.fields}:
            counted[name] += (region.bytes or 0) // region.record_bytes
    assert {name: counted[name] for name in records} == records
    # Loops that do not run: nothing is read, nothing recorded.
    nothing = [0 if isinstance(a, int) else a for a in arguments]
    if all(isinstance(a, int) or a.ndim == 1 for a in arguments):
        grad(*(a.copy() if isinstance(a, np.ndarray) else a for a in nothing))
        assert sum(region.bytes or 0 for region in grad.tape_report().regions) == 0


SUMS = """#include <math.h>
double f(int m, int n, double *a, double *h) {{
  double s = 0.0;
  for (int t = 0; t < 3; t++) {{
    for (int i = 0; i < m; i++)
      for (int k = 0; k < n; k++) {{ {body} }}
    for (int k = 0; k < n; k++) h[k] = 0.5 * h[k] + 0.1 * s;
  }}
  return s; }}"""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if (i > k) s += sin(a[i] * h[i - k - 1]);", id="under a branch"),
        pytest.param("s += sin(a[i] * h[k]); h[k] += 0.1 * s;", id="overwritten in the loop"),
        pytest.param("for (int j = 0; j < k; j++) s += sin(a[i] * h[j] * k);", id="in a triangle of its own"),
        pytest.param("for (int j = i; j < i + 1; j++) s += sin(a[k] * h[j] * k);", id="in a band"),
        pytest.param("for (int j = 0; j <= i; j += 2) s += sin(a[k] * h[j]);", id="in steps"),
        pytest.param("int j = 0; while (j < k) { s += sin(a[i] * h[j]); j++; }", id="in a while"),
        pytest.param("s += sin(a[i] * h[n - 1 - k]);", id="backwards"),
        pytest.param("for (int j = 0; j < 1 - 2; j++) s += sin(a[i] * h[j]); s += a[k];", id="never"),
        pytest.param("s += sin(a[i] * h[k / 2]) + sin(a[i] * h[(k + 1) % n]);", id="by divisions"),
    ],
)
@pytest.mark.parametrize(("m", "n"), [(4, 4), (0, 3), (3, 0)])
def test_gradients_are_right_whatever_is_recorded(tmp_path: Path, body: str, m: int, n: int):
    (tmp_path / "f.c").write_text(SUMS.format(body=body))
    grad = tapeflow.gradient(tapeflow.load(tmp_path / "f.c", "f"), wrt=["a", "h"])
    report = check(grad, [m, n, numbers(m), numbers(n)])
    assert report.passed, str(report)


@kernel
def layer(n: int, steps: int, h: f64["n"], u: f64["n", "n"], g: f64["n"]) -> float:
    loss = 0.0
    for _ in range(steps):
        for r in range(n):
            g[r] = 0.0
            for k in range(n):
                g[r] += u[r, k] * h[k]
        for r in range(n):
            h[r] = math.tanh(g[r])
    for r in range(n):
        loss += h[r] * h[r]
    return loss


def test_in_python():
    grad = tapeflow.gradient(layer, wrt=["h", "u"])
    report = check(grad, [H, T, numbers(H), numbers(H, H), numbers(H)])
    assert report.passed, str(report)
    assert [region.records for region in grad.tape_report().regions if region.fields[0].name == "h"] == [
        "n*max(steps, 0)"
    ]


def test_an_array_that_is_restored_in_a_branch_begins_at_zero_for_the_c_compiler(tmp_path: Path):
    source = tmp_path / "f.c"
    source.write_text("""#include <math.h>
        double f(int m, double y[4]) {
          double s = 0.0;
          for (int i = 1; i < m; i += 3)
            for (int k = 1; k < 3; k++)
              if (y[k] < 1.3) s += sin(y[k] * i);
          y[2] = s;
          return s * y[1]; }""")
    made = tapeflow.gradient(tapeflow.load(source), wrt=["y"])
    # gcc -O3 may not see that a loop of i that runs is one of m that runs, and warns in larger programs than this.
    assert "if (condition" in made.c_source
    assert "double y_was[3] = {0};" in made.c_source
    assert check(made, [5, numbers(4)]).passed

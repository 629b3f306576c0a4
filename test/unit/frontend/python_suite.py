"""The kernels of the suite in Python, as a numerical programmer would write them."""

# ruff: noqa: F821, N803, E741
# The names in f64["n"] are those of parameters, not of Python types.

import math

import numpy as np

from tapeflow.frontend.python import f64, kernel


@kernel
def logsum(n: int, x: f64["n"]) -> float:
    s = 0.0
    for i in range(n):
        s += math.exp(x[i])
    return math.log(s)


@kernel
def logsum_shifted(n: int, x: f64["n"]) -> float:
    largest = x[0]
    for i in range(1, n):
        if x[i] > largest:
            largest = x[i]
    return largest + math.log(np.sum(np.exp(x - largest)))


@kernel
def matdescent(n: int, m: int, A: f64["n", "m"], x: f64["m"]) -> float:
    loss = 0.0
    for i in range(n):
        loss += np.dot(A[i], x) ** 2
    return loss


@kernel
def mttkrp(I: int, J: int, K: int, F: int, X: f64["I", "J", "K"], B: f64["J", "F"], C: f64["K", "F"]) -> float:
    loss = 0.0
    for i in range(I):
        row = np.zeros(F)
        for j in range(J):
            for k in range(K):
                row += X[i, j, k] * B[j] * C[k]
        loss += np.sum(row * row)
    return loss


@kernel
def pathfinder(n: int, m: int, w: f64["n", "m"]) -> float:
    above = w[0].copy()
    row = np.empty(m)
    for i in range(1, n):
        for j in range(m):
            best = above[j]
            if j > 0:
                best = min(best, above[j - 1])
            if j < m - 1:
                best = min(best, above[j + 1])
            row[j] = w[i, j] + best
        above[:] = row
    return np.sum(above)


@kernel
def gravity(n: int, m: f64["n"], r: f64["n", 3], eps: float) -> float:
    energy = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            dx, dy, dz = r[i, 0] - r[j, 0], r[i, 1] - r[j, 1], r[i, 2] - r[j, 2]
            energy -= m[i] * m[j] / math.sqrt(dx * dx + dy * dy + dz * dz + eps)
    return energy


@kernel
def jacobi(n: int, steps: int, dt: float, u: f64["n", "n"]) -> float:
    v = np.empty((n, n))
    for _ in range(steps):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + dt * (lap + u[1:-1, 1:-1] * u[1:-1, 1:-1])
        u[1:-1, 1:-1] = v[1:-1, 1:-1]
    return np.sum(u * u)


@kernel
def worked_example(n: int, m: int, A: f64["n", "m"], w: np.ndarray) -> float:
    s = 0.0
    for i in range(n):
        t = 1.0
        for j in range(m):
            if A[i, j] > 0:
                t = t * (A[i, j] + w[j])
            w[j] = w[j] * 0.5
        s += math.sin(t)
    return s

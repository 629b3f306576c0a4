"""What the functions of the refusal table see of their surroundings."""

import math  # noqa: F401
from typing import Annotated  # noqa: F401

import numpy as np
from numpy.typing import NDArray  # noqa: F401

from tapeflow.frontend.python import bool_, f32, f64, i32, i64, kernel, rule  # noqa: F401

TABLE = np.zeros(3)
NAME = "x"
PAIR = (1.0, 2)


def writes(x):
    x[0] = 1.0


def reads(x, y):
    return x[0] + y[0]


def swaps(x, y):
    x[0] = y[0]


def declared(k: int, x: f64["k"]) -> float:  # noqa: F821
    return x[0]


def recursive(n):
    return recursive(n - 1)


def endless(n: int) -> int:
    return endless(n - 1)


def bad(x):
    return x % 2.0


def default(x, name="x"):
    return x


def uneven(x: float):
    if x > 1.0:
        return x, 2.0
    return x


def three(x: float) -> tuple[float, float]:
    return x, x, x


def changing(x: float) -> tuple[float, float]:
    if x > 1.0:
        return x, 2
    return x, x


def pair(x: float) -> tuple[float, int]:
    return x, 2


def ruled(x: float) -> float:
    return x


def ruled_vjp(x: float) -> float:
    return x


rule(ruled, vjp=ruled_vjp)

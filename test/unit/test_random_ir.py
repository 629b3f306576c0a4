"""Gradients of random structured programs, against differences and bit for bit between pipelines."""

import numpy as np
from differentiation import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_ir import programs

RNG = np.random.default_rng(7)
X, Y = RNG.uniform(-1, 1, size=(2, 8))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=programs(), n=st.integers(0, 4), m=st.integers(0, 3), seed=st.integers(0, 9))
def test_random_programs(text: str, n: int, m: int, seed: int):
    arguments = [n, m, X[: n + 3].copy(), Y[: n + 3].copy(), 0.437]
    check(
        text,
        arguments,
        seed=seed,
        steps=[(1e-4, 1e-6), (1e-6, 1e-5)],
        # Stock passes take longest, so they have their turn at a fifth of the programs.
        pipelines=["differentiate", "plan", *({0: ["stock, plan"], 1: ["cheap plan"]}.get(seed % 5, []))],
    )

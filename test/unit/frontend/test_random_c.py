"""Random functions: the import does what the C compiler's code does."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Case, check, compile_all, needs_compiler
from random_c import A_COLUMNS, A_ROWS, K_EXTENT, X_EXTENT, function


def arguments(random: Random) -> tuple[Any, ...]:
    """One call's arguments, of every parameter that a random function has."""
    numbers = np.random.default_rng(random.randrange(1 << 30))
    return (
        random.randrange(-9, 10),
        random.randrange(-9, 10),
        random.randrange(10),
        random.uniform(-2, 2),
        float(np.float32(random.uniform(-2, 2))),
        numbers.standard_normal(X_EXTENT),
        numbers.integers(-9, 10, K_EXTENT).astype(np.int32),
        numbers.standard_normal((A_ROWS, A_COLUMNS)),
    )


@needs_compiler
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_random_functions_do_what_c_does(random: Random) -> None:
    text = function(random)
    each = Case("random", text, tuple(arguments(random) for _ in range(3)))
    with TemporaryDirectory() as directory:
        check(each, 0, compile_all([each], Path(directory)))

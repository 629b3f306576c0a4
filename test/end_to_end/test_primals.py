"""The suite's C computes the mathematics that its NumPy references state."""

import subprocess

import numpy as np
import pytest

from bench.primal import compile_primal
from bench.suite import SUITE, Kernel

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only")


@pytest.mark.parametrize("size", ["mini", "paper"])
@pytest.mark.parametrize("kernel", SUITE.values(), ids=SUITE)
def test_c_equals_the_reference(kernel: Kernel, size: str):
    arguments = kernel.arguments(size)
    expected = kernel.reference(np, *arguments.values())
    assert compile_primal(kernel)(*arguments.values()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kernel", SUITE.values(), ids=SUITE)
def test_data_are_deterministic_and_named_in_source_order(kernel: Kernel):
    first, again, other = (kernel.arguments("mini", seed) for seed in (0, 0, 1))
    assert list(first) == list(kernel.order)
    for name in kernel.wrt:
        np.testing.assert_array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("kernel", SUITE.values(), ids=SUITE)
def test_c_has_no_warnings(kernel: Kernel, compiler: str):
    subprocess.run([compiler, *WARNINGS, kernel.source], check=True)

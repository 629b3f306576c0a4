"""The IR of a Python function means what Python means: small functions, run both ways."""

import numpy as np
import pytest
import python_kernels
from python_oracle import compare


def _name(value):
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("function", "arguments"), python_kernels.CASES, ids=_name)
def test_python_and_ir_agree(function, arguments):
    compare(function, *arguments)


@pytest.mark.parametrize(("function", "arguments"), python_kernels.CLOSE_CASES, ids=_name)
def test_python_and_ir_agree_but_for_rounding(function, arguments):
    single = any(isinstance(argument, np.ndarray) and argument.dtype == np.float32 for argument in arguments)
    compare(function, *arguments, tolerance=1e-5 if single else 1e-12)

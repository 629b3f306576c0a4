"""Runs a function as Python and as the IR that it was imported to, and compares: results and arrays, bit for bit."""

import copy
import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tapeflow.frontend.python import PythonKernel, import_python
from tapeflow.interpreters import run

_numbers = count()


def define(text: str, names: Mapping[str, Any], filename: str | None = None) -> Callable[..., Any]:
    """The function `f` that the source `text` defines, as if `text` were a file that imports `names`."""
    filename = filename or f"<kernel {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = {**names, "__name__": "kernels"}
    exec(compile(text, filename, "exec"), module)
    return module["f"]


def interpreted(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What the imported function returns; arrays among the arguments are changed in place."""
    plain = function.function if isinstance(function, PythonKernel) else function
    module = imported(plain)
    results = run(module, plain.__name__, arguments)
    return results[0] if results else None


def imported(function: Callable[..., Any]) -> ModuleOp:
    """The verified module of a function."""
    module = import_python(function)
    module.verify()
    return module


def compare(function: Callable[..., Any], *arguments: Any, tolerance: float = 0.0) -> Any:
    """Check that Python and the IR agree on these arguments, and return the value.

    Args:
        function: the function.
        arguments: Python numbers and NumPy arrays; they are not changed.
        tolerance: the relative difference that is allowed; 0 for equal bits (any NaN is as good as another).
    """
    in_python, in_ir = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        expected = function(*in_python)
    actual = interpreted(function, in_ir)
    _check("the value", expected, actual, tolerance)
    for position, (left, right) in enumerate(zip(in_python, in_ir, strict=True)):
        _check(f"argument {position}", left, right, tolerance)
    return actual


def _check(what: str, expected: Any, actual: Any, tolerance: float) -> None:
    if expected is None or actual is None:
        assert expected is actual, f"{what}: Python gives {expected}, the IR {actual}"
        return
    left, right = np.asarray(expected), np.asarray(actual)
    assert left.shape == right.shape
    kinds = left.dtype.kind, right.dtype.kind
    assert kinds[0] == kinds[1], f"{what}: Python gives {expected!r}, the IR {actual!r}"
    if tolerance:
        np.testing.assert_allclose(right, left, rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        np.testing.assert_array_equal(right, left, err_msg=what)
        if kinds[0] == "f" and left.ndim == 0 and left == 0:
            assert math.copysign(1.0, left) == math.copysign(1.0, right), f"{what}: the sign of zero"

"""A kernel's own C, compiled and called: what gradients are compared with."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.suite import Kernel

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off")


def compile_primal(
    kernel: Kernel, compiler: Sequence[str] = ("cc",), flags: Sequence[str] = FLAGS
) -> Callable[..., float]:
    """Compile `kernel` and return its function, called with its arguments in source order.

    Arrays must be C-contiguous; those that the kernel writes are changed in place.

    Raises:
        subprocess.CalledProcessError: the compiler refused the kernel.
    """
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / f"{kernel.name}.so"
        command = [*compiler, *flags, "-shared", "-fPIC", str(kernel.source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        function = getattr(ctypes.CDLL(str(library)), kernel.function)
    function.restype = ctypes.c_double

    def call(*arguments: Any) -> float:
        return function(*(to_c(argument) for argument in arguments))

    return call


def to_c(argument: Any) -> Any:
    """`argument` as the suite's C functions take it: `int`, `double`, or a pointer to doubles."""
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous and argument.dtype == np.float64
        return argument.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_int(argument)

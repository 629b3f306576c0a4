"""The C library's mathematical functions, called directly.

Python's `math` raises exceptions where C returns an infinity or NaN, and has no `float` versions. The generated C calls
this same library, so that values agree to the last bit.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Callable
from functools import cache

FloatFunction = Callable[..., float]


@cache
def _library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    # Some C libraries have no separate libm: then the process itself has the functions.
    return ctypes.CDLL(ctypes.util.find_library("m"))


@cache
def libm(name: str, arity: int = 1, *, single: bool = False) -> FloatFunction:
    """The function `name` of the C library on doubles, or its `float` version.

    Args:
        name: the C name of the version on doubles.
        arity: how many arguments it takes.
        single: take the version on `float`, whose name ends in `f`.
    """
    function = _library()[name + "f" if single else name]
    scalar = ctypes.c_float if single else ctypes.c_double
    function.argtypes = [scalar] * arity
    function.restype = scalar
    return function


FMIN = libm("fmin", 2)
FMAX = libm("fmax", 2)

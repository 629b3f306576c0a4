"""The Python frontend: a function over NumPy arrays and numbers in, core IR out.

```python
@tapeflow.kernel
def logsum(n: int, x: f64["n"]) -> float:
    s = 0.0
    for i in range(n):
        s += math.exp(x[i])
    return math.log(s)
```

The decorated function stays callable as ordinary Python, and the IR means the same: docs/frontend-python.md says what
is supported, and where the two may differ in the last bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from xdsl.dialects.builtin import ModuleOp

from tapeflow.analysis.library_functions import declare_library_functions
from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_annotations import bool_, c64, c128, f32, f64, i32, i64
from tapeflow.frontend.python_module import ModuleMaker, recursion_error
from tapeflow.frontend.python_rules import rule
from tapeflow.frontend.python_source import WrappedFunction, function_of, source_of

__all__ = ["PythonKernel", "bool_", "c64", "c128", "f32", "f64", "i32", "i64", "import_python", "kernel", "rule"]

P = ParamSpec("P")
R = TypeVar("R")


class PythonKernel(WrappedFunction, Generic[P, R]):
    """A Python function that can be differentiated; calling it runs it as Python.

    Attributes:
        function: the function as it was decorated.
    """

    def __init__(self, function: Callable[P, R]):
        if not isinstance(function, FunctionType):
            raise TapeflowError(
                f"@tapeflow.kernel decorates functions, not a {type(function).__name__}",
                hint="put it directly above 'def', below other decorators",
            )
        functools.update_wrapper(self, function)
        super().__init__(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function in Python."""
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The function's name, also that of its symbol in `module`."""
        return self.function.__name__

    @property
    def path(self) -> Path:
        """The file that defines it."""
        return Path(self.function.__code__.co_filename)

    @cached_property
    def module(self) -> ModuleOp:
        """The function in core IR, imported on first use.

        Raises:
            TapeflowError: at the first part of it that the frontend does not take.
        """
        return import_python(self.function)

    def __repr__(self) -> str:
        return f"<tapeflow.kernel {self.name}>"


def kernel(function: Callable[P, R]) -> PythonKernel[P, R]:
    """Let `function` be differentiated, as a decorator; it stays callable as before.

    Its parameters are annotated: `int`, `float`, `bool`, and arrays as `f64["n", "m"]` or
    `Annotated[np.ndarray, "n", "m"]`, where each extent is the name of an int parameter or a number; `np.ndarray` alone
    is an array of one dimension and any length. The text is read when the kernel is first differentiated, so what is
    not supported is an error then.

    Raises:
        TapeflowError: `function` is not a Python function.
    """
    return PythonKernel(function)


def import_python(function: Callable[..., Any] | PythonKernel[..., Any]) -> ModuleOp:
    """Import a Python function and the functions it calls.

    Args:
        function: an annotated function over numbers and NumPy arrays, decorated with `kernel` or not.

    Returns:
        A module with a function of its name, visible, and those that it calls, private.

    Raises:
        TapeflowError: at the first part that the frontend does not take, with its place in the user's file.
    """
    plain = function_of(function)
    if plain is None:
        raise TapeflowError(f"a {type(function).__name__} cannot be imported", hint="pass a Python function")
    maker = ModuleMaker()
    try:
        maker.kernel(plain)
    except RecursionError:
        raise recursion_error(source_of(plain)) from None
    declare_library_functions(maker.module)
    return maker.module

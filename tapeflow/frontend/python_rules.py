"""Derivatives that a Python file gives: `tapeflow.rule(root, vjp=root_vjp, jvp=root_jvp)`.

```python
def root(x: float, n: int) -> float: ...
def root_vjp(x: float, n: int, root_b: float) -> float: ...                    # the adjoint of x
def root_jvp(x: float, n: int, x_d: float) -> tuple[float, float]: ...         # the root and its tangent

tapeflow.rule(root, vjp=root_vjp, jvp=root_jvp)
```
The rule is kept with the function it is about, so it holds wherever a kernel calls that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_refusals import is_library_function
from tapeflow.frontend.python_source import function_of

_ATTRIBUTE = "__tapeflow_rule__"


@dataclass(frozen=True)
class UserRule:
    """The derivatives that a user gives of a function.

    Attributes:
        given: the functions that compute them, by `vjp` and `jvp`.
        location: where the user gave them.
    """

    given: Mapping[str, FunctionType]
    location: FileLineColLoc


def rule(
    function: Callable[..., Any], *, vjp: Callable[..., Any] | None = None, jvp: Callable[..., Any] | None = None
) -> None:
    """Let calls of `function` in kernels have these derivatives, instead of those of its body.

    Give it before a kernel that calls the function is first differentiated. A mode that is given again is replaced; a
    mode that is not given looks into the body. All three are functions of the language of kernels, read when such a
    kernel is.

    Args:
        function: that kernels call.
        vjp: takes the parameters of `function`, a seed for each float that it returns, and a shadow for each of its
            arrays of floats: an array of that shape, on entry the cotangent of its final value, on exit that of its
            initial value. Returns the adjoint of each float parameter.
        jvp: takes the parameters of `function`, a tangent for each float, and a tangent array for each array of floats,
            which it updates as `function` does the array. Returns what `function` does, then the tangent of each float
            in it.

    Raises:
        TapeflowError: one of them is not a Python function, or no derivative is given.
    """
    location = _place(inspect.currentframe())
    of = _plain(function, "a rule is for", location)
    given = {
        mode: _plain(derivative, f"the {mode} of '{of.__name__}' is", location)
        for mode, derivative in (("vjp", vjp), ("jvp", jvp))
        if derivative is not None
    }
    if not given:
        raise TapeflowError(
            f"the rule of '{of.__name__}' gives no derivative",
            location=location,
            hint=f"write 'tapeflow.rule({of.__name__}, vjp=..., jvp=...)', or one of the two",
        )
    before = rule_of(of)
    setattr(of, _ATTRIBUTE, UserRule({**({} if before is None else before.given), **given}, location))


def rule_of(function: FunctionType) -> UserRule | None:
    """The derivatives that the user gave of `function`; None if there are none."""
    return getattr(function, _ATTRIBUTE, None)


def _place(frame: FrameType | None) -> FileLineColLoc:
    """Where the function that `frame` runs was called."""
    caller = None if frame is None else frame.f_back
    name, line = ("<unknown>", 1) if caller is None else (caller.f_code.co_filename, caller.f_lineno)
    return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(1))


def _plain(value: object, role: str, location: FileLineColLoc) -> FunctionType:
    function = function_of(value)
    if function is None or is_library_function(function):
        name = getattr(value, "__name__", None)
        raise TapeflowError(
            f"{role} a Python function of yours, not "
            + (f"'{name}'" if isinstance(name, str) else f"a {type(value).__name__}"),
            location=location,
            hint="define it with 'def', over numbers and arrays",
        )
    return function

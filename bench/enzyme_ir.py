"""A kernel's gradient as Enzyme makes it, in LLVM IR that an installed clang can read.

The wheel `enzyme-ad` has Enzyme and a clang of its own in one library, which compiles to memory. It shows a gradient
where its check finds a fault in one, so it is given one: the kernel is to stay a call, and Enzyme wants its gradient to
be none. The IR is of a newer LLVM: what an older one does not know, none of which changes a value, is taken out.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.suite import Kernel

_COMPILE = """
import sys
import jax
import jax.numpy as jnp
from enzyme_ad.jax import cpp_call

jax.config.update("jax_enable_x64", True)
shapes = [jax.core.ShapedArray([64], jnp.float64)]
jax.jit(lambda x: cpp_call(x, out_shapes=shapes, source=sys.argv[1], fn="entry_of", argv=("-O2",))).lower(jnp.zeros(64))
"""

_ENTRY = """
#define restrict __restrict__
#pragma clang attribute push(__attribute__((noinline)), apply_to = function)
extern "C" {{
{declared}
{source}
}}
#pragma clang attribute pop
extern "C" int enzyme_primal_return;
template <typename... T> double __enzyme_autodiff(void *, T...);
template <typename Out, typename In> void entry_of(Out &out, const In &in)
{{
    out[0] = __enzyme_autodiff((void *){function}, enzyme_primal_return, {given});
}}
"""

_INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "fabs")
"""Of <math.h>, which that clang does not find."""

_NEWER = (
    (re.compile(r", !\w[\w.]* !\d+"), ""),  # metadata, of which only the numbers are shown
    (re.compile(r" #\d+(?=$| \{|,)", re.MULTILINE), ""),
    (re.compile(r" (captures|initializes|dead_on_return)\([^()]*(\([^()]*\))?[^()]*\)"), ""),
    (re.compile(r"\bgetelementptr( inbounds)?( nusw)?( nuw)?"), r"getelementptr\1"),
    (re.compile(r"\bicmp samesign\b"), "icmp"),
    (re.compile(r"\bf(0x[0-9A-F]{16})\b"), r"\1"),
    (re.compile(r"(?<=[ ,(\[])\+inf\b"), "0x7FF0000000000000"),
    (re.compile(r"(?<=[ ,(\[])-inf\b"), "0xFFF0000000000000"),
    (re.compile(r"(?<=[ ,(\[])[+-]q?nan\b(\(\w+\))?"), "0x7FF8000000000000"),
    (re.compile(r"^ *call void @llvm\.(lifetime|experimental\.noalias)\..*\n", re.MULTILINE), ""),
)

_ALIASING = """
!0 = !{!1, !1, i64 0}
!1 = !{!"double", !5}
!2 = !{!3, !3, i64 0}
!3 = !{!"any pointer", !5}
!5 = !{!"omnipotent char", !6}
!6 = !{!"C"}
"""

_ADD_COPIED = re.compile(r"__enzyme_memcpyadd_doubleda\d+sa\d+")
"""The adjoint of a copy, a function that Enzyme makes beside a gradient, one for each alignment."""

_ADDED = """
void {name}(double *restrict to, double *restrict from, long count);
void {name}(double *restrict to, double *restrict from, long count)
{{
    for (long k = 0; k < count; k++) {{
        const double cotangent = to[k];
        to[k] = 0.0;
        from[k] += cotangent;
    }}
}}
"""


class NoEnzymeError(Exception):
    """There is no gradient from Enzyme; the text says why."""


def enzyme_gradient(kernel: Kernel, arguments: Mapping[str, Any], python: Path) -> tuple[str, str]:
    """LLVM IR of the gradient, and C of a function `enzyme_<kernel>` that calls it with a seed of 1.

    That has the kernel's parameters, then a shadow for each of `kernel.wrt`, to which is added, and returns its value.

    Args:
        kernel: of numbers and arrays of doubles, calling nothing but the C library.
        arguments: by name, of any size: their types count.
        python: an interpreter that can import `enzyme_ad`.

    Raises:
        NoEnzymeError: it cannot, or shows no gradient, or one with calls that are not known here.
    """
    source = _INCLUDE.sub("", kernel.source.read_text(encoding="utf-8"))
    declared = " ".join(f"double {name}(double);" for name in _FUNCTIONS)
    given = _given(kernel, arguments)
    shown = _shown(_ENTRY.format(declared=declared, source=source, function=kernel.function, given=given), python)
    name = f"diffe{kernel.function}"
    text = readable(shown, name)
    made = {called for called in _called(text) if called.startswith(("__enzyme", "diffe", "augmented_", "fwddiffe"))}
    if unknown := {called for called in made if not _ADD_COPIED.fullmatch(called)}:
        raise NoEnzymeError(f"{kernel.name}: Enzyme's gradient calls {', '.join(sorted(unknown))}")
    helpers = "".join(_ADDED.format(name=called) for called in sorted(made))
    return text, helpers + _wrapper(kernel, arguments, name)


def _given(kernel: Kernel, arguments: Mapping[str, Any]) -> str:
    """The arguments of Enzyme's call: the values do not matter, as it is never run, but must not be known."""
    given: list[str] = []
    for name, argument in arguments.items():
        if not isinstance(argument, np.ndarray):
            given.append(f"enzyme_const, ({'double' if isinstance(argument, float) else 'int'})in[{len(given)}]")
        else:
            pointer = f"(double *)(long)in[{len(given)}]"
            shadow = f"(double *)(long)in[{len(given) + 32}]"
            given.append(f"enzyme_dup, {pointer}, {shadow}" if name in kernel.wrt else f"enzyme_const, {pointer}")
    return ", ".join(given)


def _shown(source: str, python: Path) -> str:
    """What the other interpreter writes when it compiles `source`; that it then ends in an error is meant."""
    try:
        done = subprocess.run([python, "-c", _COMPILE, source], capture_output=True, text=True, timeout=600)
    except OSError as error:
        raise NoEnzymeError(f"{python}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoEnzymeError(f"{python} takes more than {error.timeout:g} s") from error
    if "No module named" in done.stderr:
        raise NoEnzymeError(f"{done.stderr.strip().splitlines()[-1]}: {python} -m pip install enzyme-ad jax")
    return done.stderr


def readable(shown: str, name: str) -> str:
    """The function `name` of LLVM IR in other text, for an older LLVM, with what it calls declared.

    Raises:
        NoEnzymeError: the text does not have the function.
    """
    found = re.search(rf"^define [^\n]*@{re.escape(name)}\(.*?^}}$", shown, re.MULTILINE | re.DOTALL)
    if found is None:
        lines = [line for line in shown.splitlines() if " error: " in line] or shown.splitlines()[-1:]
        raise NoEnzymeError(f"Enzyme shows no {name}, but: {''.join(lines[:1])}")
    text = found.group().replace("define internal ", "define ", 1)
    for pattern, instead in _NEWER:
        text = pattern.sub(instead, text)
    # That numbers and pointers do not overlap, as the kernel's own accesses said.
    text = re.sub(r"^( *(?:%\S+ = load|store) double.*)$", r"\1, !tbaa !0", text, flags=re.MULTILINE)
    text = re.sub(r"^( *(?:%\S+ = load|store) ptr.*)$", r"\1, !tbaa !2", text, flags=re.MULTILINE)
    return "\n".join([*_declarations(text, name), text, _ALIASING])


_CALL = re.compile(r"\bcall (?:fast |nnan |ninf |nsz |arcp |contract |afn |reassoc )*([^@\n]*?)@([\w.]+)\((.*)\)")


def _called(text: str) -> Iterator[str]:
    for call in _CALL.finditer(text):
        yield call.group(2)


def _declarations(text: str, name: str) -> Iterator[str]:
    """A declaration of each function that is called: types are what is left of results and arguments."""
    known = {name}
    for call in _CALL.finditer(text):
        result, callee, arguments = call.groups()
        if callee in known:
            continue
        known.add(callee)
        types = [argument.split()[0] for argument in re.split(r", (?![^(]*\))", arguments) if argument]
        yield f"declare {result.split()[-1]} @{callee}({', '.join(types)})"


def prototype(kernel: Kernel, arguments: Mapping[str, Any], name: str) -> str:
    """C of the head of a function: the kernel's parameters by the types of `arguments`, then its shadows."""
    parameters = [f"{_type(given)}{parameter}" for parameter, given in arguments.items()]
    return f"double {name}({', '.join([*parameters, *(f'double *{parameter}_b' for parameter in kernel.wrt)])})"


def _type(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return "double *"
    return "double " if isinstance(argument, float) else "int "


def _wrapper(kernel: Kernel, arguments: Mapping[str, Any], name: str) -> str:
    """C of `enzyme_<kernel>`: Enzyme wants each shadow right after its array."""
    types: list[str] = []
    given: list[str] = []
    for parameter, argument in arguments.items():
        dup = parameter in kernel.wrt
        types += [_type(argument)] * (1 + dup)
        given += [parameter, f"{parameter}_b"][: 1 + dup]
    head = prototype(kernel, arguments, f"enzyme_{kernel.name}")
    declared = f"double {name}({', '.join([*types, 'double'])})"
    return f"{declared};\n{head};\n{head} {{ return {name}({', '.join([*given, '1.0'])}); }}\n"

"""What the C compiler says a function does, against what the interpreter says its import does."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from tapeflow.frontend.c import import_c
from tapeflow.interpreters import run

COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler to compare with")

_CTYPES = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i1": ctypes.c_bool,
}


@dataclass(frozen=True)
class Case:
    """A C text with a function `f`, and the arguments to call it with, one tuple a call."""

    name: str
    text: str
    calls: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        return self.name


def case(name: str, text: str, *calls: tuple[Any, ...]) -> Case:
    return Case(name, text, calls or ((),))


def compile_all(cases: Sequence[Case], directory: Path) -> ctypes.CDLL:
    """All of `cases` in one library; what a case defines has the case's number as a prefix."""
    parts: list[str] = []
    includes = "".join(f"#include <{name}.h>\n" for name in ("math", "stddef", "stdbool", "stdint", "string", "stdlib"))
    includes += "#include <float.h>\n#include <limits.h>\n"
    for number, each in enumerate(cases):
        macros = re.findall(r"^\s*#\s*define\s+(\w+)", each.text, re.MULTILINE)
        names = ["f", *re.findall(r"\b(?:[gh]\d?|TABLE\w*|CONST\w*|E_\w+)\b", each.text)]
        defines = "".join(
            f"#define {name} case{number}_{name}\n" for name in dict.fromkeys(names) if name not in macros
        )
        undefines = "".join(f"#undef {name}\n" for name in dict.fromkeys([*names, *macros]))
        parts.append(f"{defines}\n{each.text}\n{undefines}")
    source, library = directory / "cases.c", directory / "cases.so"
    source.write_text(includes + "\n".join(parts))
    assert COMPILER is not None
    flags = ["-O0", "-w", "-std=gnu17", "-ffp-contract=off", "-fno-builtin", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def call_native(library: ctypes.CDLL, symbol: str, function: FuncOp, args: Sequence[Any]) -> tuple[Any, ...]:
    """Call the compiled function; its type in the IR says how."""
    native = getattr(library, symbol)
    results = function.function_type.outputs.data
    native.restype = _CTYPES[str(results[0])] if results else None
    converted: list[Any] = []
    for value, ir in zip(args, function.function_type.inputs.data, strict=True):
        if isinstance(value, np.ndarray):
            converted.append(ctypes.c_void_p(value.ctypes.data))
        else:
            converted.append(_CTYPES[str(ir)](value))
    result = native(*converted)
    return (result,) if results else ()


def signless(value: Any, ir: str) -> Any:
    """An integer as the interpreter holds it: in the signed range of its type."""
    if isinstance(value, int) and ir in ("i32", "i64"):
        return _CTYPES[ir](value).value
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two scalars are the same, the sign of zero included; one NaN is as good as another."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return left == right


def check(each: Case, number: int, library: ctypes.CDLL) -> ModuleOp:
    """Import `each`, run it both ways on copies of the arguments, and compare results and arrays."""
    module = import_c(each.text, filename=f"{each.name}.c", function="f")
    module.verify()
    function = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "f")
    for args in each.calls:
        ours = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
        theirs = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
        expected = call_native(library, f"case{number}_f", function, theirs)
        types = function.function_type.inputs.data
        actual = run(module, "f", [signless(value, str(ir)) for value, ir in zip(ours, types, strict=True)])
        assert len(actual) == len(expected)
        for got, want in zip(actual, expected, strict=True):
            assert same(got, want), f"{each.name}{args}: got {got}, C says {want}\n{module}"
        for got, want in zip(ours, theirs, strict=True):
            if isinstance(got, np.ndarray):
                np.testing.assert_array_equal(got, want, err_msg=f"{each.name}{args}\n{module}")
    return module

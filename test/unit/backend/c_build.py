"""Builds of printed C that the tests run: warnings as errors, sanitizers, and a driver in C that calls a function."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tapeflow.backend.c_types import c_type
from tapeflow.backend.native import FLAGS, INCLUDE
from tapeflow.backend.printed import PrintedC, PrintedParameter

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-ffp-contract=off")


def write(directory: Path, printed: PrintedC, more: Mapping[str, str] | None = None) -> Path:
    """Write the printed files into `directory`; returns the path of the C file."""
    files = {f"{printed.name}.c": printed.source, f"{printed.name}.h": printed.header, **(more or {})}
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory / f"{printed.name}.c"


def compiled(directory: Path, compiler: str, arguments: Sequence[str]) -> str:
    """Run `compiler` in `directory`; returns its words. Fails the test if it fails."""
    command = [compiler, *arguments, "-I", str(INCLUDE), "-I", "."]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stderr


def check_strictly(directory: Path, printed: PrintedC, compiler: str, *flags: str) -> None:
    """Compile without a single warning."""
    source = write(directory, printed)
    compiled(directory, compiler, [*STRICT, "-O2", *flags, "-c", source.name, "-o", f"{compiler}.o"])


def driver(printed: PrintedC, name: str, inputs: Sequence[object], calls: int) -> str:
    """A C program that calls a function with `inputs` and prints what comes out, every number in hexadecimal."""
    signature = printed.function(name)
    lines = [f'#include "{printed.name}.h"', "#include <stdio.h>", "int main(void) {", "tf_tape *tf = tf_new();"]
    lines += ["if (!tf) return 1;", f"for (int call = 0; call < {calls}; call++) {{"]
    arguments: list[str] = []
    shown: list[str] = []
    for parameter in signature.parameters:
        match parameter.role:
            case "tape":
                arguments.append("tf")
            case "result":
                lines.append(f"{c_type(parameter.type)} {parameter.name} = 0;")
                arguments.append(f"&{parameter.name}")
                shown.append(f'printf("%a\\n", (double){parameter.name});')
            case "extent":
                arguments.append(str(np.asarray(inputs[parameter.index]).shape[parameter.dimension]))
            case "scalar":
                arguments.append(_literal(inputs[parameter.index]))
            case "array":
                lines.append(_array(parameter, np.asarray(inputs[parameter.index])))
                arguments.append(parameter.name)
                count = np.asarray(inputs[parameter.index]).size
                shown.append(f'for (int k = 0; k < {count}; k++) printf("%a\\n", (double){parameter.name}[k]);')
    call = f"{signature.name}({', '.join(arguments)})"
    if signature.returned is None:
        lines.append(f"{call};")
    else:
        lines.append(f"const double returned = (double){call};")
        lines.append('printf("%a\\n", returned);')
    lines += ['if (tf->error) { printf("%s\\n", tf->error); return 2; }', *shown, "}", "tf_free(tf);", "return 0;", "}"]
    return "\n".join(lines) + "\n"


def _array(parameter: PrintedParameter, array: np.ndarray) -> str:
    # On the heap and of the exact size, so that the sanitizer sees the first element beyond it.
    ctype, size = c_type(parameter.type), array.size
    values = ", ".join(_literal(value) for value in array.ravel()) or "0"
    return (
        f"static const {ctype} {parameter.name}_given[] = {{{values}}};\n"
        f"{ctype} *{parameter.name} = malloc({size} * sizeof({ctype}));\n"
        f"if ({size}) memcpy({parameter.name}, {parameter.name}_given, {size} * sizeof({ctype}));"
    )


def _literal(value: object) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool):
        return "true" if number else "false"
    return float(number).hex() if isinstance(number, float) else str(number)


def run_driver(
    directory: Path,
    printed: PrintedC,
    name: str,
    inputs: Sequence[object],
    *,
    compiler: str = "gcc",
    flags: Sequence[str] = SANITIZE,
    more: Mapping[str, str] | None = None,
    calls: int = 2,
) -> list[float]:
    """Build and run the driver; returns the numbers it prints, the same for every call."""
    text = driver(printed, name, inputs, calls)
    freed = "".join(f"free({p.name});\n" for p in printed.function(name).parameters if p.role == "array")
    text = text.replace("\n}\ntf_free(tf);", f"\n{freed}}}\ntf_free(tf);")
    source = write(directory, printed, {**(more or {}), "driver.c": text})
    build = ["-std=c99", *flags, source.name, "driver.c", "-o", "driver", "-lm"]
    compiled(directory, compiler, build)
    done = subprocess.run([directory / "driver"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = [float.fromhex(line) for line in done.stdout.split()]
    length = len(numbers) // calls
    first = numbers[:length]
    for call in range(1, calls):
        np.testing.assert_array_equal(numbers[call * length : (call + 1) * length], first)
    return first


__all__ = ["COMPILERS", "FLAGS", "SANITIZE", "STRICT", "check_strictly", "compiled", "run_driver", "write"]

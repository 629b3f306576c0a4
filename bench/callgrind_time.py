"""What a call of a gradient costs in callgrind with its cache simulation, the usual way to count real code's misses."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tapeflow.backend.native import compile_program, scalar_type
from tapeflow.backend.printed import PrintedC
from tapeflow.hardware import Hardware

_WORTH_MEASURING = 0.5
"""CPU seconds of the calls, from which on those of starting callgrind do not count."""


def callgrind_seconds(printed: PrintedC, name: str, inputs: Sequence[Any], machine: Hardware) -> float | None:
    """CPU time of one call of the function `name` in callgrind; None where there is no valgrind, or no cache.

    It has the geometry of the machine's first cache. Starting and ending is taken off.

    Args:
        printed: the C.
        name: of the function in it.
        inputs: an argument each, as for `NativeFunction.call`.
        machine: whose first cache is simulated.
    """
    if shutil.which("valgrind") is None or machine.cache is None:
        return None
    with tempfile.TemporaryDirectory(prefix="tapeflow-") as directory:
        folder = Path(directory)
        arrays = [given for given in inputs if isinstance(given, np.ndarray)]
        (folder / "arrays").write_bytes(b"".join(array.tobytes() for array in arrays))
        sources = {f"{name}_calls.c": _program(printed, name, inputs)}
        headers = {f"{printed.name}.c": printed.source, f"{printed.name}.h": printed.header}
        program = compile_program(sources, headers, (), ())
        geometry = f"--D1={machine.cache.size_bytes},{machine.cache.ways},64"

        def seconds(calls: int) -> float:
            command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", geometry, "--callgrind-out-file=counted"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, str(program), "arrays", str(calls)], cwd=folder, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        # Small calls drown in what starting takes, which varies; so many of them as stand out are measured.
        idle, calls = seconds(0), 1
        while (taken := seconds(calls) - idle) < _WORTH_MEASURING:
            calls *= 2 if taken > _WORTH_MEASURING / 8 else 8
        return taken / calls


def _program(printed: PrintedC, name: str, inputs: Sequence[Any]) -> str:
    """A program that reads the arrays from a file and calls the function so often as it is told."""
    given: list[str] = []
    reading: list[str] = []
    arrays = 0
    for parameter in printed.function(name).parameters:
        value = inputs[parameter.index] if parameter.role in ("array", "extent", "scalar") else None
        if parameter.role == "tape":
            given.append("tf")
        elif parameter.role == "result":
            given.append(f"(void *)results[{parameter.index}]")
        elif parameter.role == "extent":
            assert isinstance(value, np.ndarray)
            given.append(str(value.shape[parameter.dimension]))
        elif isinstance(value, np.ndarray):
            reading.append(f"    unsigned char *array_{arrays} = malloc({value.nbytes or 1});")
            reading.append(f"    if (fread(array_{arrays}, 1, {value.nbytes}, in) != {value.nbytes}) return 1;")
            given.append(f"(void *)array_{arrays}")
            arrays += 1
        else:
            assert value is not None and scalar_type(parameter.type) is not None
            given.append(float(value).hex() if isinstance(value, float) else str(int(value)))
    return "\n".join(
        [
            f'#include "{printed.name}.c"',
            "#include <stdio.h>",
            "int main(int count, char **texts)",
            "{",
            "    static double results[64][1];",
            "    tf_tape *tf = tf_new();",
            '    FILE *in = fopen(texts[count - 2], "rb");',
            "    (void)results;",
            *reading,
            f"    for (long k = atol(texts[count - 1]); k > 0; k--) (void){name}({', '.join(given)});",
            "    tf_free(tf);",
            "    return fclose(in);",
            "}",
            "",
        ]
    )

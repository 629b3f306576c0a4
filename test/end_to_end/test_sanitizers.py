"""The generated C is clean: no warnings, and nothing for the address and undefined-behaviour sanitizers to say.

Each gradient is built into a program of its own that holds its arguments, calls it twice, and prints what it gives.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_recursion as recursion
from cases import CASES
from pipelines import gradient_at

import tapeflow
from bench.suite import SUITE
from tapeflow.api import Call, Gradient
from tapeflow.arguments import numpy_type
from tapeflow.backend.native import INCLUDE
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.hardware import Hardware
from tapeflow.hardware.machine import machine_header

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.TapeflowRemark")

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-ffp-contract=off")
CTYPES = {"float64": "double", "float32": "float", "int32": "int", "int64": "int64_t", "bool": "bool"}

KERNELS = {kernel.name: (kernel.source, kernel.wrt) for kernel in SUITE.values()}
KERNELS |= {case.name: (case.source, case.wrt) for case in CASES.values()}
MODELS = tuple(KERNELS)
KERNELS["recursion"] = recursion.SOURCE, tuple(recursion.WRT)
MODELLED = ("soa", "layers", "streams")
# Builds of the model take longest: a kernel has its turn at one of them.
BUILDS = [
    *((name, pipeline, False) for name in MODELS for pipeline in ("soa", "streams")),
    *((name, MODELLED[k % len(MODELLED)], True) for k, name in enumerate(MODELS)),
    ("recursion", "streams", False),
]


def arguments(name: str) -> list[Any]:
    if name in SUITE:
        return list(SUITE[name].arguments("mini").values())
    if name == "recursion":
        return list(recursion.arguments())
    case = CASES[name]
    return case.arguments(np.random.default_rng(3), case.extents[-1])


def seeds(grad: Gradient, given: Sequence[Any]) -> dict[str, Any]:
    types = {name: grad.parameters[grad.position(name)].dtype for name in grad.outputs}
    return {name: np.ones(given[grad.position(name)].shape, dtype) for name, dtype in types.items()}


def hexadecimal(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return float(value).hex() if isinstance(value, (float, np.floating)) else str(int(value))


def program(grad: Gradient, call: Call) -> str:
    """A `main` that calls the gradient twice with the inputs of `call`, and prints all that comes out."""
    signature = grad.compiled.printed.function(grad.name)
    return "\n".join(
        [
            f'#include "{grad.compiled.printed.name}.c"',
            "#include <stdio.h>",
            *_data(signature.parameters, call.inputs),
            "int main(void)",
            "{",
            "    tf_tape *tf = tf_new();",
            "    if (!tf) return 2;",
            "    for (int call = 0; call < 2; call++) {",
            *_body(signature, call.inputs),
            "    }",
            "    tf_free(tf);",
            "    return 0;",
            "}",
            "",
        ]
    )


def _data(parameters: Sequence[Any], inputs: Sequence[Any]) -> Iterator[str]:
    for parameter in parameters:
        if parameter.role == "array":
            array = inputs[parameter.index]
            ctype = CTYPES[array.dtype.name]
            values = ", ".join(hexadecimal(value) for value in array.ravel()) or "0"
            yield f"static const {ctype} {parameter.name}_0[] = {{{values}}};"
            yield f"static {ctype} {parameter.name}[{max(array.size, 1)}];"


def _body(signature: Any, inputs: Sequence[Any]) -> Iterator[str]:
    actual: list[str] = []
    shown: list[str] = []
    for parameter in signature.parameters:
        match parameter.role:
            case "tape":
                actual.append("tf")
            case "array":
                name, size = parameter.name, inputs[parameter.index].size
                yield f"        memcpy({name}, {name}_0, {size} * sizeof *{name});"
                actual.append(name)
                shown.append(f'        for (int k = 0; k < {size}; k++) printf("%a\\n", (double){name}[k]);')
            case "extent":
                actual.append(str(inputs[parameter.index].shape[parameter.dimension]))
            case "scalar":
                actual.append(hexadecimal(inputs[parameter.index]))
            case "result":
                ctype = CTYPES[numpy_type(parameter.type).name]
                yield f"        {ctype} result_{parameter.index} = 0;"
                actual.append(f"&result_{parameter.index}")
                shown.append(f'        printf("%a\\n", (double)result_{parameter.index});')
    call = f"{signature.name}({', '.join(actual)})"
    if signature.returned is None:
        yield f"        {call};"
    else:
        yield f'        printf("%a\\n", (double){call});'
    yield "        if (tf->error) return 3;"
    yield from shown


def outcome(grad: Gradient, call: Call) -> list[float]:
    """What the program prints, from Python: the returned value, the arrays and results in order."""
    results = grad.native.call(call.inputs)
    signature = grad.compiled.printed.function(grad.name)
    numbers = [] if signature.returned is None else [results[signature.returned]]
    for parameter in signature.parameters:
        if parameter.role == "array":
            numbers += call.inputs[parameter.index].ravel().tolist()
        elif parameter.role == "result":
            numbers.append(results[parameter.index])
    return [float(number) for number in numbers]


def files(grad: Gradient, folder: Path, *, model: bool) -> list[str]:
    """Write the gradient's C and headers, and give the compiler's options."""
    printed = grad.compiled.printed
    (folder / f"{printed.name}.c").write_text(printed.source)
    (folder / f"{printed.name}.h").write_text(printed.header)
    options = [f"-I{folder}", f"-I{INCLUDE}"]
    if model:
        machine = Hardware.preset("stream-1k")
        (folder / "tf_machine.h").write_text(machine_header(machine))
        (folder / "tf_schedule.h").write_text(schedule_printed(printed, machine).header)
        options += ["-DTF_MODEL", "-DTF_MODEL_UNITS"]
    return options


@pytest.mark.parametrize(
    ("name", "pipeline", "model"),
    [pytest.param(*build, id=f"{build[0]}-{'model' if build[2] else 'native'}-{build[1]}") for build in BUILDS],
)
def test_the_c_is_clean(name: str, pipeline: str, model: bool, tmp_path: Path, sanitized_machine: list[str]):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    source, wrt = KERNELS[name]
    grad = gradient_at(pipeline, tapeflow.load(source), wrt)
    given = arguments(name)
    call = grad.prepare(given, seeds(grad, given))
    options = files(grad, tmp_path, model=model)
    (tmp_path / "main.c").write_text(program(grad, call))
    command = [
        "gcc",
        *WARNINGS,
        *SANITIZERS,
        *options,
        "main.c",
        "-o",
        "main",
        *(sanitized_machine if model else []),
        "-lm",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    if shutil.which("clang"):
        subprocess.run(["clang", *WARNINGS, *options, "-fsyntax-only", "main.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = [float.fromhex(line) for line in done.stdout.split()]
    expected = outcome(grad, call)
    assert printed == expected + expected

"""The compiled gradients of a batch against the interpreter, which gives every operation its meaning one by one.

The driver prints the arguments and the results of one small call of each program, in hexadecimal: the IR of the deepest
stage is interpreted with the same arguments, and has to give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from compiling import Gradients
from syntax import DOUBLE, FLOAT, Program
from xdsl.dialects.builtin import ModuleOp

from tapeflow.interpreters import register_implementations
from tapeflow.interpreters.interpreter import Interpreter

SIZE = (2, 1)
"""Of the call."""

Numbers = dict[str, list[float]]


def parse(text: str) -> dict[str, Numbers]:
    """What the driver printed: `RUN program key number...` lines, by program and key."""
    found: dict[str, Numbers] = {}
    for line in text.splitlines():
        if line.startswith("RUN "):
            _, name, key, *numbers = line.split()
            found.setdefault(name, {})[key] = [float.fromhex(number) for number in numbers]
    return found


def mismatches(name: str, program: Program, gradients: Gradients, numbers: Numbers) -> Iterator[str]:
    """Where the interpreter and the compiled gradient differ, in words."""
    stage = next(printed.stage for printed in reversed(gradients.printed) if printed.stage in gradients.modules)
    inputs = arguments(program, numbers)
    shadows = {array: shaped(program, array, numbers[f"seed:{array}"]) for array in gradients.shadows}
    results = call(gradients.modules[stage], f"{name}_grad", [*inputs.values(), numbers["seed"][0], *shadows.values()])
    expected = {"value": numbers["value"][0]}
    found = {"value": results[0]}
    scalars = [
        p.name for p in program.parameters if p.type in (DOUBLE, FLOAT) and not p.extents and p.name in program.wrt
    ]
    for k, scalar in enumerate(scalars):
        expected[f"adjoint of {scalar}"], found[f"adjoint of {scalar}"] = (
            numbers[f"adjoint:{scalar}"][0],
            results[1 + k],
        )
    for array in gradients.shadows:
        expected[f"adjoint of {array}"], found[f"adjoint of {array}"] = numbers[f"adjoint:{array}"], shadows[array]
    for p in program.parameters:
        if p.name in inputs and isinstance(inputs[p.name], np.ndarray) and p.type != "int":
            expected[f"final {p.name}"], found[f"final {p.name}"] = numbers[f"final:{p.name}"], inputs[p.name]
    for what, value in found.items():
        is_, should = np.asarray(value, float).ravel(), np.asarray(expected[what], float).ravel()
        if not np.array_equal(is_, should, equal_nan=True):
            yield f"{stage}: the interpreter gives {what} = {is_.tolist()}, compiled {should.tolist()}"


def arguments(program: Program, numbers: Numbers) -> dict[str, object]:
    """The arguments of the program, arrays fresh."""
    values: dict[str, object] = {}
    for p in program.parameters:
        if p.extents or p.type not in (DOUBLE, FLOAT, "int"):
            values[p.name] = shaped(program, p.name, numbers[f"input:{p.name}"])
        elif p.type == "int":
            values[p.name] = dict(zip(("n", "m"), SIZE, strict=True))[p.name]
        else:
            values[p.name] = numbers[f"input:{p.name}"][0]
    return values


def shaped(program: Program, array: str, flat: list[float]) -> np.ndarray:
    """Numbers in the shape of an array parameter."""
    p = next(p for p in program.parameters if p.name == array)
    shape = [
        dict(zip(("n", "m"), SIZE, strict=True)).get(extent) or int(extent) for extent in p.extents if extent != "*"
    ]
    kinds = program.numbers(p.type)
    if kinds != (p.type,) or p.type not in (DOUBLE, FLOAT, "int"):
        shape += [1] * (p.extents == ("*",)) + [len(kinds)]
    dtype = {"int": np.int32, FLOAT: np.float32}.get(kinds[0], np.float64)
    return np.array(flat, dtype).reshape(shape)


def call(module: ModuleOp, name: str, values: list[object]) -> tuple[float, ...]:
    """Interpret a function."""
    interpreter = Interpreter(module)
    register_implementations(interpreter)
    return interpreter.call_op(name, tuple(values))

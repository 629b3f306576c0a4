"""Second derivatives of every rule: the forward mode of each gradient, interpreted, against high precision."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
from differentiation import DIFFERENTIATE, apply
from parsing import parse
from test_derivative_rules import ALL_RULES, CASES, derivative, exact, is_a_kink, rule_name
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import ModuleOp

from tapeflow.analysis.library_functions import POLYGAMMA
from tapeflow.interpreters import run

CONVERSIONS = (arith.ExtFOp, arith.TruncFOp)
INTEGERS: dict[type | str, str] = {arith.SelectOp: "i1", math_dialect.FPowIOp: "i32"}
"""What the operand is that has no derivative: the first of a select, the second of a power."""

DIRECTION = (0.7, -1.3, 0.4)
TOLERANCE = {"f64": 1e-10, "f32": 2e-4}


def operand_types(op: type | str, type_: str) -> list[str]:
    if op in CONVERSIONS:
        return ["f32" if op is arith.ExtFOp else "f64"]
    return [type_ if partial is not None else INTEGERS[op] for partial in ALL_RULES[op].partials]


def operation(op: type | str, type_: str) -> str:
    values = ", ".join(f"%x{k}" for k in range(len(ALL_RULES[op].partials)))
    types = operand_types(op, type_)
    if isinstance(op, str):
        return f"func.call @{op}{'f' * (type_ == 'f32')}({values}) : ({', '.join(types)}) -> {type_}"
    suffix = {arith.ExtFOp: "f32 to f64", arith.TruncFOp: "f64 to f32", math_dialect.FPowIOp: f"{type_}, i32"}
    return f"{op.name} {values} : {suffix.get(op, type_)}"


def function(op: type | str, type_: str, name: str) -> Iterator[str]:
    """The square of the operation, which has a second derivative where the operation has none."""
    types = operand_types(op, type_)
    result = {arith.ExtFOp: "f64", arith.TruncFOp: "f32"}.get(op, type_)
    marks = ["active" if it in ("f32", "f64") else "const" for it in types]
    parameters = ", ".join(f"%x{k}: {it}" for k, it in enumerate(types))
    adjoints = ["active"] * marks.count("active")
    yield f"ad.jvp @{name}_hvp of @{name}_grad ({', '.join([*marks, 'const'])}) -> ({', '.join(['const', *adjoints])})"
    yield f"ad.vjp @{name}_grad of @{name} ({', '.join(marks)}) -> (active)"
    yield f"func.func @{name}({parameters}) -> {result} {{"
    yield f"  %r = {operation(op, type_)}"
    yield f"  %s = arith.mulf %r, %r : {result}"
    yield f"  func.return %s : {result}"
    yield "}"


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    """All of them, differentiated together."""
    lines: list[str] = []
    for type_ in TOLERANCE:
        for k, op in enumerate(ALL_RULES):
            lines += function(op, type_, f"{type_}_{k}")
            if isinstance(op, str):
                types = operand_types(op, type_)
                called = f"{op}{'f' * (type_ == 'f32')}"
                lines.append(f"func.func private @{called}({', '.join(types)}) -> {type_}")
    return apply(parse("\n".join(lines)), *DIFFERENTIATE)


def is_moderate(coordinate: float) -> bool:
    return 0.05 < abs(coordinate) < 5.0 and (abs(coordinate) == 1.0 or abs(abs(coordinate) - 1.0) > 0.01)


def ordinary_points(op: type | str) -> Iterator[tuple[Any, ...]]:
    """Points of the grid with moderate coordinates, where the function has no kink, and no pole near by."""
    _, grid = CASES[op]
    moderate = [[it for it in axis if isinstance(it, bool | int) or is_moderate(it)] for axis in grid]
    moderate = [ordinary or list(axis)[:1] for ordinary, axis in zip(moderate, grid, strict=True)]
    if op == POLYGAMMA:
        moderate[0] = [0.0, 1.0]
    for point in itertools.islice(itertools.product(*moderate), 6):
        if not is_a_kink(op, point):
            yield point


def product_with_hessian(op: type | str, point: Sequence[Any]) -> tuple[list[Any], list[float]]:
    """The second derivatives of the square times the direction, and the sum of their magnitudes, by operand."""
    single, _ = CASES[op]
    positions = [k for k, partial in enumerate(ALL_RULES[op].partials) if partial is not None]
    positions = [k for k in positions if (op, k) != (POLYGAMMA, 0)]

    def slope(at: list[Any], position: int) -> Any:
        return derivative(lambda *values: single(*values) ** 2, at, position)

    products: list[Any] = []
    sizes: list[float] = []
    for i in positions:
        terms: list[Any] = []
        for j in positions:
            step = mpmath.mpf(10) ** -30
            ahead, behind = ([*point[:j], point[j] + sign * step, *point[j + 1 :]] for sign in (1, -1))
            terms.append((slope(ahead, i) - slope(behind, i)) / (2 * step) * DIRECTION[j])
        products.append(sum(terms))
        sizes.append(float(sum(map(abs, terms))))
    return products, sizes


@pytest.mark.parametrize("type_", TOLERANCE)
@pytest.mark.parametrize("op", ALL_RULES, ids=rule_name)
def test_second_derivatives_of_every_rule(module: ModuleOp, op: type | str, type_: str):
    name = f"{type_}_{list(ALL_RULES).index(op)}"
    types = operand_types(op, type_)
    floats = [k for k, it in enumerate(types) if it in ("f32", "f64")]
    narrow = type_ == "f32" or op in CONVERSIONS
    points = list(ordinary_points(op))
    assert points
    for point in points:
        if narrow:
            point = tuple(float(np.float32(it)) if k in floats else it for k, it in enumerate(point))
        directions = [float(np.float32(DIRECTION[k])) if narrow else DIRECTION[k] for k in floats]
        if op == POLYGAMMA:
            directions[0] = 0.0
        found = run(module, f"{name}_hvp", [*point, 1.0, *directions])[1 + len(floats) :]
        expected, sizes = product_with_hessian(op, exact(point))
        if op == POLYGAMMA:
            found = found[1:]
        assert len(found) == len(expected)
        for ours, theirs, size in zip(found, expected, sizes, strict=True):
            limit = TOLERANCE["f32" if narrow else "f64"] * max(size, 1e-3)
            assert abs(ours - float(theirs)) <= limit, (point, ours, float(theirs))

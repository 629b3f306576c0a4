"""The work of the compiler grows as the program does: function calls are counted, since times vary."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting import calls_made

import tapeflow
from bench.compile_time import exponent, growth_table, measure_parts
from bench.programs import SHAPES, program


def calls(shape: str, size: int, folder: Path) -> tuple[int, int]:
    """The operations of a program, and the calls of Python functions that making its gradient takes."""
    source = folder / f"{shape}_{size}.c"
    source.write_text(program(shape, size))
    (operations, _), made = calls_made(lambda: measure_parts(source, tapeflow.Options()))
    return operations, made


def test_calls_grow_linearly(tmp_path: Path):
    calls("body", 30, tmp_path)
    few, small = calls("body", 100, tmp_path)
    many, large = calls("body", 350, tmp_path)
    # With quadratic work in a tenth of the calls this would be 1.25 times as much an operation.
    assert large / many < 1.15 * small / few


@pytest.mark.parametrize("shape", SHAPES)
def test_a_program_is_as_large_as_asked(shape: str, tmp_path: Path):
    source = tmp_path / "f.c"
    source.write_text(program(shape, 300))
    kernel = tapeflow.load(source, "f")
    assert abs(sum(1 for _ in kernel.function.body.walk()) - 300) < 60


def test_the_exponent_and_its_table():
    rows = [
        {"shape": "body", "operations": 100, "seconds": 2.0, "parts": {"read": 2.0}},
        {"shape": "body", "operations": 1000, "seconds": 200.0, "parts": {"read": 200.0}},
    ]
    assert exponent(rows[:1]) is None
    assert exponent(rows) == pytest.approx(2)
    assert growth_table({"body": rows})[-1] == "| body | 1,000 | 200.00 | 200.00 | 2.00 |"

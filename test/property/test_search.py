"""The search of `make fuzz` itself: it finds a fault that is planted, and makes the program that shows it small."""

import sys
from dataclasses import replace
from pathlib import Path

import campaign
import pytest
from generator import nodes
from shrinking import shrink, size, valid
from syntax import Call, Program
from xdsl.dialects import math

from tapeflow.analysis import derivative_rules

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import fuzz


def test_wrong_rule_is_found_and_its_program_made_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = derivative_rules.RULES[math.SinOp]
    wrong = tuple(derivative_rules.apply("sin", derivative_rules.X) for _ in right.partials)
    monkeypatch.setitem(derivative_rules.RULES, math.SinOp, replace(right, partials=wrong))
    seed = 3
    case = campaign.case_of("ir", seed)
    failures = campaign.check([case]).failures[case.name]
    assert any("tangent" in failure for failure in failures)
    path = fuzz.write_smallest(fuzz.Finding("ir", seed, 0, failures[0]), tmp_path, seconds=1.0)
    text = path.read_text()
    assert text.startswith("// ") and "tangent" in text and "math.sin" in text
    program = text.partition("builtin.module")[2]
    assert 0 < len(program) < len(case.text)


@pytest.mark.parametrize("seed", range(3))
def test_smaller_programs_keep_what_is_looked_for(seed: int) -> None:
    program = campaign.case_of("c", seed).program
    function = next(node.function for node in nodes(program) if isinstance(node, Call))

    def calls_it(programs: list[Program]) -> list[bool]:
        return [f"'{function}'" in repr((p.body, p.value, p.functions)) for p in programs]

    small = shrink(program, calls_it)
    assert calls_it([small]) == [True]
    assert valid(small) and size(small) < size(program) / 4

"""The blocks of straight code that the scheduler gets: where they begin, what they do, and in which line."""

import pytest
from stages import STAGES, module

from tapeflow.backend.c_printer import print_c
from tapeflow.backend.printed import PrintedBlock, PrintedC

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")


def shape(printed: PrintedC) -> list[tuple[str, str | None, list[str]]]:
    """For each block its kind, that of its parent, and its operations."""
    by_line = {block.line: block for block in printed.blocks}
    return [
        (
            block.kind,
            None if block.parent is None else by_line[block.parent].kind,
            [op.name for op in block.ops],
        )
        for block in printed.blocks
    ]


def test_blocks_of_the_worked_example():
    assert shape(print_c(module("worked_example", "streams"))) == [
        ("segment", None, []),
        (
            "loop",
            None,
            ["memref.load", "arith.cmpf", "scf.if", "memref.load", "arith.mulf", "memref.store", "spad.write"],
        ),
        ("arm", "loop", ["memref.load", "arith.addf", "arith.mulf", "spad.write", "spad.full", "scf.if"]),
        ("segment", None, ["math.sin", "arith.addf", "spad.write", "spad.full", "scf.if"]),
        ("segment", None, ["spad.empty", "scf.if", "spad.read", "math.cos", "arith.mulf"]),
        ("loop", None, ["spad.read", "memref.load", "arith.mulf", "memref.store", "scf.if"]),
        (
            "arm",
            "loop",
            [
                "spad.empty", "scf.if", "spad.read", "arith.mulf", "arith.mulf", "ad.accumulate", "ad.accumulate",
            ],
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_lines_are_those_of_the_source(stage: str):
    printed = print_c(module("worked_example", stage))
    lines = printed.source.splitlines()

    def text(block: PrintedBlock, op_name: str) -> str:
        return lines[next(line for op, line in block.op_lines.items() if op.name == op_name) - 1].strip()

    for block in printed.blocks:
        expected = ("TF_ARM();",) if block.kind == "arm" else ("TF_STEP();", "TF_STEP_SUM();")
        assert lines[block.line - 1].strip() in expected
        for op, line in block.op_lines.items():
            expected = {"memref.load": "TF_LOAD", "memref.store": "TF_STORE", "ad.accumulate": "TF_ADD"}.get(
                op.name, ""
            )
            assert expected in lines[line - 1]
    forward = next(block for block in printed.blocks if block.kind == "loop")
    assert text(forward, "memref.load") == "const double a = TF_LOAD(A, i * m + j);"
    # What is nested in a statement is in its line.
    assert text(forward, "arith.mulf") == text(forward, "memref.store") == "TF_STORE(w, j, w_old * 0.5);"

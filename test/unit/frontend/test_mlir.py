"""The MLIR frontend: what it takes, and where it says that something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapeflow.errors import TapeflowError
from tapeflow.frontend.mlir import import_mlir

IDENTITY = "func.func @f(%a : f64) -> f64 {\n  func.return %a : f64\n}\n"


def refusal_of(text: str, function: str | None = None) -> str:
    with pytest.raises(TapeflowError) as caught:
        import_mlir(text, filename="k.mlir", function=function)
    return str(caught.value)


def test_text_and_path(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(IDENTITY)
    assert str(import_mlir(path)) == str(import_mlir(IDENTITY)) == str(import_mlir(str(path), function="f"))


def test_our_dialects_are_known() -> None:
    text = (
        "func.func @f(%t : !tape.tape<f64>, %x : f64) {\n  tape.push %x onto %t : !tape.tape<f64>\n  func.return\n}\n"
    )
    assert "tape.push %x onto %t" in str(import_mlir(text))


def test_parse_errors_have_their_place() -> None:
    text = IDENTITY.replace("func.return", "func.retrun")
    assert refusal_of(text) == (
        "k.mlir:2:15: error: 'func.retrun' is not an operation that Tapeflow reads\n"
        "  help: write it with the operations of scf, arith, math and memref"
    )


def test_what_mlir_can_lower_is_named_with_the_pass_that_does() -> None:
    text = "func.func @f(%x: memref<1x1xf64>) {\n  linalg.fill_rng_2d outs(%x : memref<1x1xf64>)\n}\n"
    assert refusal_of(text) == (
        "k.mlir:2:22: error: 'linalg.fill_rng_2d' is not an operation that Tapeflow reads\n"
        "  help: make of it what Tapeflow reads: mlir-opt --linalg-generalize-named-ops"
    )
    assert "leave the convolution as it was" in refusal_of(text.replace("fill_rng_2d", "winograd_filter_transform"))


def test_undefined_value() -> None:
    assert "error: values used but not defined: [%b]" in refusal_of(IDENTITY.replace("%a : f64\n}", "%b : f64\n}"))


def test_what_does_not_verify_is_named_and_located() -> None:
    text = (
        'func.func @f(%a : f64) {\n  %b = "arith.addi"(%a, %a) : (f64, f64) -> f64 loc("g.c":3:4)\n  func.return\n}\n'
    )
    assert refusal_of(text) == (
        "g.c:3:4: error: 'arith.addi' does not verify: operand 'lhs' at position 0 does not verify: "
        "Unexpected attribute f64"
    )
    unlocated = text.replace(' loc("g.c":3:4)', "")
    assert refusal_of(unlocated).startswith("k.mlir:2:3: error: 'arith.addi' does not verify")


def test_missing_file() -> None:
    assert refusal_of("none.mlir") == (
        "error: cannot read 'none.mlir': No such file or directory\n  help: give the path of an MLIR file, or its text"
    )


def test_missing_function() -> None:
    assert refusal_of(IDENTITY, "g") == (
        "k.mlir:1:1: error: there is no function 'g' in this module\n  help: it has 'f'"
    )
    assert "this module has no function" in refusal_of("builtin.module {\n}")
    assert "this module has no function" in refusal_of("")

"""Names of regions and fields."""

import pytest
from parsing import parse
from xdsl.dialects.builtin import UNKNOWN_LOC, f64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block

from tapeflow.analysis.region_names import UniqueNames, bare_name, block_name, field_names, identifier
from tapeflow.analysis.source_names import named, set_source_name

BLOCKS = """
func.func @f_grad(%n: index, %c: i1) attributes {"tapeflow.gradient_of" = "f"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "test.op"() {block = "f"} : () -> ()
  scf.if %c {
    "test.op"() {block = "f_if"} : () -> ()
  } else {
    "test.op"() {block = "f_else"} : () -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    "test.op"() {block = "i"} : () -> ()
    scf.if %c {
      "test.op"() {block = "i_if"} : () -> ()
    } else {
      scf.if %c {
        "test.op"() {block = "i_else_if"} : () -> ()
        scf.for %row.k = %c0 to %n step %c1 {
          "test.op"() {block = "row_k"} : () -> ()
        }
      }
    }
    scf.for %0 = %c0 to %n step %c1 {
      "test.op"() {block = "loop"} : () -> ()
    }
  }
  %last = scf.while (%x = %c0) : (index) -> (index) {
    scf.condition(%c) %x : index
  } do {
  ^bb0(%y : index):
    "test.op"() {block = "while"} : () -> ()
    scf.yield %y : index
  }
  func.return
}
func.func @g(%c: i1) {
  "test.op"() {block = "g"} : () -> ()
  func.return
}
"""


def test_blocks() -> None:
    module = parse(BLOCKS)
    named_blocks = [op for op in module.walk() if isinstance(op, AnyOp)]
    assert len(named_blocks) == 10
    for op in named_blocks:
        assert block_name(op.parent) == op.attributes["block"].data


def test_a_loop_is_called_by_the_location_of_its_variable_first() -> None:
    module = parse(BLOCKS)
    (block,) = (op.parent for op in module.walk() if isinstance(op, AnyOp) and op.attributes["block"].data == "i")
    block.args[0].location = named("i_1", UNKNOWN_LOC)
    assert block_name(block) == "i_1"


def test_a_block_without_an_owner() -> None:
    assert block_name(Block()) == "loop"


def test_unique_names() -> None:
    names = UniqueNames(["tape_j", "u_2"])
    assert [names.of("tape_j"), names.of("tape_j"), names.of("u"), names.of("u")] == [
        "tape_j_2",
        "tape_j_3",
        "u",
        "u_3",
    ]


def test_field_names() -> None:
    a, b, c, d = AnyOp(result_types=[f64] * 4).results
    for value, name in ((a, "t"), (b, "t")):
        value.name_hint = name
    only = AnyOp(result_types=[f64]).results[0]
    set_source_name(only, "x_1")
    assert field_names((a, b, c, only, d)) == ("t", "t_2", "value", "x_1", "value_2")


@pytest.mark.parametrize(
    ("name", "expected"), [("x_1", "x_1"), ("a.b", "a_b"), ("x-$", "x__"), ("2d", "_2d"), ("naïve", "na_ve")]
)
def test_identifiers(name: str, expected: str) -> None:
    assert identifier(name) == expected


def test_bare_names() -> None:
    handles = ("tape_j_if", "spad_j_if", "fifo_j_if", "j_if")
    assert [bare_name(handle) for handle in handles] == ["j_if"] * 4
    assert bare_name("tape_tape_x") == "tape_x"

"""The builder of the passes, and the convention for the names of values."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, FloatAttr, IntAttr, StringAttr, f64, i1
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.source_names import named, set_result_names, set_source_name, source_name, unnamed
from tapeflow.errors import source_position
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


def place(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("f.c"), IntAttr(line), IntAttr(5))


def one() -> arith.ConstantOp:
    return arith.ConstantOp(FloatAttr(1.0, f64))


def builder() -> LocatedBuilder:
    return LocatedBuilder(InsertPoint.at_end(Block()), place=place(3))


def test_ops_are_stamped_and_keep_a_location_they_have():
    build = builder()
    stamped = build.insert(one())
    there = one()
    there.location = place(9)
    build.insert(there)
    assert source_position(stamped.location) == "f.c:3:5"
    assert source_position(there.location) == "f.c:9:5"


def test_at_builds_for_another_op_without_its_name():
    build = builder()
    origin = one()
    origin.location = named("x", place(7))
    with build.at(origin):
        inside = build.value(arith.AddfOp(origin.result, origin.result), "x_b")
        inner = build.insert(one())
    outside = build.insert(one())
    assert inner.location == place(7)
    assert outside.location == place(3)
    assert source_name(inside) == "x_b"
    assert place_of(inside) == place(7)


def test_an_unknown_origin_leaves_the_place():
    build = builder()
    with build.at(UNKNOWN_LOC):
        assert build.insert(one()).location == place(3)


def test_names_keep_suffixes_that_hints_lose():
    build = builder()
    value = build.value(one(), "x_1")
    assert value.name_hint == "x"
    assert source_name(value) == "x_1"


def test_several_results_and_carried_values_have_names():
    build = builder()
    condition = build.value(arith.ConstantOp.from_int_and_width(1, i1))
    value = build.value(one())
    arms = [Region(Block([scf.YieldOp(value, value)])) for _ in range(2)]
    branch = scf.IfOp(condition, [f64, f64], *arms)
    results = build.named(branch, "a_1", None)
    assert [source_name(result) for result in results] == ["a_1", None]
    assert unnamed(branch.location) == place(3)
    set_result_names(branch, ["a_1", "b_2"])
    assert [source_name(result) for result in branch.results] == ["a_1", "b_2"]
    body = build.block([(condition.type, "i"), (f64, "t_4")])
    set_source_name(body.args[0], "j_7")
    assert [source_name(argument) for argument in body.args] == ["j_7", "t_4"]

"""Random expression trees in every scalar type: the C computes what the interpreter computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from c_build import COMPILERS, check_strictly
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from parsing import parse

from tapeflow.backend.c_printer import print_c
from tapeflow.backend.native import NativeFunction
from tapeflow.interpreters import run

pytestmark = pytest.mark.optimized

PARAMETERS = {
    "i32": ["%i", "%j"],
    "i64": ["%k"],
    "index": ["%n"],
    "f32": ["%f"],
    "f64": ["%x", "%y"],
    "i1": ["%c"],
}
SIGNATURE = "%i: i32, %j: i32, %k: i64, %n: index, %f: f32, %x: f64, %y: f64, %c: i1"
TYPES = ["f64", "f32", "i32", "i64", "index", "i1"]

# Small integers, so that nothing overflows: sums and products of six of them at most.
BINARY = {
    "f64": ["addf", "subf", "mulf", "divf", "minnumf", "maximumf", "minimumf"],
    "f32": ["addf", "subf", "mulf", "divf", "maxnumf", "minimumf"],
    "i32": ["addi", "subi", "andi", "ori", "xori", "minsi", "maxsi", "maxui"],
    "i64": ["addi", "subi", "muli", "andi", "ori", "xori", "minsi", "minui"],
    "index": ["addi", "subi", "muli", "maxsi", "andi"],
    "i1": ["andi", "ori", "xori"],
}
CONVERSIONS = {
    "f64": [("i32", "arith.sitofp"), ("i64", "arith.sitofp"), ("f32", "arith.extf"), ("i1", "arith.uitofp")],
    "f32": [("i32", "arith.sitofp"), ("f64", "arith.truncf")],
    "i32": [("i64", "arith.trunci"), ("i1", "arith.extui"), ("i1", "arith.extsi"), ("index", "arith.index_cast")],
    "i64": [("i32", "arith.extsi"), ("index", "arith.index_cast")],
    "index": [("i32", "arith.index_cast"), ("i64", "arith.index_cast")],
    "i1": [],
}
FLOAT_PREDICATES = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]
INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
LITERALS = {"f64": ["0.1", "-2.5", "1.0e10"], "f32": ["0.1", "-3.5"], "i1": ["true", "false"]}


@dataclass
class Tree:
    """The text of an expression, and the name of its value."""

    lines: list[str]
    value: str
    fresh: int


@st.composite
def trees(draw: st.DrawFn, type_: str, depth: int, fresh: int = 0) -> Tree:
    """An expression of `type_`."""
    kinds = ["parameter", "constant"] if depth == 0 else ["binary"] * 3 + ["convert", "select", "unary", "compare"]
    kind = draw(st.sampled_from(kinds))
    if kind == "parameter":
        return Tree([], draw(st.sampled_from(PARAMETERS[type_])), fresh)
    if kind == "constant":
        literal = draw(st.sampled_from(LITERALS.get(type_, ["1", "-3", "7"])))
        suffix = "" if type_ == "i1" else f" : {type_}"
        return Tree([f"%{fresh} = arith.constant {literal}{suffix}"], f"%{fresh}", fresh + 1)
    lines: list[str] = []

    def operand(of_type: str) -> str:
        nonlocal fresh
        tree = draw(trees(of_type, depth - 1, fresh))
        lines.extend(tree.lines)
        fresh = tree.fresh
        return tree.value

    if kind == "select":
        text = f"arith.select {operand('i1')}, {operand(type_)}, {operand(type_)} : {type_}"
    elif kind == "convert" and CONVERSIONS[type_]:
        source, op = draw(st.sampled_from(CONVERSIONS[type_]))
        text = f"{op} {operand(source)} : {source} to {type_}"
    elif kind == "unary" and type_ in ("f64", "f32"):
        op = draw(st.sampled_from(["arith.negf", "math.absf", "math.sqrt", "math.floor"]))
        text = f"{op} {operand(type_)} : {type_}"
    elif kind == "compare" and type_ == "i1":
        of_type = draw(st.sampled_from(["f64", "f32", "i32", "index"]))
        op, predicates = ("cmpf", FLOAT_PREDICATES) if of_type[0] == "f" else ("cmpi", INTEGER_PREDICATES)
        predicate = draw(st.sampled_from(predicates))
        text = f"arith.{op} {predicate}, {operand(of_type)}, {operand(of_type)} : {of_type}"
    else:
        text = f"arith.{draw(st.sampled_from(BINARY[type_]))} {operand(type_)}, {operand(type_)} : {type_}"
    return Tree([*lines, f"%{fresh} = {text}"], f"%{fresh}", fresh + 1)


@st.composite
def functions(draw: st.DrawFn) -> str:
    """A function that returns a value of every type."""
    lines: list[str] = []
    values: list[str] = []
    fresh = 0
    for type_ in TYPES:
        tree = draw(trees(type_, 3, fresh))
        lines += tree.lines
        values.append(tree.value)
        fresh = tree.fresh
    body = "\n  ".join([*lines, f"func.return {', '.join(values)} : {', '.join(TYPES)}"])
    return f"func.func @f({SIGNATURE}) -> ({', '.join(TYPES)}) {{\n  {body}\n}}\n"


ARGUMENTS = st.tuples(
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.integers(0, 9),
    st.floats(-4, 4, width=32),
    st.floats(-4, 4) | st.sampled_from([0.0, -0.0, float("inf"), float("nan")]),
    st.floats(-4, 4),
    st.booleans(),
)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=functions(), arguments=st.lists(ARGUMENTS, min_size=4, max_size=4))
def test_expressions(text: str, arguments: list[tuple[object, ...]]):
    module = parse(text)
    function = NativeFunction(print_c(module), "f")
    for inputs in arguments:
        got, expected = function.call(inputs), run(module, "f", inputs)
        # fmin and fmax may return either of two zeros, so the sign of a zero is not compared.
        np.testing.assert_array_equal(np.array(got, float), np.array(expected, float))


SILLY = {
    "gcc": ["-Wno-tautological-compare", "-Wno-bool-compare", "-Wno-bool-operation", "-Wno-type-limits"],
    "clang": ["-Wno-tautological-compare", "-Wno-tautological-constant-compare"],
}
"""Warnings about what random trees do and a source does not: compare constants, or a value with itself."""


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(text=functions())
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_warnings(tmp_path_factory: pytest.TempPathFactory, compiler: str, text: str):
    check_strictly(
        tmp_path_factory.mktemp("c"),
        print_c(parse(text)),
        compiler,
        *SILLY[compiler],
    )

"""What the IR of a Python function looks like: attributes, names, places, and no more operations than are needed."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from python_oracle import define, imported
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FileLineColLoc, NameLoc, UnknownLoc
from xdsl.printer import Printer

from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.errors import source_position
from tapeflow.frontend.python import bool_, f32, f64, i32, i64, import_python

NAMES = {"math": math, "np": np, "f64": f64, "f32": f32, "i64": i64, "i32": i32, "bool_": bool_}


def module_of(text: str):
    return imported(define(text, NAMES, "kernel.py"))


def ir_of(text: str) -> str:
    return str(module_of(text)).rstrip()


def ops(module, kind):
    return [op for op in module.walk() if isinstance(op, kind)]


LOGSUM = """\
def f(n: int, x: f64["n"]) -> float:
    s = 0.0
    for i in range(n):
        s += math.exp(x[i])
    return math.log(s)
"""


def test_a_kernel_in_full():
    assert (
        ir_of(LOGSUM).replace(" {tapeflow.", "\n    {tapeflow.")
        == """\
builtin.module {
  func.func @f(%n: i64
    {tapeflow.name = "n"}, %x: memref<?xf64>
    {tapeflow.name = "x", tapeflow.extents = ["n"]}) -> f64 {
    %n_1 = arith.index_cast %n : i64 to index
    %cst = arith.constant 0.000000e+00 : f64
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = scf.for %i = %c0 to %n_1 step %c1 iter_args(%s_1 = %cst) -> (f64) {
      %0 = memref.load %x[%i] : memref<?xf64>
      %1 = math.exp %0 : f64
      %s_2 = arith.addf %s_1, %1 : f64
      scf.yield %s_2 : f64
    }
    %2 = math.log %s : f64
    func.return %2 : f64
  }
}"""
    )


def test_every_operation_and_argument_has_its_place():
    module = module_of(LOGSUM)
    places = {}
    for op in ops(module, (func.FuncOp, scf.ForOp, memref.LoadOp, arith.AddfOp, func.ReturnOp)):
        places[op.name] = source_position(op.location)
    assert places == {
        "func.func": "kernel.py:1:1",
        "scf.for": "kernel.py:3:5",
        "memref.load": "kernel.py:4:23",
        "arith.addf": "kernel.py:4:9",
        "func.return": "kernel.py:5:5",
    }
    for op in module.walk():
        if op is not module:
            assert not isinstance(op.location, UnknownLoc), op
        for region in op.regions:
            for block in region.blocks:
                if op is not module:
                    assert not any(isinstance(argument.location, UnknownLoc) for argument in block.args), op


def test_source_names_travel_as_named_locations():
    module = module_of(LOGSUM)
    (function,) = ops(module, func.FuncOp)
    assert [source_name(argument) for argument in function.args] == ["n", "x"]
    assert isinstance(function.args[1].location, NameLoc)
    assert isinstance(function.args[1].location.location, FileLineColLoc)
    assert source_position(function.args[1].location) == "kernel.py:1:15"
    (loop,) = ops(module, scf.ForOp)
    assert [source_name(argument) for argument in loop.body.block.args] == ["i", "s"]
    (add,) = ops(module, arith.AddfOp)
    assert source_name(add.result) == "s"


def test_names_keep_their_suffixes():
    (add,) = ops(module_of("def f(x_1: float):\n    y_2 = x_1 + 1.0\n    return y_2\n"), arith.AddfOp)
    assert source_name(add.result) == "y_2"


def test_results_of_a_branch_are_named():
    text = "def f(x: float, y: float):\n    if x > 0:\n        x, y = y, x\n    return x - y\n"
    (branch,) = ops(module_of(text), scf.IfOp)
    assert [source_name(result) for result in branch.results] == ["x", "y"]
    assert source_position(location_of(branch.results[0])) == "kernel.py:2:5"


def test_results_of_a_while_loop_are_named():
    text = "def f(x: float):\n    while x > 1:\n        x = x / 2\n    return x\n"
    (loop,) = ops(module_of(text), scf.WhileOp)
    assert [source_name(result) for result in loop.results] == ["x"]
    assert [source_name(argument) for argument in loop.before_region.block.args] == ["x"]


def test_a_returned_variable_gives_its_name_to_the_result():
    (returned,) = ops(module_of("def f(x: float):\n    s = x * 2.0\n    return s\n"), func.ReturnOp)
    assert source_name(returned.operands[0]) == "s"


def test_returns_in_branches_are_called_return():
    (returned,) = ops(module_of("def f(x: float):\n    if x > 0:\n        return x\n    return -x\n"), func.ReturnOp)
    assert source_name(returned.operands[0]) == "return"


def test_extents_and_types_of_parameters():
    text = (
        'def f(n: int, b: bool, x: np.ndarray, A: f32["n", 3], k: i64[None, "n"], i: i32[:], c: bool_[2], '
        "z: f64[()]):\n"
        "    pass\n"
    )
    head = ir_of(text).splitlines()[1].strip()
    assert head == (
        'func.func @f(%n: i64 {tapeflow.name = "n"}, %b: i1 {tapeflow.name = "b"}, '
        '%x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = [""]}, '
        '%A: memref<?x3xf32> {tapeflow.name = "A", tapeflow.extents = ["n", "3"]}, '
        '%k: memref<?x?xi64> {tapeflow.name = "k", tapeflow.extents = ["", "n"]}, '
        '%i: memref<?xi32> {tapeflow.name = "i", tapeflow.extents = [""]}, '
        '%c: memref<2xi1> {tapeflow.name = "c", tapeflow.extents = ["2"]}, '
        '%z: memref<f64> {tapeflow.name = "z", tapeflow.extents = []}) {'
    )


def test_a_descending_loop_counts_the_distance_from_its_start():
    text = 'def f(n: int, x: f64["n"]):\n    for i in range(n - 1, -1, -1):\n        x[i] = 0.0\n'
    assert ir_of(text).splitlines()[7:11] == [
        "    scf.for %i_down = %c0 to %n_1 step %c1 {",
        "      %i = arith.subi %0, %i_down : index",
        "      memref.store %cst, %x[%i] : memref<?xf64>",
        "    }",
    ]
    (loop,) = ops(module_of(text), scf.ForOp)
    assert source_name(loop.body.block.args[0]) == "i"


@pytest.mark.parametrize(
    ("body", "wraps"),
    [
        ("for i in range(n):\n        x[i] = 0.0", 0),
        ("for i in range(1, n):\n        x[i - 1] = x[n - i] + x[n - 1]", 0),
        ("for i in range(n):\n        if i > 0:\n            x[i - 1] = 0.0", 0),
        ("for i in range(n):\n        x[(i + 1) % n] = x[i // 2]", 0),
        ("for i in range(len(x)):\n        x[len(x) - 1 - i] = 0.0", 0),
        ("k = 0\n    for i in range(n):\n        x[k] = 0.0\n        if i % 2 == 0:\n            k += 1", 0),
        ("k = 0\n    while k < n:\n        x[k] = x[n - 1 - k]\n        k += 1", 0),
        ("for i in range(n):\n        x[max(i - 1, 0)] = x[min(i, n - 1)] + x[abs(a)]", 0),
        ("if a >= 0 and x[a] > 1.0:\n        x[a] = 0.0", 0),
        ("x[a] = x[a] + 1.0", 2),
        ("for i in range(-1, n):\n        x[i] = 0.0", 1),
        ("for i in range(n):\n        x[i - 1] = 0.0", 1),
        ("for i in range(n):\n        x[int(x[i])] = 0.0", 1),
    ],
)
def test_only_indices_that_may_be_negative_are_tested(body: str, wraps: int):
    text = f'def f(n: int, a: int, x: f64["n"]):\n    {body}\n'
    assert len(ops(module_of(text), arith.SelectOp)) == wraps


def test_division_of_numbers_that_are_not_negative_is_plain():
    text = 'def f(n: int, x: i64["n"]):\n    for i in range(n):\n        x[i] = i // 2 + i % 3 + x[i] // 2 + x[i] % 3\n'
    module = module_of(text)
    assert [len(ops(module, kind)) for kind in (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp)] == [1, 1, 2]


def test_slices_are_loops_without_memory_of_their_own():
    text = 'def f(n: int, x: f64["n"], y: f64["n"]):\n    y[1 : n - 1] = x[2:] - x[:-2]\n'
    module = module_of(text)
    assert not ops(module, memref.AllocaOp)
    assert ir_of(text).splitlines()[6:14] == [
        "    %0 = arith.subi %n_1, %c2 : index",
        "    scf.for %i = %c0 to %0 step %c1 {",
        "      %1 = arith.addi %i, %c2 : index",
        "      %2 = memref.load %x[%1] : memref<?xf64>",
        "      %3 = memref.load %x[%i] : memref<?xf64>",
        "      %4 = arith.subf %2, %3 : f64",
        "      %5 = arith.addi %i, %c1 : index",
        "      memref.store %4, %y[%5] : memref<?xf64>",
    ]


@pytest.mark.parametrize(
    ("statement", "copies"),
    [
        ("x[:] = x * 2.0 + y", 0),
        ("x[1:] += 1.0", 0),
        ("A[1] = A[0] * 2.0", 0),
        ("if n > 1:\n        A[n - 1, :] = A[n - 2, :]", 0),
        ("A[n - 1, :] = A[n - 2, :]", 1),
        ("A[:, 0] = A[:, 1]", 0),
        ("x[1:] = x[:-1]", 1),
        ("x[:] = x[0] * x", 0),
        ("A[:] = A[0]", 1),
        ("A += A[:, :]", 0),
    ],
)
def test_only_what_is_read_elsewhere_is_copied_first(statement: str, copies: int):
    text = f'def f(n: int, x: f64["n"], y: f64["n"], A: f64["n", "n"]):\n    {statement}\n'
    assert len(ops(module_of(text), memref.AllocaOp)) == copies


def test_loops_made_here_take_names_that_are_free():
    text = 'def f(n: int, i: int, x: f64["n"]):\n    x[:] = i * 1.0\n'
    (loop,) = ops(module_of(text), scf.ForOp)
    assert source_name(loop.body.block.args[0]) == "j"


def test_only_what_is_needed_is_carried():
    text = (
        "def f(n: int):\n    s = 0.0\n    t = 1.0\n    u = 2.0\n"
        "    for i in range(n):\n        t = i * 0.5\n        u = t\n        s += u\n    return s\n"
    )
    (loop,) = ops(module_of(text), scf.ForOp)
    assert [source_name(argument) for argument in loop.body.block.args] == ["i", "s"]


def test_the_second_operand_is_only_guarded_where_it_may_fail():
    plain = "def f(x: float, y: float):\n    if x > 0 and y > 0:\n        x = y\n    return x\n"
    assert [len(ops(module_of(plain), kind)) for kind in (scf.IfOp, arith.AndIOp)] == [1, 1]
    guarded = "def f(i: int, x: f64[3]):\n    if i < 3 and x[i] > 0:\n        return 1\n    return 2\n"
    assert [len(ops(module_of(guarded), kind)) for kind in (scf.IfOp, arith.AndIOp)] == [2, 0]


def test_functions_are_imported_once_for_each_combination_of_types():
    text = "def square(x): return x * x\ndef f(n: int, x: float):\n    return square(x) + square(x + 1.0) + square(n)\n"
    names = [
        (op.sym_name.data, op.sym_visibility and op.sym_visibility.data) for op in ops(module_of(text), func.FuncOp)
    ]
    assert names == [("square", "private"), ("square_1", "private"), ("f", None)]


def test_a_called_function_gets_the_extents_it_does_not_name():
    text = (
        "def total(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i]\n    return s\n"
        'def f(n: int, x: f64["n"], y: f64[3]):\n    return total(x) + total(y)\n'
    )
    heads = [line.strip() for line in ir_of(text).splitlines() if "func.func" in line]
    assert heads[:2] == [
        'func.func private @total(%x: memref<?xf64> {tapeflow.name = "x", tapeflow.extents = ["x_extent0"]}, '
        '%x_extent0: index {tapeflow.name = "x_extent0"}) -> f64 {',
        'func.func private @total_1(%x: memref<3xf64> {tapeflow.name = "x", tapeflow.extents = ["3"]}) -> f64 {',
    ]


def test_functions_of_other_files_keep_their_places():
    from python_prelude import reads

    function = define("def f(x: f64[3]):\n    return reads(x, x)\n", {**NAMES, "reads": reads}, "kernel.py")
    load = ops(imported(function), memref.LoadOp)[0]
    assert source_position(load.location).endswith("python_prelude.py:21:12")


def test_long_sums_are_imported():
    terms = 400
    text = f"def f(x: float):\n    return {' + '.join(['x'] * terms)}\n"
    assert len(ops(module_of(text), arith.AddfOp)) == terms - 1


def test_importing_twice_gives_the_same():
    function = define(LOGSUM, NAMES, "kernel.py")
    texts = []
    for _ in range(2):
        output = io.StringIO()
        Printer(output, print_debuginfo=True).print_op(import_python(function))
        texts.append(output.getvalue())
    assert texts[0] == texts[1]
    assert 'loc("x"("kernel.py":1:15))' in texts[0]


def test_this_file_is_imported_by_its_path():
    def inner(x: float) -> float:
        return x + OFFSET

    (add,) = ops(import_python(inner), arith.AddfOp)
    assert Path(source_position(add.location).split(":")[0]) == Path(__file__)


OFFSET = 1.5

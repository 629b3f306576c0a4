"""The suite's kernels after differentiation: what each tapes, where every op comes from, how much work it is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from counting import calls_made
from differentiation import DIFFERENTIATE, STOCK, apply
from parsing import parse
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tapeflow.analysis.source_names import unnamed
from tapeflow.analysis.trip_counts import TripCounts
from tapeflow.dialects import ad, tape
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import source_position
from tapeflow.loading import load
from tapeflow.transforms.tape_plan import TapePlanPass

KERNELS = Path(__file__).parents[2] / "bench" / "kernels"
ACTIVE = {
    "worked_example": ("f", ("A", "w")),
    "logsum": ("logsum", ("x",)),
    "logsum_shifted": ("logsum_shifted", ("x",)),
    "matdescent": ("matdescent", ("A", "x")),
    "mttkrp": ("mttkrp", ("B", "C")),
    "pathfinder": ("pathfinder", ("w",)),
    "gravity": ("gravity", ("r",)),
    "jacobi": ("jacobi", ("u",)),
}

MARKS = {True: ad.Activity.ACTIVE, False: ad.Activity.CONST}


@cache
def differentiated(kernel: str) -> ModuleOp:
    name, active = ACTIVE[kernel]
    loaded = load(KERNELS / f"{kernel}.c", name)
    module = loaded.module.clone()
    marks = [MARKS[parameter.name in active] for parameter in loaded.parameters]
    module.body.block.add_op(request := ad.VjpOp(f"{name}_grad", name, marks, [ad.Activity.ACTIVE]))
    request.location = loaded.function.location
    return apply(module, *DIFFERENTIATE)


def gradient(module: ModuleOp) -> func.FuncOp:
    (found,) = (op for op in module.body.block.ops if "tapeflow.gradient_of" in op.attributes)
    assert isinstance(found, func.FuncOp)
    return found


def taped(module: ModuleOp) -> list[tuple[int, str]]:
    """For each tape: the bytes of a value, and how many there are."""
    function = gradient(module)
    counts = TripCounts(function)
    found: list[tuple[int, str]] = []
    for op in function.walk():
        if isinstance(op, tape.PushOp):
            assert op.parent is not None
            found.append((field_bytes(op.value.type), str(counts.executions(op.parent))))
    return found


TAPES = {
    # t where the branch is taken, v there too, and the final t of each i
    "worked_example": [(8, "at most n*m"), (8, "at most n*m"), (8, "n")],
    "logsum": [],
    # the comparison with the largest so far
    "logsum_shifted": [(1, "max(n - 1, 0)")],
    # y
    "matdescent": [(8, "n")],
    # the sums of a row
    "mttkrp": [(8, "I*F")],
    # which of the three is the cheapest: two comparisons
    "pathfinder": [(1, "max(n - 1, 0)*m"), (1, "max(n - 1, 0)*m")],
    "gravity": [],
    # u before each step, inside of the border; not u at the end, which is still there
    "jacobi": [(8, "max(n - 2, 0)^2*max(steps, 0)")],
}


@pytest.mark.parametrize("kernel", ACTIVE)
def test_what_is_taped(kernel: str):
    assert taped(apply(differentiated(kernel), TapePlanPass)) == TAPES[kernel]


@pytest.mark.parametrize("kernel", ACTIVE)
def test_stock_passes_before_and_after_do_not_matter(kernel: str):
    assert taped(apply(differentiated(kernel), *STOCK, TapePlanPass, *STOCK)) == TAPES[kernel]


@pytest.mark.parametrize("kernel", ACTIVE)
def test_every_tape_is_reserved(kernel: str):
    creates = [op for op in gradient(differentiated(kernel)).walk() if isinstance(op, tape.CreateOp)]
    assert all(create.reserve is not None for create in creates)


def place(op: Operation) -> str | None:
    return source_position(unnamed(op.location))


@pytest.mark.parametrize("kernel", ACTIVE)
def test_every_op_says_where_it_comes_from(kernel: str):
    for module in (differentiated(kernel), apply(differentiated(kernel), TapePlanPass)):
        nowhere = [op for op in gradient(module).walk() if place(op) is None]
        assert not nowhere, nowhere[0]


def test_an_adjoint_comes_from_its_primal_op():
    function = gradient(differentiated("gravity"))
    roots = {place(op) for op in function.walk() if op.name == "math.sqrt"}
    halves = {place(op) for op in function.walk() if isinstance(op, ad.AccumulateOp)}
    lines = {(position or "").split(":")[1] for position in halves}
    assert len(roots) == 1 and lines == {"10", "11", "12"}


def chain_of(operations: int) -> str:
    """A loop with a body of so many operations, of all common kinds."""
    lines = ["%v0 = memref.load %x[%i] : memref<?xf64>"]
    for k in range(operations):
        kind = ("arith.mulf %v{0}, %v0", "math.sin %v{0}", "arith.addf %v{0}, %v{1}", "arith.subf %v0, %v{0}")[k % 4]
        lines.append(f"%v{k + 1} = {kind.format(k, max(k - 1, 0))} : f64")
        if k % 50 == 0:
            lines.append(f"memref.store %v{k + 1}, %x[%i] : memref<?xf64>")
    body = "\n".join(lines)
    return f"""
        func.func @f(%n: index, %x: memref<?xf64>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          scf.for %i = %c0 to %n step %c1 {{
            {body}
            memref.store %v{operations}, %x[%i] : memref<?xf64>
          }}
          func.return
        }}
        ad.vjp @f_grad of @f (const, active) -> ()
    """


def calls(operations: int) -> int:
    module = parse(chain_of(operations))
    return calls_made(lambda: apply(module, *DIFFERENTIATE, TapePlanPass))[1]


def test_work_grows_linearly_with_the_program():
    # Eight times the program; quadratic work would be 64 times.
    assert calls(400) < 9 * calls(50)


def test_constants_are_shared():
    function = gradient(differentiated("jacobi"))
    constants = [op.value for op in function.walk() if isinstance(op, arith.ConstantOp)]
    assert len(constants) == len(set(constants))

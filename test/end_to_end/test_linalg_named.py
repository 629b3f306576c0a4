# ruff: noqa: N803, N806, E741 # names as in the MLIR
"""The named operations of `linalg` as real mlir-opt prints them, in the pretty and in the generic form."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tapeflow
from tapeflow.errors import TapeflowError
from tapeflow.frontend.mlir import import_mlir
from tapeflow.frontend.mlir_linalg_bodies import BINARY, UNARY
from tapeflow.frontend.mlir_linalg_names import NAMED, einsum_maps
from tapeflow.gradient_check import check

FORMS = [Path(__file__).parent / "mlir" / f"linalg_{form}.mlir" for form in ("pretty", "generic")]
erf = np.vectorize(math.erf, otypes=[float])


def contractions(A, B, x, y, z, s):
    y += A @ x
    x += y @ A
    B += A.T @ A
    z += B @ x
    s += x @ z
    return float(s)


def batches(A, B, C, T, D, s):
    C += A @ B
    T += C @ B.transpose(0, 2, 1)
    D += (T @ B).sum(axis=0)
    s += (D**2).sum()
    return float(s)


def convolutions(a, k, o, I, K, O, s):
    o += np.correlate(a, k, "valid")
    I[:] = o
    windows = np.lib.stride_tricks.sliding_window_view(I, K.shape)
    O += (windows * K).sum(axis=(2, 3))
    O **= 2
    s += O.sum()
    return float(s)


def elements(x, y, z, c):
    z[:] = abs(x - x ** np.tanh(x / y))
    x[:] = erf(x**-0.5)
    y[:] = 1 / -y
    z[:] = x * y + np.sin(z)
    c *= z.prod(axis=0)
    return float(c[0])


def images(I, K, C, L, D, W, P, Q, s):
    def windows(x, *sizes):
        return np.lib.stride_tricks.sliding_window_view(x, sizes, axis=(1, 2))

    C += np.einsum("nhwcij,ijcf->nhwf", windows(I, 2, 5)[:, ::2, :, :, :, ::2], K)
    D += np.einsum("nhwcij,ijc->nhwc", windows(C, *L.shape[:2]), L)
    P[:] = np.maximum(P, windows(D, *W.shape).max(axis=(-2, -1)))
    e = np.exp(P - P.max(axis=2, keepdims=True))
    Q[:] = np.log(P * (e / e.sum(axis=2, keepdims=True)))
    s += Q.sum()
    return float(s)


PROGRAMS: dict[Callable, list[tuple[int, ...]]] = {
    contractions: [(4, 3), (3, 3), (3,), (4,), (3,), ()],
    batches: [(2, 3, 4), (2, 4, 2), (2, 3, 2), (2, 3, 4), (3, 2), ()],
    convolutions: [(9,), (3,), (7,), (5, 7), (2, 3), (4, 5), ()],
    elements: [(3, 2), (3, 2), (3, 2), (2,)],
    images: [
        *((2, 7, 9, 2), (2, 3, 2, 3), (2, 3, 5, 3)),
        *((2, 2, 3), (2, 2, 4, 3), (1, 2), (2, 2, 3, 3), (2, 2, 3, 3), ()),
    ],
}
"""Each with the shapes of its arguments, no two sizes of different dimensions alike where it can be."""


def arguments(by_hand: Callable) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.asarray(rng.uniform(0.6, 1.4, shape)) for shape in PROGRAMS[by_hand]]


@pytest.mark.parametrize("by_hand", PROGRAMS, ids=lambda it: it.__name__)
def test_value_and_gradient(by_hand: Callable):
    kernel = tapeflow.load(FORMS[0], function=by_hand.__name__)
    grad = tapeflow.gradient(kernel, wrt=[parameter.name for parameter in kernel.parameters])
    ours, theirs = arguments(by_hand), arguments(by_hand)
    assert grad(*ours).value == pytest.approx(by_hand(*theirs), rel=1e-13)
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-13)
    report = check(grad, arguments(by_hand))
    assert report.passed, str(report)


def test_both_forms_are_one_program():
    pretty, generic = map(import_mlir, FORMS)
    assert pretty.is_structurally_equivalent(generic)


OF_INTEGERS = {"div_unsigned", "select"}
OF_FLOATS = {"powf", "elemwise_unary", *UNARY}
NOT_COMPARED = {"conv_2d_nhwgc_gfhwc", "reciprocal"}
"""MLIR 19 does not have the first, and moves a constant out of the body of the second."""


def declaration(name: str, inputs: str, output: str) -> str:
    """A function of one operation on inputs and an output with elements of such types."""
    row = NAMED[name]
    if row.subscripts is None:
        ranks = [0 if name == "fill" else 2] * row.inputs + [2]
    else:
        ranks = [len(map_.results) for map_ in maps_of_ranks(row.subscripts)]
    types = [array(rank, inputs) for rank in ranks[:-1]] + [f"memref<{'?x' * ranks[-1]}{output}>"]
    if name == "select":
        types[0] = array(2, "i1")
    windows = (row.subscripts or "").count("~")
    factors = [f"{key} = dense<{list(range(2, 2 + windows))[::sign]}> : tensor<{windows}xi64>" for key, sign in FACTORS]
    attributes = f" {{{', '.join(factors)}}}" if windows else ""
    operands = [f"%{position}" for position in range(len(types))]
    parameters = ", ".join(map("{}: {}".format, operands, types))
    ins = f"{', '.join(operands[:-1])} : {', '.join(types[:-1])}"
    return (
        f"func.func @{name}({parameters}) {{\n"
        f"  linalg.{name}{attributes} ins({ins}) outs({operands[-1]} : {types[-1]})\n  return\n}}\n"
    )


FACTORS = (("dilations", 1), ("strides", -1))


def maps_of_ranks(subscripts: str):
    windows = subscripts.count("~")
    return einsum_maps(subscripts, [1] * windows, [1] * windows)


def array(rank: int, element: str) -> str:
    return f"memref<{'?x' * rank}{element}>" if rank else element


def declarations(inputs: str, output: str) -> str:
    """All functions that MLIR has of operations on such elements."""
    of_floats = output.startswith("f")
    left_out = NOT_COMPARED | (OF_INTEGERS - {"select"} if of_floats else OF_FLOATS)
    if inputs != output:  # the arrays are indexed as ever
        left_out |= {name for name, row in NAMED.items() if row.subscripts is None} - {"copy", "fill"}
        left_out |= {name for name in NAMED if "conv" in name or "batch" in name}
    if output.startswith("complex"):
        left_out |= {name for name in NAMED if "max" in name or "min" in name} | OF_INTEGERS
    texts = [declaration(name, inputs, output) for name in NAMED if name not in left_out]
    if of_floats or inputs != output:
        texts += [elemwise("unary", name, inputs, output) for name in UNARY if of_floats and name not in NOT_COMPARED]
        texts += [
            elemwise("binary", name, inputs, output)
            for name in BINARY
            if name not in (OF_INTEGERS if of_floats else OF_FLOATS)
        ]
    return "".join(texts)


def elemwise(kind: str, function: str, inputs: str, output: str) -> str:
    text = declaration(f"elemwise_{kind}", inputs, output).replace(f"@elemwise_{kind}", f"@{kind}_{function}")
    attributes = f"cast = #linalg.type_fn<cast_unsigned>, fun = #linalg.{kind}_fn<{function}>"
    return text.replace(" ins(", f" {{{attributes}}} ins(")


@pytest.mark.skipif(shutil.which("mlir-opt-19") is None, reason="mlir-opt-19 is not installed: nothing to compare with")
@pytest.mark.parametrize(
    ("inputs", "output"),
    [("f64", "f64"), ("f32", "f64"), ("f64", "f32"), ("i8", "i32"), ("i32", "f64"), ("complex<f64>", "complex<f64>")],
)
def test_every_operation_is_what_mlir_generalizes_it_to(inputs: str, output: str):
    text = declarations(inputs, output)
    ours = import_mlir(text)
    generic_text = [["--mlir-print-op-generic"]] if inputs == output == "f64" else []
    for options in (["--linalg-generalize-named-ops"], *generic_text):
        done = subprocess.run(["mlir-opt-19", *options], input=text, capture_output=True, text=True, check=True)
        theirs = import_mlir(done.stdout)
        for left, right in zip(ours.ops, theirs.ops, strict=True):
            assert left.clone().is_structurally_equivalent(right.clone()), f"{left}\n{right}"


VECTOR = "memref<?xf64>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("linalg.dot ins(%x, %x, %x : V, V, V) outs(%x : V)", "'linalg.dot' does not verify: expected 2 inputs and 1"),
        ("linalg.add ins(%x, %f : V, memref<?xf32>) outs(%x : V)", "different element types"),
        (
            "linalg.negf ins(%i : memref<?xi64>) outs(%i : memref<?xi64>)",
            "'linalg.negf' does not verify: it is not for",
        ),
        (
            "linalg.pooling_nwc_sum {strides = dense<1> : tensor<2xi64>} ins(%x, %x : V, V) outs(%x : V)",
            "expected 1 positive strides, but got \\[1, 1\\]",
        ),
        ("linalg.elemwise_unary {fun = #linalg.unary_fn<sin>} ins(%x : V) outs(%x : V)", "expected one of exp, log"),
        (
            "linalg.copy ins(%t : memref<3xf64>) outs(%u : memref<4xf64>)",
            "'linalg.copy' does not verify: inferred input/output operand #1 has shape's dimension #0 to be 3, but",
        ),
        ("linalg.softmax dimension(0) ins(%t : memref<3xf64>) outs(%u : memref<4xf64>)", "output of one shape"),
        ("linalg.softmax dimension(1) ins(%x : V) outs(%x : V)", "'linalg.softmax' does not verify: expected arrays"),
        ("linalg.reduce { arith.addf } ins(%x : V) outs(%s : memref<f64>) dimensions = [1]", "dimensions below 1"),
        ("linalg.map { arith.nosuch } ins(%x : V) outs(%x : V)", "there is no operation 'arith.nosuch'"),
        ("linalg.dot ins(%x, %x : V, V) outs(%x : V)", "of rank 1 to match the result count"),
        ('"linalg.dot"(%x, %x, %s) : (V, V, memref<f64>) -> ()', "expected a region of one block"),
        ('"linalg.map"(%x, %x) ({}) : (V, V) -> ()', "expected a region of one block"),
    ],
)
def test_what_is_refused(text: str, reason: str, tmp_path: Path):
    path = tmp_path / "program.mlir"
    body = text.replace("V", VECTOR)
    path.write_text(
        "func.func @f(%x: memref<?xf64>, %f: memref<?xf32>, %i: memref<?xi64>, %s: memref<f64>, "
        "%t: memref<3xf64>, %u: memref<4xf64>) {\n"
        f"  {body}\n  return\n}}\n"
    )
    with pytest.raises(TapeflowError, match=reason) as caught:
        tapeflow.load(path)
    assert "program.mlir" in str(caught.value)

"""The worked example of the design, stage by stage, against a gradient written by hand in Python.

The kernel multiplies `t` by `A[i][j] + w[j]` where `A[i][j] > 0`, halves `w[j]`, and sums `sin(t)` over `i`.
"""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_text import make_context, parse
from xdsl.context import Context
from xdsl.passes import PassPipeline
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass
from xdsl.universe import Universe

from tapeflow.errors import TapeflowRemark
from tapeflow.interpreters import Buffer, Fifo, Stack, observe, run

TEXTS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "worked_example").glob("*.mlir"))}
MODULES = {stage: parse(text) for stage, text in TEXTS.items() if stage != "a0_primal"}
PASSES = Universe.get_multiverse().all_passes
TILED = ("a3_layers", "a4_streams")


def by_hand(a, w, s_b, a_b, w_b):
    """The kernel and its gradient with a Python list a value, in the order of operations of the IR."""
    n, m = a.shape
    factors, conditions, products = [], [], []
    s = 0.0
    for i in range(n):
        t = 1.0
        for j in range(m):
            if a[i, j] > 0:
                v = a[i, j] + w[j]
                factors.append((t, v))
                t = t * v
            conditions.append(a[i, j] > 0)
            w[j] = w[j] * 0.5
        products.append(t)
        s = s + math.sin(t)
    for i in reversed(range(n)):
        t_b = s_b * math.cos(products.pop())
        for j in reversed(range(m)):
            w_b[j] = w_b[j] * 0.5
            if conditions.pop():
                t, v = factors.pop()
                v_b = t_b * t
                t_b = t_b * v
                a_b[i, j] += v_b
                w_b[j] += v_b
    return s


def inputs(n, m, seed=0):
    rng = np.random.default_rng(seed)
    a, w = rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, m)
    return a, w, 0.75, rng.uniform(-1, 1, (n, m)), rng.uniform(-1, 1, m)


def expect(n, m, seed=0):
    a, w, s_b, a_b, w_b = inputs(n, m, seed)
    s = by_hand(a, w, s_b, a_b, w_b)
    return s, a, w, a_b, w_b


def interpret(module, n, m, seed=0):
    a, w, s_b, a_b, w_b = inputs(n, m, seed)
    observation = observe(module, "f_grad", (n, m, a, w, s_b, a_b, w_b))
    return (*observation.results, a, w, a_b, w_b), observation


def assert_same_bits(got, expected):
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def with_tiles(stage: str, copies: int, records: int):
    """The stage with other buffers and tiles, the same for all three regions."""
    text = re.sub(r"!spad.buffer<2 x \d+", f"!spad.buffer<{copies} x {records}", TEXTS[stage])
    return parse(re.sub(r"!stream.fifo<\d+", f"!stream.fifo<{records}", text))


def test_the_hand_written_gradient_is_one():
    a, w, s_b, a_b, w_b = inputs(3, 4)
    a_b[:], w_b[:] = 0, 0
    gradient = a_b, w_b
    by_hand(a.copy(), w.copy(), s_b, *gradient)
    step = 1e-6
    for array, adjoint in ((a, a_b), (w, w_b)):
        for index in np.ndindex(array.shape):
            values = []
            for sign in (1, -1):
                arrays = a.copy(), w.copy()
                arrays[0 if array is a else 1][index] += sign * step
                values.append(by_hand(*arrays, 0.0, np.zeros_like(a), np.zeros_like(w)))
            assert s_b * (values[0] - values[1]) / (2 * step) == pytest.approx(adjoint[index], abs=1e-8)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (5, 7), (20, 30)])
@pytest.mark.parametrize("stage", MODULES)
def test_every_stage_gives_the_gradient_to_the_bit(stage, shape):
    got, observation = interpret(MODULES[stage], *shape)
    assert_same_bits(got, expect(*shape))
    assert all(handle.empty if isinstance(handle, Buffer) else not handle.records for handle in observation.handles)


@pytest.mark.parametrize("stage", MODULES)
def test_stock_passes_keep_the_gradient(stage):
    context = make_context()
    module = parse(TEXTS[stage])
    run_stock_passes(context, module)
    got, _ = interpret(module, 9, 11)
    assert_same_bits(got, expect(9, 11))


def run_stock_passes(context: Context, module) -> None:
    for stock in (CanonicalizePass, CommonSubexpressionElimination, LoopInvariantCodeMotionPass, DeadCodeElimination):
        stock().apply(context, module)
        module.verify()


@pytest.mark.parametrize("stage", TILED)
@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 6), st.integers(0, 8), st.integers(0, 3))
def test_every_tile_size_and_number_of_copies(stage, copies, records, n, m, seed):
    got, observation = interpret(with_tiles(stage, copies, records), n, m, seed)
    assert_same_bits(got, expect(n, m, seed))
    a = inputs(n, m, seed)[0]
    written = {"spad_i": n, "spad_j": n * m, "spad_j_if": int((a > 0).sum())}
    for name, count in written.items():
        buffer = observation.handle(name)
        assert isinstance(buffer, Buffer)
        assert buffer.pushed == count // records
        assert buffer.fetched == max(buffer.pushed - (copies - 1), 0)
    for handle in observation.handles:
        assert not isinstance(handle, Fifo) or handle.closed


def test_reservations_are_exact_or_upper_bounds():
    _, observation = interpret(MODULES["a2_regions"], 6, 8)
    stacks = [handle for handle in observation.handles if isinstance(handle, Stack)]
    assert [(stack.name, stack.reserve, stack.peak) for stack in stacks[:2]] == [("tape_i", 6, 6), ("tape_j", 48, 48)]
    assert 0 < stacks[2].peak < stacks[2].reserve == 48


def test_accumulation_in_single_precision_rounds():
    module = parse(
        """func.func @f(%x: memref<?xf32>, %v: f32, %i: index) {
             ad.accumulate %v into %x[%i] : memref<?xf32>
             func.return
           }"""
    )
    x = np.array([0.0, 1.0], np.float32)
    run(module, "f", (x, 0.1, 1))
    assert x[1] == np.float32(1.0) + np.float32(0.1)


LAYERS = [
    f"spad-form-layers{{bytes={size} buffers={buffers}}}" for size in (256, 1024, 1 << 16) for buffers in (1, 2, 3)
]


@pytest.mark.parametrize("further", ["", *LAYERS, *(f"{layers},stream-form-fifos" for layers in LAYERS)])
def test_the_passes_keep_the_gradient_of_the_first_stage(further):
    """The example's text after `ad-differentiate`, taken further by the passes themselves."""
    pipeline = "tape-form-regions{layout=aos}" + ("," + further if further else "")
    module = parse(TEXTS["a1_differentiate"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeflowRemark)
        PassPipeline.parse_spec(PASSES, pipeline).apply(make_context(), module)
    module.verify()
    for shape in ((0, 3), (1, 1), (13, 17)):
        got, observation = interpret(module, *shape)
        assert_same_bits(got, expect(*shape))
        for handle in observation.handles:
            if isinstance(handle, Buffer):
                assert handle.pushed - handle.fetched == min(handle.copies - 1, handle.pushed)


WHOLE_ROAD = ["ad-differentiate", "tape-plan", "tape-form-regions", LAYERS[4], "stream-form-fifos"]


@pytest.mark.parametrize("length", range(1, len(WHOLE_ROAD) + 1))
def test_every_prefix_of_the_road_from_the_primal_gives_the_gradient(length):
    module = parse(TEXTS["a0_primal"])
    PassPipeline.parse_spec(PASSES, ",".join(WHOLE_ROAD[:length])).apply(make_context(), module)
    module.verify()
    for shape in ((0, 3), (1, 1), (13, 17)):
        got, observation = interpret(module, *shape)
        assert_same_bits(got, expect(*shape))
        assert all(handle.empty if isinstance(handle, Buffer) else not handle.records for handle in observation.handles)


def test_the_primal_is_the_kernel():
    module = parse(TEXTS["a0_primal"])
    a, w, _, _, _ = inputs(4, 5)
    (s,) = run(module, "f", (4, 5, a, w))
    expected = expect(4, 5)
    assert_same_bits((s, a, w), expected[:3])

"""What a batch means: interpreted, each member is bit for bit what a call for it alone gives, at every stage."""

from typing import Any

import numpy as np
import pytest
from differentiation import DIFFERENTIATE, apply, copied, marks_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing import parse
from random_ir import programs
from test_forward_mode import SECOND, X, Y, is_active, normal
from xdsl.dialects.builtin import ModuleOp

from tapeflow.analysis.requests import functions_of
from tapeflow.dialects import tape
from tapeflow.errors import TapeflowError
from tapeflow.interpreters import observe
from tapeflow.transforms.batch_derivative import batch_derivative
from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass
from tapeflow.transforms.tape_plan import TapePlanPass

PLANNED = (*DIFFERENTIATE, TapePlanPass)
STREAMED = (
    *PLANNED,
    lambda: TapeFormRegionsPass(layout="aos"),
    lambda: SpadFormLayersPass(bytes=512, buffers=2),
    StreamFormFifosPass,
)


def with_batch(text: str, members: int) -> str:
    """`text`, with a request for one and for `members` derivatives of each mode."""
    line = next(line for line in text.splitlines() if line.startswith("ad.vjp"))
    forward = line.replace("ad.vjp @f_grad", "ad.jvp @f_jvp")
    more = [f"{it.replace(' of', 's of')} batch {members}" for it in (line, forward)]
    return "\n".join([text, forward, *more, ""])


def stacked(members: list[Any]) -> np.ndarray:
    """Scalars, or arrays, of the members of a batch, the members innermost."""
    return np.array(np.moveaxis(np.array(members), 0, -1), order="C")


def singles(module: ModuleOp, name: str, arguments: list[Any], derivatives: list[list[Any]], count: int) -> Any:
    """For each member the results behind the first `count`, and the arrays among `derivatives`, after a call for it."""
    found: list[tuple[list[Any], list[Any]]] = []
    for member in derivatives:
        member = copied(member)
        results = observe(module, name, [*copied(arguments), *member]).results
        found.append((list(results[count:]), [it for it in member if isinstance(it, np.ndarray)]))
    return found


def check_batch(module: ModuleOp, name: str, arguments: list[Any], derivatives: list[list[Any]], results: list[bool]):
    """Compare `@{name}s`, for all of `derivatives` at once, with a call of `@{name}` for each.

    Args:
        module: has both.
        name: of the function for one.
        arguments: of the primal.
        derivatives: for each member the seeds and shadows, or tangents.
        results: whether each result of the function for one is a derivative.
    """
    count = results.index(True) if True in results else len(results)
    expected = singles(module, name, arguments, derivatives, count)
    together = [stacked(list(values)) for values in zip(*derivatives, strict=True)]
    scalars = [np.full(len(derivatives), np.nan) for _ in results[count:]]
    state = copied(arguments)
    observe(module, f"{name}s", [*state, *together, *scalars])
    arrays = [it for it, one in zip(together, derivatives[0], strict=True) if isinstance(one, np.ndarray)]
    for k, (numbers, shadows) in enumerate(expected):
        np.testing.assert_array_equal([scalar[k] for scalar in scalars], numbers)
        for ours, theirs in zip(arrays, shadows, strict=True):
            np.testing.assert_array_equal(ours[..., k], theirs)


MEMBERS = st.sampled_from([1, 2, 3, 9])


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=programs(), n=st.integers(0, 4), m=st.integers(0, 3), members=MEMBERS, streamed=st.booleans())
def test_each_member_of_a_random_program_is_a_call_of_its_own(text: str, n: int, m: int, members: int, streamed: bool):
    arguments = [n, m, X[: n + 3].copy(), Y[: n + 3].copy(), 0.437]
    module = apply(parse(with_batch(text, members)), *(STREAMED if streamed else PLANNED))
    marks = marks_of(parse(text))
    rng = np.random.default_rng(members)
    scalars, arrays = (is_active(marks.arguments, arguments, kind) for kind in (float, np.ndarray))
    primal = [False] * len(marks.results)
    active = [True for mark in marks.results if mark]
    cotangents = [[*rng.normal(size=len(active)), *(normal(it, rng) for it in arrays)] for _ in range(members)]
    check_batch(module, "f_grad", arguments, cotangents, [*primal, *(True for _ in scalars)])
    tangents = [[normal(it, rng) for it in (*scalars, *arrays)] for _ in range(members)]
    check_batch(module, "f_jvp", arguments, tangents, [*primal, *active])


@pytest.mark.parametrize("passes", [DIFFERENTIATE, PLANNED, STREAMED], ids=len)
def test_a_batch_of_cotangents_has_the_tape_of_one(passes: Any):
    text = SECOND.replace("ad.vjp @f_jvp_grad", "ad.vjp @f_grads of @f (const, active, active) -> (active) batch 5\n//")
    module = apply(parse(text), *passes)
    n, x = 6, np.linspace(-1, 1, 6)
    one = observe(module, "f_grad", [n, 0.3, x.copy(), 1.0, np.zeros(6)])
    five = observe(module, "f_grads", [n, 0.3, x.copy(), np.ones(5), np.zeros((6, 5)), np.zeros(5)])
    assert one.results[0] == five.results[0]
    assert len(one.handles) == len(five.handles) > 0
    creates = {
        op.sym_name.data: [str(inner.results[0].type) for inner in op.walk() if isinstance(inner, tape.CreateOp)]
        for op in module.ops
        if hasattr(op, "sym_name") and op.sym_name.data in ("f_grad", "f_grads")
    }
    assert creates["f_grad"] == creates["f_grads"]


@pytest.mark.parametrize("members", [1, 4])
def test_hessian_vector_products_along_several_vectors(members: int):
    line = next(line for line in SECOND.splitlines() if line.startswith("ad.jvp @f_hvp"))
    module = apply(parse(f"{SECOND}\n{line.replace('f_hvp', 'f_hvps')} batch {members}\n"), *PLANNED)
    rng = np.random.default_rng(2)
    x, x_b = rng.uniform(-1, 1, size=5), rng.normal(size=5)
    tangents = [[float(rng.normal()), rng.normal(size=5), np.zeros(5)] for _ in range(members)]
    fixed: list[Any] = [5, 0.3, x, 1.3, x_b]
    # Two results before: the primal's, and the adjoint of `a`, whose tangent is the third.
    check_batch(module, "f_hvp", fixed, tangents, [False, False, True])


BATCH_OF_A_BATCH = """
ad.jvp @g_jvp of @f_grads (const, active, active, active, active, active) -> (const) batch 3
ad.vjp @f_grads of @f (const, active, active) -> (active) batch 2
"""


def test_tangents_of_a_batch_of_gradients():
    """A batch of a batch: the Hessian along three vectors, for two weightings of the outputs."""
    module = apply(parse(BATCH_OF_A_BATCH + SECOND), *PLANNED)
    rng = np.random.default_rng(5)
    x, seeds, shadows = rng.uniform(-1, 1, size=4), rng.normal(size=2), rng.normal(size=(4, 2))
    a_d, x_d = rng.normal(size=3), rng.normal(size=(4, 3))
    x_b, a_b, x_b_d, a_b_d = shadows.copy(), np.zeros(2), np.zeros((4, 2, 3)), np.zeros((2, 3))
    observe(module, "g_jvp", [4, 0.3, x.copy(), seeds, x_b, a_b, a_d, x_d.copy(), np.zeros((2, 3)), x_b_d, a_b_d])
    for k in range(2):
        for j in range(3):
            shadow, product = shadows[:, k].copy(), np.zeros(4)
            results = observe(
                module, "f_hvp", [4, 0.3, x.copy(), seeds[k], shadow, a_d[j], x_d[:, j].copy(), product]
            ).results
            assert results[2] == a_b_d[k, j]
            np.testing.assert_array_equal(product, x_b_d[:, k, j])
            np.testing.assert_array_equal(shadow, x_b[:, k])


def test_what_has_no_form_for_a_batch_is_refused():
    text = """
func.func @f_jvp(%x: memref<4x6xf64>, %x_d: memref<4x6xf64>) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %flat = memref.collapse_shape %x_d [[0, 1]] : memref<4x6xf64> into memref<24xf64> loc("f.c":3:5)
  memref.store %zero, %flat[%c1] : memref<24xf64>
  func.return
}
"""
    function = functions_of(parse(text))["f_jvp"]
    with pytest.raises(TapeflowError, match=r"f.c:3:5: error: 'memref.collapse_shape' takes part .*\n.*one at a time"):
        batch_derivative(function, 2, [function.args[1]], 0, {})

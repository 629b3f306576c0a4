"""Gradients at the level of IR: made by the passes, run by the interpreter, compared with differences of the primal.

A case is the text of a function `@f` and its request; floats and arrays of floats that the request marks active are
differentiated along random directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from parsing import context, parse
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from tapeflow.dialects import ad, tape
from tapeflow.interpreters import Observation, observe, run
from tapeflow.transforms.ad_differentiate import AdDifferentiatePass
from tapeflow.transforms.ad_prepare import AdPreparePass
from tapeflow.transforms.tape_plan import TapePlanPass

STOCK = (CanonicalizePass, CommonSubexpressionElimination, LoopInvariantCodeMotionPass, DeadCodeElimination)


def apply(module: ModuleOp, *passes: Callable[[], ModulePass]) -> ModuleOp:
    """A copy of `module` after `passes`, verified."""
    module = module.clone()
    for each in passes:
        each().apply(context(), module)
    module.verify()
    return module


DIFFERENTIATE = (AdPreparePass, AdDifferentiatePass)
PIPELINES: dict[str, tuple[Callable[[], ModulePass], ...]] = {
    "differentiate": (),
    "plan": (TapePlanPass,),
    "cheap plan": (lambda: TapePlanPass(recompute="cheap"),),
    "plan twice": (TapePlanPass, TapePlanPass),
    "stock": STOCK,
    "plan, stock": (TapePlanPass, *STOCK),
    "stock, plan": (*STOCK, TapePlanPass),
}
"""Ways on from `ad-differentiate` that must all give the same bits."""


@dataclass(frozen=True)
class Marks:
    """Which arguments and results of `@f` are active."""

    arguments: tuple[bool, ...]
    results: tuple[bool, ...]


def marks_of(module: ModuleOp) -> Marks:
    """The marks of the module's one request."""
    (request,) = (op for op in module.body.block.ops if isinstance(op, ad.VjpOp))
    return Marks(
        tuple(mark.data is ad.Activity.ACTIVE for mark in request.arguments),
        tuple(mark.data is ad.Activity.ACTIVE for mark in request.results_),
    )


def copied(arguments: Sequence[Any]) -> list[Any]:
    """Arguments for another call."""
    return [it.copy() if isinstance(it, np.ndarray) else it for it in arguments]


def final_state(module: ModuleOp, marks: Marks, arguments: Sequence[Any]) -> list[np.ndarray]:
    """What the cotangents are of: the active results, and the active arrays' final values."""
    arguments = copied(arguments)
    results = run(module, "f", arguments)
    active = [np.asarray(result) for result, mark in zip(results, marks.results, strict=True) if mark]
    arrays = [it for it, mark in zip(arguments, marks.arguments, strict=True) if mark and isinstance(it, np.ndarray)]
    return active + arrays


@dataclass(frozen=True)
class Gradient:
    """What one call of a gradient function gives."""

    results: tuple[Any, ...]
    """The primal's results."""
    state: list[Any]
    """The primal's arguments afterwards."""
    adjoints: list[np.ndarray]
    """Of the active arguments, in order."""
    observation: Observation

    def bits(self) -> bytes:
        """Everything, to compare."""
        arrays = [*self.results, *(it for it in self.state if isinstance(it, np.ndarray)), *self.adjoints]
        return b"".join(np.asarray(it).tobytes() for it in arrays)


def call_gradient(
    module: ModuleOp, marks: Marks, arguments: Sequence[Any], cotangents: Sequence[np.ndarray]
) -> Gradient:
    """Call `@f_grad`, with `cotangents` for what `final_state` returns."""
    primal = copied(arguments)
    count = sum(marks.results)
    shadows = [it.copy() for it in cotangents[count:]]
    seeds = [it.item() for it in cotangents[:count]]
    observation = observe(module, "f_grad", [*primal, *seeds, *shadows])
    results = observation.results[: len(marks.results)]
    scalars = iter(observation.results[len(marks.results) :])
    remaining = iter(shadows)
    adjoints = [
        next(remaining) if isinstance(it, np.ndarray) else np.asarray(next(scalars))
        for it, mark in zip(primal, marks.arguments, strict=True)
        if mark
    ]
    return Gradient(results, primal, adjoints, observation)


def directional_difference(
    evaluate: Callable[[float], Sequence[np.ndarray]], cotangents: Sequence[np.ndarray], step: float
) -> float:
    """The derivative of <cotangents, evaluate(t)> at t = 0, by central differences of fourth order."""

    def product(t: float) -> float:
        return sum(float(np.sum(c * value)) for c, value in zip(cotangents, evaluate(t), strict=True))

    return (8 * (product(step) - product(-step)) - (product(2 * step) - product(-2 * step))) / (12 * step)


def check(
    text: str,
    arguments: Sequence[Any],
    *,
    seed: int = 0,
    steps: Sequence[tuple[float, float]] = ((1e-3, 1e-7),),
    pipelines: Sequence[str] = tuple(PIPELINES),
) -> Gradient:
    """Compare every pipeline's gradient of `text` with differences, and the pipelines with one another bit for bit.

    Args:
        text: the module.
        arguments: of the primal.
        seed: of the cotangents and of the direction.
        steps: of the differences, each with the relative error that it allows; one of them must do, since a kink
            within a step makes the difference wrong, and a small step makes it inexact.
        pipelines: names of `PIPELINES`.

    Returns the gradient after `tape-plan`.
    """
    module = parse(text)
    marks = marks_of(module)
    primal = module.clone()
    rng = np.random.default_rng(seed)
    cotangents = [rng.normal(size=it.shape).astype(it.dtype) for it in final_state(primal, marks, arguments)]
    differentiated = apply(module, *DIFFERENTIATE)
    gradients = {
        name: call_gradient(apply(differentiated, *PIPELINES[name]), marks, arguments, cotangents) for name in pipelines
    }
    reference = gradients["differentiate"]
    expected_state = copied(arguments)
    assert run(primal, "f", expected_state) == reference.results or np.isnan(reference.results).any()
    for ours, theirs in zip(reference.state, expected_state, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name, gradient in gradients.items():
        assert gradient.bits() == reference.bits(), f"{name} differs: {gradient.adjoints} {reference.adjoints}"
        assert not any(handle.records for handle in gradient.observation.handles), name
    directions = [rng.normal(size=np.shape(it)).astype(it.dtype) for it in reference.adjoints]

    def evaluate(t: float) -> list[np.ndarray]:
        moving = iter(directions)
        moved = [it + t * next(moving) if mark else it for it, mark in zip(arguments, marks.arguments, strict=True)]
        moved = [it.item() if isinstance(it, np.generic) else it for it in moved]
        return final_state(primal, marks, moved)

    found = sum(float(np.sum(adjoint * way)) for adjoint, way in zip(reference.adjoints, directions, strict=True))
    size = sum(float(np.sum(np.abs(it))) for it in reference.adjoints)
    differences: list[float] = []
    for step, tolerance in steps:
        differences.append(directional_difference(evaluate, cotangents, step))
        if abs(found - differences[-1]) <= tolerance * max(1.0, abs(differences[-1]), size):
            break
    else:
        raise AssertionError(f"the gradient gives {found}, differences give {differences}")
    return gradients["plan"]


def tapes(text: str, *passes: Callable[[], ModulePass]) -> dict[str, str]:
    """The tapes of `@f_grad` and the types that they hold, by name, after preparing, differentiating and `passes`."""
    module = apply(parse(text), *DIFFERENTIATE, *passes)
    creates = (op for op in module.walk() if isinstance(op, tape.CreateOp))
    return {create.tape.name_hint or "": str(create.tape.type.element_type) for create in creates}


def loops(module: ModuleOp) -> int:
    """How many loops there are."""
    return sum(isinstance(op, scf.ForOp) for op in module.walk())

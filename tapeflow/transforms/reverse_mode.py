"""Reverse mode of one function, in place: the reverse sweep behind the body, what it needs taped or had again."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func, scf
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.activity import Activity, Request
from tapeflow.analysis.availability import Availability, is_integer_arithmetic
from tapeflow.analysis.roots import written_roots
from tapeflow.transforms.accumulate_in_registers import accumulate_in_registers
from tapeflow.transforms.adjoint_frames import Frame
from tapeflow.transforms.chain_rule import Product
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.count_iterations import count_iterations
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.dead_stores import remove_dead_stores
from tapeflow.transforms.gradient_signature import GradientSignature
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.meet_needs import meet_needs
from tapeflow.transforms.mirrored_values import hoist_integer_arithmetic
from tapeflow.transforms.overwritten_fills import remove_overwritten_fills
from tapeflow.transforms.reverse_sweep import ReverseSweep, SplitNames
from tapeflow.transforms.rule_calls import inline_derivatives
from tapeflow.transforms.simplify import Constants, simplify


def differentiate_in_reverse(
    function: func.FuncOp, marks: Request, functions: Mapping[str, func.FuncOp], split: SplitNames
) -> GradientSignature:
    """Turn `function`, a copy of a primal that was simplified, into its reverse-mode derivative under `marks`.

    Returns what it takes and gives beside what the primal does.

    Args:
        function: in the form of `ad-prepare`, or that enclosed as `joint_form` does.
        marks: what is active of its arguments and results.
        functions: those that calls with a rule are about.
        split: names what the callees of calls that stay are split into.

    Raises:
        TapeflowError: something active has no derivative.
    """
    counted = count_iterations(function)
    activity = Activity(function, marks)
    signature = GradientSignature(function, marks)
    sweep = _build_reverse_sweep(function, activity, signature, counted, split)
    # Only what is needed now counts as a need.
    remove_dead_stores(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    available = Availability(function, is_integer_arithmetic, others_are_taped=True)
    meet_needs(function, sweep.mirrors, sweep.placeholders(), available)
    hoist_integer_arithmetic(sweep.trip_counts)
    sums = accumulate_in_registers(function)
    simplify(function)
    unify_common_subexpressions(function)
    remove_overwritten_fills(sweep.fills, sums)
    inline_derivatives(function, functions)
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    return signature


def _build_reverse_sweep(
    function: func.FuncOp,
    activity: Activity,
    signature: GradientSignature,
    counted: Mapping[scf.WhileOp, SSAValue],
    split: SplitNames,
) -> ReverseSweep:
    """Append the reverse sweep to `function`, with placeholders for what it needs of the forward sweep."""
    returned = function.get_return_op()
    assert returned is not None
    constants = Constants(function)
    build = LocatedBuilder(InsertPoint.before(returned), place=place_of(function))
    top = Frame(function.body.block, build)
    for value, seed in signature.seeds:
        if activity.value(value):
            top.contribute(value, Product(seed))
    sweep = ReverseSweep(activity, written_roots(function), constants, signature.shadows, counted, split)
    sweep.build(top)
    adjoints = [top.adjoints.get(argument) for argument in signature.active_scalars]
    signature.finish(
        [
            constants.float(0.0, argument.type) if adjoint is None else adjoint
            for argument, adjoint in zip(signature.active_scalars, adjoints, strict=True)
        ]
    )
    return sweep

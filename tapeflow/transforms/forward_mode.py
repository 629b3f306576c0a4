"""Forward mode of one function, in place, and of the callees of its calls that stay calls.

A callee gets a function of its own, `@g_jvp`, for each set of marks with which it is called: `(arguments, tangents of
active floats, tangent arrays of active arrays) -> (results, tangents of active results)`. The tangents of a callee that
is split, for those of a gradient, are made of its joint form and split again: `@g_fwd_jvp` and `@g_rev_jvp`, each with
the tangents of what it takes and gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument

from tapeflow.analysis.activity import Activity, Request
from tapeflow.analysis.kept_calls import forget_derivatives
from tapeflow.analysis.roots import is_array
from tapeflow.errors import TapeflowError
from tapeflow.transforms.batch_derivative import batch_callee
from tapeflow.transforms.callees import Callees
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.forward_sweep import ForwardSweep
from tapeflow.transforms.joint_form import JointForm, reorder
from tapeflow.transforms.rule_calls import inline_derivatives, look_into_bodies
from tapeflow.transforms.simplify import Constants, simplify
from tapeflow.transforms.tangent_signature import TangentSignature


@dataclass(frozen=True)
class _Variant:
    callee: str
    request: Request
    members: int | None


class NestedTangents:
    """The tangent functions that the calls of some functions need.

    Args:
        callees: what may be called; what is made is added to it.
    """

    def __init__(self, callees: Callees):
        self.callees = callees
        self._names: dict[_Variant, str] = {}
        self._pairs: dict[_Variant, tuple[str, str]] = {}
        self._pending: deque[_Variant] = deque()

    def name(self, call: func.CallOp, request: Request, members: int | None) -> str:
        """The name of the tangent function of what `call` calls, with `request` active.

        The tangent function of one sweep is one sweep of that of both: `request` is about the two together.

        Raises:
            TapeflowError: the callee is only declared: it is what a rule calls, say.
        """
        callee = call.callee.string_value()
        joint = self.callees.joints.get(callee)
        if joint is None and self.callees.functions[callee].is_declaration:
            raise TapeflowError(
                f"'{callee}', whose definition is not here, takes part in what is differentiated once more",
                location=call.location,
                hint="define it in the same file; of what is only declared there are first derivatives alone",
            )
        variant = _Variant(callee if joint is None else joint.forward, request, members)
        if variant not in self._names and variant not in self._pairs:
            self._pending.append(variant)
            if joint is None:
                (self._names[variant],) = self.callees.name(f"{callee}_jvp", members=members)
            else:
                stems = f"{joint.forward}_jvp", f"{joint.reverse}_jvp"
                forward, reverse = self.callees.name(*stems, members=members)
                self._pairs[variant] = forward, reverse
        if joint is None:
            return self._names[variant]
        forward, reverse = self._pairs[variant]
        return forward if callee == joint.forward else reverse

    def build(self) -> Sequence[func.FuncOp]:
        """Make what was named; returns the tangent functions. What is split is to be found among the callees.

        Raises:
            TapeflowError: something active in a callee has no derivative.
        """
        made: list[func.FuncOp] = []
        while self._pending:
            variant = self._pending.popleft()
            if variant in self._pairs:
                self.callees.add_split(self._joint(variant))
                continue
            primal = self.callees.functions[variant.callee]
            function = primal.clone()
            function.sym_name = StringAttr(self._names[variant])
            function.properties["sym_visibility"] = StringAttr("private")
            signature = differentiate_forward(function, variant.request, self, variant.members)
            if variant.members is not None:
                tangents = list(signature.tangents.values())
                results = len(primal.function_type.outputs)
                batch_callee(function, variant.members, tangents, results, self.callees.functions)
            forget_derivatives(function)
            self.callees.functions[self._names[variant]] = function
            made.append(function)
        return made

    def _joint(self, variant: _Variant) -> JointForm:
        """The tangents of both sweeps, in joint form: those of what the forward sweep is given behind that."""
        primal = self.callees.joints[variant.callee]
        function = primal.function.clone()
        given, results = len(primal.function.args), len(primal.function.function_type.outputs)
        signature = differentiate_forward(function, variant.request, self, variant.members)
        of_arguments = [argument.index for argument in signature.tangents if isinstance(argument, BlockArgument)]
        of_results = [position for position, mark in enumerate(variant.request.results) if mark]
        if variant.members is not None:
            scalars = {argument.index for argument in function.args if not is_array(argument)}
            tangents = list(signature.tangents.values())
            batch_callee(function, variant.members, tangents, results, self.callees.functions)
            of_arguments = [it for it in of_arguments for _ in range(variant.members if it in scalars else 1)]
            of_results = [it for it in of_results for _ in range(variant.members)]
        forget_derivatives(function)
        arguments, taken = _with_tangents(primal.arguments, given, of_arguments)
        returned, found = _with_tangents(primal.results, results, of_results)
        reorder(function, arguments, returned)
        forward, reverse = self._pairs[variant]
        function.sym_name = StringAttr(forward)
        return JointForm(function, taken, found, forward, reverse)


def _with_tangents(first: int, primal: int, of: Sequence[int]) -> tuple[list[int], int]:
    """In which order a joint form takes or gives what it does, by positions, and how much of it the forward sweep.

    Args:
        first: how many of the primal's are those of the forward sweep.
        primal: how many there are.
        of: for each tangent, which now are behind all of them, of which it is one.
    """
    ahead = [*range(first), *(primal + k for k, it in enumerate(of) if it < first)]
    behind = [*range(first, primal), *(primal + k for k, it in enumerate(of) if it >= first)]
    return [*ahead, *behind], len(ahead)


@dataclass(frozen=True)
class _Tangents:
    """Names the tangent functions of callees for `members` tangents at once, or for one."""

    nested: NestedTangents
    members: int | None

    def __call__(self, call: func.CallOp, request: Request) -> str:
        """Of what `call` calls, differentiated as `request` says."""
        return self.nested.name(call, request, self.members)


def differentiate_forward(
    function: func.FuncOp, marks: Request, nested: NestedTangents, members: int | None
) -> TangentSignature:
    """Turn `function`, a copy of a primal, into its forward-mode derivative under `marks`.

    Returns what it takes and gives beside what the primal does. It is that for one tangent, but what it calls takes
    those of a batch of `members`, if there is one.

    Raises:
        TapeflowError: something active has no derivative.
    """
    look_into_bodies(function, nested.callees.functions, "jvp")
    simplify(function)
    remove_dead_code(function)
    activity = Activity(function, marks)
    signature = TangentSignature(function, marks)
    sweep = ForwardSweep(function, activity, Constants(function), signature.tangents, _Tangents(nested, members))
    sweep.block(function.body.block)
    signature.finish([sweep.tangent(value) for value in signature.active_results])
    inline_derivatives(function, nested.callees.functions)
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    return signature

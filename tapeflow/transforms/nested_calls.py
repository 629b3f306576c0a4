"""Differentiate the callees of calls that stay calls: each function once for each way in which it is called.

What of a call is active differs from call to call, and so does what its reverse sweep has to do. A callee is split
(`joint_form`) anew for each set of marks: `@g_fwd` and `@g_rev`, then `@g_fwd_2` and `@g_rev_2`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr

from tapeflow.analysis.activity import Request
from tapeflow.analysis.kept_calls import forget_derivatives
from tapeflow.analysis.nested_sweeps import UNCHANGED
from tapeflow.analysis.undisturbed_arguments import undisturbed_arguments
from tapeflow.transforms.ad_prepare import check_operations
from tapeflow.transforms.batch_derivative import batch_callee
from tapeflow.transforms.callees import Callees
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.gradient_signature import argument_attributes
from tapeflow.transforms.joint_form import JointForm, enclose
from tapeflow.transforms.reverse_mode import differentiate_in_reverse
from tapeflow.transforms.rule_calls import look_into_bodies
from tapeflow.transforms.simplify import simplify


@dataclass(frozen=True)
class _Variant:
    callee: str
    request: Request
    members: int | None
    forward: str
    reverse: str


class NestedCalls:
    """The split functions that the calls of some functions need.

    Args:
        callees: what may be called; what is made is added to it.
    """

    def __init__(self, callees: Callees):
        self._callees = callees
        self._variants: dict[tuple[str, Request, int | None], _Variant] = {}
        self._pending: deque[_Variant] = deque()

    def variant(self, callee: str, request: Request, members: int | None) -> tuple[str, str]:
        """The names of the functions that are the two sweeps of `callee`, with `request` active.

        Raises:
            TapeflowError: the callee is one sweep of a gradient.
        """
        key = callee, request, members
        if key not in self._variants:
            forward, reverse = self._callees.name(f"{callee}_fwd", f"{callee}_rev", members=members)
            self._variants[key] = _Variant(callee, request, members, forward, reverse)
            self._pending.append(self._variants[key])
        variant = self._variants[key]
        return variant.forward, variant.reverse

    def build(self) -> None:
        """Make the split functions that were named, in joint form, and those that they themselves call.

        Raises:
            TapeflowError: something active in a callee has no derivative.
        """
        while self._pending:
            self._callees.add_split(self._joint(self._pending.popleft()))

    def _joint(self, variant: _Variant) -> JointForm:
        functions = self._callees.functions
        primal = functions[variant.callee]
        function = primal.clone()
        function.sym_name = StringAttr(variant.forward)
        arguments, results = len(function.args), len(function.function_type.outputs)
        check_operations(function)
        look_into_bodies(function, functions, "vjp")
        simplify(function)
        remove_dead_code(function)
        enclose(function)
        split = Sweeps(self, variant.members)
        signature = differentiate_in_reverse(function, variant.request, functions, split)
        if variant.members is not None:
            seeds = [*(seed for _, seed in signature.seeds), *signature.shadows.values()]
            batch_callee(function, variant.members, seeds, results, functions)
        forget_derivatives(function)
        return JointForm(function, arguments, results, variant.forward, variant.reverse)


@dataclass(frozen=True)
class Sweeps:
    """Names the sweeps of callees for `members` cotangents at once, or for one."""

    calls: NestedCalls
    members: int | None

    def __call__(self, callee: str, request: Request) -> tuple[str, str]:
        """Of the forward sweep and of the reverse sweep of `callee`, differentiated as `request` says."""
        return self.calls.variant(callee, request, self.members)


def mark_unchanged(callers: Iterable[func.FuncOp], joints: Iterable[JointForm]) -> None:
    """Mark the array arguments of `joints` to which nobody writes between the call and its mirror."""
    functions = {joint.forward: joint.function for joint in joints}
    counts = {joint.forward: joint.arguments for joint in joints}
    unchanged = undisturbed_arguments(callers, functions, counts)
    for name, function in functions.items():
        marks = argument_attributes(function)
        for position in sorted(unchanged[name]):
            marks[position][UNCHANGED] = UnitAttr()
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, marks))

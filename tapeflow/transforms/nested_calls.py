"""Differentiate the callees of calls that stay calls: each function once for each way in which it is called.

What of a call is active differs from call to call, and so does what its reverse sweep has to do. A callee is split
(`joint_form`) anew for each set of marks: `@g_fwd` and `@g_rev`, then `@g_fwd_2` and `@g_rev_2`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import SSAValue

from tapeflow.analysis.activity import Request
from tapeflow.analysis.kept_calls import kept_calls
from tapeflow.analysis.nested_sweeps import UNCHANGED
from tapeflow.analysis.roots import is_array, roots, written_roots
from tapeflow.transforms.ad_prepare import check_operations
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
    forward: str
    reverse: str


class NestedCalls:
    """The split functions that the calls of some functions need.

    Args:
        functions: the callees by name, in the form of `ad-prepare`; they are left as they are.
        taken: names that no function may be given.
    """

    def __init__(self, functions: Mapping[str, func.FuncOp], taken: Iterable[str]):
        self._functions = functions
        self._taken = set(taken)
        self._variants: dict[tuple[str, Request], _Variant] = {}
        self._pending: deque[_Variant] = deque()
        self._joints: list[JointForm] = []

    def __call__(self, callee: str, request: Request) -> tuple[str, str]:
        """The names of the functions that are the two sweeps of `callee`, with `request` active."""
        key = callee, request
        if key not in self._variants:
            suffixes = chain([""], (f"_{number}" for number in count(2)))
            suffix = next(it for it in suffixes if not {f"{callee}_fwd{it}", f"{callee}_rev{it}"} & self._taken)
            variant = _Variant(callee, request, f"{callee}_fwd{suffix}", f"{callee}_rev{suffix}")
            self._taken |= {variant.forward, variant.reverse}
            self._variants[key] = variant
            self._pending.append(variant)
        variant = self._variants[key]
        return variant.forward, variant.reverse

    def build(self, callers: Sequence[func.FuncOp]) -> Sequence[JointForm]:
        """The split functions, in joint form, that `callers`, which were differentiated, and they themselves call.

        Raises:
            TapeflowError: something active in a callee has no derivative.
        """
        while self._pending:
            self._joints.append(self._joint(self._pending.popleft()))
        _mark_unchanged(callers, self._joints)
        return self._joints

    def _joint(self, variant: _Variant) -> JointForm:
        primal = self._functions[variant.callee]
        function = primal.clone()
        function.sym_name = StringAttr(variant.forward)
        arguments, results = len(function.args), len(function.function_type.outputs)
        check_operations(function)
        look_into_bodies(function, self._functions, "vjp")
        simplify(function)
        remove_dead_code(function)
        enclose(function)
        differentiate_in_reverse(function, variant.request, self._functions, self)
        return JointForm(function, arguments, results, variant.forward, variant.reverse)


def _mark_unchanged(callers: Sequence[func.FuncOp], joints: Sequence[JointForm]) -> None:
    """Mark the array arguments of `joints` to which nobody writes between the call and its mirror.

    An array is so if it is given as it is by all calls: an argument to which the caller does not write, and which is
    so itself if the caller is called.
    """
    functions = {joint.forward: joint.function for joint in joints}
    unchanged: dict[str, set[int]] = {
        joint.forward: {k for k in range(joint.arguments) if is_array(joint.function.args[k])} for joint in joints
    }
    before: dict[str, set[int]] = {}
    while before != unchanged:
        before = {name: set(positions) for name, positions in unchanged.items()}
        for caller in (*callers, *functions.values()):
            stable = _stable_arguments(caller, unchanged.get(caller.sym_name.data))
            for call in kept_calls(caller):
                name = call.callee.string_value()
                if name in unchanged:
                    unchanged[name] -= {k for k in unchanged[name] if not roots(call.arguments[k]) <= stable}
    for name, function in functions.items():
        marks = argument_attributes(function)
        for position in unchanged[name]:
            marks[position][UNCHANGED] = UnitAttr()
        function.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, marks))


def _stable_arguments(caller: func.FuncOp, unchanged: set[int] | None) -> set[SSAValue]:
    """The array arguments of `caller` that nobody writes to until its reverse sweep is over."""
    written = written_roots(caller)
    return {
        argument
        for argument in caller.args
        if is_array(argument) and argument not in written and (unchanged is None or argument.index in unchanged)
    }

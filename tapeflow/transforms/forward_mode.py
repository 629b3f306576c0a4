"""Forward mode of one function, in place, and of the callees of its calls that stay calls.

A callee gets a function of its own, `@g_jvp`, for each set of marks with which it is called: `(arguments, tangents of
active floats, tangent arrays of active arrays) -> (results, tangents of active results)`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr

from tapeflow.analysis.activity import Activity, Request
from tapeflow.errors import TapeflowError
from tapeflow.transforms.common_subexpressions import unify_common_subexpressions
from tapeflow.transforms.dead_code import remove_dead_code
from tapeflow.transforms.forward_sweep import ForwardSweep
from tapeflow.transforms.rule_calls import inline_derivatives, look_into_bodies
from tapeflow.transforms.simplify import Constants, simplify
from tapeflow.transforms.tangent_signature import TangentSignature


class NestedTangents:
    """The tangent functions that the calls of some functions need.

    Args:
        functions: the callees by name, in the form of `ad-prepare`; they are left as they are.
        taken: names that no function may be given.
    """

    def __init__(self, functions: Mapping[str, func.FuncOp], taken: Iterable[str]):
        self.functions = functions
        self._taken = set(taken)
        self._names: dict[tuple[str, Request], str] = {}
        self._pending: deque[tuple[str, Request]] = deque()

    def __call__(self, call: func.CallOp, request: Request) -> str:
        """The name of the tangent function of what `call` calls, with `request` active.

        Raises:
            TapeflowError: the callee is one sweep of a gradient.
        """
        callee = call.callee.string_value()
        if callee not in self.functions:
            raise TapeflowError(
                f"the second derivative of a call of '{callee}', which is not inlined, is not made yet",
                location=call.location,
                hint="raise ad-prepare's inline-limit, and write a recursion as a loop",
            )
        key = callee, request
        if key not in self._names:
            candidates = (f"{callee}_jvp{suffix}" for suffix in chain([""], (f"_{number}" for number in count(2))))
            self._names[key] = next(name for name in candidates if name not in self._taken)
            self._taken.add(self._names[key])
            self._pending.append(key)
        return self._names[key]

    def build(self) -> Sequence[func.FuncOp]:
        """The tangent functions.

        Raises:
            TapeflowError: something active in a callee has no derivative.
        """
        made: list[func.FuncOp] = []
        while self._pending:
            callee, request = self._pending.popleft()
            function = self.functions[callee].clone()
            function.sym_name = StringAttr(self._names[callee, request])
            function.properties["sym_visibility"] = StringAttr("private")
            differentiate_forward(function, request, self)
            made.append(function)
        return made


def differentiate_forward(function: func.FuncOp, marks: Request, nested: NestedTangents) -> TangentSignature:
    """Turn `function`, a copy of a primal, into its forward-mode derivative under `marks`.

    Returns what it takes and gives beside what the primal does.

    Raises:
        TapeflowError: something active has no derivative.
    """
    look_into_bodies(function, nested.functions, "jvp")
    simplify(function)
    remove_dead_code(function)
    activity = Activity(function, marks)
    signature = TangentSignature(function, marks)
    sweep = ForwardSweep(function, activity, Constants(function), signature.tangents, nested)
    sweep.block(function.body.block)
    signature.finish([sweep.tangent(value) for value in signature.active_results])
    inline_derivatives(function, nested.functions)
    simplify(function)
    unify_common_subexpressions(function)
    remove_dead_code(function)
    return signature

"""Inline the calls in a derivative that differ between the members of a batch, which have no form for several at once.

They come from rules: what a user's vjp or jvp calls stays a call where it is larger than what is inlined. A recursive
function stays one; of numbers alone, it is called once for each member.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.batched_values import batched_values
from tapeflow.analysis.call_graph import UNLIMITED, CallGraph
from tapeflow.analysis.kept_calls import forget_call, has_derivatives, is_kept
from tapeflow.transforms.inline_calls import inline_calls


def inline_differing_calls(
    function: func.FuncOp, seeds: Collection[SSAValue], functions: Mapping[str, func.FuncOp]
) -> None:
    """Inline what differs in `function`, a derivative with such `seeds`, also in what is inlined."""
    recursive = CallGraph(functions).kept(UNLIMITED)

    def can_be_inlined(op: Operation) -> bool:
        if not is_kept(op) or has_derivatives(op):
            return False
        name = op.callee.string_value()
        return name in functions and not functions[name].is_declaration and name not in recursive

    while calls := [op for op in function.body.walk() if isinstance(op, func.CallOp) and can_be_inlined(op)]:
        batched = batched_values(function, seeds)
        differing = [call for call in calls if any(it in batched for it in (*call.operands, *call.results))]
        if not differing:
            return
        for call in differing:
            forget_call(call)
        inline_calls(function, functions, kept=recursive)

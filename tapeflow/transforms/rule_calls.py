"""Calls of functions with a rule, before and after differentiation: by which rule, and back into ordinary calls."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func

from tapeflow.analysis.call_graph import UNLIMITED, CallGraph
from tapeflow.analysis.kept_calls import forget_call
from tapeflow.analysis.user_rules import Mode, forget_rule, rule_of_call
from tapeflow.errors import TapeflowError
from tapeflow.transforms.inline_calls import inline_calls

DERIVATIVE = "tapeflow.derivative"
"""The attribute of a call that a rule has put there."""

_WORDS: Mapping[Mode, str] = {"vjp": "reverse", "jvp": "forward"}


def look_into_bodies(function: func.FuncOp, functions: Mapping[str, func.FuncOp], mode: Mode) -> None:
    """Inline in `function` the calls of what has a rule, but not for `mode`: it is differentiated by its body.

    Raises:
        TapeflowError: it has no body.
    """
    while True:
        calls = [
            op
            for op in function.body.walk()
            if isinstance(op, func.CallOp) and (rule := rule_of_call(op)) is not None and rule.of(mode) is None
        ]
        if not calls:
            return
        for call in calls:
            name = call.callee.string_value()
            if functions[name].is_declaration:
                raise TapeflowError(
                    f"call of '{name}', whose definition is not here, and whose rule is not for {_WORDS[mode]} mode",
                    location=call.location,
                    hint=f"define it in the same file, or give it a {mode} by ad.rule too",
                )
            forget_rule(call)
        _inline(function, functions)


def inline_derivatives(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Inline in `function` the calls that rules have put there, where there is a body."""
    for op in function.body.walk():
        if isinstance(op, func.CallOp) and DERIVATIVE in op.attributes:
            del op.attributes[DERIVATIVE]
            if not functions[op.callee.string_value()].is_declaration:
                forget_call(op)
    _inline(function, functions)


def inline_ruled_calls(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Inline in `function` the calls of what has a rule, where there is a body: all is differentiated."""
    calls = [op for op in function.body.walk() if isinstance(op, func.CallOp) and rule_of_call(op) is not None]
    while calls:
        for call in calls:
            forget_rule(call, keep=functions[call.callee.string_value()].is_declaration)
        _inline(function, functions)
        calls = [op for op in function.body.walk() if isinstance(op, func.CallOp) and rule_of_call(op) is not None]


def _inline(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    inline_calls(function, functions, kept=CallGraph(functions).kept(UNLIMITED))

"""Derivatives that users give: `ad.rule`, and the calls that it is about.

`ad-prepare` leaves a call of a function with a rule as it is, and notes on it the function that gives its derivative;
`ad-differentiate` calls that one in the reverse sweep, and inlines both once all else is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation

from tapeflow.dialects.ad import RuleOp
from tapeflow.errors import TapeflowError

_VJP = "tapeflow.vjp"


def rules_of(module: ModuleOp) -> Mapping[str, str]:
    """The functions of `module` that have a rule, each with the name of its vjp.

    Raises:
        TapeflowError: a function has two.
    """
    rules: dict[str, str] = {}
    for op in module.body.block.ops:
        if isinstance(op, RuleOp):
            name = op.of.string_value()
            if name in rules:
                raise TapeflowError(f"a second ad.rule for '{name}'", location=op.location, hint="keep one of them")
            rules[name] = op.vjp.string_value()
    return rules


def mark_call(call: func.CallOp, rules: Mapping[str, str]) -> bool:
    """Note on `call` the rule of its callee, if it has one; returns whether it has."""
    vjp = rules.get(call.callee.string_value())
    if vjp is not None:
        call.attributes[_VJP] = SymbolRefAttr(vjp)
    return vjp is not None


def vjp_of_call(op: Operation) -> str | None:
    """The function that gives the derivative of `op`, a call marked by `mark_call`; None for all else."""
    vjp = op.attributes.get(_VJP)
    return vjp.string_value() if isinstance(op, func.CallOp) and isinstance(vjp, SymbolRefAttr) else None

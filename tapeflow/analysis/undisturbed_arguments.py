"""Which array arguments of functions that are called nobody writes to, as far as any caller goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tapeflow.analysis.kept_calls import kept_calls
from tapeflow.analysis.roots import is_array, roots, written_roots


def undisturbed_arguments(
    callers: Iterable[func.FuncOp], called: Mapping[str, func.FuncOp], arguments: Mapping[str, int] | None = None
) -> Mapping[str, frozenset[int]]:
    """The positions of the array arguments of `called` to which nobody writes from a call until its mirror is over.

    An array is so if it is given as it is by all calls: an argument to which the caller does not write, and which is
    so itself if the caller is called.

    Args:
        callers: all functions with calls of `called`, these themselves aside; nobody else writes to their arguments.
        called: the functions, by their names in calls.
        arguments: how many of their arguments are asked about; all by default.
    """
    counts = {name: len(function.args) for name, function in called.items()} | dict(arguments or {})
    found = {name: {k for k in range(counts[name]) if is_array(called[name].args[k])} for name in called}
    everybody = dict.fromkeys((*callers, *called.values()))
    before: dict[str, set[int]] = {}
    while before != found:
        before = {name: set(positions) for name, positions in found.items()}
        for caller in everybody:
            stable = _stable_arguments(caller, found.get(caller.sym_name.data))
            for call in kept_calls(caller):
                name = call.callee.string_value()
                if name in found:
                    found[name] -= {k for k in found[name] if not roots(call.arguments[k]) <= stable}
    return {name: frozenset(positions) for name, positions in found.items()}


def _stable_arguments(caller: func.FuncOp, undisturbed: set[int] | None) -> set[SSAValue]:
    """The array arguments of `caller` that nobody writes to until its reverse sweep is over."""
    written = written_roots(caller)
    return {
        argument
        for argument in caller.args
        if is_array(argument) and argument not in written and (undisturbed is None or argument.index in undisturbed)
    }

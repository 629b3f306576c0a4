"""Inline the calls of a function, so that what is differentiated is one body.

Ops keep the locations they have in the callee. Calls of functions that are recursive or large stay calls. A callee
without a body and one with more than one block are refused.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.call_graph import CallGraph
from tapeflow.analysis.kept_calls import is_kept, keep_call
from tapeflow.analysis.library_functions import library_function
from tapeflow.analysis.roots import is_array, roots, written_arguments
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.user_rules import Rule, mark_call
from tapeflow.errors import TapeflowError


def inline_calls(
    function: func.FuncOp,
    functions: Mapping[str, func.FuncOp],
    rules: Mapping[str, Rule] | None = None,
    kept: Container[str] = (),
) -> None:
    """Replace the calls in `function`, also in what is inlined, by the bodies of the callees among `functions`.

    Calls of what has a rule in `rules` are left and marked, and so are those of what is in `kept`, and those that were
    marked before.

    Raises:
        TapeflowError: a callee is unknown, or has more than one block; a call that stays one is given an array twice
            that the callee may write to.
    """
    pending: list[func.CallOp] = [op for op in function.body.walk() if isinstance(op, func.CallOp)]
    while pending:
        call = pending.pop()
        name = call.callee.string_value()
        callee = functions.get(name)
        if library_function(call) is not None and (callee is None or callee.is_declaration):
            continue
        if is_kept(call):
            continue
        if rules and name in rules:
            mark_call(call, rules[name], functions)
            continue
        if name in kept and _keep(call, _body_of(call, callee), functions):
            continue
        body = _inline(call, _body_of(call, callee))
        pending.extend(op for top in body for op in top.walk() if isinstance(op, func.CallOp))


def _keep(call: func.CallOp, callee: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> bool:
    """Let `call` stay one, if it can: what it is given must not overlap, where the callee writes, as in all functions.

    Raises:
        TapeflowError: it can neither stay nor be inlined.
    """
    written = [argument.index for argument in written_arguments(callee)]
    for position in written:
        for other, array in enumerate(call.arguments):
            if other != position and is_array(array) and roots(array) & roots(call.arguments[position]):
                name = callee.sym_name.data
                if not CallGraph(functions).is_recursive(name):
                    return False
                raise TapeflowError(
                    f"'{name}', which is recursive, is given one array for two arguments and may write to it",
                    location=call.location,
                    hint="pass the array once, and indices into it",
                )
    keep_call(call, written)
    return True


def _body_of(call: func.CallOp, callee: func.FuncOp | None) -> func.FuncOp:
    name = call.callee.string_value()
    if callee is None or callee.is_declaration:
        raise TapeflowError(
            f"call of '{name}', whose definition is not here, so its derivative is not known",
            location=call.location,
            hint="define it in the same file, or give its derivative by ad.rule",
        )
    if len(callee.body.blocks) != 1:
        raise TapeflowError(
            f"call of '{name}', which has jumps between blocks",
            location=call.location,
            hint="write it with structured loops and branches (scf)",
        )
    return callee


def _inline(call: func.CallOp, callee: func.FuncOp) -> list[Operation]:
    """Put a copy of the body of `callee` in place of `call`; returns the ops that are in the block of the call."""
    block = call.parent
    assert block is not None
    mapping: dict[SSAValue, SSAValue] = dict(zip(callee.args, call.arguments, strict=True))
    copies: list[Operation] = []
    for op in callee.body.block.ops:
        if isinstance(op, func.ReturnOp):
            for result, returned in zip(call.results, op.operands, strict=True):
                value = mapping.get(returned, returned)
                if source_name(value) is None and (name := source_name(result)) is not None:
                    set_source_name(value, name)
                result.replace_all_uses_with(value)
        else:
            copy = op.clone(mapping)
            block.insert_op_before(copy, call)
            copies.append(copy)
    call.detach()
    call.erase()
    return copies

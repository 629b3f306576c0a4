"""Inline the calls of a function, so that what is differentiated is one body.

Ops keep the locations they have in the callee. A recursive call, a callee without a body and one with more than one
block are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.library_functions import library_function
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.user_rules import mark_call
from tapeflow.errors import TapeflowError


def inline_calls(
    function: func.FuncOp, functions: Mapping[str, func.FuncOp], rules: Mapping[str, str] | None = None
) -> None:
    """Replace every call in `function`, also in what is inlined, by the body of the callee among `functions`.

    Calls of what has a rule in `rules` are left and marked.

    Raises:
        TapeflowError: a callee is recursive, unknown, or has more than one block.
    """
    pending: list[tuple[func.CallOp, tuple[str, ...]]] = [
        (op, (function.sym_name.data,)) for op in function.body.walk() if isinstance(op, func.CallOp)
    ]
    while pending:
        call, callers = pending.pop()
        name = call.callee.string_value()
        callee = functions.get(name)
        if library_function(call) is not None and (callee is None or callee.is_declaration):
            continue
        if rules and mark_call(call, rules):
            continue
        if name in callers:
            raise TapeflowError(
                f"call of '{name}' is recursive: {' calls '.join((*callers, name))}",
                location=call.location,
                hint="write the recursion as a loop",
            )
        body = _inline(call, _body_of(call, callee))
        pending.extend((op, (*callers, name)) for top in body for op in top.walk() if isinstance(op, func.CallOp))


def _body_of(call: func.CallOp, callee: func.FuncOp | None) -> func.FuncOp:
    name = call.callee.string_value()
    if callee is None or callee.is_declaration:
        raise TapeflowError(
            f"call of '{name}', whose definition is not here, so its derivative is not known",
            location=call.location,
            hint="define it in the same file",
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

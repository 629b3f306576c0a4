"""Inputs that the reverse sweep reads again: what is had from them need not be taped, and is no tape.

They are arguments that nobody writes, loaded after the turn-around. The tape proper are values that the forward sweep
computed; reports keep the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from xdsl.dialects import func, memref
from xdsl.ir import Operation, SSAValue

from tapeflow.analysis.block_tree import innermost
from tapeflow.analysis.roots import roots, written_arguments
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.printed import PrintedC
from tapeflow.dialects.record import field_bytes


def reread_inputs(printed: PrintedC, arguments: int) -> Mapping[int, int] | None:
    """Line of a block -> bytes of inputs that one execution of it reads again in the reverse sweep.

    None where functions that are called read arrays too: whose, and in which sweep, depends on the call.

    Args:
        printed: a gradient.
        arguments: how many of its first arguments are the primal's.
    """

    @cache
    def inputs(function: func.FuncOp) -> frozenset[SSAValue]:
        return frozenset(function.args[:arguments]) - written_arguments(function)

    @cache
    def reverse(function: func.FuncOp) -> frozenset[Operation]:
        start = Plan(function).reverse_start
        ops = list(function.body.block.ops)
        return frozenset(ops[ops.index(start) :] if start is not None else ())

    def bytes_read(operation: Operation) -> int:
        function = innermost(operation, func.FuncOp)
        if not isinstance(operation, memref.LoadOp) or function is None:
            return 0
        if function.body.block.find_ancestor_op_in_block(operation) not in reverse(function):
            return 0
        return field_bytes(operation.res.type) if roots(operation.memref) <= inputs(function) else 0

    loads = (op for block in printed.blocks for op in block.ops if isinstance(op, memref.LoadOp))
    if len({innermost(load, func.FuncOp) for load in loads}) > 1:
        return None
    found = {block.line: sum(map(bytes_read, block.ops)) for block in printed.blocks}
    return {line: count for line, count in found.items() if count}

"""Constant tables: take each `memref.global` that a function reads once, at the function's start.

A table is then one root, whose loads nothing can change: it is inactive, and what is read from it is read again in the
reverse sweep. A global that is not `constant` may change between calls and has no shadow: it is refused.
"""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from tapeflow.analysis.roots import is_array, roots, written_arrays
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.errors import TapeflowError


def gather_tables(function: func.FuncOp) -> None:
    """Make every `memref.get_global` of `function` the only one of its global, in the top block.

    Raises:
        TapeflowError: the global is not there, not constant or has no values; or the function may write to it.
    """
    tables: dict[str, SSAValue] = {}
    for op in [op for op in function.body.walk() if isinstance(op, memref.GetGlobalOp)]:
        name = op.name_.string_value()
        _check_constant(op, name)
        if (known := tables.get(name)) is not None:
            op.memref.replace_all_uses_with(known)
            op.detach()
            op.erase()
            continue
        tables[name] = op.memref
        if source_name(op.memref) is None:
            set_source_name(op.memref, name)
        op.detach()
        first = function.body.block.first_op
        assert first is not None
        function.body.block.insert_op_before(op, first)
    if tables:
        _check_only_read(function, {table: name for name, table in tables.items()})


def _check_constant(op: memref.GetGlobalOp, name: str) -> None:
    table = SymbolTable.lookup_symbol(op, op.name_)
    if not isinstance(table, memref.GlobalOp):
        raise TapeflowError(f"there is no global '{name}' in this module", location=op.location)
    if table.constant is None:
        raise TapeflowError(
            f"'{name}' is a global that may change, so its derivative has no place",
            location=op.location,
            hint="pass it as an argument, or make it constant",
        )
    if not isinstance(table.initial_value, DenseIntOrFPElementsAttr):
        raise TapeflowError(
            f"the values of the constant '{name}' are not here",
            location=op.location,
            hint="define it in the same file",
        )


def _check_only_read(function: func.FuncOp, tables: dict[SSAValue, str]) -> None:
    for op in function.body.walk():
        for array in filter(is_array, written_arrays(op)):
            for root in roots(array):
                if root in tables:
                    raise TapeflowError(
                        f"this may write to '{tables[root]}', which is constant",
                        location=op.location,
                        hint="copy the table to a local array first",
                    )

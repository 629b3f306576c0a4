"""Constant globals in C: `static const double w[3] = {0.25, 0.5, 0.25};` in the function that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.traits import SymbolTable

from tapeflow.backend.c_arrays import CArray
from tapeflow.backend.c_expressions import floating, integer
from tapeflow.backend.c_text import INDENT, wrapped
from tapeflow.backend.c_types import is_float
from tapeflow.errors import TapeflowError


def table_lines(array: CArray, name: str) -> Iterator[str]:
    """The declaration of a table called `name`, flat and in row order.

    Raises:
        TapeflowError: its global is not there, may change or has no values.
    """
    read = array.root.owner
    assert isinstance(read, memref.GetGlobalOp)
    table = SymbolTable.lookup_symbol(read, read.name_)
    if (
        not isinstance(table, memref.GlobalOp)
        or table.constant is None
        or not isinstance(table.initial_value, DenseIntOrFPElementsAttr)
    ):
        raise TapeflowError(
            f"the global '{read.name_.string_value()}' is not a constant whose values are here: it has no C",
            location=read.location,
            hint="pass it as an argument, or make it constant",
        )
    dense = cast(DenseIntOrFPElementsAttr[Any], table.initial_value)
    numbers = cast("tuple[int | float, ...]", dense.get_values())
    if is_float(array.ctype):
        items = [floating(float(number), array.ctype).text for number in numbers]
    else:
        items = [integer(int(number), array.ctype).text for number in numbers]
    if not items:
        # C has no arrays of nothing; no element is ever read.
        items = ["0"]
    start = f"static const {array.ctype} {name}[{len(items)}] = {{"
    yield from wrapped(start, items, "};") if len(items) <= 8 else _block(start, items)


def _block(start: str, items: list[str]) -> Iterator[str]:
    yield start
    yield from (INDENT + line.strip() for line in wrapped("", items, ""))
    yield "};"

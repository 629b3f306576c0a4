"""Names of regions and of their fields: what the source calls the loop that records, and the values recorded.

A region is named after the block that records into it: `j` for the body of the loop over `j`, `j_if` and `j_else` for
the arms of a branch in there, `while` for the body of a while, the
primal function's name for its top block. A field is named after its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, SSAValue

from tapeflow.analysis.source_names import source_name

UNNAMED_LOOP = "loop"
UNNAMED_WHILE = "while"
UNNAMED_FIELD = "value"


def identifier(name: str) -> str:
    """`name` with everything replaced that a C identifier cannot hold."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{plain}" if plain[:1].isdigit() else plain


class UniqueNames:
    """Hands out names that differ from one another: `t`, `t_2`, `t_3`."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def of(self, name: str) -> str:
        """`name`, or its first variant that nobody has yet; taken from now on."""
        unique, count = name, 1
        if name in self._taken:
            # Many may ask for one name: the variants that are taken are not tried again for each.
            count = self._counts.get(name, 1)
            while unique in self._taken:
                count += 1
                unique = f"{name}_{count}"
        self._counts[name] = count
        self._taken.add(unique)
        return unique


HANDLE_PREFIXES = ("tape_", "spad_", "fifo_")
"""What the handles of one region, its tape, buffer and FIFO, add to its name."""


def bare_name(handle: str) -> str:
    """The region's name in the name of one of its handles: `j_if` for `tape_j_if`."""
    prefix = next((prefix for prefix in HANDLE_PREFIXES if handle.startswith(prefix)), "")
    return handle.removeprefix(prefix)


def _function_name(function: func.FuncOp) -> str:
    gradient_of = function.attributes.get("tapeflow.gradient_of")
    return gradient_of.data if isinstance(gradient_of, StringAttr) else function.sym_name.data


def block_name(block: Block) -> str:
    """What the source calls `block`: its loop's variable, with `_if` or `_else` a branch; else its function's name."""
    parent = block.parent_op()
    match parent:
        case None:
            return UNNAMED_LOOP
        case func.FuncOp():
            return identifier(_function_name(parent))
        case scf.ForOp():
            return identifier(source_name(block.args[0]) or UNNAMED_LOOP)
        case scf.WhileOp():
            return UNNAMED_WHILE
        case scf.IfOp():
            arm = "if" if block.parent is parent.true_region else "else"
            enclosing = parent.parent_block()
            return arm if enclosing is None else f"{block_name(enclosing)}_{arm}"
        case _:
            enclosing = parent.parent_block()
            return UNNAMED_LOOP if enclosing is None else block_name(enclosing)


def field_names(values: Sequence[SSAValue]) -> tuple[str, ...]:
    """A name for each of `values`, after its source name, unique among them."""
    unique = UniqueNames()
    return tuple(unique.of(identifier(source_name(value) or UNNAMED_FIELD)) for value in values)

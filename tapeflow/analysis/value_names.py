"""What to call a value that is remembered: its source name, or one that says how it is computed."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, OpResult, SSAValue

from tapeflow.analysis.source_names import source_name

_BY_KIND: Mapping[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.SubfOp: "difference",
    arith.MulfOp: "product",
    arith.DivfOp: "quotient",
    arith.NegfOp: "negative",
    arith.CmpfOp: "condition",
    arith.CmpiOp: "condition",
    arith.AndIOp: "condition",
    arith.OrIOp: "condition",
    arith.SelectOp: "choice",
}


def value_name(value: SSAValue) -> str:
    """The source name of `value`, or one that says how it is computed: of its array, of its operation."""
    name = source_name(value)
    if name is not None:
        return name
    match value:
        case OpResult(op=memref.LoadOp() as load):
            return source_name(load.memref) or "element"
        case OpResult(op=scf.IfOp()):
            return "condition" if value.type == i1 else "choice"
        case OpResult(op=scf.ForOp() | scf.WhileOp()):
            return "total"
        case OpResult(op=op):
            return _BY_KIND.get(type(op)) or op.name.partition(".")[2]
        case _:
            return "carried"

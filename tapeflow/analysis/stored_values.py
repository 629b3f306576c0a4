"""Values of the forward sweep that stand in an array until the reverse sweep: it can load them from there.

```mlir
%h_i = math.tanh %t : f64                       // needed in reverse: h_i * h_i
memref.store %h_i, %h[%i] : memref<?xf64>       // nobody writes to h[i] any more
```

The array remembers such a value for the kernel's own sake, so it needs no tape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func, memref
from xdsl.ir import OpResult, SSAValue

from tapeflow.analysis.availability import INTEGER_DIVISIONS, is_integer_arithmetic
from tapeflow.analysis.block_tree import defining_block, is_top_block
from tapeflow.analysis.inductions import counted_from
from tapeflow.analysis.unchanging import Unchanging


def stored_values(function: func.FuncOp, unchanging: Unchanging) -> Mapping[SSAValue, memref.StoreOp]:
    """The values in `function` that can be loaded again, each with the store to load it from.

    Only a store in the block that the value belongs to counts, since it runs whenever that does, and only one whose
    subscripts follow from the numbers of the iterations.

    Args:
        function: structured.
        unchanging: of the same function.
    """
    return {
        op.value: op
        for op in function.body.walk()
        if isinstance(op, memref.StoreOp)
        and not is_top_block(defining_block(op.value))
        and defining_block(op.value) is op.parent
        and is_top_block(defining_block(op.memref))
        and unchanging.element(op)
        and counted_behind(op.indices) is not None
    }


def counted_behind(indices: Iterable[SSAValue]) -> Iterable[SSAValue] | None:
    """What must be had to have `indices` again where that costs nothing: integers, and numbers of iterations.

    None if it costs something: a tape, a load, a division.
    """
    behind: dict[SSAValue, None] = {}
    pending = list(indices)
    while pending:
        value = pending.pop()
        if value in behind or is_top_block(defining_block(value)):
            continue
        behind[value] = None
        if isinstance(value, OpResult):
            if not is_integer_arithmetic(value.op) or isinstance(value.op, INTEGER_DIVISIONS):
                return None
            pending.extend(value.op.operands)
            continue
        sources = counted_from(value)
        if sources is None:
            return None
        pending.extend(sources)
    return behind

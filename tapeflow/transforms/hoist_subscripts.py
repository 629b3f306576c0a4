"""Compute the subscripts of an element that stays the same in a loop outside of that loop.

```mlir
scf.for %k = %c0 to %n step %c1 {              %0 = arith.muli %i, %m
  %0 = arith.muli %i, %m                       %1 = arith.addi %0, %j
  %1 = arith.addi %0, %j                ->     scf.for %k = %c0 to %n step %c1 {
  %2 = memref.load %c[%1]                        %2 = memref.load %c[%1]
  ...                                            ...
}                                              }
```

So the element can be told to be one of outside, and be promoted: `C[i * m + j] += ...` in a loop over `k`. Arrays that
nobody writes to are left alone: what is promoted is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import func, memref
from xdsl.ir import Operation, OpResult, SSAValue

from tapeflow.analysis.block_tree import defining_block, enclosing_loops
from tapeflow.analysis.roots import roots, written_roots
from tapeflow.transforms.mirrored_values import can_be_hoisted, hoist_integer_arithmetic


def hoist_subscripts(function: func.FuncOp) -> None:
    """Do so for all elements of arrays that `function`, which is structured, writes to."""
    written = written_roots(function)
    for op in list(function.body.walk()):
        if isinstance(op, memref.LoadOp | memref.StoreOp) and op.indices and roots(op.memref) & written:
            _hoist(op)


def _hoist(access: memref.LoadOp | memref.StoreOp) -> None:
    """Hoist the subscripts of `access`, if it is to one element in all iterations of its loop."""
    assert access.parent is not None
    around = enclosing_loops(access.parent)
    arithmetic: dict[Operation, None] = {}
    parts = [access.memref, *_before(access.indices, arithmetic)]
    if around and arithmetic and not any(around[-1].is_ancestor(defining_block(part)) for part in parts):
        hoist_integer_arithmetic(arithmetic)


def _before(values: Iterable[SSAValue], arithmetic: dict[Operation, None]) -> Iterator[SSAValue]:
    """What `values` are computed from by arithmetic that can be moved; notes that in `arithmetic`, operands first."""
    for value in values:
        if not isinstance(value, OpResult) or not can_be_hoisted(value.op):
            yield value
        elif value.op not in arithmetic:
            yield from _before(value.op.operands, arithmetic)
            arithmetic[value.op] = None

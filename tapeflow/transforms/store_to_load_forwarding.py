"""Store-to-load forwarding: what is loaded from a place that was just stored to is what was stored.

```mlir
memref.store %p, %y[%i]                  memref.store %p, %y[%i]
%v = memref.load %y[%i]           ->
%q = arith.mulf %v, %v                   %q = arith.mulf %p, %p
```

So an adjoint that needs both has one value taped, not two. A second load of the same place is the first. Both apply
where nothing in between may write to the place, in a straight line or from there into loops and branches. Stores stay:
arrays are outputs.
"""

from __future__ import annotations

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation

from tapeflow.analysis.known_elements import KnownElements, Write, element_of, writes_of
from tapeflow.analysis.source_names import set_source_name, source_name


def forward_stores_to_loads(function: func.FuncOp) -> bool:
    """Replace each load in `function` whose value is there already; whether there was one.

    Args:
        function: structured, its repeated subscripts unified.
    """
    return _Forwarding(function).forward()


class _Forwarding:
    """The walk over a function, with what is known of the arrays' elements at each point."""

    def __init__(self, function: func.FuncOp):
        self._function = function
        self._known = KnownElements()
        self._written: dict[Operation, tuple[Write, ...]] = {}
        self._changed = False
        self._collect(function.body.block)

    def forward(self) -> bool:
        self._block(self._function.body.block)
        return self._changed

    def _collect(self, block: Block) -> dict[Write, None]:
        """What `block` may write to; notes it for each loop and branch on the way."""
        total: dict[Write, None] = {}
        for op in block.ops:
            if op.regions:
                inside: dict[Write, None] = {}
                for region in op.regions:
                    for inner in region.blocks:
                        inside |= self._collect(inner)
                self._written[op] = tuple(inside)
                total |= inside
            else:
                total |= dict.fromkeys(writes_of(op))
        return total

    def _block(self, block: Block) -> None:
        """Forward in `block`; what it makes known is known in it alone, as its values are."""
        start = self._known.mark()
        for op in block.ops:
            match op:
                case memref.LoadOp():
                    self._load(op)
                case memref.StoreOp():
                    self._forget(op)
                    self._known.learn(op.memref, element_of(op.memref, list(op.indices)), op.value)
                case _ if op.regions:
                    self._nested(op)
                case _:
                    self._forget(op)
        self._known.back_to(start)

    def _nested(self, op: Operation) -> None:
        # The body of a loop runs again after itself.
        if isinstance(op, scf.ForOp | scf.WhileOp):
            self._forget(op)
        for region in op.regions:
            for inner in region.blocks:
                self._block(inner)
        self._forget(op)

    def _forget(self, op: Operation) -> None:
        for write in self._written[op] if op.regions else writes_of(op):
            self._known.forget(write)

    def _load(self, op: memref.LoadOp) -> None:
        element = element_of(op.memref, list(op.indices))
        known = self._known.value(op.memref, element)
        if known is None:
            self._known.learn(op.memref, element, op.res)
            return
        if source_name(known) is None and (name := source_name(op.res)) is not None:
            set_source_name(known, name)
        op.res.replace_all_uses_with(known)
        op.detach()
        op.erase()
        self._changed = True

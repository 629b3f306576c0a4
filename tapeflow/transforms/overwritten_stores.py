"""Remove stores that are surely overwritten before anybody reads the element.

```mlir
memref.store %zero, %y[%i]
%s = scf.for %j ... iter_args(%t = %zero) ...   ->   %s = scf.for %j ... iter_args(%t = %zero) ...
memref.store %s, %y[%i]                              memref.store %s, %y[%i]
```

So `y[i] = 0; for (j...) y[i] += ...` with the sum in a register stores once, and its mirror clears once. The store that
overwrites is in the block of the other or in one around it, in the same iteration: it runs whenever that does.
"""

from __future__ import annotations

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tapeflow.analysis.known_elements import MOST_COMPARED, Element, element_of, surely_apart
from tapeflow.analysis.roots import VIEWS, is_array, roots


def remove_overwritten_stores(function: func.FuncOp) -> None:
    """Remove all such stores of `function`, which is structured, its repeated subscripts unified."""
    _Removal().block(function.body.block, {})


_Overwritten = dict[SSAValue, frozenset[Element]]
"""For each root the elements that are written, before they are read, on every way on from a point."""


class _Removal:
    """The walk over a function, from its end."""

    def block(self, block: Block, overwritten: _Overwritten) -> None:
        """Remove stores in `block`; `overwritten` is from its end on, and from its start on when this returns."""
        for op in reversed(list(block.ops)):
            if isinstance(op, memref.StoreOp):
                self._store(op, overwritten)
                continue
            # Behind an iteration of a loop may come another one, which reads what the loop reads.
            behind = overwritten if isinstance(op, scf.ForOp | scf.WhileOp) else dict(overwritten)
            for inner in op.walk():
                _forget_read(inner, overwritten)
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner, dict(behind))

    def _store(self, op: memref.StoreOp, overwritten: _Overwritten) -> None:
        found = roots(op.memref)
        if len(found) > 1:
            return
        (root,) = found
        element, known = element_of(op.memref, list(op.indices)), overwritten.get(root, frozenset())
        if element in known:
            Rewriter.erase_op(op)
        else:
            overwritten[root] = (known if len(known) < MOST_COMPARED else frozenset()) | {element}


def _forget_read(op: Operation, overwritten: _Overwritten) -> None:
    """Forget what `op` itself may read."""
    if isinstance(op, memref.LoadOp):
        element = element_of(op.memref, list(op.indices))
        for root in roots(op.memref):
            if known := overwritten.get(root):
                overwritten[root] = frozenset(it for it in known if surely_apart(element, it))
    elif not isinstance(op, (memref.StoreOp, memref.DimOp, *VIEWS)):
        for array in filter(is_array, op.operands):
            for root in roots(array):
                overwritten.pop(root, None)

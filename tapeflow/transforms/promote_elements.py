"""Promote elements of arrays to values in loops: one that a loop accumulates into is loaded before and stored behind.

```mlir
scf.for %j = %c0 to %m step %c1 {              %t = memref.load %y[%i]
  %t = memref.load %y[%i]                      %s = scf.for %j = %c0 to %m step %c1 iter_args(%t_j = %t) {
  %u = arith.addf %t, %v                ->       %u = arith.addf %t_j, %v
  memref.store %u, %y[%i]                        scf.yield %u
}                                              }
                                               memref.store %s, %y[%i]
```

So the adjoint of the element is carried in a register too. Applies where array and subscripts are from outside of the
loop, and nothing in the loop may touch the element in another way. The element must exist, or be reached by every
iteration; a loop that may run none has a branch before and behind it then. The order of additions does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.block_runs import surely_runs
from tapeflow.analysis.block_tree import enclosing
from tapeflow.analysis.known_elements import MOST_COMPARED, Element, Row, element_of, surely_apart
from tapeflow.analysis.roots import VIEWS, is_array, roots
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.promote_scalars import promote_scalars
from tapeflow.transforms.simplify import Constants

_Access = memref.LoadOp | memref.StoreOp

_Bounds = tuple[SSAValue, SSAValue]
"""The lower and the upper bound of a loop."""


def promote_elements(function: func.FuncOp) -> bool:
    """Promote elements in all loops of `function`, out of as many as each can; whether there was one.

    Args:
        function: structured, its repeated subscripts unified.
    """
    promotion = _Promotion(function)
    for loop in [op for op in function.body.walk() if isinstance(op, scf.ForOp)]:
        promotion.of_loop(loop)
    if promotion.changed:
        promote_scalars(function)
    return promotion.changed


@dataclass(frozen=True)
class _Accumulated:
    """An element that a loop loads and stores.

    Attributes:
        accesses: its loads and stores there.
        reached: the bounds of the loops that must all run an iteration for it to be reached; None if it may not be
            reached then either.
    """

    accesses: Sequence[_Access]
    reached: Sequence[_Bounds] | None


class _Promotion:
    """What is known of a function's accesses: which elements surely exist at a loop."""

    def __init__(self, function: func.FuncOp):
        self.changed = False
        self._constants = Constants(function)
        self._positions: dict[Operation, int] = {}
        self._first: dict[tuple[Block, Element], int] = {}
        for op in function.body.walk():
            self._positions[op] = len(self._positions)
            if isinstance(op, _Access) and op.parent is not None:
                self._first.setdefault((op.parent, _element(op)), self._positions[op])

    def of_loop(self, loop: scf.ForOp) -> None:
        """Promote the elements that `loop` accumulates into."""
        for element, accumulated in _accumulated(loop).items():
            if self._exists(element, loop):
                self._promote(loop, accumulated.accesses, ())
            elif accumulated.reached is not None:
                self._promote(loop, accumulated.accesses, accumulated.reached)

    def _exists(self, element: Element, loop: scf.ForOp) -> bool:
        """Whether `element` is in bounds, or is accessed in any case before `loop` begins."""
        shape = _type(element.row.array).get_shape()
        if not any(element.row.bases) and all(
            0 <= offset < extent for offset, extent in zip(element.offsets, shape, strict=True)
        ):
            return True
        inside: Operation = loop
        assert loop.parent is not None
        for block in enclosing(loop.parent):
            around = block.find_ancestor_op_in_block(inside)
            first = self._first.get((block, element))
            assert around is not None
            if first is not None and first < self._positions[around]:
                return True
            inside = around
        return False

    def _promote(self, loop: scf.ForOp, accesses: Sequence[_Access], reached: Sequence[_Bounds]) -> None:
        """Have a scalar variable in place of the element that `accesses` are to, in `loop`."""
        self.changed = True
        first = accesses[0]
        array, indices, name = first.memref, list(first.indices), source_name(first.memref)
        before = LocatedBuilder(InsertPoint.before(loop), place=place_of(first))
        behind = LocatedBuilder(InsertPoint.after(loop), place=place_of(first))
        variable = before.insert(memref.AllocaOp.get(_type(array).element_type, shape=[])).memref
        if name is not None:
            set_source_name(variable, name)
        condition = _all_run(reached, before)
        if condition is None:
            before.insert(memref.StoreOp.get(before.value(memref.LoadOp.get(array, indices), name), variable, []))
            behind.insert(memref.StoreOp.get(behind.value(memref.LoadOp.get(variable, [])), array, indices))
        else:
            loaded, otherwise, stored = before.block(), before.block(), before.block()
            element = before.into(loaded).value(memref.LoadOp.get(array, indices), name)
            before.into(loaded).insert(scf.YieldOp(element))
            before.into(otherwise).insert(scf.YieldOp(self._constants.zero(element.type)))
            chosen = scf.IfOp(condition, [element.type], Region(loaded), Region(otherwise))
            before.insert(memref.StoreOp.get(before.named(chosen, name)[0], variable, []))
            value = before.into(stored).value(memref.LoadOp.get(variable, []))
            before.into(stored).insert(memref.StoreOp.get(value, array, indices))
            before.into(stored).insert(scf.YieldOp())
            behind.insert(scf.IfOp(condition, [], Region(stored), Region()))
        for access in accesses:
            _redirect(access, variable)


def _element(op: _Access) -> Element:
    return element_of(op.memref, list(op.indices))


def _type(array: SSAValue) -> MemRefType[Attribute]:
    return cast(MemRefType[Attribute], array.type)


def _redirect(access: _Access, variable: SSAValue) -> None:
    """Let `access` be to `variable`, a scalar."""
    if isinstance(access, memref.StoreOp):
        scalar: Operation = memref.StoreOp.get(access.value, variable, [])
        scalar.location = access.location
        Rewriter.replace_op(access, scalar, [])
        return
    scalar = memref.LoadOp.get(variable, [])
    scalar.location, scalar.results[0].name_hint = access.location, access.res.name_hint
    Rewriter.replace_op(access, scalar)


def _all_run(loops: Sequence[_Bounds], build: LocatedBuilder) -> SSAValue | None:
    """Whether loops of these bounds all run an iteration; None if there are none."""
    condition = None
    for lower, upper in loops:
        runs = build.value(arith.CmpiOp(lower, upper, "slt"))
        condition = runs if condition is None else build.value(arith.AndIOp(condition, runs))
    return condition


def _accumulated(loop: scf.ForOp) -> dict[Element, _Accumulated]:
    """The elements that `loop` loads and stores, and does not touch in another way."""
    accesses: dict[SSAValue, list[_Access]] = {}
    otherwise: set[SSAValue] = set()
    for op in loop.walk():
        if isinstance(op, _Access):
            found = roots(op.memref)
            for root in found:
                accesses.setdefault(root, []).append(op)
            if len(found) > 1:
                otherwise |= found
        elif not isinstance(op, (*VIEWS, memref.DimOp)):
            otherwise.update(root for array in op.operands if is_array(array) for root in roots(array))
    result: dict[Element, _Accumulated] = {}
    for root, ops in accesses.items():
        if root not in otherwise and isinstance(root, BlockArgument) | isinstance(root.owner, memref.AllocaOp):
            result |= {element: _Accumulated(its, _reached(loop, its)) for element, its in _of_root(loop, ops)}
    return result


def _of_root(loop: scf.ForOp, accesses: Sequence[_Access]) -> Iterator[tuple[Element, Sequence[_Access]]]:
    """The elements that `accesses`, all that `loop` has to one array, load and store; each with its own accesses."""
    by_element: dict[Element, list[_Access]] = {}
    for op in accesses:
        by_element.setdefault(_element(op), []).append(op)
    rows: dict[Row, list[Element]] = {}
    for element in by_element:
        rows.setdefault(element.row, []).append(element)
    for element, its in by_element.items():
        if {memref.LoadOp, memref.StoreOp} != set(map(type, its)) or not its[0].indices:
            continue
        if any(loop.is_ancestor(part.owner) for part in (its[0].memref, *its[0].indices)):
            continue
        # Those of its own row are apart from it.
        if len(by_element) - len(rows[element.row]) > MOST_COMPARED:
            continue
        others = (other for row, elements in rows.items() if row != element.row for other in elements)
        if all(surely_apart(element, other) for other in others):
            yield element, its


def _reached(loop: scf.ForOp, accesses: Sequence[_Access]) -> Sequence[_Bounds] | None:
    """The bounds of the loops that must all run an iteration, and then reach one of `accesses`; None if none does.

    All are from outside of `loop`, and those of loops that surely run are left out.
    """
    for access in accesses:
        bounds: list[_Bounds] = []
        around: Operation = access
        while around is not loop:
            parent = around.parent_op()
            if not isinstance(parent, scf.ForOp):
                break
            around = parent
            if any(loop.is_ancestor(bound.owner) for bound in (parent.lb, parent.ub)):
                break
            if not surely_runs(parent):
                bounds.append((parent.lb, parent.ub))
        else:
            return bounds[::-1]
    return None

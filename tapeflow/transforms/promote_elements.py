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

An element that a loop only loads is loaded before it, if it is overwritten later: then its value is taped once, not in
each iteration. One that is not can be loaded again wherever it is needed.
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
from tapeflow.analysis.known_elements import MOST_COMPARED, Element, element_of, surely_apart
from tapeflow.analysis.loops import Loop
from tapeflow.analysis.roots import VIEWS, is_array, roots, written_arrays
from tapeflow.analysis.source_names import set_source_name, source_name
from tapeflow.analysis.unchanging import Unchanging
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
    for loop in [op for op in function.body.walk() if isinstance(op, Loop)]:
        promotion.of_loop(loop)
    if promotion.changed:
        promote_scalars(function)
    return promotion.changed


@dataclass(frozen=True)
class _Accessed:
    """An element that a loop accumulates into, or only loads.

    Attributes:
        accesses: its loads and stores there.
        reached: the bounds of the loops that must all run an iteration for it to be reached; None if it may not be
            reached then either.
    """

    accesses: Sequence[_Access]
    reached: Sequence[_Bounds] | None

    @property
    def is_stored(self) -> bool:
        """Whether the loop stores to it."""
        return any(isinstance(op, memref.StoreOp) for op in self.accesses)


class _Promotion:
    """What is known of a function's accesses: which elements surely exist at a loop, and which are overwritten."""

    def __init__(self, function: func.FuncOp):
        self.changed = False
        self._constants = Constants(function)
        self._direct: set[tuple[Block, Element]] = set()
        # Asked now: the stores that the analysis knows may go.
        unchanging = Unchanging(function)
        self._overwritten: set[Operation] = set()
        for op in function.body.walk():
            if isinstance(op, _Access) and op.parent is not None:
                self._direct.add((op.parent, _element(op)))
                if isinstance(op, memref.LoadOp) and not unchanging.element(op):
                    self._overwritten.add(op)

    def of_loop(self, loop: Loop) -> None:
        """Promote the elements that `loop` accumulates into, and those that it loads and something overwrites later."""
        for element, accessed in _accessed(loop).items():
            if accessed.is_stored:
                if isinstance(loop, scf.WhileOp):
                    continue
            elif self._overwritten.isdisjoint(accessed.accesses):
                continue
            if self._exists(element, loop):
                self._promote(loop, accessed, ())
            elif accessed.reached is not None:
                self._promote(loop, accessed, accessed.reached)

    def _exists(self, element: Element, loop: Loop) -> bool:
        """Whether `element` is in bounds, or is accessed in any case where `loop` is: before it or behind it."""
        shape = _type(element.row.array).get_shape()
        if not any(element.row.bases) and all(
            0 <= offset < extent for offset, extent in zip(element.offsets, shape, strict=True)
        ):
            return True
        assert loop.parent is not None
        return any((block, element) in self._direct for block in enclosing(loop.parent))

    def _promote(self, loop: Loop, accessed: _Accessed, reached: Sequence[_Bounds]) -> None:
        """Have a scalar variable in place of an element in `loop`."""
        self.changed = True
        first = accessed.accesses[0]
        array, indices, name = first.memref, list(first.indices), source_name(first.memref)
        before = LocatedBuilder(InsertPoint.before(loop), place=place_of(first))
        behind = LocatedBuilder(InsertPoint.after(loop), place=place_of(first))
        variable = before.insert(memref.AllocaOp.get(_type(array).element_type, shape=[])).memref
        if name is not None:
            set_source_name(variable, name)
        condition = _all_run(reached, before)
        if condition is None:
            before.insert(memref.StoreOp.get(before.value(memref.LoadOp.get(array, indices), name), variable, []))
            if accessed.is_stored:
                behind.insert(memref.StoreOp.get(behind.value(memref.LoadOp.get(variable, [])), array, indices))
        else:
            loaded, otherwise = before.block(), before.block()
            element = before.into(loaded).value(memref.LoadOp.get(array, indices), name)
            before.into(loaded).insert(scf.YieldOp(element))
            before.into(otherwise).insert(scf.YieldOp(self._constants.zero(element.type)))
            chosen = scf.IfOp(condition, [element.type], Region(loaded), Region(otherwise))
            before.insert(memref.StoreOp.get(before.named(chosen, name)[0], variable, []))
            if accessed.is_stored:
                stored = before.block()
                value = before.into(stored).value(memref.LoadOp.get(variable, []))
                before.into(stored).insert(memref.StoreOp.get(value, array, indices))
                before.into(stored).insert(scf.YieldOp())
                behind.insert(scf.IfOp(condition, [], Region(stored), Region()))
        for access in accessed.accesses:
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
    for lower, upper in dict.fromkeys(loops):
        runs = build.value(arith.CmpiOp(lower, upper, "slt"))
        condition = runs if condition is None else build.value(arith.AndIOp(condition, runs))
    return condition


def _accessed(loop: Loop) -> dict[Element, _Accessed]:
    """The elements that `loop` loads, and does not touch in another way than by storing to them here and there."""
    accesses: dict[SSAValue, list[_Access]] = {}
    used: set[SSAValue] = set()
    written: set[SSAValue] = set()
    for op in loop.walk():
        if isinstance(op, _Access) and len(found := roots(op.memref)) == 1:
            accesses.setdefault(next(iter(found)), []).append(op)
        elif not isinstance(op, (*VIEWS, memref.DimOp)):
            used.update(root for array in op.operands if is_array(array) for root in roots(array))
            written.update(root for array in written_arrays(op) for root in roots(array))
    result: dict[Element, _Accessed] = {}
    for root, ops in accesses.items():
        if root not in written and isinstance(root, BlockArgument) | isinstance(root.owner, memref.AllocaOp):
            for element, its in _of_root(loop, ops):
                accessed = _Accessed(its, _reached(loop, its))
                if root not in used or not accessed.is_stored:
                    result[element] = accessed
    return result


def _of_root(loop: Loop, accesses: Sequence[_Access]) -> Iterator[tuple[Element, Sequence[_Access]]]:
    """The elements that `accesses`, all that `loop` has to one array, load; each with its own accesses.

    None that is stored to may be loaded by an access to another element, and none may be stored to by one.
    """
    by_element: dict[Element, list[_Access]] = {}
    for op in accesses:
        by_element.setdefault(_element(op), []).append(op)
    stored = {_element(op) for op in accesses if isinstance(op, memref.StoreOp)}
    for element, its in by_element.items():
        if not its[0].indices or not any(isinstance(op, memref.LoadOp) for op in its):
            continue
        if any(loop.is_ancestor(part.owner) for part in (its[0].memref, *its[0].indices)):
            continue
        # Those of its own row are apart from it.
        others = [other for other in (by_element if element in stored else stored) if other.row != element.row]
        if len(others) <= MOST_COMPARED and all(surely_apart(element, other) for other in others):
            yield element, its


def _reached(loop: Loop, accesses: Sequence[_Access]) -> Sequence[_Bounds] | None:
    """The bounds of the loops that must all run an iteration for one of `accesses` to be reached, and then one is.

    They are those around one access, and around each of the others too, so none is reached where they do not all run.
    All are from outside of `loop`, and those of loops that surely run are left out; None if there are no such bounds.
    """
    around = {access: _bounds_around(loop, access) for access in accesses}
    for access in accesses:
        bounds = _surely_reached(loop, access)
        if bounds is not None and all(set(bounds) <= others for others in around.values()):
            return bounds
    return None


def _bounds_around(loop: Loop, access: Operation) -> set[_Bounds]:
    """The bounds of `loop` and the loops in it around `access`."""
    bounds: set[_Bounds] = set()
    around = access
    while around is not loop:
        parent = around.parent_op()
        assert parent is not None
        around = parent
        if isinstance(around, scf.ForOp):
            bounds.add((around.lb, around.ub))
    return bounds


def _surely_reached(loop: Loop, access: Operation) -> Sequence[_Bounds] | None:
    """The bounds of the loops, from outside of `loop`, that reach `access` if all run an iteration; None if not so."""
    bounds: list[_Bounds] = []
    around = access
    while around is not loop:
        parent = around.parent_op()
        if not isinstance(parent, scf.ForOp):
            return None
        around = parent
        if any(loop.is_ancestor(bound.owner) for bound in (parent.lb, parent.ub)):
            return None
        if not surely_runs(parent):
            bounds.append((parent.lb, parent.ub))
    return bounds[::-1]

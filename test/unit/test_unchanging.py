"""Elements that nobody writes any more: what the analysis says of random nests, against running them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing import parse
from xdsl.dialects import func, memref

from tapeflow.analysis.unchanging import Unchanging

TRIPS = 3
SIZE = 8


@dataclass
class Access:
    """A load, or a store; a subscript is the depth of a loop's variable, or None, plus a constant."""

    stores: bool
    subscripts: tuple[tuple[int | None, int], ...]


@dataclass
class Loop:
    body: list[Access | Loop] = field(default_factory=list)


def accesses(depth: int) -> st.SearchStrategy[Access]:
    base = st.sampled_from([None, *range(depth)])
    subscript = st.tuples(base, st.sampled_from([0, 0, 0, 1, 2]))
    return st.builds(Access, st.booleans(), st.tuples(subscript, subscript))


def bodies(depth: int) -> st.SearchStrategy[list[Access | Loop]]:
    one = accesses(depth)
    if depth < 3:
        one = one | st.builds(Loop, st.deferred(lambda: bodies(depth + 1)))
    return st.lists(one, min_size=1, max_size=3)


def text(body: list[Access | Loop], depth: int = 0) -> Iterator[str]:
    for item in body:
        if isinstance(item, Loop):
            yield f"scf.for %i{depth} = %c0 to %n step %c1 {{"
            yield from text(item.body, depth + 1)
            yield "}"
            continue
        subscripts: list[str] = []
        for base, offset in item.subscripts:
            if base is None:
                subscripts.append(f"%c{offset}")
                continue
            sum_ = f"%s{id(item)}_{len(subscripts)}"
            yield f"{sum_} = arith.addi %i{base}, %c{offset} : index"
            subscripts.append(sum_)
        place = f"%a[{', '.join(subscripts)}] : memref<{SIZE}x{SIZE}xf64>"
        yield f"memref.store %v, {place}" if item.stores else f"%l{id(item)} = memref.load {place}"


def run(body: list[Access | Loop], counters: tuple[int, ...] = ()) -> Iterator[tuple[Access, tuple[int, ...]]]:
    """Each access in order, with the element."""
    for item in body:
        if isinstance(item, Loop):
            for counter in range(TRIPS):
                yield from run(item.body, (*counters, counter))
        else:
            element = tuple((0 if base is None else counters[base]) + by for base, by in item.subscripts)
            yield item, element


def in_order(body: list[Access | Loop]) -> Iterator[Access]:
    for item in body:
        if isinstance(item, Loop):
            yield from in_order(item.body)
        else:
            yield item


def unchanging(body: list[Access | Loop]) -> list[bool]:
    """What the analysis says of each access."""
    constants = "\n".join(f"%c{value} = arith.constant {value} : index" for value in range(3))
    array = f"%a: memref<{SIZE}x{SIZE}xf64>"
    lines = "\n".join(text(body))
    module = parse(f"func.func @f(%n: index, %v: f64, {array}) {{\n{constants}\n{lines}\nfunc.return\n}}")
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    found = Unchanging(function)
    return [found.element(op) for op in function.walk() if isinstance(op, memref.LoadOp | memref.StoreOp)]


@settings(max_examples=120, deadline=None)
@given(bodies(0))
def test_what_is_said_not_to_change_does_not(body: list[Access | Loop]):
    trace = list(run(body))
    for access, kept in zip(in_order(body), unchanging(body), strict=True):
        for time, (one, element) in enumerate(trace):
            later = (other for other, place in trace[time + 1 :] if other.stores and place == element)
            assert not (kept and one is access and any(later))


OUTER, INNER = (0, 0), (1, 0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # h[i][j] = ..; ..h[i][j]..
        ([Loop([Loop([Access(True, (OUTER, INNER)), Access(False, (OUTER, INNER))])])], [True, True]),
        # The row of one iteration, read by the next loop of the same iteration.
        ([Loop([Loop([Access(True, (OUTER, INNER))]), Loop([Access(False, (OUTER, INNER))])])], [True, True]),
        ([Loop([Loop([Access(True, (INNER, OUTER))]), Access(False, (OUTER, (None, 1)))])], [True, False]),
        # Other columns.
        ([Loop([Access(False, (OUTER, (None, 1))), Access(True, ((None, 0), (None, 2)))])], [True, False]),
        # A row that every iteration writes again.
        ([Loop([Loop([Access(True, ((None, 0), INNER))])])], [False]),
        # A zero before a sum.
        ([Loop([Access(True, (OUTER, (None, 0))), Access(True, (OUTER, (None, 0)))])], [False, True]),
        # What the iteration before wrote.
        ([Loop([Access(False, ((0, 0), (None, 0))), Access(True, ((0, 1), (None, 0)))])], [True, True]),
        # The next element is written by the next iteration, this one by none any more.
        ([Loop([Access(False, ((0, 1), (None, 0))), Access(True, ((0, 0), (None, 0)))])], [False, True]),
    ],
)
def test_what_is_known_not_to_change(body: list[Access | Loop], expected: list[bool]):
    assert unchanging(body) == expected

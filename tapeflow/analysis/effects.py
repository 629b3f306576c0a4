"""Which operations compute a value and nothing else, by kind."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import arith, math, memref
from xdsl.ir import Operation
from xdsl.traits import NoMemoryEffect

from tapeflow.analysis.library_functions import library_function
from tapeflow.analysis.roots import VIEWS

_ARITHMETIC = frozenset((*arith.Arith.operations, *math.Math.operations))


@cache
def _is_pure_kind(kind: type[Operation]) -> bool:
    # Some operations of arith lack the trait in xDSL, though all are pure.
    return kind in _ARITHMETIC or issubclass(kind, VIEWS) or kind.has_trait(NoMemoryEffect)


def is_pure(op: Operation) -> bool:
    """Whether `op` has no regions and only computes results from its operands: the same ones each time."""
    return not op.regions and bool(op.results) and (_is_pure_kind(type(op)) or library_function(op) is not None)


def is_unneeded_when_unused(op: Operation) -> bool:
    """Whether nothing changes when `op`, which has no regions, is left out and its results have no uses."""
    return is_pure(op) or isinstance(op, memref.LoadOp | memref.AllocaOp | memref.AllocOp)

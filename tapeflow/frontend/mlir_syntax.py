"""The forms in which real mlir-opt prints operations that xDSL 0.75 has but cannot read, or does not have.

`dialects()` are xDSL's dialects with these operations given a parser. A parser's class stands in the dialect in place
of the operation's own, so it must make the latter of generic text too: see `create`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.ir import Dialect, Operation
from xdsl.universe import Universe

from tapeflow.dialects import arith_more, linalg_more, math_more, memref_more
from tapeflow.frontend import mlir_affine, mlir_linalg, mlir_memref, mlir_scf
from tapeflow.frontend.mlir_pieces import Parse


def dialects() -> Mapping[str, Callable[[], Dialect]]:
    """A factory of every dialect that there is, by name; those with gaps are filled up."""
    return {
        name: _filled(name, factory) if name in _PARSERS or name in _READERS else factory
        for name, factory in Universe.get_multiverse().all_dialects.items()
    }


def _filled(name: str, factory: Callable[[], Dialect]) -> Callable[[], Dialect]:
    def fill() -> Dialect:
        stock = factory()
        parsers = {op.name: _reading(op, parse) for op, parse in _PARSERS.get(name, {}).items()}
        parsers |= {op.name: op for op in _READERS.get(name, list)()}
        operations = [parsers.pop(op.name, op) for op in stock.operations]
        attributes = [*stock.attributes, *(linalg_more.ATTRIBUTES if name == "linalg" else [])]
        return Dialect(name, [*operations, *parsers.values()], attributes)

    return fill


def _reading(op: type[Operation], parse: Parse) -> type[Operation]:
    """A stand-in for `op` that reads its text with `parse`; what it makes are operations of `op` itself."""

    def create(*arguments: Any, **named: Any) -> Operation:
        return op.create(*arguments, **named)

    members = {"parse": staticmethod(parse), "create": staticmethod(create), "__doc__": op.__doc__}
    return cast(type[Operation], type(op.__name__, (op,), members))


_PARSERS: Mapping[str, Mapping[type[Operation], Parse]] = {
    "affine": mlir_affine.PARSERS,
    "linalg": {linalg_more.SoftmaxOp: mlir_linalg.parse_softmax},
    "memref": mlir_memref.PARSERS,
    "scf": {scf.ParallelOp: mlir_scf.parse_parallel},
}
"""What reads the text of an operation, by dialect."""

_READERS: Mapping[str, Callable[[], Sequence[type[Operation]]]] = {
    "arith": lambda: arith_more.OPERATIONS,
    "math": lambda: math_more.OPERATIONS,
    "linalg": mlir_linalg.operations,
    "memref": lambda: [mlir_memref.assume_alignment(), memref_more.AtomicYieldOp],
}
"""What makes other operations of the text of operations, by dialect."""

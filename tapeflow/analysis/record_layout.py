"""The order of the fields in a record: widest first, then first come, so that a record has no holes."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from tapeflow.dialects.record import field_bytes


def distinct(values: Iterable[SSAValue]) -> tuple[SSAValue, ...]:
    """`values` without repetitions, in order of first appearance."""
    return tuple(dict.fromkeys(values))


def in_memory_order(values: Iterable[SSAValue]) -> tuple[SSAValue, ...]:
    """The fields of a record of `values` in their order in memory: each value once, widest first, then first come."""
    return tuple(sorted(distinct(values), key=lambda value: -field_bytes(value.type)))

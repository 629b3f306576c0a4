"""The order of fields in memory."""

from xdsl.dialects.builtin import Float16Type, IndexType, f32, f64, i1, i32, i64
from xdsl.dialects.test import TestOp as AnyOp

from tapeflow.analysis.record_layout import distinct, in_memory_order
from tapeflow.dialects.record import record_bytes


def values(*types):
    return AnyOp(result_types=types).results


def test_widest_first_then_first_come() -> None:
    b, k, x, h, i, y, q = fields = values(i1, i32, f64, f32, IndexType(), i64, Float16Type())
    assert in_memory_order(fields) == (x, i, y, k, h, q, b)


def test_a_value_is_one_field() -> None:
    a, b = values(f64, f64)
    assert distinct((b, a, b, b)) == (b, a)
    assert in_memory_order((b, a, b)) == (b, a)


def test_no_holes_but_at_the_end() -> None:
    types = (i1, f64, i32, i1, f32, i64)
    ordered = [value.type for value in in_memory_order(values(*types))]
    assert record_bytes(ordered) == 32
    assert record_bytes(types) == 40

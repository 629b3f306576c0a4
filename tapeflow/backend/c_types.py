"""The C types of scalars."""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tapeflow.errors import TapeflowError

_INTEGERS = {1: "bool", 8: "int8_t", 16: "int16_t", 32: "int", 64: "int64_t"}
_UNSIGNED = {"bool": "unsigned", "int8_t": "uint8_t", "int16_t": "uint16_t", "int": "uint32_t"}

_RANKS = {"bool": 0, "int8_t": 1, "int16_t": 2, "int": 3, "int64_t": 4, "ptrdiff_t": 4, "float": 5, "double": 6}


def c_type(type_: Attribute, location: Attribute | None = None) -> str:
    """The C type of a scalar of `type_`.

    Raises:
        TapeflowError: C99 has no such type.
    """
    match type_:
        case Float64Type():
            return "double"
        case Float32Type():
            return "float"
        case IndexType():
            return "ptrdiff_t"
        case IntegerType() if type_.width.data in _INTEGERS:
            return _INTEGERS[type_.width.data]
        case _:
            raise TapeflowError(
                f"a value of type {type_} has no type in C", location=location, hint="use f64, f32, integers or index"
            )


def unsigned(ctype: str) -> str:
    """The unsigned integer type as wide as `ctype`."""
    return _UNSIGNED.get(ctype, "uint64_t")


def is_float(ctype: str) -> bool:
    """Whether `ctype` is `float` or `double`."""
    return ctype in ("float", "double")


def same(a: str, b: str) -> bool:
    """Whether values of the two types are computed with alike (`int64_t` and `ptrdiff_t` are)."""
    return _RANKS[a] == _RANKS[b]


def widens(source: str, target: str) -> bool:
    """Whether C converts `source` to `target` by itself and keeps every value, or rounds it as the IR would."""
    return _RANKS[source] <= _RANKS[target]


def of_arithmetic(a: str, b: str) -> str:
    """The type of `a + b`: C's usual arithmetic conversions."""
    wider = a if _RANKS[a] >= _RANKS[b] else b
    return wider if _RANKS[wider] >= _RANKS["int"] else "int"

"""Records: named, typed fields that are written and read together, as `{t: f64, c: i1}` in the types of three dialects.

A record type is two parallel arrays, names and types, so that the types of operands and results can be inferred from
the type of a handle. The order in memory is the order written; a record is laid out as a C struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, IndexType, IntegerType, StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, RangeOf, RangeVarConstraint
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

FieldNames = ArrayAttr[StringAttr]
FieldTypes = ArrayAttr[Attribute]

_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

FIELD_TYPES = RangeVarConstraint("FieldTypes", RangeOf(AnyAttr()))
"""Ties the values of an op to the fields of its handle."""


def field_bytes(field_type: Attribute) -> int:
    """The size of one field in memory, in bytes: as the C type the backend gives it (`index` is `ptrdiff_t`).

    Raises:
        VerifyException: `field_type` is not a scalar of whole bytes (or `i1`).
    """
    match field_type:
        case IndexType():
            return 8
        case IntegerType() if field_type.width.data == 1:
            return 1
        case IntegerType() if field_type.width.data in (8, 16, 32, 64):
            return field_type.width.data // 8
        case _ if isinstance(field_type, AnyFloat) and field_type.bitwidth in (16, 32, 64):
            return field_type.bitwidth // 8
        case _:
            raise VerifyException(f"a record field must be a scalar (float, integer, index or i1), not {field_type}")


def record_bytes(field_types: Sequence[Attribute]) -> int:
    """The size of one record in bytes: a C struct of `field_types` in this order, padding included."""
    return struct_bytes(map(field_bytes, field_types))


def struct_bytes(widths: Iterable[int]) -> int:
    """The size in bytes of a C struct of fields of these `widths`, each aligned to its own, padding included."""
    size, widest = 0, 1
    for width in widths:
        size = -(-size // width) * width + width
        widest = max(widest, width)
    return -(-size // widest) * widest


def verify_record(names: FieldNames, types: FieldTypes) -> None:
    """Check that a record has as many types as names, at least one field, C-like distinct names and scalar types.

    Raises:
        VerifyException: says which field is wrong.
    """
    if len(names) != len(types):
        raise VerifyException(f"a record needs a type a field: {len(names)} names, {len(types)} types")
    if not names.data:
        raise VerifyException("a record needs at least one field")
    seen: set[str] = set()
    for name in names:
        if not _FIELD_NAME.fullmatch(name.data):
            raise VerifyException(f"'{name.data}' cannot name a field: letters, digits and _ only")
        if name.data in seen:
            raise VerifyException(f"two fields are named '{name.data}'")
        seen.add(name.data)
    for field_type in types:
        field_bytes(field_type)


def named_fields(fields: Sequence[tuple[str, Attribute]]) -> tuple[FieldNames, FieldTypes]:
    """The two arrays of `fields`, each a name and a type."""
    return ArrayAttr(StringAttr(name) for name, _ in fields), ArrayAttr(type_ for _, type_ in fields)


def parse_record(parser: AttrParser) -> tuple[FieldNames, FieldTypes]:
    """Parse `{name: type, ...}`."""

    def parse_field() -> tuple[str, Attribute]:
        name = parser.parse_identifier()
        parser.parse_punctuation(":")
        return name, parser.parse_type()

    return named_fields(parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_field, " in record"))


def print_record(printer: Printer, names: FieldNames, types: FieldTypes) -> None:
    """Print `{name: type, ...}`."""

    def print_field(field: tuple[StringAttr, Attribute]) -> None:
        printer.print_string(f"{field[0].data}: ")
        printer.print_attribute(field[1])

    with printer.in_braces():
        printer.print_list(zip(names, types, strict=True), print_field)


def parse_extent(parser: AttrParser) -> int:
    """Parse `64 x`, one extent in front of a record."""
    extent = parser.parse_integer(allow_boolean=False, allow_negative=True)
    parser.parse_characters("x")
    return extent

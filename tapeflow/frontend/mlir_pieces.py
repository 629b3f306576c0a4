"""Pieces that the pretty text of several MLIR operations has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser

Parse = Callable[[Parser], Operation]
"""Reads the text behind the name of an operation."""


def from_to(parser: Parser) -> tuple[dict[str, Attribute], Attribute, Attribute]:
    """`{attributes} : memref<2xf64> to memref<?xf64>`."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    return attributes, from_type, parser.parse_type()


def index_operands(parser: Parser, brackets: Parser.Delimiter) -> list[SSAValue]:
    """`[%i, %j]`, or in other `brackets`."""
    return parser.parse_comma_separated_list(brackets, lambda: parser.parse_operand(IndexType()))


def loop_variables(parser: Parser) -> Sequence[Parser.Argument]:
    """`(%i, %j) =`."""
    variables = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    parser.parse_punctuation("=")
    return [variable.resolve(IndexType()) for variable in variables]


def array_type(parser: Parser) -> MemRefType[Attribute]:
    """`: memref<...>`."""
    parser.parse_punctuation(":")
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, MemRefType):
        parser.raise_error("expected a memref type", position)
    return cast(MemRefType[Attribute], type_)


def prefetch_hints(parser: Parser) -> dict[str, Attribute]:
    """`, read, locality<3>, data`."""
    parser.parse_punctuation(",")
    writes = parser.parse_identifier() == "write"
    parser.parse_punctuation(",")
    parser.parse_keyword("locality")
    parser.parse_punctuation("<")
    locality = parser.parse_integer()
    parser.parse_punctuation(">")
    parser.parse_punctuation(",")
    data = parser.parse_identifier() == "data"
    return {
        "isWrite": BoolAttr.from_bool(writes),
        "localityHint": IntegerAttr(locality, IntegerType(32)),
        "isDataCache": BoolAttr.from_bool(data),
    }


def arrow_types(parser: Parser) -> Sequence[Attribute]:
    """`-> f64` or `-> (f64, i32)`; nothing is no types."""
    if parser.parse_optional_punctuation("->") is None:
        return ()
    return parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type) or (
        parser.parse_type(),
    )

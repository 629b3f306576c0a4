"""The text of `memref` operations that xDSL 0.75 cannot read, or does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyDenseElement,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.parser.affine_parser import AffineParser

from tapeflow.dialects import memref_more
from tapeflow.frontend.mlir_pieces import Parse, array_type, from_to, index_operands, prefetch_hints


def _copy(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    destination = parser.parse_unresolved_operand()
    attributes, from_type, to_type = from_to(parser)
    operands = parser.resolve_operand(source, from_type), parser.resolve_operand(destination, to_type)
    return memref.CopyOp.create(operands=operands, attributes=attributes)


def _conversion(op: type[Operation]) -> Parse:
    """What reads an `op` of one array, `%a : memref<2xf64> to memref<?xf64>`."""

    def parse(parser: Parser) -> Operation:
        source = parser.parse_unresolved_operand()
        attributes, from_type, to_type = from_to(parser)
        return op.create(
            operands=[parser.resolve_operand(source, from_type)], result_types=[to_type], attributes=attributes
        )

    return parse


def _rank(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operand = parser.resolve_operand(source, parser.parse_type())
    return memref.RankOp.create(operands=[operand], result_types=[IndexType()], attributes=attributes)


def _transpose(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    map_ = AffineParser(parser._parser_state).parse_affine_map()  # pyright: ignore[reportPrivateUsage] # no other way
    attributes, from_type, to_type = from_to(parser)
    return memref_more.TransposeOp.create(
        operands=[parser.resolve_operand(source, from_type)],
        result_types=[to_type],
        properties={"permutation": AffineMapAttr(map_)},
        attributes=attributes,
    )


_ATOMIC_KINDS = [
    *("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli"),
    *("ori", "andi", "maxnumf", "minnumf"),
]
"""The kinds of `memref.atomic_rmw`, in the order of their numbers."""


def _atomic(parser: Parser) -> Operation:
    position = parser.pos
    kind = parser.parse_identifier()
    if kind not in _ATOMIC_KINDS:
        parser.raise_error(f"expected a kind of update: {', '.join(_ATOMIC_KINDS)}", position)
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    array = parser.parse_unresolved_operand()
    indices = index_operands(parser, parser.Delimiter.SQUARE)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if len(types) != 2:
        parser.raise_error("expected the types of the value and of the array", position)
    parser.parse_punctuation("->")
    return memref.AtomicRMWOp.create(
        operands=[parser.resolve_operand(value, types[0]), parser.resolve_operand(array, types[1]), *indices],
        result_types=[parser.parse_type()],
        properties={"kind": IntegerAttr(_ATOMIC_KINDS.index(kind), IntegerType(64))},
        attributes=attributes,
    )


def _generic_atomic(parser: Parser) -> Operation:
    array = parser.parse_unresolved_operand()
    indices = index_operands(parser, parser.Delimiter.SQUARE)
    type_ = array_type(parser)
    body = parser.parse_region()
    return memref_more.GenericAtomicRMWOp.create(
        operands=[parser.resolve_operand(array, type_), *indices],
        result_types=[type_.element_type],
        regions=[body],
        attributes=parser.parse_optional_attr_dict(),
    )


def _realloc(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    size: list[SSAValue] = []
    if parser.parse_optional_punctuation("(") is not None:
        size = [parser.parse_operand(IndexType())]
        parser.parse_punctuation(")")
    attributes, from_type, to_type = from_to(parser)
    properties = {"alignment": attributes.pop("alignment")} if "alignment" in attributes else {}
    return memref_more.ReallocOp.create(
        operands=[parser.resolve_operand(source, from_type), *size],
        result_types=[to_type],
        properties=properties,
        attributes=attributes,
    )


def _prefetch(parser: Parser) -> Operation:
    array = parser.parse_unresolved_operand()
    indices = index_operands(parser, parser.Delimiter.SQUARE)
    hints = prefetch_hints(parser)
    attributes = parser.parse_optional_attr_dict()
    return memref_more.PrefetchOp.create(
        operands=[parser.resolve_operand(array, array_type(parser)), *indices],
        properties=hints,
        attributes=attributes,
    )


def _global(parser: Parser) -> Operation:
    visibility = parser.parse_optional_str_literal()
    constant = parser.parse_optional_keyword("constant") is not None
    name = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    properties: dict[str, Attribute] = {
        "sym_name": name,
        "sym_visibility": StringAttr(visibility or "public"),
        "type": type_,
        "initial_value": UnitAttr(),
    }
    if constant:
        properties["constant"] = UnitAttr()
    if parser.parse_optional_punctuation("=") is not None and parser.parse_optional_keyword("uninitialized") is None:
        assert isinstance(type_, MemRefType)
        properties["initial_value"] = _elements(parser, cast(MemRefType[Attribute], type_))
    attributes = parser.parse_optional_attr_dict()
    if (alignment := attributes.pop("alignment", None)) is not None:
        properties["alignment"] = alignment
    return memref.GlobalOp.create(properties=properties, attributes=attributes)


def _elements(parser: Parser, type_: MemRefType[Attribute]) -> Attribute:
    """`dense<...>`, whose type MLIR leaves out here: that of a tensor like the array."""
    tensor = TensorType(cast(AnyDenseElement, type_.element_type), type_.get_shape())
    parser.parse_keyword("dense")
    return parser.parse_dense_int_or_fp_elements_attr(tensor)


def assume_alignment() -> type[Operation]:
    """A stand-in that gives the operation the result that it has since MLIR 21."""

    def create(*, operands: Sequence[SSAValue] = (), result_types: Sequence[Attribute] = (), **rest: Any) -> Operation:
        given = [operand.type for operand in operands]
        return memref.AssumeAlignmentOp.create(operands=operands, result_types=result_types or given, **rest)

    op = memref.AssumeAlignmentOp
    return cast(type[Operation], type(op.__name__, (op,), {"create": staticmethod(create), "__doc__": op.__doc__}))


PARSERS: Mapping[type[Operation], Parse] = {
    memref.CopyOp: _copy,
    memref.CastOp: _conversion(memref.CastOp),
    memref.RankOp: _rank,
    memref.GlobalOp: _global,
    memref.MemorySpaceCastOp: _conversion(memref.MemorySpaceCastOp),
    memref.AtomicRMWOp: _atomic,
    memref_more.TransposeOp: _transpose,
    memref_more.PrefetchOp: _prefetch,
    memref_more.ReallocOp: _realloc,
    memref_more.GenericAtomicRMWOp: _generic_atomic,
}
"""What reads the text of an operation."""

"""Named `linalg` operations, read as the `linalg.generic` each stands for, and `linalg.softmax`.

Pretty text, `linalg.matvec ins(%A, %x : ...) outs(%y : ...)`, leaves the body out, and it is made from the table of
named operations; generic text has it, and it is taken as it is. `linalg.generic`, `index`, `yield` and `transpose`
are xDSL's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    ShapedType,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tapeflow.dialects.linalg_more import SoftmaxOp
from tapeflow.frontend.mlir_linalg_bodies import Values
from tapeflow.frontend.mlir_linalg_names import NAMED, Named, maps_of, region_of


def operations() -> list[type[Operation]]:
    """What reads each of these operations, in pretty and in generic text."""
    return [
        *(_named(name, row) for name, row in NAMED.items()),
        _reading("broadcast", _parse_broadcast, _broadcast),
        _reading("map", _parse_map, _map),
        _reading("reduce", _parse_reduce, _reduce),
    ]


Create = Callable[[Values, Sequence[Attribute], Mapping[str, Attribute], Sequence[Region]], Operation]
"""From the operands, result types, attributes and regions of generic text an operation."""


def _reading(name: str, parse: Callable[[Parser], Operation], make: Create) -> type[Operation]:
    def create(
        *,
        operands: Values = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},  # as in xDSL, and never changed
        attributes: Mapping[str, Attribute] = {},
        regions: Sequence[Region] = (),
        **_rest: Any,
    ) -> Operation:
        with_place = f"'linalg.{name}' does not verify"
        if len(regions) != 1 or len(regions[0].blocks) != 1:
            raise VerifyException(f"{with_place}: expected a region of one block")
        try:
            made = make(operands, result_types, {**attributes, **properties}, regions)
            made.verify(verify_nested_ops=False)
            return made
        except VerifyException as error:
            raise VerifyException(f"{with_place}: {error}") from error

    def parse_or_say(parser: Parser) -> Operation:
        position = parser.pos
        try:
            made = parse(parser)
            made.verify(verify_nested_ops=False)
            return made
        except VerifyException as error:
            parser.raise_error(f"'linalg.{name}' does not verify: {error}", position)

    members = {"name": f"linalg.{name}", "parse": staticmethod(parse_or_say), "create": staticmethod(create)}
    return cast(type[Operation], type(f"Read{name.title()}", (Operation,), members))


def _generic(
    inputs: Values,
    outputs: Values,
    maps: Sequence[AffineMap],
    body: Region,
    result_types: Sequence[Attribute] = (),
) -> GenericOp:
    """The operation with `maps`, whose loops that no output is indexed by are reductions."""
    kept = {dimension for map_ in maps[len(inputs) :] for dimension in map_.used_dims()}
    kinds = [
        IteratorTypeAttr.parallel() if loop in kept else IteratorTypeAttr.reduction()
        for loop in range(maps[0].num_dims)
    ]
    return GenericOp(inputs, outputs, body, [AffineMapAttr(map_) for map_ in maps], kinds, result_types)


# The table


def _named(name: str, row: Named) -> type[Operation]:
    def make(
        operands: Values, types: Sequence[Attribute], attributes: Mapping[str, Attribute], regions: Sequence[Region]
    ) -> Operation:
        maps = maps_of(row, operands, attributes)
        return _generic(operands[: row.inputs], operands[row.inputs :], maps, regions[0].clone(), types)

    def parse(parser: Parser) -> Operation:
        attributes = parser.parse_optional_attr_dict()
        ins, outs = _operands(parser)
        types = _result_types(parser, outs)
        maps = maps_of(row, [*ins, *outs], attributes)
        body = region_of(row, [_element(operand) for operand in [*ins, *outs]], attributes)
        return _generic(ins, outs, maps, body, types)

    return _reading(name, parse, make)


def _element(operand: SSAValue) -> Attribute:
    """The type of an element of `operand`, or its own."""
    match operand.type:
        case MemRefType() | TensorType():
            return cast(MemRefType[Attribute], operand.type).element_type
        case type_:
            return type_


def _rank(operand: SSAValue) -> int:
    return len(operand.type.get_shape()) if isinstance(operand.type, ShapedType) else 0


# map, reduce, broadcast


def _map(
    operands: Values, types: Sequence[Attribute], _attributes: Mapping[str, Attribute], regions: Sequence[Region]
) -> Operation:
    if not operands:
        raise VerifyException("expected an output")
    body = regions[0].clone()
    # MLIR's body has no argument for the output, which it cannot read.
    body.block.insert_arg(_element(operands[-1]), len(body.block.args))
    maps = [AffineMap.identity(_rank(operands[-1]))] * len(operands)
    return _generic(operands[:-1], operands[-1:], maps, body, types)


def _reduce(
    operands: Values, types: Sequence[Attribute], attributes: Mapping[str, Attribute], regions: Sequence[Region]
) -> Operation:
    if not operands or len(operands) % 2:
        raise VerifyException("expected as many inputs as outputs")
    inputs, outputs = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    rank = _rank(inputs[0])
    whole, part = AffineMap.identity(rank), _without(_dimensions(attributes, rank), rank)
    maps = [whole] * len(inputs) + [part] * len(outputs)
    return _generic(inputs, outputs, maps, regions[0].clone(), types)


def _broadcast(
    operands: Values, types: Sequence[Attribute], attributes: Mapping[str, Attribute], regions: Sequence[Region]
) -> Operation:
    if len(operands) != 2:
        raise VerifyException("expected an input and an output")
    rank = _rank(operands[1])
    maps = [_without(_dimensions(attributes, rank), rank), AffineMap.identity(rank)]
    return _generic(operands[:1], operands[1:], maps, regions[0].clone(), types)


def _dimensions(attributes: Mapping[str, Attribute], rank: int) -> Sequence[int]:
    found = attributes.get("dimensions")
    if not isinstance(found, DenseArrayBase):
        raise VerifyException("expected dimensions")
    dimensions = [int(dimension) for dimension in found.get_values()]
    if len(set(dimensions)) != len(dimensions) or any(not 0 <= dimension < rank for dimension in dimensions):
        raise VerifyException(f"expected distinct dimensions below {rank}, but got {dimensions}")
    return dimensions


def _without(dimensions: Sequence[int], rank: int) -> AffineMap:
    """The map to all of `rank` iterators except some."""
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(i) for i in range(rank) if i not in dimensions))


def _parse_map(parser: Parser) -> Operation:
    payload = _payload(parser)
    ins, outs = _operands(parser)
    types = _result_types(parser, outs)
    elements = [_element(operand) for operand in ins]
    body = _region(parser) if payload is None else payload(elements, outs)
    return _map([*ins, *outs], types, {}, [body])


def _parse_reduce(parser: Parser) -> Operation:
    payload = _payload(parser)
    ins, outs = _operands(parser)
    types = _result_types(parser, outs)
    attributes = _parse_dimensions(parser)
    if payload is not None and len(ins) != 1:
        raise VerifyException("expected one input where only an operation is given")
    # What is reduced to comes first, as MLIR has it in the generic text of the same.
    body = _region(parser) if payload is None else payload([_element(it) for it in [*ins, *outs]], outs, swapped=True)
    return _reduce([*ins, *outs], types, attributes, [body])


def _parse_broadcast(parser: Parser) -> Operation:
    ins, outs = _operands(parser)
    attributes = _parse_dimensions(parser)
    types = _result_types(parser, outs)
    elements = [_element(operand) for operand in [*ins, *outs]]
    block = Block(arg_types=elements)
    block.add_op(YieldOp(block.args[0]))
    return _broadcast([*ins, *outs], types, attributes, [Region(block)])


def parse_softmax(parser: Parser) -> Operation:
    """`linalg.softmax dimension(1) ins(%x : ...) outs(%y : ...)`."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_keyword("dimension")
    parser.parse_punctuation("(")
    dimension = parser.parse_integer()
    parser.parse_punctuation(")")
    position = parser.pos
    ins, outs = _operands(parser)
    if len(ins) != 1 or len(outs) != 1:
        parser.raise_error("expected an input and an output", position)
    return SoftmaxOp.create(
        operands=[*ins, *outs],
        result_types=_result_types(parser, outs),
        properties={"dimension": IntegerAttr(dimension, i64)},
        attributes=attributes,
    )


def _operands(parser: Parser) -> tuple[list[SSAValue], list[SSAValue]]:
    """`ins(%x, %y : type, type) outs(%z : type)`."""
    groups: list[list[SSAValue]] = []
    for keyword in ("ins", "outs"):
        position = parser.pos
        if parser.parse_optional_keyword(keyword) is None:
            if keyword == "outs":
                parser.raise_error("expected outs(...)", position)
            groups.append([])
            continue
        parser.parse_punctuation("(")
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
        groups.append(list(parser.resolve_operands(names, types, position)))
    return groups[0], groups[1]


def _result_types(parser: Parser, outputs: Values) -> Sequence[Attribute]:
    """One for each output that is a tensor, which some operations write and others do not."""
    if parser.parse_optional_punctuation("->") is not None:
        listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return [parser.parse_type()] if listed is None else listed
    types: list[Attribute] = [output.type for output in outputs]
    return [type_ for type_ in types if type_.name == TensorType.name]


def _parse_dimensions(parser: Parser) -> Mapping[str, Attribute]:
    parser.parse_keyword("dimensions")
    parser.parse_punctuation("=")
    dimensions = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return {"dimensions": DenseArrayBase.from_list(i64, dimensions)}


def _region(parser: Parser) -> Region:
    """`(%in: f64, %out: f64) { ... }`."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    return parser.parse_region(arguments)


def _payload(parser: Parser) -> Callable[..., Region] | None:
    """`{ arith.addf }`: what makes a body of this one operation; None if there is none here."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    position = parser.pos
    name = parser.parse_identifier()
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation("}")
    op = parser.ctx.get_optional_op(name)
    if op is None or not issubclass(op, IRDLOperation):
        parser.raise_error(f"there is no operation '{name}'", position)
    known = op.get_irdl_definition().properties
    properties = {key: default.default_value for key, default in known.items() if default.default_value is not None}
    properties |= {key: attributes.pop(key) for key in list(attributes) if key in known}

    def body(elements: Sequence[Attribute], outputs: Values, swapped: bool = False) -> Region:
        block = Block(arg_types=elements)
        operands = tuple(block.args[::-1]) if swapped else tuple(block.args)
        results = [_element(output) for output in outputs]
        made = op.create(operands=operands, result_types=results, properties=properties, attributes=attributes)
        block.add_ops([made, YieldOp(*made.results)])
        return Region(block)

    return body

"""The text of `affine` operations that xDSL 0.75 cannot read, or does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import affine
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.affine_parser import AffineParser

from tapeflow.dialects import affine_more
from tapeflow.frontend.mlir_pieces import Parse, array_type, arrow_types, index_operands, loop_variables, prefetch_hints


def _map_and_operands(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    position = parser.pos
    map_ = parser.parse_attribute()
    if not isinstance(map_, AffineMapAttr):
        parser.raise_error("expected an affine map", position)
    return map_, _dimensions_and_symbols(parser)


def _dimensions_and_symbols(parser: Parser) -> list[SSAValue]:
    operands: list[SSAValue] = []
    for brackets in (parser.Delimiter.PAREN, parser.Delimiter.SQUARE):
        operands += (
            parser.parse_optional_comma_separated_list(brackets, lambda: parser.parse_operand(IndexType())) or []
        )
    return operands


def _affine_max(parser: Parser) -> Operation:
    map_, operands = _map_and_operands(parser)
    return affine_more.MaxOp.create(operands=operands, result_types=[IndexType()], properties={"map": map_})


def _affine_if(parser: Parser) -> Operation:
    position = parser.pos
    condition = parser.parse_attribute()
    if not isinstance(condition, AffineSetAttr):
        parser.raise_error("expected an affine set", position)
    operands = _dimensions_and_symbols(parser)
    results = arrow_types(parser)
    regions = [parser.parse_region(), Region()]
    if parser.parse_optional_keyword("else") is not None:
        regions[1] = parser.parse_region()
    for region in regions:
        _terminate(region)
    return affine.IfOp.create(
        operands=operands,
        result_types=results,
        properties={"condition": condition},
        regions=regions,
        attributes=parser.parse_optional_attr_dict(),
    )


def _terminate(region: Region) -> None:
    """Add the terminator that the pretty form leaves out."""
    if region.blocks and not isinstance(region.block.last_op, affine.YieldOp):
        region.block.add_op(affine.YieldOp.get())


def _affine_parallel(parser: Parser) -> Operation:
    variables = loop_variables(parser)
    lower, lower_groups, below = _bounds(parser, "max")
    parser.parse_keyword("to")
    upper, upper_groups, above = _bounds(parser, "min")
    steps = [1] * len(variables)
    if parser.parse_optional_keyword("step") is not None:
        steps = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
    reductions: Sequence[str] = ()
    if parser.parse_optional_keyword("reduce") is not None:
        reductions = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
    results = arrow_types(parser)
    body = parser.parse_region(variables)
    _terminate(body)
    return affine_more.ParallelOp.create(
        operands=[*below, *above],
        result_types=results,
        properties={
            "reductions": ArrayAttr([StringAttr(name) for name in reductions]),
            "lowerBoundsMap": lower,
            "lowerBoundsGroups": lower_groups,
            "upperBoundsMap": upper,
            "upperBoundsGroups": upper_groups,
            "steps": ArrayAttr([IntegerAttr(step, IntegerType(64)) for step in steps]),
        },
        regions=[body],
        attributes=parser.parse_optional_attr_dict(),
    )


class _SsaExpressions(AffineParser):
    """Reads affine expressions of SSA values, each value a symbol, `%i * 2 + symbol(%n)`, where the parser stands."""

    def __init__(self, parser: Parser):
        super().__init__(parser._parser_state)  # pyright: ignore[reportPrivateUsage] # no other way to read on there
        self._parser = parser
        self._symbols: dict[str, int] = {}
        self.operands: list[SSAValue] = []

    def expression(self) -> AffineExpr:
        """The next expression."""
        return self._parse_affine_expr(self._value)

    def _value(self) -> AffineExpr | None:
        bracket = self.parse_optional_keyword("symbol") is not None
        if bracket:
            self.parse_punctuation("(")
        operand = self._parser.parse_optional_unresolved_operand()
        if operand is None:
            return None
        if bracket:
            self.parse_punctuation(")")
        name = operand.operand_name
        key = f"{name}#{operand.index}"
        if key not in self._symbols:
            self._symbols[key] = len(self.operands)
            self.operands.append(self._parser.resolve_operand(operand, IndexType()))
        return AffineExpr.symbol(self._symbols[key])

    def map_of(self, results: Sequence[AffineExpr]) -> AffineMapAttr:
        """The map to `results`."""
        return AffineMapAttr(AffineMap(0, len(self.operands), tuple(results)))


def _bounds(parser: Parser, extreme: str) -> tuple[AffineMapAttr, DenseIntElementsAttr, Sequence[SSAValue]]:
    """`(0, max(%a, %b - 1), ...)`: a map of all bounds, the number of them in each dimension, the map's operands."""
    read = _SsaExpressions(parser)
    results: list[AffineExpr] = []
    sizes: list[int] = []

    def bound() -> None:
        before = len(results)
        if parser.parse_optional_keyword(extreme) is not None:
            results.extend(parser.parse_comma_separated_list(parser.Delimiter.PAREN, read.expression))
        else:
            results.append(read.expression())
        sizes.append(len(results) - before)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
    groups = DenseIntElementsAttr.from_list(TensorType(IntegerType(32), [len(sizes)]), sizes)
    return read.map_of(results), groups, read.operands


def _access(parser: Parser) -> tuple[SSAValue, AffineMapAttr, Sequence[SSAValue], MemRefType[Attribute]]:
    """`%A[%i + 1, symbol(%n)] : memref<?x?xf64>`."""
    array, map_, operands = _element(parser)
    parser.parse_optional_attr_dict()
    type_ = array_type(parser)
    return parser.resolve_operand(array, type_), map_, operands, type_


def _element(parser: Parser) -> tuple[UnresolvedOperand, AffineMapAttr, Sequence[SSAValue]]:
    """`%A[%i + 1, symbol(%n)]`."""
    array = parser.parse_unresolved_operand()
    read = _SsaExpressions(parser)
    results = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, read.expression)
    return array, read.map_of(results), read.operands


def _affine_load(parser: Parser) -> Operation:
    array, map_, operands, type_ = _access(parser)
    return affine.LoadOp(array, operands, map_, type_.element_type)


def _affine_store(parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    array, map_, operands, type_ = _access(parser)
    return affine.StoreOp(parser.resolve_operand(value, type_.element_type), array, operands, map_)


def _affine_prefetch(parser: Parser) -> Operation:
    array, map_, operands = _element(parser)
    hints = prefetch_hints(parser)
    attributes = parser.parse_optional_attr_dict()
    return affine_more.PrefetchOp.create(
        operands=[parser.resolve_operand(array, array_type(parser)), *operands],
        properties={"map": map_, **hints},
        attributes=attributes,
    )


def _delinearize(parser: Parser) -> Operation:
    index = parser.parse_operand(IndexType())
    parser.parse_keyword("into")
    basis = index_operands(parser, parser.Delimiter.PAREN)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return affine_more.DelinearizeIndexOp.create(operands=[index, *basis], result_types=types, attributes=attributes)


PARSERS: Mapping[type[Operation], Parse] = {
    affine_more.DelinearizeIndexOp: _delinearize,
    affine_more.MaxOp: _affine_max,
    affine_more.ParallelOp: _affine_parallel,
    affine_more.PrefetchOp: _affine_prefetch,
    affine.IfOp: _affine_if,
    affine.LoadOp: _affine_load,
    affine.StoreOp: _affine_store,
}
"""What reads the text of an operation."""

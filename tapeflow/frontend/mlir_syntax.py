"""The forms in which real mlir-opt prints operations that xDSL 0.75 has but cannot read, or does not have.

`dialects()` are xDSL's dialects with these operations given a parser. A parser's class stands in the dialect in place
of the operation's own, so it must make the latter of generic text too: see `create`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyDenseElement,
    ArrayAttr,
    BoolAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.affine_parser import AffineParser
from xdsl.universe import Universe

from tapeflow.dialects import affine_more, arith_more, linalg_more, math_more, memref_more
from tapeflow.frontend import mlir_linalg

Parse = Callable[[Parser], Operation]


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


# memref


def _copy(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    destination = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    to_type = parser.parse_type()
    operands = parser.resolve_operand(source, from_type), parser.resolve_operand(destination, to_type)
    return memref.CopyOp.create(operands=operands, attributes=attributes)


def _cast(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    to_type = parser.parse_type()
    return memref.CastOp.create(
        operands=[parser.resolve_operand(source, from_type)], result_types=[to_type], attributes=attributes
    )


def _rank(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    operand = parser.resolve_operand(source, parser.parse_type())
    return memref.RankOp.create(operands=[operand], result_types=[IndexType()], attributes=attributes)


def _transpose(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    map_ = AffineParser(parser._parser_state).parse_affine_map()  # pyright: ignore[reportPrivateUsage] # no other way
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    return memref_more.TransposeOp.create(
        operands=[parser.resolve_operand(source, from_type)],
        result_types=[parser.parse_type()],
        properties={"permutation": AffineMapAttr(map_)},
        attributes=attributes,
    )


def _space_cast(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    return memref.MemorySpaceCastOp.create(
        operands=[parser.resolve_operand(source, from_type)], result_types=[parser.parse_type()], attributes=attributes
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
    indices = _indices(parser)
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


def _indices(parser: Parser) -> Sequence[SSAValue]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType()))


def _generic_atomic(parser: Parser) -> Operation:
    array = parser.parse_unresolved_operand()
    indices = _indices(parser)
    type_ = _array_type(parser)
    body = parser.parse_region()
    return memref_more.GenericAtomicRMWOp.create(
        operands=[parser.resolve_operand(array, type_), *indices],
        result_types=[type_.element_type],
        regions=[body],
        attributes=parser.parse_optional_attr_dict(),
    )


def _array_type(parser: Parser) -> MemRefType[Attribute]:
    """`: memref<...>`."""
    parser.parse_punctuation(":")
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, MemRefType):
        parser.raise_error("expected a memref type", position)
    return cast(MemRefType[Attribute], type_)


def _realloc(parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    size: list[SSAValue] = []
    if parser.parse_optional_punctuation("(") is not None:
        size = [parser.parse_operand(IndexType())]
        parser.parse_punctuation(")")
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    from_type = parser.parse_type()
    parser.parse_keyword("to")
    properties = {"alignment": attributes.pop("alignment")} if "alignment" in attributes else {}
    return memref_more.ReallocOp.create(
        operands=[parser.resolve_operand(source, from_type), *size],
        result_types=[parser.parse_type()],
        properties=properties,
        attributes=attributes,
    )


def _prefetch(parser: Parser) -> Operation:
    array = parser.parse_unresolved_operand()
    indices = _indices(parser)
    hints = _prefetch_hints(parser)
    attributes = parser.parse_optional_attr_dict()
    return memref_more.PrefetchOp.create(
        operands=[parser.resolve_operand(array, _array_type(parser)), *indices],
        properties=hints,
        attributes=attributes,
    )


def _prefetch_hints(parser: Parser) -> dict[str, Attribute]:
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


# affine


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
    results = _arrow_types(parser)
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


def _arrow_types(parser: Parser) -> Sequence[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return ()
    return parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type) or (
        parser.parse_type(),
    )


def _terminate(region: Region) -> None:
    """Add the terminator that the pretty form leaves out."""
    if region.blocks and not isinstance(region.block.last_op, affine.YieldOp):
        region.block.add_op(affine.YieldOp.get())


def _affine_parallel(parser: Parser) -> Operation:
    variables = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    parser.parse_punctuation("=")
    lower, lower_groups, below = _bounds(parser, "max")
    parser.parse_keyword("to")
    upper, upper_groups, above = _bounds(parser, "min")
    steps = [1] * len(variables)
    if parser.parse_optional_keyword("step") is not None:
        steps = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
    reductions: Sequence[str] = ()
    if parser.parse_optional_keyword("reduce") is not None:
        reductions = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_str_literal)
    results = _arrow_types(parser)
    body = parser.parse_region([variable.resolve(IndexType()) for variable in variables])
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
    type_ = _array_type(parser)
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
    hints = _prefetch_hints(parser)
    attributes = parser.parse_optional_attr_dict()
    return affine_more.PrefetchOp.create(
        operands=[parser.resolve_operand(array, _array_type(parser)), *operands],
        properties={"map": map_, **hints},
        attributes=attributes,
    )


def _delinearize(parser: Parser) -> Operation:
    index = parser.parse_operand(IndexType())
    parser.parse_keyword("into")
    basis = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType()))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return affine_more.DelinearizeIndexOp.create(operands=[index, *basis], result_types=types, attributes=attributes)


# scf


def _scf_parallel(parser: Parser) -> Operation:
    def operands() -> list[SSAValue]:
        return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType()))

    variables = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    parser.parse_punctuation("=")
    lower = operands()
    parser.parse_keyword("to")
    upper = operands()
    parser.parse_keyword("step")
    step = operands()
    inits: list[UnresolvedOperand] = []
    position = parser.pos
    if parser.parse_optional_keyword("init") is not None:
        inits = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    types = _arrow_types(parser)
    body = parser.parse_region([variable.resolve(IndexType()) for variable in variables])
    if not isinstance(body.block.last_op, scf.ReduceOp):
        body.block.add_op(scf.ReduceOp())
    loop = scf.ParallelOp(lower, upper, step, body, parser.resolve_operands(inits, types, position))
    loop.attributes |= parser.parse_optional_attr_dict()
    return loop


_PARSERS: Mapping[str, Mapping[type[Operation], Parse]] = {
    "affine": {
        affine_more.DelinearizeIndexOp: _delinearize,
        affine_more.MaxOp: _affine_max,
        affine_more.ParallelOp: _affine_parallel,
        affine_more.PrefetchOp: _affine_prefetch,
        affine.IfOp: _affine_if,
        affine.LoadOp: _affine_load,
        affine.StoreOp: _affine_store,
    },
    "linalg": {linalg_more.SoftmaxOp: mlir_linalg.parse_softmax},
    "memref": {
        memref.CopyOp: _copy,
        memref.CastOp: _cast,
        memref.RankOp: _rank,
        memref.GlobalOp: _global,
        memref.MemorySpaceCastOp: _space_cast,
        memref.AtomicRMWOp: _atomic,
        memref_more.TransposeOp: _transpose,
        memref_more.PrefetchOp: _prefetch,
        memref_more.ReallocOp: _realloc,
        memref_more.GenericAtomicRMWOp: _generic_atomic,
    },
    "scf": {scf.ParallelOp: _scf_parallel},
}
"""What reads the text of an operation, by dialect."""


def _assume_alignment() -> type[Operation]:
    """A stand-in that gives the operation the result that it has since MLIR 21."""

    def create(*, operands: Sequence[SSAValue] = (), result_types: Sequence[Attribute] = (), **rest: Any) -> Operation:
        given = [operand.type for operand in operands]
        return memref.AssumeAlignmentOp.create(operands=operands, result_types=result_types or given, **rest)

    op = memref.AssumeAlignmentOp
    return cast(type[Operation], type(op.__name__, (op,), {"create": staticmethod(create), "__doc__": op.__doc__}))


_READERS: Mapping[str, Callable[[], Sequence[type[Operation]]]] = {
    "arith": lambda: arith_more.OPERATIONS,
    "math": lambda: math_more.OPERATIONS,
    "linalg": mlir_linalg.operations,
    "memref": lambda: [_assume_alignment(), memref_more.AtomicYieldOp],
}
"""What makes other operations of the text of operations, by dialect."""

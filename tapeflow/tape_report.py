"""The tape report: what a gradient remembers, region by region, in the terms of the source.

For each region: its fields with the places in the source that they come from, the bytes of a record, and how many
records there are, as a formula in the kernel's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.arguments import parameters_of
from tapeflow.dialects import spad, stream, tape
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import source_position


@dataclass(frozen=True)
class Formula:
    """An integer expression in the integer parameters of a kernel.

    Attributes:
        text: as one would write it, `n*m`.
        precedence: of its outermost operator: 0 sum, 1 product, 2 atom.
        evaluate: its value, given those of the parameters.
    """

    text: str
    precedence: int
    evaluate: Callable[[Mapping[str, int]], int]

    def within(self, precedence: int) -> str:
        """The text as an operand of an operator of `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"


def _constant(value: int) -> Formula:
    return Formula(str(value), 2 if value >= 0 else 0, lambda _: value)


def _binary(sign: str, precedence: int, compute: Callable[[int, int], int], a: Formula, b: Formula) -> Formula:
    left = a.within(precedence)
    # `a - (b - c)` and `a / (b / c)` keep their brackets; sums of sums and products of products need none.
    right = b.within(precedence if sign in "+*" else precedence + 1)
    joint = f"{left} {sign} {right}" if precedence == 0 else f"{left}{sign}{right}"
    return Formula(joint, precedence, lambda values: compute(a.evaluate(values), b.evaluate(values)))


def _call(name: str, compute: Callable[[int, int], int], a: Formula, b: Formula) -> Formula:
    return Formula(f"{name}({a.text}, {b.text})", 2, lambda values: compute(a.evaluate(values), b.evaluate(values)))


def _sum(a: Formula, b: Formula) -> Formula:
    if a.text == "0":
        return b
    return a if b.text == "0" else _binary("+", 0, int.__add__, a, b)


def _difference(a: Formula, b: Formula) -> Formula:
    return a if b.text == "0" else _binary("-", 0, int.__sub__, a, b)


def _product(a: Formula, b: Formula) -> Formula:
    if a.text == "1":
        return b
    return a if b.text == "1" else _binary("*", 1, int.__mul__, a, b)


def _quotient(a: Formula, b: Formula) -> Formula:
    return a if b.text == "1" else _binary("/", 1, lambda x, y: x // y if y else 0, a, b)


def _clamped(a: Formula, b: Formula) -> Formula:
    """`max(a, b)`; the clamp at 0 of a trip count is left out of the text, a count is never below 0."""
    if b.text == "0":
        return Formula(a.text, a.precedence, lambda values: max(a.evaluate(values), 0))
    return _clamped(b, a) if a.text == "0" else _call("max", max, a, b)


def formula_of(value: SSAValue) -> Formula | None:
    """`value` as a formula in the parameters of its function; None where it is none, such as a loaded value."""
    if isinstance(value, BlockArgument):
        if not isinstance(value.block.parent_op(), func.FuncOp):
            return None
        name = source_name(value) or f"arg{value.index}"
        return Formula(name, 2, lambda values: values[name])
    op = value.owner
    assert isinstance(op, Operation)
    match op:
        case arith.ConstantOp(value=IntegerAttr() as attribute):
            return _constant(attribute.value.data)
        case arith.IndexCastOp():
            return formula_of(op.input)
        case arith.ExtSIOp() | arith.TruncIOp():
            return formula_of(op.input)
        case memref.DimOp():
            return _extent(op)
        case arith.AddiOp():
            return _of_two(op, _sum)
        case arith.SubiOp():
            return _of_two(op, _difference)
        case arith.MuliOp():
            return _of_two(op, _product)
        case arith.DivSIOp() | arith.FloorDivSIOp() | arith.DivUIOp():
            return _of_two(op, _quotient)
        case arith.CeilDivSIOp() | arith.CeilDivUIOp():
            return _of_two(op, lambda a, b: a if b.text == "1" else _ceiling(a, b))
        case arith.MaxSIOp():
            return _of_two(op, _clamped)
        case arith.MinSIOp():
            return _of_two(op, lambda a, b: _call("min", min, a, b))
        case _:
            return None


def _ceiling(a: Formula, b: Formula) -> Formula:
    def compute(x: int, y: int) -> int:
        return -(-x // y) if y else 0

    text = f"ceil({a.within(1)}/{b.within(2)})"
    return Formula(text, 2, lambda values: compute(a.evaluate(values), b.evaluate(values)))


def _of_two(op: Operation, combine: Callable[[Formula, Formula], Formula]) -> Formula | None:
    a, b = (formula_of(operand) for operand in op.operands)
    return None if a is None or b is None else combine(a, b)


def _extent(op: memref.DimOp) -> Formula | None:
    """The extent that `op` asks for: the parameter that holds it, or `len(x)` where the source does not say."""
    array, dimension = op.source, formula_of(op.index)
    function = array.owner.parent_op() if isinstance(array, BlockArgument) else None
    if not isinstance(function, func.FuncOp) or dimension is None or not isinstance(array, BlockArgument):
        return None
    parameter = parameters_of(function)[array.index]
    position = dimension.evaluate({})
    extent = parameter.extents[position] if parameter.extents is not None else None
    if isinstance(extent, int):
        return _constant(extent)
    name = extent or (f"len({parameter.name})" if position == 0 else f"{parameter.name}.shape[{position}]")
    return Formula(name, 2, lambda values: values[name])


@dataclass(frozen=True)
class Field:
    """One field of a record.

    Attributes:
        name: of the value in the source.
        type: of the value, as in the IR.
        bytes: that it takes.
        source: where the value is computed, `file:line:column`; None where that is unknown.
    """

    name: str
    type: str
    bytes: int
    source: str | None


@dataclass(frozen=True)
class RegionReport:
    """What one region of the tape holds.

    Attributes:
        name: after the loop that records into it.
        fields: of a record, in memory order.
        record_bytes: bytes of one record, padding included.
        records: how many, as a formula in the parameters; None where the tape grows as needed.
        exact: whether `records` is the number, not only a bound from above.
        bytes: what the last call's records took (at most, unless `exact`); None before a call, or without a formula.
        tile_records: records in a tile that travels between scratchpad and DRAM; None for a region in cache.
    """

    name: str
    fields: tuple[Field, ...]
    record_bytes: int
    records: str | None
    exact: bool
    bytes: int | None
    tile_records: int | None


@dataclass(frozen=True)
class TapeReport:
    """What a gradient remembers between its sweeps; `str()` is a table.

    Attributes:
        function: the gradient's name.
        layout: "soa" or "aos".
        regions: in order of creation.
    """

    function: str
    layout: str
    regions: tuple[RegionReport, ...]

    @property
    def bytes(self) -> int | None:
        """Bytes of the last call's tape, all regions; None before a call or when a region has no formula."""
        sizes = [region.bytes for region in self.regions]
        return None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries, lists, numbers and strings."""
        return asdict(self) | {"bytes": self.bytes}

    def __str__(self) -> str:
        if not self.regions:
            return f"{self.function}: no tape, all that the reverse sweep needs is had again"
        return "\n".join((f"tape of {self.function} ({self.layout})", *_table(list(self._rows()))))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "region", "field", "type", "from", "bytes a record", "records", "bytes of the last call"
        for region in self.regions:
            bound = "" if region.exact else "at most "
            records = "as needed" if region.records is None else bound + region.records
            size = "-" if region.bytes is None else f"{bound}{region.bytes:,}"
            tile = "" if region.tile_records is None else f", tiles of {region.tile_records}"
            for position, field in enumerate(region.fields):
                head = (region.name, str(region.record_bytes), records + tile, size)
                name, bytes_, count, total = head if position == 0 else ("", "", "", "")
                yield name, field.name, field.type, field.source or "-", bytes_, count, total
        whole = self.bytes
        bound = "" if all(region.exact for region in self.regions) else "at most "
        yield "total", "", "", "", "", "", "-" if whole is None else f"{bound}{whole:,}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def tape_report(gradient: func.FuncOp, values: Mapping[str, int] | None = None) -> TapeReport:
    """Report on the tape of `gradient`, a function at any stage from `differentiate` on.

    Args:
        gradient: the differentiated function.
        values: the integer parameters (and `len(x)` of arrays without a declared extent) of the last call.
    """
    regions = tuple(
        _region_report(op, values)
        for op in gradient.walk()
        if isinstance(op, tape.CreateOp | stream.CreateOp) and _has_home(op)
    )
    homes = [op.tape.type for op in gradient.walk() if isinstance(op, tape.CreateOp)]
    layouts = {home.layout.data.value for home in homes if isinstance(home, tape.RegionType)}
    return TapeReport(gradient.sym_name.data, "aos" if layouts <= {"aos"} and not _bare(homes) else "soa", regions)


def _bare(homes: Sequence[Any]) -> bool:
    """Whether some tape is not formed into a region yet: then each value has an array of its own."""
    return any(isinstance(home, tape.TapeType) for home in homes)


def _has_home(op: tape.CreateOp | stream.CreateOp) -> bool:
    return isinstance(op.results[0].type, tape.TapeType | tape.RegionType | stream.FifoType)


def _region_report(op: tape.CreateOp | stream.CreateOp, values: Mapping[str, int] | None) -> RegionReport:
    handle = op.results[0]
    writer = _writer(handle)
    count = None if op.reserve is None else formula_of(op.reserve)
    match handle.type:
        case tape.RegionType() | stream.FifoType():
            names = [name.data for name in handle.type.field_names]
            types = list(handle.type.field_types)
            record_bytes = handle.type.record_bytes
        case tape.TapeType():
            names, types = [_handle_name(handle).removeprefix("tape_")], [handle.type.element_type]
            record_bytes = field_bytes(handle.type.element_type)
        case _:
            raise AssertionError(f"{handle.type} is no home of records")
    sources = [None] * len(names) if writer is None else [_source(value) for value in _recorded(writer)]
    return RegionReport(
        name=_handle_name(handle).removeprefix("tape_").removeprefix("fifo_"),
        fields=tuple(
            Field(name, str(type_), field_bytes(type_), source)
            for name, type_, source in zip(names, types, sources, strict=True)
        ),
        record_bytes=record_bytes,
        records=None if count is None else count.text,
        exact=count is not None and writer is not None and _runs_exactly(writer, op),
        bytes=None if count is None or values is None else count.evaluate(values) * record_bytes,
        tile_records=_tile_records(handle),
    )


def _handle_name(handle: SSAValue) -> str:
    return source_name(handle) or "region"


def _source(value: SSAValue) -> str | None:
    return source_position(location_of(value))


def _recorded(writer: Operation) -> Sequence[SSAValue]:
    return (writer.value,) if isinstance(writer, tape.PushOp) else writer.operands[:-1]


def _writer(handle: SSAValue) -> Operation | None:
    """The op that records onto `handle`: directly, or into the buffer whose tiles travel there."""
    for use in handle.uses:
        match use.operation:
            case tape.PushOp() | tape.RecordOp():
                return use.operation
            case spad.DmaStartOp() | stream.PushOp() if use.operation.buffer is not handle:
                buffer = use.operation.buffer
                return next((u.operation for u in buffer.uses if isinstance(u.operation, spad.WriteOp)), None)
            case _:
                continue
    return None


def _tile_records(handle: SSAValue) -> int | None:
    for use in handle.uses:
        if isinstance(use.operation, spad.DmaStartOp | stream.PushOp):
            buffer = use.operation.buffer.type
            if isinstance(buffer, spad.BufferType):
                return buffer.records.data
    return None


def _runs_exactly(writer: Operation, create: Operation) -> bool:
    """Whether `writer` runs as often as the product of the trip counts around it, known where `create` is."""
    home = create.parent
    parent = writer.parent_op()
    while parent is not None and parent.parent is not home:
        parent_bounds = _loop_bounds(parent)
        if parent_bounds is None or not all(_defined_in(bound, home) for bound in parent_bounds):
            return False
        parent = parent.parent_op()
    return parent is None or writer.parent is home or _loop_bounds(parent) is not None


def _loop_bounds(op: Operation) -> tuple[SSAValue, ...] | None:
    match op:
        case scf.ForOp():
            return op.lb, op.ub, op.step
        case spad.LayerOp():
            return (op.lb, op.ub) if op.step is None else (op.lb, op.ub, op.step)
        case _:
            return None


def _defined_in(value: SSAValue, block: Block | None) -> bool:
    if isinstance(value.owner, arith.ConstantOp):
        return True
    return (value.block if isinstance(value, BlockArgument) else value.owner.parent_block()) is block


def gradient_function(functions: Sequence[Operation], primal: str) -> func.FuncOp | None:
    """Among `functions`, the gradient of `primal`."""
    for function in functions:
        if isinstance(function, func.FuncOp):
            origin = function.attributes.get("tapeflow.gradient_of")
            if isinstance(origin, StringAttr) and origin.data == primal:
                return function
    return None


def unknown_lengths(gradient: func.FuncOp) -> Mapping[str, int]:
    """The arrays whose outermost extent the source does not give, as `len(x)`, with their argument's position."""
    return {
        f"len({parameter.name})": position
        for position, parameter in enumerate(parameters_of(gradient))
        if isinstance(gradient.args[position].type, MemRefType) and (parameter.extents or (0,))[0] is None
    }

"""The tape report: what a gradient remembers, region by region, in the terms of the source.

For each region: its fields with the places in the source that they come from, the bytes of a record, how many records
there are, as a formula in the kernel's parameters, and the bytes that the last call needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from tapeflow.analysis.block_order import BlockOrder
from tapeflow.analysis.block_tree import innermost
from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.analysis.tape_reasons import tape_reasons
from tapeflow.analysis.trip_counts import Count, TripCounts
from tapeflow.dialects import spad, stream, tape
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import source_position
from tapeflow.text_table import aligned


@dataclass(frozen=True)
class Field:
    """One field of a record.

    Attributes:
        name: of the value in the source.
        type: of the value, as in the IR.
        bytes: that it takes.
        source: where the value is computed, `file:line:column`; None where that is unknown.
        needed_at: the operations whose derivatives need it, `file:line:column`, in the order of the reverse sweep.
        why: what keeps it from being had again, in a phrase with `line:column`.
    """

    name: str
    type: str
    bytes: int
    source: str | None
    needed_at: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class RegionReport:
    """What one region of the tape holds.

    Attributes:
        name: after the loop that records into it.
        fields: of a record, in memory order.
        record_bytes: bytes of one record, padding included.
        records: how many, as a formula in the parameters; None where no formula bounds them and the tape grows.
        exact: whether `records` is the number, not only a bound from above.
        bytes: what the last call's records took; None before a call.
        tile_records: records in a tile that travels between scratchpad and DRAM; None for a region in cache.
        loop: the loop whose iterations record into it, `file:line:column`; None outside of loops or where unknown.
    """

    name: str
    fields: tuple[Field, ...]
    record_bytes: int
    records: str | None
    exact: bool
    bytes: int | None
    tile_records: int | None
    loop: str | None

    @property
    def count(self) -> str:
        """How many records, in words: the formula, a bound from above, or whose iterations they are."""
        if self.records is None:
            return f"iterations of {self.loop}" if self.loop else "as needed"
        return self.records if self.exact else f"at most {self.records}"


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
        """Bytes of the last call's tape, all regions; None before a call."""
        sizes = [region.bytes for region in self.regions]
        return None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dictionaries, lists, numbers and strings."""
        return asdict(self) | {"bytes": self.bytes}

    def __str__(self) -> str:
        if not self.regions:
            return f"{self.function} has no tape: all that the reverse sweep needs is had again"
        return "\n".join((f"tape of {self.function} ({self.layout})", *aligned(list(self._rows()))))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        called = self.bytes is not None
        last = ("bytes of the last call",) if called else ()
        yield "region", "field", "type", "computed at", "bytes a record", "records", *last
        for region in self.regions:
            tile = "" if region.tile_records is None else f", tiles of {region.tile_records}"
            for position, field in enumerate(region.fields):
                head = position == 0
                size = (f"{region.bytes:,}" if head else "",) if called else ()
                count = region.count + tile if head else ""
                width = str(region.record_bytes) if head else ""
                yield region.name if head else "", field.name, field.type, field.source or "-", width, count, *size
        if called:
            yield "total", "", "", "", "", "", f"{self.bytes:,}"


def tape_report(recording: func.FuncOp, final: func.FuncOp, uses: Mapping[str, int] | None = None) -> TapeReport:
    """Report on the tape of a gradient.

    Args:
        recording: the gradient before layers are formed, with its pushes and records in counted loops.
        final: the gradient as it is printed.
        uses: the bytes that each C tape of the last call held at the turn-around, by the tape's name.
    """
    tiles = dict(_tiles(final))
    counts, reasons, order = TripCounts(recording), cache(tape_reasons), BlockOrder()
    regions = tuple(
        _region(create, recording, counts, reasons, order, tiles, uses)
        for create in recording.walk()
        if isinstance(create, tape.CreateOp)
    )
    layouts = {
        op.tape.type.layout.data.value for op in _creates(recording) if isinstance(op.tape.type, tape.RegionType)
    }
    return TapeReport(final.sym_name.data, "aos" if layouts == {"aos"} else "soa", regions)


def _creates(function: func.FuncOp) -> Iterator[tape.CreateOp]:
    return (op for op in function.walk() if isinstance(op, tape.CreateOp))


def _tiles(function: func.FuncOp) -> Iterator[tuple[str, int]]:
    """For the regions whose records travel by tiles, the records in one."""
    for op in function.walk():
        if isinstance(op, spad.DmaStartOp) and op.is_outward:
            buffer, home = op.buffer, op.home
        elif isinstance(op, stream.PushOp):
            buffer, home = op.buffer, op.fifo
        else:
            continue
        if isinstance(buffer.type, spad.BufferType):
            yield region_name(home), buffer.type.records.data


def _region(
    create: tape.CreateOp,
    recording: func.FuncOp,
    counts: TripCounts,
    reasons: Callable[[func.FuncOp], Callable[[SSAValue], str]],
    order: BlockOrder,
    tiles: Mapping[str, int],
    uses: Mapping[str, int] | None,
) -> RegionReport:
    name = region_name(create.tape)
    writer = next(op for op in _users(create.tape) if isinstance(op, tape.PushOp | tape.RecordOp))
    values = (writer.value,) if isinstance(writer, tape.PushOp) else tuple(writer.values)
    if isinstance(create.tape.type, tape.RegionType):
        names = [field.data for field in create.tape.type.field_names]
        record_bytes = create.tape.type.record_bytes
    else:
        names, record_bytes = [source_name(values[0]) or name], field_bytes(values[0].type)
    function = innermost(writer, func.FuncOp)
    assert function is not None
    count = counts.executions(writer.parent) if function is recording and writer.parent is not None else None
    reason = reasons(function)
    return RegionReport(
        name=name,
        fields=tuple(
            Field(
                field,
                str(value.type),
                field_bytes(value.type),
                source_position(location_of(value)),
                tuple(_needed_at(remembered, order)),
                reason(value),
            )
            for field, value, remembered in zip(names, values, _remembered(create), strict=True)
        ),
        record_bytes=record_bytes,
        records=None if count is None else str(count.formula),
        exact=_is_exact(count),
        bytes=None if uses is None else _bytes_used(name, names, uses),
        tile_records=tiles.get(name),
        loop=_loop_around(writer),
    )


def _loop_around(writer: Operation) -> str | None:
    around = innermost(writer, scf.ForOp, scf.WhileOp)
    return None if around is None else source_position(around.location)


def _remembered(create: tape.CreateOp) -> Sequence[SSAValue]:
    """What the tape gives back in the reverse sweep, field by field."""
    reader = next(op for op in _users(create.tape) if isinstance(op, tape.PopOp | tape.ReplayOp))
    return reader.results


def _needed_at(value: SSAValue, order: BlockOrder) -> Iterator[str]:
    """Where the operations are whose derivatives use `value`."""
    users = sorted({use.operation for use in value.uses}, key=order.path)
    yield from dict.fromkeys(place for op in users if (place := source_position(op.location)) is not None)


def _users(handle: SSAValue) -> Iterator[Operation]:
    """What uses a tape, in the function that makes it and in those that it is handed to."""
    pending, seen = [handle], {handle}
    while pending:
        for use in pending.pop().uses:
            yield use.operation
            if isinstance(use.operation, func.CallOp):
                callee = SymbolTable.lookup_symbol(use.operation, use.operation.callee)
                assert isinstance(callee, func.FuncOp)
                argument = callee.args[use.index]
                if argument not in seen:
                    seen.add(argument)
                    pending.append(argument)


def _is_exact(count: Count | None) -> bool:
    return count is not None and count.exact


def region_name(handle: SSAValue) -> str:
    """What a handle's region is called: `j` for `tape_j`."""
    return (source_name(handle) or "region").removeprefix("tape_").removeprefix("fifo_")


def _bytes_used(region: str, fields: Sequence[str], uses: Mapping[str, int]) -> int:
    """The bytes of the C tapes that hold `region`: one of records, or one for each field."""
    whole = f"tape_{region}"
    return uses[whole] if whole in uses else sum(uses[f"{whole}_{field}"] for field in fields)

"""`spad-form-layers`: the records of a region go through a buffer in the scratchpad, and travel by whole tiles.

Every `aos` region that fits gets a share of the scratchpad (`analysis.scratchpad_split`); `tape.record` becomes
`spad.write` and `tape.replay` becomes `spad.read`. A full tile moves to the region's home in DRAM before the next
write, an empty one is refilled before the next read, in one of two forms:

- an innermost counted loop that moves the region exactly once an iteration becomes a `spad.layer`, cut wherever the
  buffer is full (forward) or empty (reverse), across iterations of the loops around it;
- elsewhere, under a branch or round an inner loop, `spad.full` follows the write and `spad.empty` precedes the read.

One loop is a layer for one region only; other regions in it are guarded. Transfers block until `stream-form-fifos`.
Bare tapes, regions that do not fit and regions passed to a function stay in cache, each with a remark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tapeflow.analysis.block_ends import is_index_arithmetic
from tapeflow.analysis.block_runs import constant_integer, expected_runs
from tapeflow.analysis.region_names import bare_name
from tapeflow.analysis.region_uses import UsedRegion, layer_loop, used_region
from tapeflow.analysis.scratchpad_split import BURST_BYTES, Demand, split
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects import spad, tape
from tapeflow.errors import TapeflowError, remark
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


@dataclass(frozen=True)
class Placed:
    """A region with its buffer in the scratchpad."""

    region: UsedRegion
    buffer: SSAValue

    @property
    def home(self) -> SSAValue:
        """The region itself, the tape of records in DRAM."""
        return self.region.create.tape

    @property
    def name(self) -> str:
        """The region's name without what its handles add."""
        return region_name(self.region.create)


def region_name(create: tape.CreateOp) -> str:
    """What the region or tape is called, without what its handle adds."""
    return bare_name(source_name(create.tape) or "region")


def demand_of(region: UsedRegion) -> Demand:
    """What `region` asks of the scratchpad; a constant reservation is the most that there can be."""
    reserve = region.create.reserve
    most = None if reserve is None else constant_integer(reserve)
    runs = sum(expected_runs(record.parent) for record in region.records if record.parent is not None)
    return Demand(region.region_type.record_bytes, runs if most is None else min(runs, most), most)


def check_layout(region: UsedRegion) -> None:
    """Refuse a region whose records do not lie side by side, as a tile needs them."""
    if region.region_type.layout.data is not tape.Layout.AOS:
        raise TapeflowError(
            f"spad-form-layers moves whole records, but region '{region_name(region.create)}' is laid out soa",
            location=region.create.location,
            hint="form regions with tape-form-regions{layout=aos}",
        )


def transfer(build: LocatedBuilder, source: SSAValue, destination: SSAValue, buffer: SSAValue) -> None:
    """A transfer that blocks."""
    build.insert(spad.DmaStartOp(source, destination))
    build.insert(spad.DmaWaitOp(buffer))


def drain(build: LocatedBuilder, placed: Placed) -> None:
    """Move the full tile home."""
    transfer(build, placed.buffer, placed.home, placed.buffer)


def refill(build: LocatedBuilder, placed: Placed) -> None:
    """Have the tile below on chip."""
    transfer(build, placed.home, placed.buffer, placed.buffer)


def guard(build: LocatedBuilder, condition: SSAValue, clause: Block) -> None:
    """Run `clause` where `condition` holds."""
    build.into(clause).insert(scf.YieldOp())
    build.insert(scf.IfOp(condition, (), Region(clause)))


def write(placed: Placed, record: tape.RecordOp, guarded: bool) -> None:
    """Write the record; `guarded`, then move the tile home if that made it full."""
    build = LocatedBuilder(InsertPoint.before(record), place=place_of(record))
    build.insert(spad.WriteOp(record.values, placed.buffer))
    if guarded:
        full = build.value(spad.FullOp(placed.buffer), f"full_{placed.name}")
        drain(build.into(clause := Block()), placed)
        guard(build, full, clause)
    record.detach()
    record.erase()


def read(placed: Placed, replay: tape.ReplayOp, guarded: bool) -> None:
    """Read the record; `guarded`, first refill the tile if it is empty."""
    build = LocatedBuilder(InsertPoint.before(replay), place=place_of(replay))
    if guarded:
        empty = build.value(spad.EmptyOp(placed.buffer), f"empty_{placed.name}")
        refill(build.into(clause := Block()), placed)
        guard(build, empty, clause)
    replace_same(replay, build.insert(spad.ReadOp(placed.buffer)))


def replace_same(old: Operation, new: Operation) -> None:
    """Let `new`, which makes the same values, stand in for `old`: its place, its names, its uses."""
    new.location = old.location
    for old_result, new_result in zip(old.results, new.results, strict=True):
        new_result.name_hint = old_result.name_hint
        old_result.replace_all_uses_with(new_result)
    old.detach()
    old.erase()


@dataclass(frozen=True)
class Layer:
    """A loop that becomes a layer: the region it is cut for, and the access it makes of it once an iteration."""

    placed: Placed
    access: tape.RecordOp | tape.ReplayOp

    @property
    def boundary(self) -> spad.Boundary:
        """What cuts the layer."""
        return spad.Boundary.FULL if isinstance(self.access, tape.RecordOp) else spad.Boundary.EMPTY


def form_layer(loop: scf.ForOp, layer: Layer) -> None:
    """Make `loop` a layer."""
    buffer, clause = layer.placed.buffer, Block()
    at_clause = LocatedBuilder(InsertPoint.at_end(clause), place=place_of(layer.access))
    move = drain if layer.boundary is spad.Boundary.FULL else refill
    move(at_clause, layer.placed)
    at_clause.insert(spad.YieldOp())

    build = LocatedBuilder(InsertPoint.before(loop), place=place_of(loop))
    carried = loop.body.block.last_op
    assert isinstance(carried, scf.YieldOp)
    replace_same(carried, build.insert(spad.YieldOp(*carried.arguments), InsertPoint.before(carried)))

    step = None if constant_integer(loop.step) == 1 else loop.step
    body = Rewriter.move_region_contents_to_new_regions(loop.body)
    formed = spad.LayerOp(loop.lb, loop.ub, step, buffer, loop.iter_args, layer.boundary, body, clause)
    formed.attributes |= loop.attributes
    replace_same(loop, build.insert(formed))


def layers_of(regions: Sequence[Placed]) -> dict[scf.ForOp, Layer]:
    """The loops that become layers; where two regions could have one, the first does."""
    layers: dict[scf.ForOp, Layer] = {}
    for placed in regions:
        for access in placed.region.accesses:
            if (loop := layer_loop(placed.region, access)) is not None:
                layers.setdefault(loop, Layer(placed, access))
    return layers


def stage(regions: Sequence[Placed]) -> None:
    """Let the records of `regions` go through their buffers."""
    layers = layers_of(regions)
    unguarded = {layer.access for layer in layers.values()}
    for placed in regions:
        for record in placed.region.records:
            write(placed, record, guarded=record not in unguarded)
        for replay in placed.region.replays:
            read(placed, replay, guarded=replay not in unguarded)
    for loop, layer in layers.items():
        form_layer(loop, layer)


def alloc_point(create: tape.CreateOp) -> InsertPoint:
    """Behind `create` and the creations that follow it with nothing but the arithmetic of reservations between."""
    last: Operation = create
    op = create.next_op
    while op is not None and (isinstance(op, tape.CreateOp | spad.AllocOp) or is_index_arithmetic(op)):
        last = last if is_index_arithmetic(op) else op
        op = op.next_op
    return InsertPoint.after(last)


def place_region(region: UsedRegion, records: int, copies: int) -> Placed:
    """Give `region` a buffer of `copies` tiles of `records` records."""
    names, types = region.region_type.field_names, region.region_type.field_types
    fields = list(zip((name.data for name in names), types, strict=True))
    build = LocatedBuilder(alloc_point(region.create), place=place_of(region.create))
    buffer_type = spad.BufferType.of(copies, records, fields)
    return Placed(region, build.value(spad.AllocOp(buffer_type), f"spad_{region_name(region.create)}"))


def usable_regions(function: func.FuncOp) -> Iterator[UsedRegion]:
    """The regions of `function` that can go through the scratchpad; a remark on every other tape."""
    for create in function.walk():
        if not isinstance(create, tape.CreateOp):
            continue
        if isinstance(create.tape.type, tape.TapeType):
            remark(f"tape '{region_name(create)}' stays in cache: it is not part of a region", create.location)
        elif (region := used_region(create)) is not None:
            yield region
        elif any(True for _ in create.tape.uses):
            remark(
                f"region '{region_name(create)}' stays in cache: it is passed on, or not both recorded and replayed",
                create.location,
            )


@dataclass(frozen=True)
class SpadFormLayersPass(ModulePass):
    """The records of a region go through a buffer in the scratchpad, and travel by whole tiles."""

    name = "spad-form-layers"

    bytes: int = 1024
    """Size of the whole scratchpad, over all regions and buffers of a function; at least one."""

    buffers: int = 2
    """Copies of each region's tile, in rotation: 1 is a single buffer, 2 double buffering."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Form layers in every function of the module.

        Raises:
            TapeflowError: an option is not positive, a region is laid out `soa`, or no region fits.
        """
        for option, value, hint in (
            ("bytes", self.bytes, "without a scratchpad, leave the pass out"),
            ("buffers", self.buffers, "1 is a single buffer, 2 double buffering"),
        ):
            if value < 1:
                raise TapeflowError(f"spad-form-layers needs {option} of at least 1, not {value}", hint=hint)
        for function in [child for child in op.walk() if isinstance(child, func.FuncOp)]:
            self.form_layers(function)

    def form_layers(self, function: func.FuncOp) -> None:
        """Form the layers of one function."""
        regions = list(usable_regions(function))
        for region in regions:
            check_layout(region)
        demands = [demand_of(region) for region in regions]
        tiles = split(demands, self.bytes, self.buffers)
        if regions and not any(tiles):
            self.refuse(regions, demands)
        for region, demand, records in zip(regions, demands, tiles, strict=True):
            if records == 0:
                remark(
                    f"region '{region_name(region.create)}' stays in cache: it needs {self.least_bytes(demand)} bytes "
                    f"of the scratchpad, whose {self.bytes} go to regions with more traffic",
                    region.create.location,
                )
        stage(
            [
                place_region(region, records, self.buffers)
                for region, records in zip(regions, tiles, strict=True)
                if records > 0
            ]
        )

    def least_bytes(self, demand: Demand) -> int:
        """The least bytes of scratchpad that a region takes, all copies."""
        return demand.least_bursts * BURST_BYTES * self.buffers

    def refuse(self, regions: Sequence[UsedRegion], demands: Sequence[Demand]) -> None:
        """Refuse a scratchpad that is too small for each of `regions`.

        Raises:
            TapeflowError: always; names the region that needs least.
        """
        needs, position = min((self.least_bytes(demand), position) for position, demand in enumerate(demands))
        smallest = regions[position].create
        copies = "buffer" if self.buffers == 1 else "buffers"
        raise TapeflowError(
            f"a scratchpad of {self.bytes} bytes is too small for any region: '{region_name(smallest)}', "
            f"{demands[position].record_bytes} bytes a record, needs {needs} bytes ({self.buffers} {copies} of "
            f"{demands[position].least_bursts * BURST_BYTES})",
            location=smallest.location,
            hint=f"give the scratchpad at least {needs} bytes" + (", or fewer buffers" if self.buffers > 1 else ""),
        )

"""`stream-form-fifos`: blocking transfers of tiles become streams; start is parted from wait.

A region whose records all go through the scratchpad, every transfer waited for at once, becomes a FIFO of its tiles:

- forward, `spad.dma_start` and `spad.dma_wait` become `stream.push`: the tile drains while the next one fills;
- reverse, they become `stream.prefetch` and `stream.pop`: a tile is fetched as soon as its copy is free, ahead of use;
- `stream.close` ends each FIFO where the block that creates it ends, the last created first.

Tapes and regions that stayed in cache are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.block_ends import end_of
from tapeflow.analysis.region_names import bare_name
from tapeflow.analysis.source_names import source_name
from tapeflow.dialects import spad, stream, tape
from tapeflow.transforms.located_builder import LocatedBuilder, place_of


@dataclass(frozen=True)
class Transfer:
    """A transfer of a tile that blocks: a start with the wait right behind it."""

    start: spad.DmaStartOp
    wait: spad.DmaWaitOp


def blocking_transfer(start: spad.DmaStartOp) -> Transfer | None:
    """The transfer that `start` begins, if it is waited for at once."""
    wait = start.next_op
    if isinstance(wait, spad.DmaWaitOp) and wait.buffer is start.buffer:
        return Transfer(start, wait)
    return None


def transfers_of(create: tape.CreateOp) -> Sequence[Transfer]:
    """The transfers to and from the region of `create`; none unless all its uses are transfers that block."""
    transfers: list[Transfer] = []
    for use in create.tape.uses:
        start = use.operation
        transfer = blocking_transfer(start) if isinstance(start, spad.DmaStartOp) else None
        if transfer is None:
            return ()
        transfers.append(transfer)
    both_ways = {transfer.start.is_outward for transfer in transfers} == {True, False}
    return transfers if both_ways else ()


def form_transfer(transfer: Transfer, fifo: SSAValue) -> None:
    """Replace a transfer that blocks by a stream."""
    buffer = transfer.start.buffer
    build = LocatedBuilder(InsertPoint.before(transfer.start), place=place_of(transfer.start))
    if transfer.start.is_outward:
        build.insert(stream.PushOp(buffer, fifo))
    else:
        build.insert(stream.PrefetchOp(buffer, fifo))
        build.insert(stream.PopOp(buffer, fifo))
    for op in (transfer.wait, transfer.start):
        op.detach()
        op.erase()


def form_fifo(create: tape.CreateOp, transfers: Sequence[Transfer]) -> None:
    """Replace the region of `create` by a FIFO of the tiles that `transfers` move, closed where its block ends."""
    tile = transfers[0].start.buffer.type
    assert isinstance(tile, spad.BufferType)
    fields = list(zip((name.data for name in tile.field_names), tile.field_types, strict=True))
    assert create.parent is not None
    build = LocatedBuilder(InsertPoint.before(create), place=place_of(create))
    fifo = build.value(
        stream.CreateOp(stream.FifoType.of(tile.records.data, fields), create.reserve),
        f"fifo_{bare_name(source_name(create.tape) or 'region')}",
    )
    for transfer in transfers:
        form_transfer(transfer, fifo)
    build.insert(stream.CloseOp(fifo), end_of(create.parent))
    create.detach()
    create.erase()


@dataclass(frozen=True)
class StreamFormFifosPass(ModulePass):
    """Blocking transfers of tiles become streams; start is parted from wait."""

    name = "stream-form-fifos"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Form a FIFO of every region in the module whose records all travel by tiles."""
        creates = [child for child in op.walk() if isinstance(child, tape.CreateOp)]
        # From the last to the first, since each close goes behind those that are there already.
        for create in reversed(creates):
            if transfers := transfers_of(create):
                form_fifo(create, transfers)

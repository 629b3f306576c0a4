"""The stream dialect: how a region travels.

A `!stream.fifo<64 x {c: i1}>` is the home in DRAM of one region, moved in tiles of 64 records by a DMA engine that
works while the datapath computes: start is parted from wait. From the program it is a stack of tiles; within one
sweep the engine serves it as a queue.

```mlir
%fifo_j = stream.create reserve %nm : !stream.fifo<64 x {c: i1}>

stream.push %spad_j into %fifo_j : !spad.buffer<2 x 64 x {c: i1}>      // forward sweep, current tile full

stream.prefetch %spad_j from %fifo_j : !spad.buffer<2 x 64 x {c: i1}>  // reverse sweep, current tile empty
stream.pop %spad_j from %fifo_j : !spad.buffer<2 x 64 x {c: i1}>

stream.close %fifo_j : !stream.fifo<64 x {c: i1}>
```

**The tiles**, for a buffer of B copies, tile t in copy t mod B (see the spad dialect):
- `push`: the current tile t is full. Start to drain it onto the FIFO, make tile t + 1 current and empty; wait only if
  the copy that tile t + 1 takes still drains.
- `prefetch`: the current tile t is empty. Start to fetch tile t - B into the copy just emptied, unless t < B.
- `pop`: make tile t - 1 current; wait only if it is still on its way. It follows a `prefetch`.
  A tile stays in the FIFO until `pop` makes it current: so the sweeps may turn at any time, and what was fetched ahead
  in vain is fetched again.
- `close`: nothing is left, neither in the FIFO nor in flight.

At the turn-around tiles t - 1 to t - B + 1 are still on chip and are never fetched: of P tiles pushed,
P - min(B - 1, P) are fetched. That every push is matched is asserted where it runs (interpreter, model, debug builds);
the verifier checks what is local, that a FIFO that is read is written too and that its buffers agree on the tile.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntAttr
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    ParamAttrConstraint,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tapeflow.dialects.handle import CreatesHandle, HandleType, MovesHandle, OrderedOp
from tapeflow.dialects.record import (
    FieldNames,
    FieldTypes,
    named_fields,
    parse_extent,
    parse_record,
    print_record,
    record_bytes,
    verify_record,
)
from tapeflow.dialects.spad import BufferType


@irdl_attr_definition
class FifoType(HandleType):
    """A stack of tiles of `records` records in DRAM: `!stream.fifo<64 x {c: i1}>`."""

    name = "stream.fifo"

    records: IntAttr
    field_names: FieldNames
    field_types: FieldTypes

    @staticmethod
    def of(records: int, fields: Sequence[tuple[str, Attribute]]) -> FifoType:
        """The FIFO type with tiles of `records` records of these named fields."""
        return FifoType(IntAttr(records), *named_fields(fields))

    @property
    def record_bytes(self) -> int:
        """Bytes of one record."""
        return record_bytes(self.field_types.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<64 x {c: i1}>`."""
        with parser.in_angle_brackets():
            records = parse_extent(parser)
            names, types = parse_record(parser)
        return IntAttr(records), names, types

    def print_parameters(self, printer: Printer) -> None:
        """Print `<64 x {c: i1}>`."""
        with printer.in_angle_brackets():
            printer.print_string(f"{self.records.data} x ")
            print_record(printer, self.field_names, self.field_types)

    def verify(self) -> None:
        """A tile holds at least one record, and the fields form a record."""
        if self.records.data < 1:
            raise VerifyException(f"a tile needs at least one record, not {self.records.data}")
        verify_record(self.field_names, self.field_types)


@irdl_op_definition
class CreateOp(IRDLOperation):
    """Make an empty FIFO; `reserve` bounds the number of records that are ever pushed into it from above."""

    name = "stream.create"

    reserve = opt_operand_def(IndexType)
    fifo = result_def(FifoType)

    traits = traits_def(CreatesHandle())
    assembly_format = "(`reserve` $reserve^)? attr-dict `:` type($fifo)"

    def __init__(self, fifo_type: FifoType, reserve: SSAValue | None = None):
        super().__init__(operands=[reserve], result_types=[fifo_type])

    def verify_(self) -> None:
        """A FIFO that is read is written too, and one that is used is closed or handed on."""
        users = [use.operation for use in self.fifo.uses]
        if any(not isinstance(user, PushOp | PopOp | PrefetchOp | CloseOp) for user in users):
            return  # handed on: who takes it may do the rest
        pushed = any(isinstance(user, PushOp) for user in users)
        popped = any(isinstance(user, PopOp) for user in users)
        closed = any(isinstance(user, CloseOp) for user in users)
        if popped and not pushed:
            raise VerifyException("this FIFO is popped, but nothing is ever pushed into it")
        if pushed and not popped:
            raise VerifyException("this FIFO is pushed into, but never popped: what it holds is lost")
        if users and not closed:
            raise VerifyException("this FIFO is used, but never closed: nothing says that it ends empty")


_RECORDS: AttrConstraint = VarConstraint("Records", AnyAttr())
_NAMES: AttrConstraint = VarConstraint("Names", AnyAttr())
_TYPES: AttrConstraint = VarConstraint("Types", AnyAttr())
_BUFFER = ParamAttrConstraint(BufferType, (AnyAttr(), _RECORDS, _NAMES, _TYPES))
_FIFO = ParamAttrConstraint(FifoType, (_RECORDS, _NAMES, _TYPES))
"""Ties the tile of a FIFO to the tile of the buffer it is moved through."""


class TileMove(OrderedOp, ABC):
    """A move of a tile between `buffer` and `fifo`."""

    buffer = operand_def(_BUFFER)
    fifo = operand_def(_FIFO)

    traits = traits_def(MovesHandle())

    def __init__(self, buffer: SSAValue, fifo: SSAValue):
        super().__init__(operands=[buffer, fifo])


@irdl_op_definition
class PushOp(TileMove):
    """Start to drain the current, full tile of `buffer`, and turn to the next copy."""

    name = "stream.push"

    assembly_format = "$buffer `into` $fifo attr-dict `:` type($buffer)"


@irdl_op_definition
class PrefetchOp(TileMove):
    """Start to fetch, into the copy just emptied, the tile that it will hold next."""

    name = "stream.prefetch"

    assembly_format = "$buffer `from` $fifo attr-dict `:` type($buffer)"


@irdl_op_definition
class PopOp(TileMove):
    """Turn to the tile below; wait only if it is still on its way."""

    name = "stream.pop"

    assembly_format = "$buffer `from` $fifo attr-dict `:` type($buffer)"


@irdl_op_definition
class CloseOp(OrderedOp):
    """The end of a FIFO: nothing is left in it, or the machine says so."""

    name = "stream.close"

    fifo = operand_def(FifoType)

    traits = traits_def(MovesHandle())
    assembly_format = "$fifo attr-dict `:` type($fifo)"

    def __init__(self, fifo: SSAValue):
        super().__init__(operands=[fifo])


Stream = Dialect("stream", [CreateOp, PushOp, PrefetchOp, PopOp, CloseOp], [FifoType])

"""The spad dialect: where a record sits on chip.

A `!spad.buffer<2 x 64 x {c: i1}>` is a place in the scratchpad for two tiles of 64 records. It is a window on the top
of a stack of tiles: tile t lives in copy t mod 2. Records are written onto the current tile and read off it again,
last in, first out; only whole tiles travel between the scratchpad and the home of the region in DRAM.

```mlir
%spad_j = spad.alloc : !spad.buffer<2 x 64 x {c: i1}>

%t = spad.layer %j = %c0 to %m in %spad_j : !spad.buffer<2 x 64 x {c: i1}> iter_args(%t_j = %one) -> (f64) {
  ...
  spad.write %c onto %spad_j : !spad.buffer<2 x 64 x {c: i1}>
  spad.yield %t_new : f64
} when full {
  spad.dma_start %spad_j to %tape_j : !spad.buffer<2 x 64 x {c: i1}> to !tape.region<{c: i1}, aos>
  spad.dma_wait %spad_j : !spad.buffer<2 x 64 x {c: i1}>
}
```

**The tiles.** A buffer of B copies starts at tile 0, current and empty.
- `write` adds a record to the current tile, which must not be full; `read` takes the newest off, which must not be
  empty.
- Outward, `dma_start %buffer to %home` starts to drain the current tile, which must be full, onto the home, and makes
  the next tile current and empty. The tile that was drained stays readable on chip until its copy is needed again.
- Inward, `dma_start %home to %buffer` is for an empty current tile t and makes tile t - 1 current. It is fetched from
  the home unless it is still on chip, which at the turn-around the last B - 1 pushed tiles are.
- `dma_wait` returns when every transfer of the buffer has ended; no record of a copy in flight may be touched before.

So of P tiles pushed, P - min(B - 1, P) are fetched, and the partial tile at the turn-around never travels.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayOfConstraint, IndexType, IntAttr, i1
from xdsl.dialects.utils import AbstractYieldOperation, EnumAttribute, parse_assignment, print_assignment
from xdsl.ir import Attribute, Block, Dialect, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    MessageConstraint,
    ParamAttrConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tapeflow.dialects.handle import (
    AsksHandle,
    CreatesHandle,
    HandleType,
    MovesHandle,
    OrderedOp,
    verify_not_in_parallel,
)
from tapeflow.dialects.record import (
    FIELD_TYPES,
    FieldNames,
    FieldTypes,
    named_fields,
    parse_extent,
    parse_record,
    print_record,
    record_bytes,
    verify_record,
)
from tapeflow.dialects.tape import Layout, RegionType


@irdl_attr_definition
class BufferType(HandleType):
    """A place on chip for `copies` tiles of `records` records: `!spad.buffer<2 x 64 x {c: i1}>`."""

    name = "spad.buffer"

    copies: IntAttr
    records: IntAttr
    field_names: FieldNames
    field_types: FieldTypes

    @staticmethod
    def of(copies: int, records: int, fields: Sequence[tuple[str, Attribute]]) -> BufferType:
        """The buffer type with these extents and named fields."""
        return BufferType(IntAttr(copies), IntAttr(records), *named_fields(fields))

    @property
    def record_bytes(self) -> int:
        """Bytes of one record."""
        return record_bytes(self.field_types.data)

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile, that is of one copy."""
        return self.records.data * self.record_bytes

    @property
    def total_bytes(self) -> int:
        """Bytes that the buffer takes of the scratchpad, all copies."""
        return self.copies.data * self.tile_bytes

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<2 x 64 x {c: i1}>`."""
        with parser.in_angle_brackets():
            copies, records = parse_extent(parser), parse_extent(parser)
            names, types = parse_record(parser)
        return IntAttr(copies), IntAttr(records), names, types

    def print_parameters(self, printer: Printer) -> None:
        """Print `<2 x 64 x {c: i1}>`."""
        with printer.in_angle_brackets():
            printer.print_string(f"{self.copies.data} x {self.records.data} x ")
            print_record(printer, self.field_names, self.field_types)

    def verify(self) -> None:
        """There is room for at least one record, and the fields form a record."""
        if self.copies.data < 1:
            raise VerifyException(f"a buffer needs at least one copy, not {self.copies.data}")
        if self.records.data < 1:
            raise VerifyException(f"a tile needs at least one record, not {self.records.data}")
        verify_record(self.field_names, self.field_types)


_ANY_BUFFER = ParamAttrConstraint(BufferType, (AnyAttr(), AnyAttr(), AnyAttr(), ArrayOfConstraint(FIELD_TYPES)))


@irdl_op_definition
class AllocOp(IRDLOperation):
    """Take a buffer's bytes of the scratchpad; the buffer starts empty."""

    name = "spad.alloc"

    buffer = result_def(BufferType)

    traits = traits_def(CreatesHandle())
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, buffer_type: BufferType):
        super().__init__(result_types=[buffer_type])


@irdl_op_definition
class WriteOp(OrderedOp):
    """Add a record, a value for each field, to the current tile, which is not full."""

    name = "spad.write"

    values = var_operand_def(FIELD_TYPES)
    buffer = operand_def(_ANY_BUFFER)

    traits = traits_def(MovesHandle())
    assembly_format = "$values `onto` $buffer attr-dict `:` type($buffer)"

    def __init__(self, values: Sequence[SSAValue], buffer: SSAValue):
        super().__init__(operands=[values, buffer])


@irdl_op_definition
class ReadOp(OrderedOp):
    """Take the newest record off the current tile, which is not empty: a value for each field."""

    name = "spad.read"

    buffer = operand_def(_ANY_BUFFER)
    values = var_result_def(FIELD_TYPES)

    traits = traits_def(MovesHandle())
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue):
        assert isinstance(buffer.type, BufferType)
        super().__init__(operands=[buffer], result_types=[buffer.type.field_types.data])


class TileTest(OrderedOp, ABC):
    """A question about the current tile: an i1."""

    buffer = operand_def(BufferType)
    answer = result_def(i1)

    traits = traits_def(AsksHandle())
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue):
        super().__init__(operands=[buffer], result_types=[i1])


@irdl_op_definition
class FullOp(TileTest):
    """Whether the current tile has no room for another record."""

    name = "spad.full"


@irdl_op_definition
class EmptyOp(TileTest):
    """Whether the current tile has no record left."""

    name = "spad.empty"


_BUFFER_OR_HOME = MessageConstraint(
    BaseAttr(BufferType) | BaseAttr(RegionType), "a transfer is between a !spad.buffer and a !tape.region"
)


@irdl_op_definition
class DmaStartOp(IRDLOperation):
    """Start to move the current tile from a buffer to its home, or the tile below from the home to the buffer.

    The direction is told by the types: one side is a `!spad.buffer`, the other an `aos` region of the same record.
    What is current afterwards stands at the top of this file.
    """

    name = "spad.dma_start"

    source = operand_def(_BUFFER_OR_HOME)
    destination = operand_def(_BUFFER_OR_HOME)

    traits = traits_def(MovesHandle())
    assembly_format = "$source `to` $destination attr-dict `:` type($source) `to` type($destination)"

    def __init__(self, source: SSAValue, destination: SSAValue):
        super().__init__(operands=[source, destination])

    @property
    def is_outward(self) -> bool:
        """Whether the tile moves from the scratchpad to its home."""
        return isinstance(self.source.type, BufferType)

    @property
    def buffer(self) -> SSAValue:
        """The side in the scratchpad."""
        return self.source if self.is_outward else self.destination

    @property
    def home(self) -> SSAValue:
        """The side in DRAM."""
        return self.destination if self.is_outward else self.source

    def verify_(self) -> None:
        """One side is a buffer, the other an aos region of the same record; the order of tiles counts on both."""
        buffer, home = self.buffer.type, self.home.type
        if not isinstance(buffer, BufferType) or not isinstance(home, RegionType):
            raise VerifyException("a transfer has a !spad.buffer on one side and a !tape.region on the other")
        if home.layout.data is not Layout.AOS:
            raise VerifyException("only an aos region can be moved by tiles: its records lie side by side")
        if (buffer.field_names, buffer.field_types) != (home.field_names, home.field_types):
            raise VerifyException(f"the buffer's record differs from its home's: {buffer} and {home}")
        for handle in self.operands:
            verify_not_in_parallel(self, handle)


@irdl_op_definition
class DmaWaitOp(OrderedOp):
    """Wait until every transfer of `buffer` has ended."""

    name = "spad.dma_wait"

    buffer = operand_def(BufferType)

    traits = traits_def(MovesHandle())
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue):
        super().__init__(operands=[buffer])


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """End an iteration of a layer with the values it carries to the next, or end a layer's clause."""

    name = "spad.yield"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(LayerOp)))


class Boundary(StrEnum):
    """What cuts a layer."""

    FULL = "full"
    """The forward sweep's: cut after an iteration that leaves the buffer full."""

    EMPTY = "empty"
    """The reverse sweep's: cut before an iteration that finds the buffer empty."""


@irdl_attr_definition
class BoundaryAttr(EnumAttribute[Boundary], SpacedOpaqueSyntaxAttribute):
    """`full` or `empty`."""

    name = "spad.boundary"


@irdl_op_definition
class LayerOp(IRDLOperation):
    """A counted loop that records once an iteration, run in layers: stretches that fit the current tile.

    It means a loop over `lb`, `lb + step`, ... below `ub` (`step` is positive, 1 when not given) that carries
    `iter_args`, in which
    - `when full`: after each iteration, the clause runs if the buffer is full;
    - `when empty`: before each iteration, the clause runs if the buffer is empty.

    Since the body moves the buffer by exactly one record an iteration, the number of iterations up to the next cut is
    known when a layer begins, so no test is needed inside of it: this is what the op says that a guarded loop does not.
    """

    name = "spad.layer"

    lb = operand_def(IndexType)
    ub = operand_def(IndexType)
    step = opt_operand_def(IndexType)
    buffer = operand_def(BufferType)
    iter_args = var_operand_def()

    res = var_result_def()

    boundary = prop_def(BoundaryAttr)

    body = region_def("single_block")
    clause = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp), RecursiveMemoryEffect())

    def __init__(
        self,
        lb: SSAValue,
        ub: SSAValue,
        step: SSAValue | None,
        buffer: SSAValue,
        iter_args: Sequence[SSAValue],
        boundary: Boundary,
        body: Region | Block,
        clause: Region | Block,
    ):
        super().__init__(
            operands=[lb, ub, step, buffer, iter_args],
            result_types=[[argument.type for argument in iter_args]],
            properties={"boundary": BoundaryAttr(boundary)},
            regions=[Region(part) if isinstance(part, Block) else part for part in (body, clause)],
        )
        for trait in self.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(self, trait)

    @property
    def induction_variable(self) -> SSAValue:
        """The loop's counter, first argument of the body."""
        return self.body.block.args[0]

    def verify_(self) -> None:
        """The body takes the counter and what is carried, yields what is carried, and records exactly once."""
        carried = [argument.type for argument in self.iter_args]
        if [argument.type for argument in self.body.block.args] != [IndexType(), *carried]:
            raise VerifyException(
                "the body of a layer takes the counter (index) and then what is carried: "
                f"({', '.join(str(type_) for type_ in [IndexType(), *carried])})"
            )
        if [result.type for result in self.res] != carried:
            raise VerifyException("the results of a layer have the types of what it carries")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or [value.type for value in last.arguments] != carried:
            raise VerifyException(f"the body of a layer ends with spad.yield of ({', '.join(map(str, carried))})")
        if self.clause.block.args:
            raise VerifyException("the clause of a layer takes no arguments")
        end = self.clause.block.last_op
        if not isinstance(end, YieldOp) or end.arguments:
            raise VerifyException("the clause of a layer yields nothing")
        self._verify_one_record()

    def _verify_one_record(self) -> None:
        mover = WriteOp if self.boundary.data is Boundary.FULL else ReadOp
        uses = [
            use.operation for use in self.buffer.uses if self.is_ancestor(use.operation) and use.operation is not self
        ]
        in_body = [op for op in uses if self.body.block.is_ancestor(op)]
        records = [op for op in in_body if isinstance(op, WriteOp | ReadOp)]
        if len(records) != 1 or type(records[0]) is not mover or records[0].parent is not self.body.block:
            raise VerifyException(
                f"a layer cut when {self.boundary.data} has exactly one {mover.name} of its buffer in its body, "
                "outside of any loop or branch there"
            )
        if not all(isinstance(op, WriteOp | ReadOp | FullOp | EmptyOp) for op in in_body):
            raise VerifyException("the tiles of a layer's buffer move in its clause, not in its body")
        if any(isinstance(op, WriteOp | ReadOp) for op in uses if op not in in_body):
            raise VerifyException("the clause of a layer moves tiles, not records")

    def print(self, printer: Printer) -> None:
        """Print `%j = %lb to %ub step %s in %buffer : type iter_args(...) -> (...) {...} when full {...}`."""
        counter, *carried = self.body.block.args
        printer.print_string(" ")
        printer.print_ssa_value(counter)
        printer.print_string(" = ")
        printer.print_ssa_value(self.lb)
        printer.print_string(" to ")
        printer.print_ssa_value(self.ub)
        if self.step is not None:
            printer.print_string(" step ")
            printer.print_ssa_value(self.step)
        printer.print_string(" in ")
        printer.print_ssa_value(self.buffer)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        if carried:
            printer.print_string(" iter_args(")
            printer.print_list(zip(carried, self.iter_args, strict=True), lambda pair: print_assignment(printer, *pair))
            printer.print_string(") -> (")
            printer.print_list((argument.type for argument in carried), printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=bool(carried))
        printer.print_string(f" when {self.boundary.data} ")
        printer.print_region(self.clause, print_block_terminators=False)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> LayerOp:
        """Parse what `print` prints."""
        counter = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lb = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        ub = parser.parse_unresolved_operand()
        step = parser.parse_unresolved_operand() if parser.parse_optional_keyword("step") else None
        parser.parse_keyword("in")
        buffer = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        buffer_type = parser.parse_type()

        position = parser.pos
        arguments: list[Parser.UnresolvedArgument] = []
        initial: list[UnresolvedOperand] = []
        carried: list[Attribute] = []
        if parser.parse_optional_keyword("iter_args"):
            for argument, operand in parser.parse_comma_separated_list(
                Parser.Delimiter.PAREN, lambda: parse_assignment(parser)
            ):
                arguments.append(argument)
                initial.append(operand)
            parser.parse_punctuation("->")
            carried = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        iter_args = parser.resolve_operands(initial, carried, position)
        body = parser.parse_region(
            (
                counter.resolve(IndexType()),
                *(argument.resolve(type_) for argument, type_ in zip(arguments, carried, strict=True)),
            )
        )
        parser.parse_keyword("when")
        boundary = parser.parse_str_enum(Boundary)
        clause = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        layer = cls(
            parser.resolve_operand(lb, IndexType()),
            parser.resolve_operand(ub, IndexType()),
            None if step is None else parser.resolve_operand(step, IndexType()),
            parser.resolve_operand(buffer, buffer_type),
            iter_args,
            boundary,
            body,
            clause,
        )
        layer.attributes |= attributes
        return layer


Spad = Dialect(
    "spad",
    [AllocOp, WriteOp, ReadOp, FullOp, EmptyOp, LayerOp, YieldOp, DmaStartOp, DmaWaitOp],
    [BufferType, BoundaryAttr],
)

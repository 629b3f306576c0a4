"""The tape dialect: what is remembered.

Reverse mode pushes forward values and pops them backwards. A `!tape.tape` remembers one value a push; a
`!tape.region` remembers a record, the values that are pushed in one block and popped in its mirror. Both are stacks
of unbounded height, and handles: the cursor lives inside. `reserve` says how many pushes there can be at most, so
that memory is had once, at entry; without it the tape grows by chunks that never move.

```mlir
%tape_t = tape.create reserve %n : !tape.tape<f64>
scf.for %i = %c0 to %n step %c1 {
  tape.push %t onto %tape_t : !tape.tape<f64>
}
scf.for %i_r = %c0 to %n step %c1 {
  %t = tape.pop %tape_t : !tape.tape<f64>
}

%tape_j = tape.create reserve %nm : !tape.region<{t: f64, c: i1}, aos>
tape.record %t, %c onto %tape_j : !tape.region<{t: f64, c: i1}, aos>
%t_1, %c_1 = tape.replay %tape_j : !tape.region<{t: f64, c: i1}, aos>
```

The layout of a region is `aos`, records side by side, or `soa`, an array a field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayOfConstraint, IndexType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Dialect, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    MessageConstraint,
    ParamAttrConstraint,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait
from xdsl.utils.str_enum import StrEnum

from tapeflow.dialects.handle import CreatesHandle, HandleType, MovesHandle, OrderedOp
from tapeflow.dialects.record import (
    FIELD_TYPES,
    FieldNames,
    FieldTypes,
    field_bytes,
    named_fields,
    parse_record,
    print_record,
    record_bytes,
    verify_record,
)


class Layout(StrEnum):
    """How the records of a region lie in memory."""

    AOS = "aos"
    """Array of structs: the fields of one record side by side."""

    SOA = "soa"
    """Struct of arrays: an array for each field."""


@irdl_attr_definition
class LayoutAttr(EnumAttribute[Layout], SpacedOpaqueSyntaxAttribute):
    """`aos` or `soa`."""

    name = "tape.layout"


@irdl_attr_definition
class TapeType(HandleType):
    """A stack of values of one type: `!tape.tape<f64>`."""

    name = "tape.tape"

    element_type: Attribute

    def verify(self) -> None:
        """Only scalars are remembered."""
        field_bytes(self.element_type)


@irdl_attr_definition
class RegionType(HandleType):
    """A stack of records: `!tape.region<{t: f64, c: i1}, aos>`."""

    name = "tape.region"

    field_names: FieldNames
    field_types: FieldTypes
    layout: LayoutAttr

    @staticmethod
    def of(fields: Sequence[tuple[str, Attribute]], layout: Layout) -> RegionType:
        """The region type with these named fields, in this order."""
        return RegionType(*named_fields(fields), LayoutAttr(layout))

    @property
    def record_bytes(self) -> int:
        """Bytes that one record takes in memory: of a struct in `aos`, of the bare fields in `soa`."""
        if self.layout.data is Layout.SOA:
            return sum(field_bytes(field_type) for field_type in self.field_types)
        return record_bytes(self.field_types.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<{t: f64}, aos>`."""
        with parser.in_angle_brackets():
            names, types = parse_record(parser)
            parser.parse_punctuation(",")
            layout = LayoutAttr(parser.parse_str_enum(Layout))
        return names, types, layout

    def print_parameters(self, printer: Printer) -> None:
        """Print `<{t: f64}, aos>`."""
        with printer.in_angle_brackets():
            print_record(printer, self.field_names, self.field_types)
            printer.print_string(f", {self.layout.data}")

    def verify(self) -> None:
        """The fields form a record."""
        verify_record(self.field_names, self.field_types)


_ANY_REGION = ParamAttrConstraint(RegionType, (AnyAttr(), ArrayOfConstraint(FIELD_TYPES), AnyAttr()))


class CreateOpCanonicalization(HasCanonicalizationPatternsTrait):
    """Canonicalization of `tape.create`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The patterns of this file that start at a creation."""
        return (ForgetWhatNobodyRecalls(),)


@irdl_op_definition
class CreateOp(IRDLOperation):
    """Make an empty tape or region; `reserve` bounds the number of pushes onto it from above."""

    name = "tape.create"

    reserve = opt_operand_def(IndexType)
    tape = result_def(
        MessageConstraint(
            BaseAttr(TapeType) | BaseAttr(RegionType), "what is created is a !tape.tape or a !tape.region"
        )
    )

    traits = traits_def(CreatesHandle(), CreateOpCanonicalization())
    assembly_format = "(`reserve` $reserve^)? attr-dict `:` type($tape)"

    def __init__(self, tape_type: TapeType | RegionType, reserve: SSAValue | None = None):
        super().__init__(operands=[reserve], result_types=[tape_type])


@irdl_op_definition
class PushOp(OrderedOp):
    """Remember `value` on top of `tape`."""

    name = "tape.push"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    tape = operand_def(ParamAttrConstraint(TapeType, (T,)))

    traits = traits_def(MovesHandle())
    assembly_format = "$value `onto` $tape attr-dict `:` type($tape)"

    def __init__(self, value: SSAValue, tape: SSAValue):
        super().__init__(operands=[value, tape])


@irdl_op_definition
class PopOp(OrderedOp):
    """Take the newest value off `tape`."""

    name = "tape.pop"

    T: ClassVar = VarConstraint("T", AnyAttr())

    tape = operand_def(ParamAttrConstraint(TapeType, (T,)))
    value = result_def(T)

    traits = traits_def(MovesHandle())
    assembly_format = "$tape attr-dict `:` type($tape)"

    def __init__(self, tape: SSAValue):
        assert isinstance(tape.type, TapeType)
        super().__init__(operands=[tape], result_types=[tape.type.element_type])


@irdl_op_definition
class RecordOp(OrderedOp):
    """Remember one record, a value for each field, on top of `region`."""

    name = "tape.record"

    values = var_operand_def(FIELD_TYPES)
    region = operand_def(_ANY_REGION)

    traits = traits_def(MovesHandle())
    assembly_format = "$values `onto` $region attr-dict `:` type($region)"

    def __init__(self, values: Sequence[SSAValue], region: SSAValue):
        super().__init__(operands=[values, region])


@irdl_op_definition
class ReplayOp(OrderedOp):
    """Take the newest record off `region`: a value for each field."""

    name = "tape.replay"

    region = operand_def(_ANY_REGION)
    values = var_result_def(FIELD_TYPES)

    traits = traits_def(MovesHandle())
    assembly_format = "$region attr-dict `:` type($region)"

    def __init__(self, region: SSAValue):
        assert isinstance(region.type, RegionType)
        super().__init__(operands=[region], result_types=[region.type.field_types.data])


class ForgetWhatNobodyRecalls(RewritePattern):
    """A tape that is only ever written is forgotten, pushes and all."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CreateOp, rewriter: PatternRewriter) -> None:
        """Erase `op` and its writers when every use is a push or record onto it."""
        users = [use.operation for use in op.tape.uses]
        if all(isinstance(user, PushOp | RecordOp) for user in users):
            for user in users:
                rewriter.erase(user)
            rewriter.erase(op)


Tape = Dialect(
    "tape",
    [CreateOp, PushOp, PopOp, RecordOp, ReplayOp],
    [LayoutAttr, TapeType, RegionType],
)

"""Values of a function as C expressions: names where they have one, else the operations that compute them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tapeflow.backend import c_expressions as c
from tapeflow.backend.c_arrays import CArray, Extent, ExtentParameter, root_of, subview_dimensions
from tapeflow.backend.c_expressions import Expression
from tapeflow.backend.c_loops import Linear, integer_constant
from tapeflow.backend.c_names import Scope
from tapeflow.backend.c_plan import Plan
from tapeflow.backend.c_regions import CRegion
from tapeflow.backend.c_types import c_type
from tapeflow.backend.c_variables import Variable
from tapeflow.dialects import spad

_COUNT_BITS = 63
"""The most bits that the magnitude of a `ptrdiff_t` can have."""


@dataclass
class Values:
    """The expressions of one function's values, and the names given so far."""

    plan: Plan
    scope: Scope
    arguments: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    extras: dict[ExtentParameter, str] = field(default_factory=dict[ExtentParameter, str])
    arrays: dict[CArray, str] = field(default_factory=dict[CArray, str])
    regions: dict[CRegion, str] = field(default_factory=dict[CRegion, str])
    structs: dict[CRegion, str] = field(default_factory=dict[CRegion, str])
    records: dict[Operation, str] = field(default_factory=dict[Operation, str])
    loops: dict[Operation, str] = field(default_factory=dict[Operation, str])
    conditions: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """What the branches printed so far depend on."""

    variables: dict[Variable, str] = field(default_factory=dict[Variable, str])
    printed: list[Operation] = field(default_factory=list[Operation])
    """The operations printed since this was last emptied."""

    _bits: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    @contextmanager
    def inner_scope(self) -> Generator[None]:
        """Names taken within the `with` block are free again behind it."""
        outer = self.scope
        self.scope = outer.inner()
        try:
            yield
        finally:
            self.scope = outer

    def take_printed(self) -> list[Operation]:
        """The operations printed since the last call."""
        printed, self.printed = self.printed, []
        return printed

    def of(self, value: SSAValue) -> Expression:
        """`value` as an expression."""
        reads = self.plan.reads
        if (loop := reads.loop_of.get(value)) is not None:
            return c.name(self.loops[loop], c_type(value.type))
        if (variable := self.plan.variables.of.get(value)) is not None:
            return c.name(self.variables[variable], c_type(value.type))
        if isinstance(value, BlockArgument):
            return c.name(self.arguments[value], c_type(value.type, value.location))
        assert isinstance(value, OpResult)
        if reads.is_field(value):
            region = reads.regions.of(value.op.operands[0])
            return c.name(f"{self.records[value.op]}.{self.field(region, value.index)}", c_type(value.type))
        return self.computed(value.op)

    def computed(self, op: Operation) -> Expression:
        """The expression of a pure operation, operands and all."""
        self.printed.append(op)
        match op:
            case memref.DimOp():
                return self.extent(self.plan.arrays.extent(op))
            case spad.FullOp() | spad.EmptyOp():
                return c.name(self.question(op), "bool")
            case arith.AddiOp() | arith.MuliOp() if op in self.plan.entry.counts and self._may_overflow(op):
                function = "tf_times" if isinstance(op, arith.MuliOp) else "tf_plus"
                return c.call(function, "ptrdiff_t", *(self.of(operand) for operand in op.operands))
            case _:
                return c.expression(op, [self.of(operand) for operand in op.operands])

    def question(self, op: spad.FullOp | spad.EmptyOp) -> str:
        """`TF_FULL(tape_j)` or `TF_EMPTY(tape_j)`."""
        macro = "TF_FULL" if isinstance(op, spad.FullOp) else "TF_EMPTY"
        return f"{macro}({self.regions[self.plan.regions.of(op.buffer)]})"

    def field(self, region: CRegion, index: int) -> str:
        """The C name of a field of the record of `region`."""
        return field_names(region)[index]

    # Counts

    def _may_overflow(self, op: arith.AddiOp | arith.MuliOp) -> bool:
        a, b = (self._bits_of(operand) for operand in op.operands)
        return (a + b if isinstance(op, arith.MuliOp) else max(a, b) + 1) > _COUNT_BITS

    def _bits_of(self, value: SSAValue) -> int:
        """How many bits the magnitude of a count may take; more than `_COUNT_BITS` if not known."""
        if value not in self._bits:
            self._bits[value] = self._count_bits(value)
        return self._bits[value]

    def _count_bits(self, value: SSAValue) -> int:
        if (constant := integer_constant(value)) is not None:
            return abs(constant).bit_length()
        if not isinstance(value, OpResult):
            return 31 if value.type == i32 else 64
        operands = [self._bits_of(operand) for operand in value.op.operands]
        match value.op:
            case arith.MuliOp():
                return sum(operands)
            case arith.AddiOp() | arith.SubiOp():
                return max(operands) + 1
            case arith.DivSIOp() | arith.DivUIOp() | arith.FloorDivSIOp() | arith.CeilDivSIOp():
                return operands[0]
            case arith.MaxSIOp() | arith.MinSIOp() | arith.IndexCastOp() | arith.ExtSIOp():
                return max(operands)
            case arith.SelectOp():
                return max(operands[1:])
            case _:
                return 64

    # Addresses

    def extent(self, extent: Extent) -> Expression:
        """The extent of an array."""
        match extent:
            case int():
                return c.integer(extent)
            case SSAValue():
                return c.meaning("ptrdiff_t", self.of(extent))
            case ExtentParameter():
                return c.name(self.extras[extent], "ptrdiff_t")
            case None:
                return c.name("TF_ANY_COUNT", "ptrdiff_t")

    def count(self, array: CArray) -> Expression:
        """The number of elements of an array."""
        if None in array.extents:
            return self.extent(None)
        total, bits = c.integer(1), 0
        for extent in array.extents:
            size = self.extent(extent)
            bits += self._extent_bits(extent)
            # The caller has an argument; a local array may turn out to be larger than memory.
            if bits > _COUNT_BITS and array.place == "arena" and total.literal != 1:
                total = c.call("tf_times", "ptrdiff_t", total, size)
            else:
                total = c.multiply(total, size)
        return total

    def _extent_bits(self, extent: Extent) -> int:
        if isinstance(extent, int):
            return extent.bit_length()
        return self._bits_of(extent) if isinstance(extent, SSAValue) else 64

    def subscript(self, array: SSAValue, indices: Sequence[SSAValue]) -> Expression:
        """The place of an element in the flat array that `array` is a view of."""
        places = [self.of(index) for index in indices]
        while isinstance(array, OpResult) and isinstance(array.op, memref.CastOp | memref.SubviewOp):
            if isinstance(array.op, memref.SubviewOp):
                places = self._in_source(array.op, places)
            array = SSAValue.get(array.op.source)
        extents = self.plan.arrays.of(array).extents
        flat = c.integer(0)
        for place, extent in zip(places, extents, strict=True):
            if flat.literal != 0:
                flat = c.multiply(flat, self.extent(extent))
            flat = c.add(flat, place)
        return flat

    def _in_source(self, op: memref.SubviewOp, places: Sequence[Expression]) -> list[Expression]:
        remaining = iter(places)
        result: list[Expression] = []
        for dimension in subview_dimensions(op):
            place = self._number(dimension.offset)
            if not dimension.dropped:
                place = c.add(place, c.multiply(next(remaining), self._number(dimension.stride)))
            result.append(place)
        return result

    def _number(self, number: int | SSAValue) -> Expression:
        return c.integer(number) if isinstance(number, int) else self.of(number)

    def array(self, value: SSAValue) -> str:
        """The C name of the array that `value` is a view of."""
        return self.arrays[self.plan.arrays.of_root[root_of(value)]]

    def linear(self, form: Linear, ctype: str) -> Expression:
        """A sum of values, those that are added first."""
        total: Expression | None = None
        for atom, coefficient in sorted(form.terms.items(), key=lambda term: term[1] < 0):
            term = c.multiply(c.integer(abs(coefficient)), c.meaning(ctype, self.of(atom)))
            if total is not None:
                total = c.infix("-" if coefficient < 0 else "+", c.SUM, ctype, total, term)
            else:
                total = term if coefficient > 0 else c.infix("-", c.SUM, ctype, c.integer(0), term)
        return c.integer(form.constant) if total is None else c.add(total, c.integer(form.constant))

    def name(self, wanted: str) -> str:
        """A name like `wanted` that is free here."""
        return self.scope.take(wanted)


def field_names(region: CRegion) -> list[str]:
    """The C names of the fields of the record of `region`."""
    scope = Scope()
    return [scope.take(field.name or "value") for field in region.fields]

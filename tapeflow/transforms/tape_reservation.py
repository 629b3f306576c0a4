"""Create tapes at a function's entry, with a reservation where the number of pushes is known there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tapeflow.analysis.effects import is_pure
from tapeflow.analysis.formulas import Atom, Formula, Monomial, Positive, Quotient, Variable, factored
from tapeflow.analysis.trip_counts import TripCounts
from tapeflow.dialects import tape
from tapeflow.transforms.located_builder import LocatedBuilder, place_of
from tapeflow.transforms.simplify import Constants


class TapeReservation:
    """Makes tapes at the entry of `function`: behind the pure ops that it begins with, before anything is written.

    Args:
        function: with its forward sweep; blocks asked about are of that.
        constants: of the function.
    """

    def __init__(self, function: func.FuncOp, constants: Constants):
        self._counts = TripCounts(function)
        self._constants = constants
        block = function.body.block
        behind = next((op for op in block.ops if not is_pure(op)), None)
        point = InsertPoint.at_end(block) if behind is None else InsertPoint.before(behind)
        self._build = LocatedBuilder(point, place=place_of(function))
        self._values: dict[Formula, SSAValue] = {}
        self._indices: dict[SSAValue, SSAValue] = {}
        self._indices |= {op.input: op.result for op in _leading(block) if isinstance(op, arith.IndexCastOp)}

    def tape(self, element: Attribute, pushed_in: Block, origin: SSAValue, name: str) -> SSAValue:
        """A tape of `element` called `name`, for the value `origin`, pushed once each time `pushed_in` runs."""
        count = self._counts.executions(pushed_in)
        with self._build.at(origin):
            reserve = None if count is None else self._value(count.formula)
            return self._build.value(tape.CreateOp(tape.TapeType(element), reserve), name)

    def _value(self, formula: Formula) -> SSAValue:
        """`formula` as index arithmetic; each once."""
        if formula not in self._values:
            value = self._compute(formula)
            if value.name_hint is None and (name := _letters(formula)) is not None:
                value.name_hint = name
            self._values[formula] = value
        return self._values[formula]

    def _compute(self, formula: Formula) -> SSAValue:
        constant = formula.constant
        if constant is not None:
            return self._constants.index(constant)
        parts = factored(formula)
        factors = [self._power(atom, power) for atom, power in parts.monomial]
        if parts.rest.constant != 1:
            factors.append(self._sum(parts.rest))
        if parts.numerator != 1:
            factors.append(self._constants.index(parts.numerator))
        value = self._fold(arith.MuliOp, factors)
        if parts.denominator != 1:
            value = self._build.value(arith.DivSIOp(value, self._constants.index(parts.denominator)))
        return value

    def _sum(self, formula: Formula) -> SSAValue:
        """A formula with whole coefficients as sums and differences of its terms."""
        added = [self._term(monomial, int(c)) for monomial, c in formula.terms if c > 0]
        taken = [self._term(monomial, int(-c)) for monomial, c in formula.terms if c < 0]
        value = self._fold(arith.AddiOp, added or [self._constants.index(0)])
        return self._fold(arith.SubiOp, [value, *taken])

    def _term(self, monomial: Monomial, coefficient: int) -> SSAValue:
        factors = [self._power(atom, power) for atom, power in monomial]
        if coefficient != 1 or not factors:
            factors.append(self._constants.index(coefficient))
        return self._fold(arith.MuliOp, factors)

    def _power(self, atom: Atom, power: int) -> SSAValue:
        return self._fold(arith.MuliOp, [self._atom(atom)] * power)

    def _fold(self, combine: Callable[[SSAValue, SSAValue], Operation], values: Iterable[SSAValue]) -> SSAValue:
        return reduce(lambda left, right: self._build.value(combine(left, right)), values)

    def _atom(self, atom: Atom) -> SSAValue:
        match atom:
            case Variable():
                return self._variable(self._counts.sources[atom])
            case Positive(formula):
                return self._build.value(arith.MaxSIOp(self._value(formula), self._constants.index(0)))
            case Quotient(dividend, divisor, up):
                # Division rounds towards 0; a negative count is clamped, whichever way it was rounded.
                below, above = self._value(divisor), self._value(dividend + divisor - 1 if up else dividend)
                if divisor.constant is None:
                    # A loop that does not run may have any step.
                    below = self._build.value(arith.MaxSIOp(below, self._constants.index(1)))
                return self._build.value(arith.DivSIOp(above, below))

    def _variable(self, source: SSAValue) -> SSAValue:
        """A parameter as an index."""
        if isinstance(source, OpResult):
            return self._build.value(source.op.clone())
        if isinstance(source.type, IndexType):
            return source
        if source not in self._indices:
            self._indices[source] = self._build.value(arith.IndexCastOp(source, IndexType()))
        return self._indices[source]


def _letters(formula: Formula) -> str | None:
    """`nm` for n*m; None for what is no product of parameters."""
    names = [str(atom) for monomial, _ in formula.terms for atom, power in monomial for _ in range(power)]
    letters = "".join(names)
    return letters if len(formula.terms) == 1 and letters.isidentifier() else None


def _leading(block: Block) -> Iterable[Operation]:
    for op in block.ops:
        if not is_pure(op):
            return
        yield op

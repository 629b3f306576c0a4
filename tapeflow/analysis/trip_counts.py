"""How often a block runs in a call of its function: as a formula in the function's parameters, exact or a bound.

`n*m` for a loop nest, `n*(n - 1)/2` for a triangular one, the enclosing count, as a bound, under a branch. Nothing is
said where bounds are read from memory or carried round a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.block_tree import enclosing_loops, is_guarded, is_top_block
from tapeflow.analysis.formulas import (
    Formula,
    Variable,
    is_nonnegative,
    positive,
    quotient,
    sum_over,
    upper_bound,
)
from tapeflow.analysis.parameters import attributes_of, parameter_name
from tapeflow.analysis.source_names import source_name


@dataclass(frozen=True)
class Loop:
    """A counted loop: `for (variable = lower; variable < upper; variable += step)`, with step > 0."""

    variable: Variable
    lower: Formula
    upper: Formula
    step: Formula

    @property
    def facts(self) -> tuple[Formula, Formula]:
        """What is >= 0 inside of the loop."""
        here = Formula.of(self.variable)
        return here - self.lower, self.upper - 1 - here


@dataclass(frozen=True)
class Count:
    """How often something happens in a call."""

    formula: Formula
    exact: bool
    """Whether it is that often; if not, it is at most that often."""

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at most '}{self.formula}"


def executions(loops: Sequence[Loop], *, guarded: bool = False) -> Count | None:
    """How often the body of a nest of `loops` runs, outermost first; `guarded` if a branch in there decides.

    None if no bound is found.
    """
    total, exact = Formula.of(1), not guarded
    for depth, loop in reversed(list(enumerate(loops))):
        around = tuple(fact for outer in loops[:depth] for fact in outer.facts)
        span = quotient(loop.upper - loop.lower, loop.step)
        # What outer loops say is of use only for bounds in their variables, which are summed over.
        is_summed = any(variable.loop is not None for variable in span.variables)
        trips = positive(span, around if is_summed else ())
        inner = _simplified(total, loop, around)
        sum_ = sum_over(inner, loop.variable, loop.lower, loop.step, trips)
        if sum_ is None:
            exact = False
            bound = upper_bound(inner, loop.variable, loop.lower, loop.upper - 1)
            if bound is None:
                return None
            sum_ = trips * bound
        total = sum_
    return Count(total, exact)


def _simplified(total: Formula, loop: Loop, around: Sequence[Formula]) -> Formula:
    """`total` with each `max(f, 0)` opened that is known to be f inside of `loop`."""
    result = Formula.of(0)
    for monomial, coefficient in total.terms:
        term = Formula.of(1).scaled(coefficient)
        for atom, power in monomial:
            factor = Formula.of(atom)
            if not isinstance(atom, Variable) and loop.variable in factor.variables:
                factor = _opened(factor, (*loop.facts, *around))
            for _ in range(power):
                term = term * factor
        result = result + term
    return result


def _opened(factor: Formula, facts: Sequence[Formula]) -> Formula:
    ((atom, _),) = factor.terms[0][0]
    inner = getattr(atom, "formula", None)
    return inner if isinstance(inner, Formula) and is_nonnegative(inner, facts) else factor


# From IR


def _extent_names(function: func.FuncOp) -> frozenset[str]:
    """The names of the parameters that are extents of array parameters, and so not negative."""
    extents = (attributes_of(argument).get("tapeflow.extents") for argument in function.args)
    arrays = (cast(ArrayAttr[Attribute], it) for it in extents if isinstance(it, ArrayAttr))
    return frozenset(name.data for array in arrays for name in array if isinstance(name, StringAttr))


class TripCounts:
    """The counts of the blocks of one function.

    Args:
        function: structured, its loops counted.
    """

    def __init__(self, function: func.FuncOp):
        self._extents = _extent_names(function)
        self._formulas: dict[SSAValue, Formula | None] = {}
        self._loops: dict[scf.ForOp | scf.WhileOp, Loop | None] = {}
        self._executions: dict[Block, Count | None] = {}
        self._numbers = count()
        self.sources: dict[Variable, SSAValue] = {}
        """The value behind each variable that is not a loop's: an argument, or the extent of one."""

    def executions(self, block: Block) -> Count | None:
        """How often `block` runs in a call; None in a while, or if bounds are not functions of the parameters."""
        if block not in self._executions:
            loops = [self.loop(op) for op in enclosing_loops(block)]
            known = [loop for loop in loops if loop is not None]
            found = None if len(known) < len(loops) else executions(known, guarded=is_guarded(block))
            self._executions[block] = found
        return self._executions[block]

    def loop(self, op: scf.ForOp | scf.WhileOp) -> Loop | None:
        """A loop's variable and bounds; None if a bound is not a function of parameters and outer loops' variables.

        Nobody knows how often a `scf.while` runs.
        """
        if isinstance(op, scf.WhileOp):
            return None
        if op not in self._loops:
            lower, upper, step = (self.formula(bound) for bound in (op.lb, op.ub, op.step))
            known = None
            if lower is not None and upper is not None and step is not None:
                known = Loop(self._loop_variable(op), lower, upper, step)
            self._loops[op] = known
        return self._loops[op]

    def _loop_variable(self, op: scf.ForOp) -> Variable:
        argument = op.body.block.args[0]
        (monomial, _) = cast(Formula, self.formula(argument)).terms[0]
        return cast(Variable, monomial[0][0])

    def formula(self, value: SSAValue) -> Formula | None:
        """`value` as a formula in parameters and loop variables; None if it is not one."""
        pending = [value]
        while pending:
            # Operands first, without recursion: chains of arithmetic can be long.
            missing = [operand for operand in _operands_of(pending[-1]) if operand not in self._formulas]
            if missing:
                pending.extend(missing)
            else:
                found = pending.pop()
                if found not in self._formulas:
                    self._formulas[found] = self._find(found)
        return self._formulas[value]

    def _find(self, value: SSAValue) -> Formula | None:
        if not isinstance(value.type, IntegerType | IndexType):
            return None
        match value:
            case BlockArgument(block=block, index=index) if is_top_block(block):
                name = parameter_name(value)
                return self._parameter(Variable(name, name in self._extents, index), value)
            case BlockArgument(block=block, index=0) if isinstance(block.parent_op(), scf.ForOp):
                return Formula.of(Variable(source_name(value) or "i", loop=next(self._numbers)))
            case OpResult(op=op):
                return self._of_operation(op)
            case _:
                return None

    def _parameter(self, variable: Variable, value: SSAValue) -> Formula:
        self.sources[variable] = value
        return Formula.of(variable)

    def _of_operation(self, op: Operation) -> Formula | None:
        match op:
            case arith.ConstantOp(value=IntegerAttr() as constant):
                return Formula.of(constant.value.data)
            case memref.DimOp(source=BlockArgument() as array) if is_top_block(array.block):
                return self._extent(op, array)
            case _:
                combine = _ARITHMETIC.get(type(op))
                operands = [self.formula(operand) for operand in op.operands] if combine else []
                known = [operand for operand in operands if operand is not None]
                return combine(*known) if combine and len(known) == len(operands) else None

    def _extent(self, op: memref.DimOp, array: BlockArgument) -> Formula | None:
        dimension = self.formula(op.index)
        if dimension is None or dimension.constant is None:
            return None
        name = f"extent({parameter_name(array)}, {dimension.constant})"
        return self._parameter(Variable(name, nonnegative=True, position=array.index), op.result)


def _operands_of(value: SSAValue) -> Sequence[SSAValue]:
    """What the formula of `value`, if it has one, is made of."""
    if isinstance(value, OpResult) and type(value.op) in _ARITHMETIC:
        return value.op.operands
    return ()


def _same(formula: Formula) -> Formula:
    return formula


def _larger(left: Formula, right: Formula) -> Formula:
    return left + positive(right - left)


def _smaller(left: Formula, right: Formula) -> Formula:
    return left - positive(left - right)


def _divided(left: Formula, right: Formula) -> Formula | None:
    """Integer division: what is not negative is rounded down."""
    known = (right.constant or 0) > 0 and is_nonnegative(left)
    return quotient(left, right, up=False) if known else None


def _shifted_left(left: Formula, right: Formula) -> Formula | None:
    return None if right.constant is None else left * 2**right.constant


def _shifted_right(left: Formula, right: Formula) -> Formula | None:
    return None if right.constant is None else _divided(left, Formula.of(2**right.constant))


_ARITHMETIC: Mapping[type[Operation], Callable[..., Formula | None]] = {
    arith.IndexCastOp: _same,
    arith.ExtSIOp: _same,
    arith.AddiOp: Formula.__add__,
    arith.SubiOp: Formula.__sub__,
    arith.MuliOp: Formula.__mul__,
    arith.MaxSIOp: _larger,
    arith.MinSIOp: _smaller,
    arith.DivSIOp: _divided,
    arith.DivUIOp: _divided,
    arith.FloorDivSIOp: _divided,
    arith.ShLIOp: _shifted_left,
    arith.ShRSIOp: _shifted_right,
    arith.ShRUIOp: _shifted_right,
}
"""Integer arithmetic that formulas can say. Overflow is undefined in the source, so formulas do not know it."""

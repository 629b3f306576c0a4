"""The chain rule, one operation at a time: products of an adjoint with the partial derivatives of the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from tapeflow.analysis.derivative_rules import (
    FUNCTIONS,
    Apply,
    Constant,
    Expression,
    Operand,
    Result,
    differentiable_operands,
    rule_of,
)
from tapeflow.transforms.located_builder import LocatedBuilder
from tapeflow.transforms.simplify import Constants


@dataclass(frozen=True)
class Product:
    """A factor times a partial derivative; `negated` if it is to be subtracted rather than added."""

    value: SSAValue
    negated: bool = False


def convert(build: LocatedBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """`value` in another float type, as the adjoint of a conversion between widths."""
    if value.type == type_:
        return value
    widens = getattr(type_, "bitwidth", 0) > getattr(value.type, "bitwidth", 0)
    return build.value((arith.ExtFOp if widens else arith.TruncFOp)(value, type_))


def _common_condition(partials: Sequence[Expression]) -> Expression | None:
    """The condition by which all of `partials` choose; None if they do not."""
    conditions = {
        partial.arguments[0] if isinstance(partial, Apply) and partial.function == "select" else None
        for partial in partials
    }
    (condition, *others) = conditions
    return None if others else condition


def _arm(partial: Expression, position: int) -> Expression:
    assert isinstance(partial, Apply)
    return partial.arguments[position]


class ChainRule:
    """The partial derivatives of one operation, as IR.

    Args:
        op: an operation that has a rule.
        build: where the IR goes.
        constants: of the function.
        read: the value that a primal value has where the IR goes.
    """

    def __init__(
        self, op: Operation, build: LocatedBuilder, constants: Constants, read: Callable[[SSAValue], SSAValue]
    ):
        self._op = op
        self._build = build
        self._constants = constants
        self._read = read
        self._type = op.results[0].type
        self._made: dict[tuple[SSAValue | None, Expression], SSAValue] = {}

    def adjoints(self, adjoint: SSAValue) -> Iterator[tuple[SSAValue, Callable[[], Product | None]]]:
        """For each operand that the result changes with: the operand, and what makes its share of `adjoint`.

        The share is made when asked for, so that nothing is made for operands that are not active.
        """
        row = rule_of(self._op)
        assert row is not None
        for position, operand in differentiable_operands(self._op):
            partial = row.partials[position]
            assert partial is not None
            yield operand, lambda partial=partial, operand=operand: self._share(adjoint, partial, operand)

    def tangent(self, tangents: Mapping[SSAValue, SSAValue]) -> SSAValue | None:
        """The tangent of the result, by those of the operands; an operand without one, or None, stands for zero."""
        row = rule_of(self._op)
        assert row is not None
        shares: list[tuple[SSAValue, Expression]] = []
        for position, operand in differentiable_operands(self._op):
            partial = row.partials[position]
            if partial is not None and (tangent := tangents.get(operand)) is not None:
                shares.append((convert(self._build, tangent, self._type), partial))
        return self._sum(shares)

    def _sum(self, shares: Sequence[tuple[SSAValue, Expression]]) -> SSAValue | None:
        """The sum of factors times partials; of partials that choose by one condition, a choice of sums."""
        if len(shares) > 1 and (condition := _common_condition([partial for _, partial in shares])) is not None:
            arms = [self._sum([(factor, _arm(partial, position)) for factor, partial in shares]) for position in (1, 2)]
            if all(arm is None for arm in arms):
                return None
            zero = self._constants.float(0.0, self._type)
            return self._build.value(
                arith.SelectOp(self._emit(condition), *(zero if arm is None else arm for arm in arms))
            )
        total: SSAValue | None = None
        for factor, partial in shares:
            product = self._times(factor, partial)
            if product is None:
                continue
            if total is None:
                total = self._signed(product)
            else:
                combine = arith.SubfOp if product.negated else arith.AddfOp
                total = self._build.value(combine(total, product.value))
        return total

    def _share(self, adjoint: SSAValue, partial: Expression, operand: SSAValue) -> Product | None:
        product = self._times(adjoint, partial)
        if product is None:
            return None
        return Product(convert(self._build, product.value, operand.type), product.negated)

    def _times(self, factor: SSAValue, partial: Expression) -> Product | None:
        """`factor` times `partial`, with as few operations as the form of `partial` allows; None for zero."""
        match partial:
            case Constant(0.0):
                return None
            case Constant(1.0):
                return Product(factor)
            case Constant(-1.0):
                return Product(factor, negated=True)
            case Apply("neg", (inner,)):
                product = self._times(factor, inner)
                return product and Product(product.value, not product.negated)
            case Apply("mul", (left, right)):
                product = self._times(factor, left)
                return product and self._negate_if(product.negated, self._times(product.value, right))
            case Apply("div", (dividend, divisor)):
                product = self._times(factor, dividend)
                if product is None:
                    return None
                return Product(self._once(product.value, divisor, arith.DivfOp), product.negated)
            case Apply("select", (condition, chosen, other)):
                branches = (self._signed(self._times(factor, it)) for it in (chosen, other))
                return Product(self._build.value(arith.SelectOp(self._emit(condition), *branches)))
            case _:
                return Product(self._once(factor, partial, arith.MulfOp))

    def _once(
        self, factor: SSAValue, partial: Expression, combine: Callable[[SSAValue, SSAValue], Operation]
    ) -> SSAValue:
        """`factor` combined with `partial`; the same combination is made once for all operands of the operation."""
        key = (factor, Apply(combine.__name__, (self._resolved(partial),)))
        if key not in self._made:
            self._made[key] = self._build.value(combine(factor, self._emit(partial)))
        return self._made[key]

    def _resolved(self, partial: Expression) -> Expression:
        """`partial` with each operand replaced by the first of the same value: equal values look alike."""
        match partial:
            case Operand(position):
                return Operand(list(self._op.operands).index(self._op.operands[position]))
            case Apply(function, arguments):
                return Apply(function, tuple(map(self._resolved, arguments)))
            case _:
                return partial

    def _negate_if(self, negated: bool, product: Product | None) -> Product | None:
        return product and Product(product.value, product.negated != negated)

    def _signed(self, product: Product | None) -> SSAValue:
        if product is None:
            return self._constants.float(0.0, self._type)
        return self._build.value(arith.NegfOp(product.value)) if product.negated else product.value

    def _emit(self, expression: Expression) -> SSAValue:
        """`expression` as a value."""
        match expression:
            case Operand(position):
                return self._read(self._op.operands[position])
            case Result():
                return self._read(self._op.results[0])
            case Constant(value):
                return self._constants.float(value, self._type)
            case Apply(function, arguments):
                key = (None, self._resolved(expression))
                if key not in self._made:
                    values = [self._emit(argument) for argument in arguments]
                    extra = [self._type] if function == "float" else []
                    self._made[key] = self._build.value(FUNCTIONS[function](*values, *extra))
                return self._made[key]
            case _:
                raise AssertionError(f"no such expression: {expression}")

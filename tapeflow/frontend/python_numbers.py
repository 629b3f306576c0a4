"""Choices between numbers: conditional expressions, `and` and `or`, extremes, and the extents of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects import arith, math
from xdsl.dialects import complex as complex_dialect
from xdsl.ir import Block, Operation, SSAValue

from tapeflow.frontend.python_arithmetic import Arithmetic
from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_types import BOOL, ScalarType, joined
from tapeflow.frontend.python_values import Scalar, integer


class Numbers(Arithmetic):
    """Makes all that is done with numbers: conversions, arithmetic and choices.

    Args:
        build: where the operations go.
    """

    def __init__(self, build: Builder):
        super().__init__(build)
        # The extents of parameters by their lengths, and the lengths of all extents.
        self._extents: dict[Linear, Scalar] = {}
        self._lengths: dict[Linear, Scalar] = {}

    # Extremes.

    def absolute(self, scalar: Scalar) -> Scalar:
        """`abs(scalar)`."""
        match scalar.type.kind:
            case "bool":
                raise self.build.refuse("the absolute value of a bool is not supported", "convert it with int()")
            case "int":
                if self.build.never_negative(scalar.linear):
                    return scalar
                negated = self.negate(scalar)
                result = self.extreme(True, scalar, negated)
                bounds = [Linear(0), scalar.linear, negated.linear]
                return replace(result, form=unknown(f"abs({scalar.linear})", bounds))
            case "float":
                if scalar.number is not None:
                    return Scalar(scalar.type, abs(scalar.number))
                return Scalar(scalar.type, self.build.value(math.AbsFOp(self.build.ssa(scalar))))
            case "complex":
                size = ScalarType("float", scalar.type.bits, scalar.type.origin)
                if scalar.number is not None:
                    return Scalar(size, abs(scalar.number))
                return Scalar(size, self.build.value(complex_dialect.AbsOp(self.build.ssa(scalar))))

    def extreme(self, greatest: bool, first: Scalar, second: Scalar) -> Scalar:
        """Python's `max` or `min` of two: the first, unless the second is greater, or less."""
        common = joined(first.type, second.type)
        name = "max" if greatest else "min"
        if common is None:
            raise self.build.refuse(
                f"'{name}' of {first.type.phrase} and {second.type.phrase}: the result may be of either type",
                "convert one of them" + (", say 0 to 0.0" if "int" in (first.type.kind, second.type.kind) else ""),
            )
        if common.kind == "bool":
            raise self.build.refuse(f"'{name}' of bools is not supported", "write 'or' for max and 'and' for min")
        if common.kind == "int":
            return self._integer_extreme(greatest, replace(first, type=common), second)
        chosen = self.compare(">" if greatest else "<", second, first)
        return self.select(chosen, second, first)

    def _integer_extreme(self, greatest: bool, first: Scalar, second: Scalar) -> Scalar:
        difference = first.linear - second.linear
        for one, other, ahead in ((first, second, difference), (second, first, -difference)):
            if self.build.never_negative(ahead):
                return replace(one if greatest else other, type=first.type)
        operation = arith.MaxSIOp if greatest else arith.MinSIOp
        value = self.build.value(operation(self.build.ssa(first), self.build.ssa(second)))
        forms = [first.linear, second.linear]
        if greatest:
            form = unknown(f"max({first.linear}, {second.linear})", forms)
        else:
            form = unknown(f"min({first.linear}, {second.linear})", self._zero_below(first, second), forms)
        return Scalar(first.type, value, form)

    def select(self, condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        """`then` where `condition` is true, else `otherwise`; both are there already, and of one type."""
        if condition.number is not None:
            return then if condition.number else otherwise
        common = joined(then.type, otherwise.type)
        assert common is not None
        operands = self.build.ssa(condition), self.build.ssa(then), self.build.ssa(otherwise)
        return Scalar(common, self.build.value(arith.SelectOp(*operands)), self.either(condition, then, otherwise))

    def choose(
        self,
        condition: Scalar,
        then: Callable[[], Scalar],
        otherwise: Callable[[], Scalar],
        agree: Callable[[ScalarType, ScalarType], ScalarType],
    ) -> Scalar:
        """What `then` makes where `condition` is true, else what `otherwise` makes: only one of the two is computed.

        Args:
            condition: a bool.
            then: makes the one number.
            otherwise: makes the other.
            agree: the type of the result, of those of the two.

        Raises:
            TapeflowError: what the three raise.
        """
        if condition.number is not None:
            return then() if condition.number else otherwise()
        with self.build.assuming(condition.if_true):
            then_block, first = self.build.detached(then)
        with self.build.assuming(condition.if_false):
            else_block, second = self.build.detached(otherwise)
        common = agree(first.type, second.type)
        with self.build.inside(then_block):
            first = self.convert(first, common)
        with self.build.inside(else_block):
            second = self.convert(second, common)
        if not then_block.first_op and not else_block.first_op:
            return self.select(condition, first, second)
        form = self.either(condition, first, second)
        arms = (then_block, [self.build.ssa(first)]), (else_block, [self.build.ssa(second)])
        (value,) = self.build.branch(self.build.ssa(condition), *arms, [None])
        return Scalar(common, value, form)

    def same_type(self, first: ScalarType, second: ScalarType) -> ScalarType:
        """The type of a choice between two numbers of one type.

        Raises:
            TapeflowError: they are of different types.
        """
        common = joined(first, second)
        if common is None:
            raise self.build.refuse(
                f"a choice between {first.phrase} and {second.phrase}: the result may be of either type",
                "convert one of them" + (", say 0 to 0.0" if "int" in (first.kind, second.kind) else ""),
            )
        return common

    def combine(self, both: bool, first: Scalar, second: Callable[[], Scalar]) -> Scalar:
        """`first and second()`, or `first or second()`: the second is only computed where the first does not decide.

        Args:
            both: whether it is `and`.
            first: a bool.
            second: makes another.
        """
        if first.number is not None:
            return second() if bool(first.number) == both else first
        with self.build.assuming(first.if_true if both else first.if_false):
            block, other = self.build.detached(second)
        if other.number is not None:
            block.erase(safe_erase=False)
            return first if bool(other.number) == both else other
        if all(_is_harmless(op) for op in block.ops):
            self.build.append(block)
            operation = arith.AndIOp if both else arith.OrIOp
            value = self.build.value(operation(self.build.ssa(first), self.build.ssa(other)))
        else:
            evaluated = (block, [self.build.ssa(other)])
            decided = (Block(), [self.build.constant(not both, BOOL.ir)])
            arms = (evaluated, decided) if both else (decided, evaluated)
            (value,) = self.build.branch(self.build.ssa(first), *arms, [None])
        if both:
            return Scalar(BOOL, value, if_true=first.if_true + other.if_true)
        return Scalar(BOOL, value, if_false=first.if_false + other.if_false)

    def either(self, condition: Scalar, then: Scalar, otherwise: Scalar) -> Linear | None:
        """What is known of an int that is `then` where `condition` is true, else `otherwise`."""
        if then.type.kind != "int":
            return None
        if then.form == otherwise.form:
            return then.form
        with self.build.assuming(condition.if_true):
            bounded = self.build.never_negative(then.linear)
        with self.build.assuming(condition.if_false):
            bounded = bounded and self.build.never_negative(otherwise.linear)
        return unknown("a choice", [Linear(0)] if bounded else [])

    def extent(self, length: Scalar) -> Scalar:
        """How many elements a dimension of `length` has: as many, or 0 if that is negative."""
        if length.number is not None or self.build.never_negative(length.linear):
            return self._integer_extreme(True, length, integer(0, length.type))
        if self.build.is_on_top(length.now):
            # That of a parameter is the same everywhere.
            if length.linear not in self._extents:
                self._extents[length.linear] = self._extent(length, lambda op: self.build.on_top(op, None))
            return self._extents[length.linear]
        return self.build.once(("extent", length.linear), lambda: self._extent(length, self.build.value))

    def _extent(self, length: Scalar, place: Callable[[Operation], SSAValue]) -> Scalar:
        value = place(arith.MaxSIOp(self.build.ssa(length), self.build.index(0)))
        form = unknown(f"max({length.linear}, 0)", [Linear(0), length.linear])
        self._lengths[form] = length
        return Scalar(length.type, value, form)

    def length(self, extent: Scalar) -> Scalar:
        """What `extent` was made of: it may be below 0 where that is 0, which ends a loop as early."""
        return self._lengths.get(extent.linear, extent)


# What can be computed where Python would not: it reads no memory and cannot fail.
_HARMFUL = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.FPToSIOp)


def _is_harmless(op: Operation) -> bool:
    return op.dialect_name() in ("arith", "math", "complex") and not isinstance(op, _HARMFUL)

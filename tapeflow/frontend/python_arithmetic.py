"""Python's operators on numbers, as operations of the IR.

`/` is the division of real numbers, `//` and `%` round towards minus infinity, comparisons with NaN are false but for
`!=`. Where Python raises an exception on numbers (a division by zero, a result too great for a float, an integer that
needs more than 64 bits), the IR gives what C gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_types import BOOL, FLOAT, INDEX, Origin, ScalarType, as_float, joined, promoted
from tapeflow.frontend.python_values import Number, Scalar, integer, truth

_INTEGER = {"+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp}
_FLOAT = {"+": arith.AddfOp, "-": arith.SubfOp, "*": arith.MulfOp, "/": arith.DivfOp}
_BITWISE = {"&": arith.AndIOp, "|": arith.OrIOp, "^": arith.XOrIOp}
_FOLDED: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
}
# NaN is unequal to everything, so `!=` is the one unordered comparison.
_FLOAT_PREDICATES = {"<": "olt", ">": "ogt", "<=": "ole", ">=": "oge", "==": "oeq", "!=": "une"}
_INTEGER_PREDICATES = {"<": "slt", ">": "sgt", "<=": "sle", ">=": "sge", "==": "eq", "!=": "ne"}
_COMPARED: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

_GREATEST_UNROLLED_POWER = 64


class Arithmetic:
    """Makes the operations of numbers.

    Args:
        build: where they go.
    """

    def __init__(self, build: Builder):
        self.build = build
        # The extents of parameters by their lengths, and the lengths of all extents.
        self._extents: dict[Linear, Scalar] = {}
        self._lengths: dict[Linear, Scalar] = {}

    # Conversions.

    def convert(self, scalar: Scalar, to: ScalarType) -> Scalar:
        """`scalar` as a number of the type `to`, as `int`, `float`, `bool` and NumPy's classes convert."""
        if scalar.type.is_same(to):
            return replace(scalar, type=to)
        if to.kind == "bool":
            return self.is_true(scalar)
        if scalar.number is not None:
            return self._converted_number(scalar.number, to)
        source = scalar.type.kind
        if to.kind == "float":
            return Scalar(to, self._to_float(scalar, to))
        if source == "float":
            # There is no conversion from a float to an index.
            value = self.build.value(arith.FPToSIOp(self.build.ssa(scalar), to.integer_ir))
            if to.bits == 64:
                value = self.build.value(arith.IndexCastOp(value, INDEX))
            return Scalar(to, value, unknown("an int of a float"))
        if source == "bool":
            extended = self.build.value(arith.ExtUIOp(self.build.ssa(scalar), to.integer_ir))
            if to.bits == 64:
                extended = self.build.value(arith.IndexCastOp(extended, INDEX))
            return Scalar(to, extended, unknown("an int of a bool", [Linear(0)], [Linear(1)]))
        form = scalar.form if to.bits == 64 else unknown("32 bits")
        return Scalar(to, self.build.value(arith.IndexCastOp(self.build.ssa(scalar), to.ir)), form)

    def _converted_number(self, number: Number, to: ScalarType) -> Scalar:
        if to.kind == "float":
            return Scalar(to, float(number) if to.bits == 64 else float(np.float32(number)))
        try:
            return integer(int(number), to)
        except (OverflowError, ValueError):
            raise self.build.refuse(f"{number} cannot be converted to an int") from None

    def _to_float(self, scalar: Scalar, to: ScalarType) -> SSAValue:
        match scalar.type.kind:
            case "bool":
                return self.build.value(arith.UIToFPOp(self.build.ssa(scalar), to.float_ir))
            case "int":
                return self.build.value(arith.SIToFPOp(self._sized(self.build.ssa(scalar)), to.float_ir))
            case "float":
                conversion = arith.ExtFOp if to.bits > scalar.type.bits else arith.TruncFOp
                return self.build.value(conversion(self.build.ssa(scalar), to.float_ir))

    def _sized(self, value: SSAValue) -> SSAValue:
        """The int `value`, which may be an index, as an integer with a size."""
        if value.type != INDEX:
            return value
        if isinstance(value, OpResult) and isinstance(value.op, arith.IndexCastOp) and value.op.input.type == i64:
            return value.op.input
        return self.build.value(arith.IndexCastOp(value, i64))

    def to_memory(self, scalar: Scalar) -> SSAValue:
        """`scalar` in the type that memory and signatures hold it in."""
        return self._sized(self.build.ssa(scalar))

    def from_memory(self, value: SSAValue, scalar: ScalarType, name: str) -> Scalar:
        """A number of the type `scalar` that was loaded from memory."""
        if scalar.ir == INDEX:
            value = self.build.value(arith.IndexCastOp(value, INDEX))
        return self.fresh(value, scalar, name)

    def fresh(self, value: SSAValue, scalar: ScalarType, name: str) -> Scalar:
        """A number of which nothing is known."""
        return Scalar(scalar, value, unknown(name) if scalar.kind == "int" else None)

    def is_true(self, scalar: Scalar) -> Scalar:
        """Whether Python takes `scalar` for true: whether it is not zero."""
        if scalar.type.kind == "bool":
            return scalar
        return self.compare("!=", scalar, integer(0) if scalar.type.kind == "int" else Scalar(FLOAT, 0.0))

    # Operators.

    def binary(self, symbol: str, left: Scalar, right: Scalar, on_arrays: bool = False) -> Scalar:
        """`left symbol right`.

        Args:
            symbol: the operator.
            left: the left operand.
            right: the right operand.
            on_arrays: whether the operands are elements of arrays, for which NumPy computes some powers in another way.

        Raises:
            TapeflowError: Python's result has no counterpart in the IR.
        """
        if symbol in _BITWISE:
            return self._bitwise(symbol, left, right)
        if symbol in ("<<", ">>"):
            raise self.build.refuse(
                f"'{symbol}' is not supported: Python's integers have no width to shift out of",
                "multiply by, or divide with '//' by, a power of two",
            )
        if symbol == "**":
            return self._power(left, right, on_arrays)
        common = self._common(symbol, left, right)
        if symbol == "/":
            common = as_float(common)
        if common.kind == "int":
            left, right = self.convert(left, common), self.convert(right, common)
            return self._divided(symbol, left, right) if symbol in ("//", "%") else self._integers(symbol, left, right)
        if symbol in ("//", "%"):
            rewrite = "math.floor(x / y)" if symbol == "//" else "x - y * math.floor(x / y)"
            raise self.build.refuse(f"'{symbol}' of floats is not supported", f"write '{rewrite}'")
        return self._floats(symbol, self.convert(left, common), self.convert(right, common))

    def _common(self, symbol: str, left: Scalar, right: Scalar) -> ScalarType:
        for side in (left, right):
            if side.type.kind == "bool":
                raise self.build.refuse(f"'{symbol}' of a bool is not supported", "convert it with int() or float()")
        common = promoted(left.type, right.type)
        if common is None:
            open_side = left if left.type.origin is Origin.EITHER else right
            other = right if open_side is left else left
            name = "float" if open_side.type.kind == "float" else "int"
            raise self.build.refuse(
                f"'{symbol}' of {other.type.phrase} and a variable that may be Python's {name} or NumPy's {name}64: "
                "the type of the result depends on which it is",
                f"convert one of them: '{name}(...)', or '{other.type}(...)' to compute in 32 bits throughout",
            )
        return common

    def _integers(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        """`+`, `-` and `*` of two ints of one type."""
        form = self._form(symbol, left, right)
        if form.number is not None:
            return integer(form.number, left.type)
        if left.type.bits == 32:
            # NumPy's 32-bit integers wrap.
            form = unknown("32 bits")
        for one, other in ((left, right), (right, left)):
            neutral = 1 if symbol == "*" else 0
            if other.number == neutral and (other is right or symbol != "-"):
                return one
        value = self._sum_with_constant(form, left.type)
        if value is None:
            value = self.build.value(_INTEGER[symbol](self.build.ssa(left), self.build.ssa(right)))
        result = Scalar(left.type, value, form)
        self.build.ssa(result)
        return result

    def _sum_with_constant(self, form: Linear, scalar: ScalarType) -> SSAValue | None:
        """The value of `form`, if it, or it but for a constant, was computed before."""
        if (before := self.build.computed(form, scalar.ir)) is not None:
            return before
        base = self.build.computed(Linear(0, form.terms), scalar.ir)
        if base is None or not form.constant:
            return None
        operation = arith.AddiOp if form.constant > 0 else arith.SubiOp
        return self.build.value(operation(base, self.build.constant(abs(form.constant), scalar.ir)))

    def _form(self, symbol: str, left: Scalar, right: Scalar) -> Linear:
        match symbol:
            case "+":
                return left.linear + right.linear
            case "-":
                return left.linear - right.linear
            case _:
                if left.linear.number is not None:
                    return right.linear * left.linear.number
                if right.linear.number is not None:
                    return left.linear * right.linear.number
                return unknown("a product", self._zero_below(left, right))

    def _zero_below(self, *scalars: Scalar) -> list[Linear]:
        """The lower bounds of a number that is not negative where none of `scalars` is."""
        return [Linear(0)] if all(self.build.never_negative(scalar.linear) for scalar in scalars) else []

    def _divided(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        """`//` and `%` of two ints of one type."""
        if right.number == 0:
            raise self.build.refuse("division by zero")
        if isinstance(left.number, int) and isinstance(right.number, int):
            return integer(left.number // right.number if symbol == "//" else left.number % right.number, left.type)
        key = (symbol, left.type.ir, left.linear, right.linear)
        return replace(self.build.once(key, lambda: self._division(symbol, left, right)), type=left.type)

    def _division(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        positive = self.build.never_negative(right.linear - 1)
        plain = positive and self.build.never_negative(left.linear)
        operands = self.build.ssa(left), self.build.ssa(right)
        if symbol == "//":
            quotient = self.build.value(arith.DivSIOp(*operands) if plain else arith.FloorDivSIOp(*operands))
            bounds = ([Linear(0)], [left.linear]) if plain else ((), ())
            return Scalar(left.type, quotient, unknown("a quotient", *bounds))
        if plain:
            remainder = self.build.value(arith.RemSIOp(*operands))
        else:
            quotient = self.build.value(arith.FloorDivSIOp(*operands))
            multiple = self.build.value(arith.MuliOp(quotient, operands[1]))
            remainder = self.build.value(arith.SubiOp(operands[0], multiple))
        bounds = ([Linear(0)], [right.linear - 1]) if positive else ((), ())
        return Scalar(left.type, remainder, unknown("a remainder", *bounds))

    def _floats(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        """`+`, `-`, `*` and `/` of two floats of one type."""
        if left.type.bits == 64 and left.number is not None and right.number is not None:
            if symbol == "/" and not right.number:
                raise self.build.refuse("division by zero", "write 'math.inf' for infinity")
            return Scalar(left.type, _FOLDED[symbol](left.number, right.number))
        return Scalar(left.type, self.build.value(_FLOAT[symbol](self.build.ssa(left), self.build.ssa(right))))

    def _bitwise(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        kinds = {left.type.kind, right.type.kind}
        if kinds == {"bool"}:
            return Scalar(BOOL, self.build.value(_BITWISE[symbol](self.build.ssa(left), self.build.ssa(right))))
        if kinds != {"int"}:
            what = "a float" if "float" in kinds else "an int and a bool"
            raise self.build.refuse(f"'{symbol}' of {what} is not supported", "use it on two ints or on two bools")
        common = self._common(symbol, left, right)
        left, right = self.convert(left, common), self.convert(right, common)
        bounds = self._zero_below(left, right)
        value = self.build.value(_BITWISE[symbol](self.build.ssa(left), self.build.ssa(right)))
        return Scalar(common, value, unknown("bits", bounds))

    # Powers.

    def _power(self, base: Scalar, exponent: Scalar, on_arrays: bool) -> Scalar:
        common = self._common("**", base, exponent)
        if common.kind == "int":
            power = exponent.number
            if not isinstance(power, int):
                raise self.build.refuse(
                    "'**' of two ints is only supported where the exponent is a constant: its sign decides whether the "
                    "result is an int or a float",
                    "convert one of them to a float, or multiply in a loop",
                )
            if power >= 0:
                return self._integer_power(self.convert(base, common), power)
            if common.origin is not Origin.PYTHON:
                raise self.build.refuse(
                    "a NumPy int to a negative power is an error in NumPy", "convert it with float() first"
                )
            common = FLOAT
        return self._float_power(self.convert(base, common), self.convert(exponent, common), on_arrays)

    def _integer_power(self, base: Scalar, power: int) -> Scalar:
        """`base ** power` by squaring."""
        if power > _GREATEST_UNROLLED_POWER and base.number is None:
            raise self.build.refuse(
                f"an int to the power {power} is not supported: it needs more than 64 bits", "convert it with float()"
            )
        result = integer(1, base.type)
        for bit in f"{power:b}":
            result = self._integers("*", result, result)
            if bit == "1":
                result = self._integers("*", result, base)
        if power and power % 2 == 0 and result.number is None:
            return replace(result, form=unknown("an even power", [Linear(0)]))
        return result

    def _float_power(self, base: Scalar, exponent: Scalar, on_arrays: bool) -> Scalar:
        number = exponent.number
        if number == 1:
            return base
        # The square is the one power for which the product is both faster and rounded better than C's `pow`.
        if number == 2:
            return self._floats("*", base, base)
        if on_arrays and number == -1:
            return self._floats("/", Scalar(base.type, 1.0), base)
        if on_arrays and number == 0.5:
            return Scalar(base.type, self.build.value(math.SqrtOp(self.build.ssa(base))))
        return Scalar(base.type, self.build.value(math.PowFOp(self.build.ssa(base), self.build.ssa(exponent))))

    # One operand.

    def negate(self, scalar: Scalar) -> Scalar:
        """`-scalar`."""
        match scalar.type.kind:
            case "bool":
                raise self.build.refuse("'-' of a bool is not supported", "convert it with int() or float()")
            case "int":
                return self._integers("-", integer(0, scalar.type), scalar)
            case "float":
                if scalar.number is not None:
                    return Scalar(scalar.type, -scalar.number)
                return Scalar(scalar.type, self.build.value(arith.NegfOp(self.build.ssa(scalar))))

    def invert(self, scalar: Scalar) -> Scalar:
        """`~scalar`."""
        if scalar.type.kind != "int":
            hint = "write 'not ...'" if scalar.type.kind == "bool" else "convert it with int()"
            raise self.build.refuse(f"'~' of {scalar.type.phrase} is not supported", hint)
        return self._integers("-", integer(-1, scalar.type), scalar)

    def negate_truth(self, scalar: Scalar) -> Scalar:
        """`not scalar`."""
        scalar = self.is_true(scalar)
        if scalar.number is not None:
            return truth(not scalar.number)
        inverted = self.build.value(arith.XOrIOp(self.build.ssa(scalar), self.build.constant(True, BOOL.ir)))
        return Scalar(BOOL, inverted, if_true=scalar.if_false, if_false=scalar.if_true)

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

    # Two operands of one type.

    def compare(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        """`left symbol right`."""
        kinds = {left.type.kind, right.type.kind}
        if kinds == {"bool"} and symbol in ("==", "!="):
            operands = self.build.ssa(left), self.build.ssa(right)
            return Scalar(BOOL, self.build.value(arith.CmpiOp(*operands, _INTEGER_PREDICATES[symbol])))
        common = self._common(symbol, left, right)
        left, right = self.convert(left, common), self.convert(right, common)
        if left.number is not None and right.number is not None:
            return truth(_COMPARED[symbol](left.number, right.number))
        operands = self.build.ssa(left), self.build.ssa(right)
        if common.kind == "float":
            return Scalar(BOOL, self.build.value(arith.CmpfOp(*operands, _FLOAT_PREDICATES[symbol])))
        value = self.build.value(arith.CmpiOp(*operands, _INTEGER_PREDICATES[symbol]))
        if_true, if_false = _facts(symbol, left.linear, right.linear)
        return Scalar(BOOL, value, if_true=if_true, if_false=if_false)

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
    return op.dialect_name() in ("arith", "math") and not isinstance(op, _HARMFUL)


def _facts(symbol: str, left: Linear, right: Linear) -> tuple[tuple[Linear, ...], tuple[Linear, ...]]:
    """What is at least 0 if `left symbol right` is true, and if it is false."""
    match symbol:
        case "<":
            return (right - left - 1,), (left - right,)
        case "<=":
            return (right - left,), (left - right - 1,)
        case ">":
            return (left - right - 1,), (right - left,)
        case ">=":
            return (left - right,), (right - left - 1,)
        case "==":
            return (left - right, right - left), ()
        case _:
            return (), (left - right, right - left)

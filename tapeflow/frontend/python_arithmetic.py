"""Python's operators on numbers, as operations of the IR.

`/` is the division of real numbers, `//` and `%` round towards minus infinity, comparisons with NaN are false but for
`!=`. Where Python raises an exception on numbers (a division by zero, a result too great for a float, an integer that
needs more than 64 bits), the IR gives what C gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects import complex as complex_dialect
from xdsl.ir import SSAValue

from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_conversions import Conversions
from tapeflow.frontend.python_types import BOOL, FLOAT, Origin, ScalarType, as_float, promoted
from tapeflow.frontend.python_values import Scalar, integer, truth

_INTEGER = {"+": arith.AddiOp, "-": arith.SubiOp, "*": arith.MuliOp}
_FLOAT = {"+": arith.AddfOp, "-": arith.SubfOp, "*": arith.MulfOp, "/": arith.DivfOp}
_COMPLEX = {
    "+": complex_dialect.AddOp,
    "-": complex_dialect.SubOp,
    "*": complex_dialect.MulOp,
    "/": complex_dialect.DivOp,
}
_BITWISE = {"&": arith.AndIOp, "|": arith.OrIOp, "^": arith.XOrIOp}
_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
}
# NaN is unequal to everything, so `!=` is the one unordered comparison.
_FLOAT_PREDICATES = {"<": "olt", ">": "ogt", "<=": "ole", ">=": "oge", "==": "oeq", "!=": "une"}
_INTEGER_PREDICATES = {"<": "slt", ">": "sgt", "<=": "sle", ">=": "sge", "==": "eq", "!=": "ne"}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

_GREATEST_UNROLLED_POWER = 64


class Arithmetic(Conversions):
    """Makes the operations of numbers."""

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
            if common.kind == "complex":
                raise self.build.refuse(f"'{symbol}' of complex numbers is not supported", "use it on their parts")
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
            name = open_side.type.kind
            wide = open_side.type.in_numpy
            hint = f"write '{name}(x[i])' for the one or '{wide}(a)' for the other, or '{other.type}(a)' for 32 bits"
            if (name, other.type.kind) == ("int", "float"):
                hint = f"make the variable a float from the start: 'numpy.float64(0)', or '{other.type}(0)'"
            raise self.build.refuse(
                f"'{symbol}' of {other.type.phrase} and a variable that may be Python's {name} or NumPy's {name}64: "
                "the type of the result depends on which it is",
                hint,
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
        """`+`, `-`, `*` and `/` of two floats or two complex numbers of one type."""
        if left.type.bits == 64 and left.number is not None and right.number is not None:
            if symbol == "/" and not right.number:
                raise self.build.refuse("division by zero", "write 'math.inf' for infinity")
            return Scalar(left.type, _FOLDED[symbol](left.number, right.number))
        operations = _COMPLEX if left.type.kind == "complex" else _FLOAT
        return Scalar(left.type, self.build.value(operations[symbol](self.build.ssa(left), self.build.ssa(right))))

    def _bitwise(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        kinds = {left.type.kind, right.type.kind}
        if kinds == {"bool"}:
            return Scalar(BOOL, self.build.value(_BITWISE[symbol](self.build.ssa(left), self.build.ssa(right))))
        if kinds != {"int"}:
            other = next((kind for kind in ("float", "complex") if kind in kinds), None)
            what = "an int and a bool" if other is None else f"a {other}"
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
        if common.kind == "complex":
            return self._complex_power(base, exponent, common)
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

    def _complex_power(self, base: Scalar, exponent: Scalar, common: ScalarType) -> Scalar:
        """By squaring to the power of a small constant integer, as Python and NumPy do; else by logarithm."""
        base, number = self.convert(base, common), exponent.number
        if isinstance(number, int | float) and number == int(number) and abs(number) <= _GREATEST_UNROLLED_POWER:
            result = Scalar(common, 1 + 0j)
            for bit in f"{abs(int(number)):b}":
                if result.number is None:
                    result = self._floats("*", result, result)
                if bit == "1":
                    result = base if result.number is not None else self._floats("*", result, base)
            return result if number >= 0 else self._floats("/", Scalar(common, 1 + 0j), result)
        operands = self.build.ssa(base), self.build.ssa(self.convert(exponent, common))
        return Scalar(common, self.build.value(complex_dialect.PowOp(*operands)))

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
            case "complex":
                if scalar.number is not None:
                    return Scalar(scalar.type, -scalar.number)
                return Scalar(scalar.type, self.build.value(complex_dialect.NegOp(self.build.ssa(scalar))))

    def invert(self, scalar: Scalar) -> Scalar:
        """`~scalar`."""
        if scalar.type.kind != "int":
            hint = "write 'not ...'" if scalar.type.kind == "bool" else "convert it with int()"
            raise self.build.refuse(f"'~' of {scalar.type.phrase} is not supported", hint)
        return self._integers("-", integer(-1, scalar.type), scalar)

    def negate_truth(self, scalar: Scalar) -> Scalar:
        """`not scalar`."""
        scalar = self.convert(scalar, BOOL)
        if scalar.number is not None:
            return truth(not scalar.number)
        inverted = self.build.value(arith.XOrIOp(self.build.ssa(scalar), self.build.constant(True, BOOL.ir)))
        return Scalar(BOOL, inverted, if_true=scalar.if_false, if_false=scalar.if_true)

    # Comparisons.

    def compare(self, symbol: str, left: Scalar, right: Scalar) -> Scalar:
        """`left symbol right`."""
        kinds = {left.type.kind, right.type.kind}
        if kinds == {"bool"} and symbol in ("==", "!="):
            operands = self.build.ssa(left), self.build.ssa(right)
            return Scalar(BOOL, self.build.value(arith.CmpiOp(*operands, _INTEGER_PREDICATES[symbol])))
        common = self._common(symbol, left, right)
        left, right = self.convert(left, common), self.convert(right, common)
        if common.kind == "complex" and symbol not in ("==", "!="):
            raise self.build.refuse(
                f"'{symbol}' of complex numbers has no meaning", "compare their parts, or their 'abs(...)'"
            )
        if left.number is not None and right.number is not None:
            return truth(_COMPARED[symbol](left.number, right.number))
        operands = self.build.ssa(left), self.build.ssa(right)
        if common.kind == "float":
            return Scalar(BOOL, self.build.value(arith.CmpfOp(*operands, _FLOAT_PREDICATES[symbol])))
        if common.kind == "complex":
            equality = complex_dialect.EqualOp if symbol == "==" else complex_dialect.NotEqualOp
            return Scalar(BOOL, self.build.value(equality(*operands)))
        value = self.build.value(arith.CmpiOp(*operands, _INTEGER_PREDICATES[symbol]))
        if_true, if_false = _facts(symbol, left.linear, right.linear)
        return Scalar(BOOL, value, if_true=if_true, if_false=if_false)


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

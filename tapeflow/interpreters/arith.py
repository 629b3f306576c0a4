"""The meaning of `arith`, one row an operation.

Floats follow IEEE 754 as C does without fast-math flags, which are ignored. Integers wrap. What C and MLIR leave
undefined (integer division by zero or out of range, shifts by the width or more, float to integer out of range) is an
error here, so that a test meets it.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.libm import FMAX, FMIN
from tapeflow.interpreters.values import dtype_of, round_to, signed, unsigned, value_of_attribute, width_of, wrap

FloatFunction = Callable[..., float]
IntegerFunction = Callable[[int, int], int]


def float_row(op_type: type[Operation], function: FloatFunction) -> Any:
    """An operation on floats: `function` of the operands, rounded to the result's type."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        return (round_to(function(*args), op.results[0].type),)

    return run


def integer_row(op_type: type[Operation], function: IntegerFunction) -> Any:
    """An operation on two integers held as they are: `function` of them, wrapped to the result's type."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        return (wrap(function(*args), op.results[0].type),)

    return run


def read_row(
    op_type: type[Operation], read: Callable[[int, Attribute], int], function: Callable[[int, int, Attribute], int]
) -> Any:
    """An operation on two integers that must be read as signed or as unsigned first."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        scalar = op.results[0].type
        return (wrap(function(read(args[0], scalar), read(args[1], scalar), scalar), scalar),)

    return run


def extended_row(op_type: type[Operation], read: Callable[[int, Attribute], int], function: IntegerFunction) -> Any:
    """An operation on two integers whose second result is what does not fit the first: carry, or high half."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        scalar = op.operands[0].type
        full = function(read(args[0], scalar), read(args[1], scalar))
        return wrap(full, scalar), wrap(full >> width_of(scalar), op.results[1].type)

    return run


def cast_row(op_type: type[Operation], function: Callable[[Any, Attribute, Attribute], int | float]) -> Any:
    """A conversion: `function` of the operand, its type, and the result's type."""

    @impl(op_type)
    def run(self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        return (function(args[0], op.operands[0].type, op.results[0].type),)

    return run


def divide(dividend: float, divisor: float) -> float:
    """IEEE division: by zero gives an infinity or NaN."""
    try:
        return dividend / divisor
    except ZeroDivisionError:
        if dividend == 0 or math.isnan(dividend):
            return math.nan
        return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def minimum(a: float, b: float) -> float:
    """The lesser of two floats: NaN if either is, and -0 is less than +0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return a if a < b or (a == b and math.copysign(1.0, a) < 0) else b


def maximum(a: float, b: float) -> float:
    """The greater of two floats: NaN if either is, and +0 is greater than -0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return a if a > b or (a == b and math.copysign(1.0, a) > 0) else b


def _checked(divide_integers: IntegerFunction) -> Callable[[int, int, Attribute], int]:
    """Refuse the divisions that C leaves undefined: by zero, and of the least value by -1."""

    def run(dividend: int, divisor: int, scalar: Attribute) -> int:
        if divisor == 0:
            raise InterpretationError("integer division by zero")
        if divisor == -1 and dividend == -(1 << (width_of(scalar) - 1)):
            raise InterpretationError(f"the quotient {dividend} / -1 does not fit {scalar}")
        return divide_integers(dividend, divisor)

    return run


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncated_remainder(a: int, b: int) -> int:
    return a - b * _truncated_quotient(a, b)


def _ceiling_quotient(a: int, b: int) -> int:
    return -(-a // b)


def _shift(shift: IntegerFunction, read: Callable[[int, Attribute], int]) -> Callable[[int, int, Attribute], int]:
    """Shift the first operand, read in its own way, by the second, which must be less than the width."""

    def run(value: int, amount: int, scalar: Attribute) -> int:
        if amount >= width_of(scalar):
            raise InterpretationError(f"a shift by {amount} is not less than the width of {scalar}")
        return shift(read(wrap(value, scalar), scalar), amount)

    return run


def _truncate_float(value: float, scalar: Attribute, least: int, greatest: int) -> int:
    if not math.isfinite(value) or not least <= (integer := math.trunc(value)) <= greatest:
        raise InterpretationError(f"{value} does not fit {scalar}")
    return wrap(integer, scalar)


def _float_to_signed(value: float, source: Attribute, target: Attribute) -> int:
    half = 1 << (width_of(target) - 1)
    return _truncate_float(value, target, -half, half - 1)


def _float_to_unsigned(value: float, source: Attribute, target: Attribute) -> int:
    return _truncate_float(value, target, 0, (1 << width_of(target)) - 1)


def _integer_to_float(value: int, target: Attribute) -> float:
    # NumPy rounds once, straight to the target: through a double, an i64 to f32 would be rounded twice.
    exact = np.uint64(value) if value >= 1 << 63 else np.int64(value)
    return float(exact.astype(dtype_of(target)))


def _bitcast(value: Any, source: Attribute, target: Attribute) -> int | float:
    source_format, target_format = _packing(source), _packing(target)
    (result,) = struct.unpack(target_format, struct.pack(source_format, value))
    return result


def _packing(scalar: Attribute) -> str:
    formats = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "i1": "?", "index": "q"}
    if (found := formats.get(str(scalar))) is None:
        raise InterpretationError(f"the interpreter cannot reinterpret the bits of {scalar}")
    return found


SIGNED_COMPARISONS: tuple[Callable[[Any, Any], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
UNSIGNED_COMPARISONS = SIGNED_COMPARISONS[2:]

# In the order of the predicate's number: false, oeq ogt oge olt ole one ord, ueq ugt uge ult ule une uno, true.
_ORDERED: tuple[Callable[[float, float], bool], ...] = (
    operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne, lambda a, b: True,
)  # fmt: skip


def compare_floats(predicate: int, a: float, b: float) -> bool:
    """`arith.cmpf`: an ordered predicate is false on NaN, an unordered one is true."""
    unordered = a != a or b != b
    if predicate in (0, 15):
        return predicate == 15
    if predicate == 14:
        return unordered
    if predicate <= 7:
        return not unordered and _ORDERED[predicate - 1](a, b)
    return unordered or _ORDERED[predicate - 8](a, b)


def _predicate(op: Operation) -> int:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    return predicate.value.data


@register_impls
class ArithFunctions(Functions):
    """All of `arith` on scalars."""

    @impl(arith.ConstantOp)
    def run_constant(self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues) -> PythonValues:
        """Its attribute's value."""
        return (value_of_attribute(op.properties["value"]),)

    @impl(arith.SelectOp)
    def run_select(self, interpreter: Interpreter, op: arith.SelectOp, args: PythonValues) -> PythonValues:
        """One of the two values."""
        return (args[1] if args[0] else args[2],)

    @impl(arith.CmpiOp)
    def run_cmpi(self, interpreter: Interpreter, op: arith.CmpiOp, args: PythonValues) -> PythonValues:
        """Signed predicates are 0 to 5, unsigned ones 6 to 9."""
        predicate, scalar = _predicate(op), op.operands[0].type
        if predicate < 6:
            return (SIGNED_COMPARISONS[predicate](signed(args[0], scalar), signed(args[1], scalar)),)
        return (UNSIGNED_COMPARISONS[predicate - 6](unsigned(args[0], scalar), unsigned(args[1], scalar)),)

    @impl(arith.CmpfOp)
    def run_cmpf(self, interpreter: Interpreter, op: arith.CmpfOp, args: PythonValues) -> PythonValues:
        """Ordered predicates are 1 to 7, unordered ones 8 to 14."""
        return (compare_floats(_predicate(op), *args),)

    run_addf = float_row(arith.AddfOp, float.__add__)
    run_subf = float_row(arith.SubfOp, float.__sub__)
    run_mulf = float_row(arith.MulfOp, float.__mul__)
    run_divf = float_row(arith.DivfOp, divide)
    run_negf = float_row(arith.NegfOp, float.__neg__)
    run_minimumf = float_row(arith.MinimumfOp, minimum)
    run_maximumf = float_row(arith.MaximumfOp, maximum)
    run_minnumf = float_row(arith.MinnumfOp, FMIN)
    run_maxnumf = float_row(arith.MaxnumfOp, FMAX)

    run_addi = integer_row(arith.AddiOp, int.__add__)
    run_subi = integer_row(arith.SubiOp, int.__sub__)
    run_muli = integer_row(arith.MuliOp, int.__mul__)
    run_andi = integer_row(arith.AndIOp, int.__and__)
    run_ori = integer_row(arith.OrIOp, int.__or__)
    run_xori = integer_row(arith.XOrIOp, int.__xor__)

    run_divsi = read_row(arith.DivSIOp, signed, _checked(_truncated_quotient))
    run_divui = read_row(arith.DivUIOp, unsigned, _checked(int.__floordiv__))
    run_floordivsi = read_row(arith.FloorDivSIOp, signed, _checked(int.__floordiv__))
    run_ceildivsi = read_row(arith.CeilDivSIOp, signed, _checked(_ceiling_quotient))
    run_ceildivui = read_row(arith.CeilDivUIOp, unsigned, _checked(_ceiling_quotient))
    run_remsi = read_row(arith.RemSIOp, signed, _checked(_truncated_remainder))
    run_remui = read_row(arith.RemUIOp, unsigned, _checked(int.__mod__))
    run_minsi = read_row(arith.MinSIOp, signed, lambda a, b, _: min(a, b))
    run_maxsi = read_row(arith.MaxSIOp, signed, lambda a, b, _: max(a, b))
    run_minui = read_row(arith.MinUIOp, unsigned, lambda a, b, _: min(a, b))
    run_maxui = read_row(arith.MaxUIOp, unsigned, lambda a, b, _: max(a, b))
    run_shli = read_row(arith.ShLIOp, unsigned, _shift(int.__lshift__, unsigned))
    run_shrsi = read_row(arith.ShRSIOp, unsigned, _shift(int.__rshift__, signed))
    run_shrui = read_row(arith.ShRUIOp, unsigned, _shift(int.__rshift__, unsigned))

    run_addui_extended = extended_row(arith.AddUIExtendedOp, unsigned, int.__add__)
    run_mulsi_extended = extended_row(arith.MulSIExtendedOp, signed, int.__mul__)
    run_mului_extended = extended_row(arith.MulUIExtendedOp, unsigned, int.__mul__)

    run_extf = cast_row(arith.ExtFOp, lambda value, source, target: round_to(value, target))
    run_truncf = cast_row(arith.TruncFOp, lambda value, source, target: round_to(value, target))
    run_extsi = cast_row(arith.ExtSIOp, lambda value, source, target: signed(value, source))
    run_extui = cast_row(arith.ExtUIOp, lambda value, source, target: unsigned(value, source))
    run_trunci = cast_row(arith.TruncIOp, lambda value, source, target: wrap(value, target))
    run_index_cast = cast_row(arith.IndexCastOp, lambda value, source, target: wrap(signed(value, source), target))
    run_sitofp = cast_row(
        arith.SIToFPOp, lambda value, source, target: _integer_to_float(signed(value, source), target)
    )
    run_uitofp = cast_row(
        arith.UIToFPOp, lambda value, source, target: _integer_to_float(unsigned(value, source), target)
    )
    run_fptosi = cast_row(arith.FPToSIOp, _float_to_signed)
    run_fptoui = cast_row(arith.FPToUIOp, _float_to_unsigned)
    run_bitcast = cast_row(arith.BitcastOp, _bitcast)

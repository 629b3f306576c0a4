"""Conversions between the types of numbers, and between numbers and what memory holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import complex as complex_dialect
from xdsl.dialects.builtin import ComplexType, i64
from xdsl.ir import OpResult, SSAValue

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python_bounds import Linear, unknown
from tapeflow.frontend.python_builder import Builder
from tapeflow.frontend.python_types import INDEX, ScalarType
from tapeflow.frontend.python_values import Number, Scalar, integer


class Conversions:
    """Makes the conversions of numbers.

    Args:
        build: where their operations go.
    """

    def __init__(self, build: Builder):
        self.build = build

    def convert(self, scalar: Scalar, to: ScalarType) -> Scalar:
        """`scalar` as a number of the type `to`, as `int`, `float`, `bool` and NumPy's classes convert."""
        if scalar.type.is_same(to):
            return replace(scalar, type=to)
        if scalar.number is not None:
            return self._converted_number(scalar.number, to)
        if to.kind == "bool":
            return self._is_not_zero(scalar, to)
        source = scalar.type.kind
        if to.kind == "complex":
            return Scalar(to, self._to_complex(scalar, to))
        if source == "complex":
            raise self._no_real_number(to)
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
        if to.kind == "bool":
            return Scalar(to, bool(number))
        if to.kind == "complex":
            return Scalar(to, complex(number) if to.bits == 64 else complex(np.complex64(number)))
        if isinstance(number, complex):
            raise self._no_real_number(to)
        if to.kind == "float":
            return Scalar(to, float(number) if to.bits == 64 else float(np.float32(number)))
        try:
            return integer(int(number), to)
        except (OverflowError, ValueError):
            raise self.build.refuse(f"{number} cannot be converted to an int") from None

    def _no_real_number(self, to: ScalarType) -> TapeflowError:
        return self.build.refuse(
            f"a complex number cannot be converted to {to.phrase}", "take its part: '.real', '.imag' or 'abs(...)'"
        )

    def _to_complex(self, scalar: Scalar, to: ScalarType) -> SSAValue:
        part = ScalarType("float", to.bits, to.origin)
        if scalar.type.kind == "complex":
            real, imaginary = (self.convert(self.part(scalar, which), part) for which in ("real", "imag"))
        else:
            real, imaginary = self.convert(scalar, part), Scalar(part, 0.0)
        parts = self.build.ssa(real), self.build.ssa(imaginary)
        return self.build.value(complex_dialect.CreateOp(*parts, ComplexType(to.float_ir)))

    def part(self, scalar: Scalar, which: Literal["real", "imag"]) -> Scalar:
        """The real or the imaginary part of a number; of a real one itself, or 0."""
        if scalar.type.kind == "bool":
            raise self.build.refuse(f"'.{which}' of a bool is not supported", "convert it with int()")
        if scalar.type.kind != "complex":
            return scalar if which == "real" else self.convert(integer(0), scalar.type)
        part = ScalarType("float", scalar.type.bits, scalar.type.origin)
        if isinstance(scalar.number, complex):
            return Scalar(part, scalar.number.real if which == "real" else scalar.number.imag)
        operation = complex_dialect.ReOp if which == "real" else complex_dialect.ImOp
        return Scalar(part, self.build.value(operation(self.build.ssa(scalar))))

    def _to_float(self, scalar: Scalar, to: ScalarType) -> SSAValue:
        match scalar.type.kind:
            case "bool":
                return self.build.value(arith.UIToFPOp(self.build.ssa(scalar), to.float_ir))
            case "int":
                return self.build.value(arith.SIToFPOp(self._sized(self.build.ssa(scalar)), to.float_ir))
            case "float":
                conversion = arith.ExtFOp if to.bits > scalar.type.bits else arith.TruncFOp
                return self.build.value(conversion(self.build.ssa(scalar), to.float_ir))
            case "complex":
                raise self._no_real_number(to)

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

    def _is_not_zero(self, scalar: Scalar, to: ScalarType) -> Scalar:
        if scalar.type.kind == "float":
            # NaN is true.
            zero = self.build.constant(0.0, scalar.type.ir)
            return Scalar(to, self.build.value(arith.CmpfOp(self.build.ssa(scalar), zero, "une")))
        if scalar.type.kind == "complex":
            zero = self.build.constant(0j, scalar.type.ir)
            return Scalar(to, self.build.value(complex_dialect.NotEqualOp(self.build.ssa(scalar), zero)))
        zero = self.build.constant(0, scalar.type.ir)
        value = self.build.value(arith.CmpiOp(self.build.ssa(scalar), zero, "ne"))
        return Scalar(to, value, if_false=(scalar.linear, -scalar.linear))

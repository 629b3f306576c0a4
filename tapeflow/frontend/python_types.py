"""Python's and NumPy's types of numbers, and what arithmetic makes of two of them.

NumPy 2's rule is followed: a Python number takes the type of the NumPy number it meets, so `float32 * 2.0` stays
`float32`, while `float32 * numpy.float64(2.0)` is `float64`. So a 64-bit number remembers which of the two it is; a
variable that is assigned more than once may be either, and meeting a 32-bit number is then refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import ComplexType, Float32Type, Float64Type, IndexType, IntegerType, f32, f64, i1, i32, i64

INDEX = IndexType()


class Origin(Enum):
    """Whose number it is, where that decides the type of a result."""

    PYTHON = "Python"
    NUMPY = "NumPy"
    EITHER = "either"


@dataclass(frozen=True)
class ScalarType:
    """A type of numbers.

    Attributes:
        kind: bool, int, float or complex.
        bits: its size, of a complex number that of a part; 1 for a bool, else 32 or 64.
        origin: Python's or NumPy's, where it is 64 bits wide.
    """

    kind: Literal["bool", "int", "float", "complex"]
    bits: int
    origin: Origin = Origin.NUMPY

    @property
    def ir(self) -> IndexType | IntegerType | Float32Type | Float64Type | ComplexType:
        """The type of its values in the IR: 64-bit integers are computed in `index`."""
        return INDEX if (self.kind, self.bits) == ("int", 64) else self.memory_ir

    @property
    def integer_ir(self) -> IntegerType:
        """The type in memory of a bool or an int."""
        assert self.kind in ("bool", "int")
        return i1 if self.kind == "bool" else i64 if self.bits == 64 else i32

    @property
    def float_ir(self) -> Float32Type | Float64Type:
        """The type of a float, or of a part of a complex number."""
        assert self.kind in ("float", "complex")
        return f64 if self.bits == 64 else f32

    @property
    def memory_ir(self) -> IntegerType | Float32Type | Float64Type | ComplexType:
        """Its type in the IR as an element of an array or a parameter."""
        if self.kind == "complex":
            return ComplexType(self.float_ir)
        return self.float_ir if self.kind == "float" else self.integer_ir

    def is_same(self, other: ScalarType) -> bool:
        """Whether the two differ in their origin at most."""
        return (self.kind, self.bits) == (other.kind, other.bits)

    @property
    def unsettled(self) -> ScalarType:
        """This type where it is no longer known which of several assignments made the value."""
        return replace(self, origin=Origin.EITHER) if self.bits == 64 else self

    def readings(self) -> Iterator[ScalarType]:
        """The types that it may turn out to be."""
        if self.origin is Origin.EITHER:
            yield replace(self, origin=Origin.PYTHON)
            yield replace(self, origin=Origin.NUMPY)
        else:
            yield self

    def __str__(self) -> str:
        return self.kind if self.bits in (1, 64) else self.in_numpy

    @property
    def in_numpy(self) -> str:
        """What NumPy calls the type, which is no bool, for messages."""
        return f"numpy.{self.kind}{2 * self.bits if self.kind == 'complex' else self.bits}"

    @property
    def phrase(self) -> str:
        """The type with its article, for messages."""
        return f"{'an' if str(self)[0] == 'i' else 'a'} {self}"


BOOL = ScalarType("bool", 1)
INT = ScalarType("int", 64, Origin.PYTHON)
FLOAT = ScalarType("float", 64, Origin.PYTHON)
INT32 = ScalarType("int", 32)
INT64 = ScalarType("int", 64)
FLOAT32 = ScalarType("float", 32)
FLOAT64 = ScalarType("float", 64)
COMPLEX = ScalarType("complex", 64, Origin.PYTHON)
COMPLEX64 = ScalarType("complex", 32)
COMPLEX128 = ScalarType("complex", 64)

OF_DTYPE: dict[np.dtype[Any], ScalarType] = {
    np.dtype(np.float64): FLOAT64,
    np.dtype(np.float32): FLOAT32,
    np.dtype(np.complex128): COMPLEX128,
    np.dtype(np.complex64): COMPLEX64,
    np.dtype(np.int64): INT64,
    np.dtype(np.int32): INT32,
    np.dtype(np.bool_): BOOL,
}
"""The types of elements that arrays may have."""

OF_CLASS: dict[Any, ScalarType] = {
    float: FLOAT,
    int: INT,
    bool: BOOL,
    np.float64: FLOAT64,
    np.float32: FLOAT32,
    complex: COMPLEX,
    np.complex128: COMPLEX128,
    np.complex64: COMPLEX64,
    np.int64: INT64,
    np.int32: INT32,
    np.bool_: BOOL,
}
"""The types of numbers by the Python classes that they are written as, in annotations and conversions."""


def element_of(scalar: ScalarType) -> ScalarType:
    """The type of the elements of an array that holds numbers of the type `scalar`."""
    return next(element for element in OF_DTYPE.values() if element.is_same(scalar))


def joined(left: ScalarType, right: ScalarType) -> ScalarType | None:
    """The type of a value that is one or the other; None if they differ in more than their origin."""
    if not left.is_same(right):
        return None
    return left if left == right else left.unsettled


def promoted(left: ScalarType, right: ScalarType) -> ScalarType | None:
    """The type in which `left` and `right`, neither a bool, are added; None if their origins leave that open."""
    results = [_promoted(*pair) for pair in product(left.readings(), right.readings())]
    result = results[0]
    for other in results[1:]:
        merged = joined(result, other)
        if merged is None:
            return None
        result = merged
    return result


def _promoted(left: ScalarType, right: ScalarType) -> ScalarType:
    python = [side for side in (left, right) if side.origin is Origin.PYTHON]
    if "complex" in (left.kind, right.kind):
        return _promoted_complex(left, right, python)
    if len(python) == 2:
        return FLOAT if "float" in (left.kind, right.kind) else INT
    if python:
        numpy = right if left is python[0] else left
        return FLOAT64 if (python[0].kind, numpy.kind) == ("float", "int") else numpy
    if left.kind == right.kind:
        return left if left.bits >= right.bits else right
    return FLOAT64


def _promoted_complex(left: ScalarType, right: ScalarType, python: list[ScalarType]) -> ScalarType:
    """The type of a sum of which one side or both are complex."""
    if len(python) == 2:
        return COMPLEX
    if python:
        numpy = right if left is python[0] else left
        return COMPLEX64 if (numpy.kind, numpy.bits) in (("complex", 32), ("float", 32)) else COMPLEX128
    # An int of either size needs a double for each part.
    wide = any(side.bits == 64 or side.kind == "int" for side in (left, right))
    return COMPLEX128 if wide else COMPLEX64


def as_float(scalar: ScalarType) -> ScalarType:
    """The type of `scalar` as `/` and NumPy's functions make a float of it; complex numbers stay."""
    return scalar if scalar.kind in ("float", "complex") else replace(FLOAT, origin=scalar.origin)

"""C's arithmetic types, the conversions between them, and their types in the IR."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)

from tapeflow.frontend.clang_tree import SourceType

Number: TypeAlias = int | float


@dataclass(frozen=True)
class Scalar:
    """An arithmetic type.

    Attributes:
        name: as C writes it.
        ir: its type in the IR; signedness is in the operations there.
        rank: of two operands, the one of higher rank decides the type that they are converted to.
        signed: whether an integer is signed.
    """

    name: str
    ir: IntegerType | Float32Type | Float64Type | ComplexType
    rank: int
    signed: bool = True

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type."""
        return isinstance(self.ir, Float32Type | Float64Type)

    @property
    def is_complex(self) -> bool:
        """Whether it is a type of complex numbers."""
        return isinstance(self.ir, ComplexType)

    @property
    def part(self) -> Scalar:
        """The type of the two parts of a complex type; itself of any other."""
        if not self.is_complex:
            return self
        return FLOAT if self == FLOAT_COMPLEX else DOUBLE

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; `bool` is one."""
        return isinstance(self.ir, IntegerType)

    @property
    def integer(self) -> IntegerType:
        """The type in the IR of an integer type."""
        assert isinstance(self.ir, IntegerType)
        return self.ir

    @property
    def float(self) -> Float32Type | Float64Type:
        """The type in the IR of a real floating-point type."""
        assert isinstance(self.ir, Float32Type | Float64Type)
        return self.ir

    @property
    def width(self) -> int:
        """Its size in bits."""
        return 2 * self.part.width if isinstance(self.ir, ComplexType) else self.ir.bitwidth

    @property
    def is_extended_by_zeros(self) -> bool:
        """Whether its values grow to 64 bits by zeros, where `arith.index_cast` would repeat the sign."""
        return self.is_integer and not self.signed and self.width < 64

    @property
    def bytes(self) -> int:
        """Its `sizeof`."""
        return max(self.width, 8) // 8


BOOL = Scalar("bool", i1, 0, signed=False)
CHAR = Scalar("char", i8, 1)
UNSIGNED_CHAR = Scalar("unsigned char", i8, 2, signed=False)
SHORT = Scalar("short", i16, 3)
UNSIGNED_SHORT = Scalar("unsigned short", i16, 4, signed=False)
INT = Scalar("int", i32, 5)
UNSIGNED = Scalar("unsigned", i32, 6, signed=False)
LONG = Scalar("long", i64, 7)
UNSIGNED_LONG = Scalar("unsigned long", i64, 8, signed=False)
FLOAT = Scalar("float", f32, 9)
DOUBLE = Scalar("double", f64, 10)
FLOAT_COMPLEX = Scalar("float complex", ComplexType(f32), 11)
DOUBLE_COMPLEX = Scalar("double complex", ComplexType(f64), 12)

_SCALARS = {
    "BOOL": BOOL,
    "CHAR_S": CHAR,
    "SCHAR": CHAR,
    "UCHAR": UNSIGNED_CHAR,
    "SHORT": SHORT,
    "USHORT": UNSIGNED_SHORT,
    "INT": INT,
    "UINT": UNSIGNED,
    "LONG": LONG,
    "ULONG": UNSIGNED_LONG,
    "LONGLONG": LONG,
    "ULONGLONG": UNSIGNED_LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
}

SUPPORTED_SCALARS = "double, float, both also complex, the integer types, enums and bool"


def scalar_of(source_type: SourceType) -> Scalar | None:
    """The arithmetic type that `source_type` is, None if it is none that we know."""
    if source_type.kind == "COMPLEX":
        return {"FLOAT": FLOAT_COMPLEX, "DOUBLE": DOUBLE_COMPLEX}.get(source_type.element.kind)
    return _SCALARS.get(source_type.enumerated.kind if source_type.kind == "ENUM" else source_type.kind)


def promoted(scalar: Scalar) -> Scalar:
    """`scalar` after C's integer promotions."""
    return INT if scalar.rank < INT.rank else scalar


def common(left: Scalar, right: Scalar) -> Scalar:
    """The type that C's usual arithmetic conversions bring two operands to."""
    # Promoted, int < unsigned < long < unsigned long < float < double: with 64-bit long each holds, or outranks, the
    # ones below. With a complex operand the parts are of the type that two real operands would be converted to.
    if left.is_complex or right.is_complex:
        return DOUBLE_COMPLEX if DOUBLE in (left.part, right.part) else FLOAT_COMPLEX
    return max(promoted(left), promoted(right), key=lambda scalar: scalar.rank)


def wrapped(number: int, scalar: Scalar) -> int:
    """`number` modulo two to the width, in the range of the integer type `scalar`."""
    low = number & ((1 << scalar.width) - 1)
    return low - (1 << scalar.width) if scalar.signed and low >> (scalar.width - 1) else low


def rounded(number: float, scalar: Scalar) -> float:
    """`number` rounded to the floating-point type `scalar`."""
    if scalar is DOUBLE or not math.isfinite(number):
        return number
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def convert_number(number: Number, to: Scalar) -> Number | None:
    """`number` converted to `to` as C does; None where C leaves the result undefined."""
    if to is BOOL:
        return int(number != 0)
    if to.is_complex:
        # The imaginary part is zero: only numbers that come from real ones are known while importing.
        return convert_number(number, to.part)
    if to.is_float:
        # Python rounds an int to the nearest double; to float that must be one rounding, not two.
        if isinstance(number, int) and to is FLOAT and abs(number) > 1 << 53:
            return None
        return rounded(float(number), to)
    if isinstance(number, int):
        return wrapped(number, to)
    if not math.isfinite(number) or wrapped(math.trunc(number), to) != math.trunc(number):
        return None
    return math.trunc(number)


@dataclass(frozen=True)
class Folding:
    """How dimensions lie in one: those inside a struct, in memory that holds whole structs side by side.

    Attributes:
        kept: the number of outer dimensions that are dimensions of the memory too.
        bytes: of all that lies in the last dimension of the memory.
        offset: of the first element there, in bytes.
        steps: for each folded dimension, the bytes from one element to the next.
    """

    kept: int
    bytes: int
    offset: int = 0
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class ArrayType:
    """An array, or what a parameter points at.

    Attributes:
        element: the type of its elements.
        extents: one a dimension: a number, or None where it is only known at run time.
        const: whether it may not be written through this name.
        folding: how it lies in memory that holds more; None for memory of its own.
        outer: the number of dimensions that are of the structs which it is a member of.
    """

    element: Scalar
    extents: tuple[int | None, ...]
    const: bool = False
    folding: Folding | None = None
    outer: int = 0

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.extents)

    @property
    def ir(self) -> MemRefType:
        """The type in the IR of the memory that it lies in."""
        return memory_type(self.element, self.extents, self.folding)


def memory_type(element: Scalar, extents: tuple[int | None, ...], folding: Folding | None) -> MemRefType:
    """The type in the IR of the memory of an array."""
    if folding is not None:
        extents = (*extents[: folding.kept], folding.bytes // element.bytes)
    return MemRefType(element.ir, [DYNAMIC_INDEX if extent is None else extent for extent in extents])

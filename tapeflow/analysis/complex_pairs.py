"""Complex numbers as pairs: the types of floats and arrays that stand for types of complex numbers.

A scalar `complex<f64>` is two f64, its real part first; an array of them is one of floats with an axis of 2 behind the
others, which is how C and NumPy lay complex numbers out.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IntAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute

from tapeflow.errors import TapeflowError


def complex_part(type_: Attribute) -> AnyFloat | None:
    """The float type of the parts of complex numbers of `type_`; None for all other types."""
    if not isinstance(type_, ComplexType):
        return None
    part = cast("ComplexType[Any]", type_).element_type
    return part if isinstance(part, AnyFloat) else None


def is_complex(type_: Attribute) -> bool:
    """Whether `type_` is one of complex numbers whose parts are floats."""
    return complex_part(type_) is not None


def is_complex_array(type_: Attribute) -> bool:
    """Whether `type_` is an array of complex numbers."""
    return isinstance(type_, MemRefType) and is_complex(cast(MemRefType[Attribute], type_).element_type)


def paired(type_: Attribute, location: Attribute | None = None) -> tuple[Attribute, ...]:
    """The types that stand for `type_`: itself where it is not complex.

    Raises:
        TapeflowError: an array has a layout that is no list of strides; `location` is where.
    """
    if (part := complex_part(type_)) is not None:
        return part, part
    if is_complex_array(type_):
        array = cast(MemRefType[Attribute], type_)
        part = complex_part(array.element_type)
        assert part is not None
        layout = _paired_layout(array, location)
        return (MemRefType(part, [*array.get_shape(), 2], layout, array.memory_space),)
    return (type_,)


def _paired_layout(array: MemRefType[Attribute], location: Attribute | None) -> StridedLayoutAttr | NoneAttr:
    match array.layout:
        case NoneAttr():
            return NoneAttr()
        case StridedLayoutAttr(strides=strides, offset=offset):
            return StridedLayoutAttr([*map(_twice, strides), IntAttr(1)], _twice(offset))
        case _:
            raise TapeflowError(
                f"the layout of {array} is a map, which is not known of complex numbers",
                location=location,
                hint="give the strides instead: strided<[...], offset: ...>",
            )


def _twice(number: IntAttr | NoneAttr) -> IntAttr | NoneAttr:
    return IntAttr(2 * number.data) if isinstance(number, IntAttr) else number

"""What the names of a C function stand for in the IR: values, memory, places in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from tapeflow.frontend.c_builder import Index, Value
from tapeflow.frontend.c_types import ArrayType, Scalar


@dataclass
class Fixed:
    """A variable that keeps its value: a parameter or local never assigned again, or a counter inside its loop.

    Attributes:
        type: the variable's type.
        value: its value, made from `index` when first needed.
        index: its value as an `index`, made from `value` when first needed.
        native: whether `index` is how the value came to be.
        nonnegative: whether it is known not to be negative.
    """

    type: Scalar
    value: Value | None = None
    index: Index | None = None
    native: bool = False
    nonnegative: bool = False


@dataclass
class Slot:
    """A variable that is assigned: its memory, of rank 0."""

    type: Scalar
    memory: SSAValue


@dataclass
class Array:
    """An array: its memory."""

    type: ArrayType
    memory: SSAValue


Binding: TypeAlias = Fixed | Slot | Array


@dataclass
class Place:
    """An element of an array or a variable in memory, that can be read and written."""

    type: Scalar
    memory: SSAValue
    indices: Sequence[SSAValue] = ()

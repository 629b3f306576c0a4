"""Attributes as run-time values: how `tapeflow-run --args` is read."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, MemRefType
from xdsl.interpreter import Interpreter, impl_attr, register_impls
from xdsl.ir import Attribute

from tapeflow.interpreters.interpreter import Functions
from tapeflow.interpreters.values import Array, array_of_attribute, value_of_attribute


@register_impls
class BuiltinFunctions(Functions):
    """Scalars from integer and float attributes, arrays from dense ones."""

    @impl_attr(AnyFloat)
    def float_of(self, interpreter: Interpreter, attribute: Attribute, of_type: AnyFloat) -> float:
        """The value of a float attribute."""
        return value_of_attribute(attribute)

    @impl_attr(IntegerType)
    def integer_of(self, interpreter: Interpreter, attribute: Attribute, of_type: IntegerType) -> float:
        """The value of an integer attribute."""
        return value_of_attribute(attribute)

    @impl_attr(IndexType)
    def index_of(self, interpreter: Interpreter, attribute: Attribute, of_type: IndexType) -> float:
        """The value of an index attribute."""
        return value_of_attribute(attribute)

    @impl_attr(MemRefType)
    def array_of(self, interpreter: Interpreter, attribute: Attribute, of_type: MemRefType[Any]) -> Array:
        """A fresh array with the elements of a dense attribute."""
        return array_of_attribute(attribute)

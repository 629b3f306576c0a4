"""Sums, products and extremes of arrays, and products of two arrays.

Everything is added in order, the last dimension fastest. NumPy adds long arrays in blocks, so its results differ by
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith

from tapeflow.frontend.python_arrays import Arrays
from tapeflow.frontend.python_functions import zero_of
from tapeflow.frontend.python_numbers import Numbers
from tapeflow.frontend.python_types import FLOAT64, INT64, Origin, ScalarType
from tapeflow.frontend.python_values import ArrayValue, Elements, Scalar, View, described, integer

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class Reductions:
    """Makes the IR of reductions.

    Args:
        arrays: makes that of arrays.
    """

    def __init__(self, arrays: Arrays):
        self.arrays = arrays
        self.build = arrays.build
        self.numbers: Numbers = arrays.numbers

    def reduce(self, name: str, value: ArrayValue) -> Scalar:
        """The sum, product, maximum, minimum or mean of all elements.

        Args:
            name: which of these.
            value: an array of ints or floats.
        """
        part = self.arrays.elements(value)
        match name:
            case "sum":
                return self._accumulate("+", part)
            case "prod":
                return self._accumulate("*", part)
            case "mean":
                return self._mean(part)
            case _:
                return self._extreme(name == "max", part)

    def _accumulate(self, symbol: str, part: Elements) -> Scalar:
        kind = part.type.kind
        # NumPy adds ints, and counts bools, in 64 bits.
        scalar = INT64 if kind in ("int", "bool") else part.type
        start = zero_of(scalar) if symbol == "+" else self.numbers.convert(integer(1), scalar)

        def add(indices: Sequence[Scalar], so_far: Scalar) -> Scalar:
            element = self.numbers.convert(part.element(indices), scalar)
            return self.numbers.binary(symbol, so_far, element)

        return replace(self.arrays.reduce(part.lengths, start, add), type=replace(scalar, origin=Origin.NUMPY))

    def _mean(self, part: Elements) -> Scalar:
        total = self._accumulate("+", part)
        scalar = FLOAT64 if part.type.kind not in ("float", "complex") else part.type
        size = self.numbers.convert(self.arrays.size(part.lengths), scalar)
        return self.numbers.binary("/", self.numbers.convert(total, scalar), size)

    def _extreme(self, greatest: bool, part: Elements) -> Scalar:
        if part.type.kind == "bool":
            raise self.build.refuse("the extremes of an array of bools are not supported", "compare in a loop")
        if part.type.kind == "complex":
            raise self.build.refuse("complex numbers have no extremes", "compare their parts, or their 'abs(...)'")
        sign = -1 if greatest else 1
        if part.type.kind == "int":
            bound = _LEAST if greatest else _GREATEST
            start = integer(bound if part.type.bits == 64 else bound >> 32, part.type)
        else:
            start = Scalar(part.type, sign * math.inf)
        return self.arrays.reduce(part.lengths, start, lambda i, s: self._further(greatest, s, part.element(i)))

    def _further(self, greatest: bool, so_far: Scalar, element: Scalar) -> Scalar:
        if element.type.kind == "int":
            return replace(self.numbers.extreme(greatest, so_far, element), type=element.type)
        # As in NumPy, and unlike Python's own `max`, NaN wins.
        operation = arith.MaximumfOp if greatest else arith.MinimumfOp
        operands = self.build.ssa(so_far), self.build.ssa(element)
        return Scalar(element.type, self.build.value(operation(*operands)))

    # Products of two arrays.

    def product(self, left: ArrayValue, right: ArrayValue) -> Scalar | View:
        """`left @ right`, of one or two dimensions each.

        Raises:
            TapeflowError: the numbers of dimensions are others, or the inner extents may differ.
        """
        ranks = len(left.lengths), len(right.lengths)
        if not all(rank in (1, 2) for rank in ranks):
            raise self.build.refuse(
                f"the product of {described(left)} and {described(right)} is not supported", "write the loops out"
            )
        self.arrays.check_equal(left.lengths[-1], right.lengths[0])
        rows, columns = left.lengths[:-1], right.lengths[1:]
        if not rows and not columns:
            return self._dot(self.arrays.elements(left), self.arrays.elements(right), (), ())
        # Each element is used many times.
        first, second = (self.arrays.elements(self._stored(side)) for side in (left, right))
        result = self.arrays.fresh(self._type_of_product(first, second), (*rows, *columns))
        split = len(rows)
        self.arrays.each(
            result.lengths,
            lambda at: self.arrays.store(result, self._dot(first, second, at[:split], at[split:]), at),
        )
        return result

    def _stored(self, value: ArrayValue) -> View:
        return value if isinstance(value, View) else self.arrays.materialize(value)

    def _dot(self, left: Elements, right: Elements, row: Sequence[Scalar], column: Sequence[Scalar]) -> Scalar:
        def add(indices: Sequence[Scalar], so_far: Scalar) -> Scalar:
            first, second = left.element((*row, *indices)), right.element((*indices, *column))
            return self.numbers.binary("+", so_far, self.numbers.binary("*", first, second))

        return self.arrays.reduce(left.lengths[-1:], zero_of(self._type_of_product(left, right)), add)

    def _type_of_product(self, left: Elements, right: Elements) -> ScalarType:
        first, second = self.arrays.stand_in(left.type), self.arrays.stand_in(right.type)
        return self.build.type_of(lambda: self.numbers.binary("*", first, second))

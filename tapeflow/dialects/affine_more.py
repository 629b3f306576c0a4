"""What xDSL 0.75's affine dialect lacks of MLIR's: `affine.max`, `affine.parallel` with reductions, and small ones.

xDSL has an `affine.parallel`, but takes neither the numbers that real generic text names reductions by nor operands
as MLIR counts them. Ours stands in its place where Tapeflow parses MLIR.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class MaxOp(IRDLOperation):
    """The largest of the results of a map: `affine.max affine_map<(d0) -> (d0, 5)>(%i)`."""

    name = "affine.max"

    arguments = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Check that there is an operand for each dimension and symbol of the map."""
        wanted = self.map.data.num_dims + self.map.data.num_symbols
        if len(self.arguments) != wanted:
            raise VerifyException(f"the map takes {wanted} operands, but {len(self.arguments)} are given")


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """A nest of loops whose iterations do not depend on each other, but for reductions of what they yield.

    Bounds come in groups, one a dimension: of a group's lower bounds the largest holds, of its upper bounds the
    smallest.
    """

    name = "affine.parallel"

    map_operands = var_operand_def(IndexType())
    reductions = prop_def(ArrayAttr[StringAttr | IntegerAttr])
    lower_bounds_map = prop_def(AffineMapAttr, prop_name="lowerBoundsMap")
    lower_bounds_groups = prop_def(DenseIntElementsAttr, prop_name="lowerBoundsGroups")
    upper_bounds_map = prop_def(AffineMapAttr, prop_name="upperBoundsMap")
    upper_bounds_groups = prop_def(DenseIntElementsAttr, prop_name="upperBoundsGroups")
    steps = prop_def(ArrayAttr[IntegerAttr])
    res = var_result_def()
    body = region_def("single_block")

    def verify_(self) -> None:
        """Check the number of operands, reductions and bounds."""
        maps = (self.lower_bounds_map.data, self.upper_bounds_map.data)
        wanted = sum(it.num_dims + it.num_symbols for it in maps)
        if len(self.map_operands) != wanted:
            raise VerifyException(f"the bounds take {wanted} operands, but {len(self.map_operands)} are given")
        if len(self.reductions) != len(self.res):
            raise VerifyException(f"there are {len(self.res)} results, but {len(self.reductions)} reductions")
        for bounds, groups in zip(maps, (self.lower_bounds_groups, self.upper_bounds_groups), strict=True):
            sizes = groups.get_values()
            if sum(sizes) != len(bounds.results) or len(sizes) != len(self.steps):
                raise VerifyException("expected a group of bounds for each dimension")
        if len(self.body.block.args) != len(self.steps):
            raise VerifyException("expected a variable for each dimension")


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will be used; it computes nothing."""

    name = "affine.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")
    map = prop_def(AffineMapAttr)


@irdl_op_definition
class DelinearizeIndexOp(IRDLOperation):
    """The subscripts in an array of the extents `basis` of its element `linear_index`, counted row by row.

    The first extent is not needed. `%q:2 = affine.delinearize_index %k into (%n, %m) : index, index` are k floordiv m
    and k mod m.
    """

    name = "affine.delinearize_index"

    linear_index = operand_def(IndexType())
    basis = var_operand_def(IndexType())
    results_ = var_result_def(IndexType())

    traits = traits_def(Pure())

    def verify_(self) -> None:
        """Check that there is a result for each extent."""
        if len(self.basis) != len(self.results_) or not self.basis:
            raise VerifyException("expected as many results as extents, and one or more")

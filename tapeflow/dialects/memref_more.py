"""What xDSL 0.75's memref dialect lacks of MLIR's: `memref.transpose` and `memref.prefetch`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, BoolAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """A view whose dimension k is that of the source which the k-th result of `permutation` names."""

    name = "memref.transpose"

    source = operand_def(MemRefType)
    permutation = prop_def(AffineMapAttr)
    result = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())

    @property
    def dimensions(self) -> tuple[int, ...]:
        """For each dimension of the result that of the source."""
        return tuple(cast(AffineDimExpr, result).position for result in self.permutation.data.results)

    def verify_(self) -> None:
        """Check that the map permutes the dimensions."""
        results = self.permutation.data.results
        rank = cast(MemRefType[Attribute], self.source.type).get_num_dims()
        if not all(isinstance(result, AffineDimExpr) for result in results):
            raise VerifyException("expected a permutation of the dimensions")
        if sorted(self.dimensions) != list(range(rank)):
            raise VerifyException(f"expected a permutation of the {rank} dimensions")


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will be used; it computes nothing."""

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

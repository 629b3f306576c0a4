"""What xDSL 0.75's memref dialect lacks of MLIR's.

```mlir
%t = memref.transpose %a (i, j) -> (j, i) : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?]>>
%b = memref.realloc %a(%n) : memref<?xf64> to memref<?xf64>
%new = memref.generic_atomic_rmw %a[%i] : memref<?xf64> { ^bb0(%old: f64): ... memref.atomic_yield %value : f64 }
memref.prefetch %a[%i], read, locality<3>, data : memref<?xf64>
```
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, BoolAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, NoMemoryEffect
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


@irdl_op_definition
class ReallocOp(IRDLOperation):
    """An array of another size that begins as `source` does, which must not be used any more."""

    name = "memref.realloc"

    source = operand_def(MemRefType)
    size = opt_operand_def(IndexType())
    alignment = opt_prop_def(IntegerAttr)
    result = result_def(MemRefType)

    def verify_(self) -> None:
        """Check that both are vectors of the same elements, and that the size is given once."""
        of = cast(MemRefType[Attribute], self.source.type)
        to = self.result.type
        if of.get_num_dims() != 1 or to.get_num_dims() != 1 or of.element_type != to.element_type:
            raise VerifyException("expected two arrays of rank 1 of one element type")
        if (self.size is None) == (to.get_shape()[0] == DYNAMIC_INDEX):
            raise VerifyException("expected a size exactly where the result's is dynamic")


@irdl_op_definition
class AtomicYieldOp(IRDLOperation):
    """What `memref.generic_atomic_rmw` stores."""

    name = "memref.atomic_yield"

    result = operand_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$result attr-dict `:` type($result)"


@irdl_op_definition
class GenericAtomicRMWOp(IRDLOperation):
    """Stores what the body makes of an element; the result is what is stored."""

    name = "memref.generic_atomic_rmw"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    body = region_def("single_block")
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def verify_(self) -> None:
        """Check that the body turns an element into another."""
        element = cast(MemRefType[Attribute], self.memref.type).element_type
        end = self.body.block.last_op
        if not isinstance(end, AtomicYieldOp):
            raise VerifyException("expected memref.atomic_yield at the end of the body")
        types = [*(argument.type for argument in self.body.block.args), end.result.type, self.result.type]
        if types != [element] * 3:
            raise VerifyException(f"expected a body that makes of an element of type {element} another")
        if len(self.indices) != cast(MemRefType[Attribute], self.memref.type).get_num_dims():
            raise VerifyException("expected an index for each dimension")

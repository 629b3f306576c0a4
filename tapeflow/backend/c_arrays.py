"""The arrays of a function as C has them: flat, with the extents that turn subscripts into one index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from math import prod
from typing import Literal, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.analysis.parameters import attributes_of, parameter_name
from tapeflow.analysis.roots import written_arrays
from tapeflow.analysis.snapshots import RESTORED_IN_BRANCH
from tapeflow.analysis.source_names import location_of
from tapeflow.analysis.views import kept_dimensions, mixed
from tapeflow.backend.c_loops import integer_constant
from tapeflow.backend.c_types import c_type
from tapeflow.dialects import ad
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import TapeflowError

_MOST_STACK_BYTES = 8192
"""Local arrays of a constant size up to this live on the stack, larger ones in the arena."""


@dataclass(frozen=True)
class ExtentParameter:
    """The extent of an array argument that no argument of the IR function holds: an extra parameter in C."""

    argument: BlockArgument
    dimension: int


Extent = int | SSAValue | ExtentParameter | None
"""A constant, an integer value, an extra parameter, or not known (outermost only)."""


@dataclass(eq=False)
class CArray:
    """An array argument or a local array.

    Attributes:
        root: the argument, or the result of the allocation or of `memref.get_global`.
        ctype: of an element.
        extents: one a dimension.
        place: `parameter`; `scalar`, a local variable; `stack` or `arena`, a local array;
            `table`, a constant global.
        zeroed: whether it is set to 0 where it is declared, only so that C compilers do not warn.
        written: whether the function stores to it.
        reads_extents: whether the outermost extent of an argument is asked for.
    """

    root: SSAValue
    ctype: str
    extents: tuple[Extent, ...]
    place: Literal["parameter", "scalar", "stack", "arena", "table"]
    zeroed: bool = False
    written: bool = False

    @property
    def constant_count(self) -> int | None:
        """The number of elements, if it is constant."""
        sizes = [extent for extent in self.extents if isinstance(extent, int)]
        return prod(sizes) if len(sizes) == len(self.extents) else None


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of an array.

    Raises:
        TapeflowError: it is no array of known rank.
    """
    type_: Attribute = value.type
    if isinstance(type_, MemRefType):
        return cast(MemRefType[Attribute], type_)
    raise TapeflowError(f"a value of type {type_} cannot be printed as C", location=location_of(value))


def root_of(value: SSAValue) -> SSAValue:
    """The argument or allocation that `value` is a view of.

    Raises:
        TapeflowError: it is a view that cannot be printed as C.
    """
    while True:
        match value.owner:
            case memref.CastOp() | memref.SubviewOp():
                value = value.owner.source
            case memref.AllocOp() | memref.AllocaOp() | memref.GetGlobalOp():
                return value
            case Operation():
                raise TapeflowError(
                    f"'{value.owner.name}' cannot be printed as C",
                    location=value.owner.location,
                    hint="the backend looks through memref.cast and memref.subview only",
                )
            case _:
                if isinstance(value.owner.parent_op(), func.FuncOp):
                    return value
                raise TapeflowError(
                    "an array that is carried by a loop cannot be printed as C",
                    location=location_of(value),
                    hint="use one array, or copy between two",
                )


@dataclass
class Arrays:
    """All arrays of a function, and the memory accesses they take."""

    function: func.FuncOp
    asked: InitVar[Iterable[ExtentParameter]] = ()
    """Extents of arguments that others than the function itself ask for."""

    of_root: dict[SSAValue, CArray] = field(default_factory=dict[SSAValue, CArray])
    """Arguments in order, then allocations and tables in order."""

    extra: set[ExtentParameter] = field(default_factory=set[ExtentParameter])
    """The extra parameters."""

    def __post_init__(self, asked: Iterable[ExtentParameter]) -> None:
        self.extra |= set(asked)
        arguments = {parameter_name(argument): argument for argument in self.function.args}
        for argument in self.function.args:
            if isinstance(argument.type, MemRefType):
                extents = self._parameter_extents(argument, arguments)
                self.of_root[argument] = CArray(argument, _element(argument), extents, "parameter")
        for op in self.function.walk():
            match op:
                case memref.AllocOp() | memref.AllocaOp():
                    self.of_root[op.memref] = _local(op)
                case memref.GetGlobalOp():
                    extents = tuple(memref_type(op.memref).get_shape())
                    self.of_root[op.memref] = CArray(op.memref, _element(op.memref), extents, "table")
                case memref.StoreOp() | ad.AccumulateOp():
                    self.of(op.memref).written = True
                case memref.CopyOp():
                    self.of(op.destination).written = True
                case func.CallOp():
                    for array in written_arrays(op):
                        self.of(array).written = True
                case memref.DimOp():
                    self._asked(op)
                case _:
                    pass

    def of(self, value: SSAValue) -> CArray:
        """The array that `value` is a view of."""
        return self.of_root[root_of(value)]

    @property
    def locals(self) -> Iterator[CArray]:
        """The local arrays and the tables, in order."""
        return (array for array in self.of_root.values() if array.place != "parameter")

    def extent(self, op: memref.DimOp) -> Extent:
        """What `memref.dim` asks for.

        Raises:
            TapeflowError: it asks with an index that is not constant, or about a view.
        """
        dimension = integer_constant(op.index)
        source = op.source
        if dimension is None or root_of(source) is not _through_casts(source):
            raise TapeflowError(
                "memref.dim of a view, or of a dimension that is not constant, cannot be printed as C",
                location=op.location,
            )
        extent = self.of(source).extents[dimension]
        root = root_of(source)
        assert extent is not None or isinstance(root, BlockArgument)
        return ExtentParameter(cast(BlockArgument, root), dimension) if extent is None else extent

    def _asked(self, op: memref.DimOp) -> None:
        extent = self.extent(op)
        if isinstance(extent, ExtentParameter):
            self.extra.add(extent)

    def _parameter_extents(self, argument: BlockArgument, arguments: dict[str, BlockArgument]) -> tuple[Extent, ...]:
        type_ = memref_type(argument)
        if not isinstance(type_.layout, NoneAttr):
            raise TapeflowError(
                f"the layout of '{parameter_name(argument)}', {argument.type}, cannot be printed as C",
                location=argument.location,
                hint="pass contiguous arrays, memref<?x?xf64>",
            )
        extents: list[Extent] = [size if size >= 0 else None for size in type_.get_shape()]
        spelled = attributes_of(argument).get("tapeflow.extents")
        if isinstance(spelled, ArrayAttr):
            for dimension, extent in enumerate(cast(ArrayAttr[StringAttr], spelled)):
                if extents[dimension] is None and extent.data:
                    extents[dimension] = self._spelled_extent(extent.data, argument, arguments)
        for dimension, extent in enumerate(extents):
            if dimension > 0 and extent is None:
                extra = ExtentParameter(argument, dimension)
                self.extra.add(extra)
                extents[dimension] = extra
        return tuple(extents)

    def _spelled_extent(self, text: str, argument: BlockArgument, arguments: dict[str, BlockArgument]) -> Extent:
        if text.isdecimal():
            return int(text)
        if not text.isidentifier():
            # An expression, which a call is checked against: the function has no value of it.
            return None
        if text not in arguments:
            raise TapeflowError(
                f"the extent '{text}' of '{parameter_name(argument)}' is no parameter",
                location=argument.location,
            )
        return arguments[text]

    def reads(self, value: SSAValue) -> Iterator[SSAValue]:
        """The integer values that go into the address of an element of `value`, beside its subscripts."""
        while isinstance(value, OpResult) and isinstance(value.op, memref.CastOp | memref.SubviewOp):
            if isinstance(value.op, memref.SubviewOp):
                yield from value.op.offsets
                yield from value.op.strides
            value = value.op.source
        yield from (extent for extent in self.of_root[value].extents[1:] if isinstance(extent, SSAValue))


def _through_casts(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult) and isinstance(value.op, memref.CastOp):
        value = value.op.source
    return value


def _element(value: SSAValue) -> str:
    return c_type(memref_type(value).element_type, location_of(value))


def _local(op: memref.AllocOp | memref.AllocaOp) -> CArray:
    type_ = memref_type(op.memref)
    sizes = iter(op.dynamic_sizes)
    extents = tuple(size if size >= 0 else next(sizes) for size in type_.get_shape())
    array = CArray(op.memref, _element(op.memref), extents, "arena", zeroed=RESTORED_IN_BRANCH in op.attributes)
    count = array.constant_count
    if not extents:
        array.place = "scalar"
    elif count is not None and 0 < count * field_bytes(type_.element_type) <= _MOST_STACK_BYTES:
        array.place = "stack"
    return array


@dataclass(frozen=True)
class Dimension:
    """One dimension of a subview: where it starts in the source, and how far its elements lie apart there."""

    offset: int | SSAValue
    stride: int | SSAValue
    dropped: bool


def subview_dimensions(op: memref.SubviewOp) -> Sequence[Dimension]:
    """The dimensions of the source of a subview.

    Raises:
        TapeflowError: it is not clear which dimensions the result leaves out.
    """
    offsets, strides = mixed(op, "offsets", op.offsets), mixed(op, "strides", op.strides)
    dropped = [not kept for kept in kept_dimensions(op)]
    if dropped.count(False) != memref_type(op.result).get_num_dims():
        raise TapeflowError("this memref.subview cannot be printed as C", location=op.location)
    return [Dimension(*each) for each in zip(offsets, strides, dropped, strict=True)]

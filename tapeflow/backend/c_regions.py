"""The regions of the tape as C has them: one name for what the IR has up to three handles for.

A region is created (`tape.create`, `stream.create`); if it goes through the scratchpad it has a buffer there as well
(`spad.alloc`), tied to it by the transfers between the two. In C all are `tape_j`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tapeflow.analysis.region_names import bare_name
from tapeflow.analysis.source_names import location_of, source_name
from tapeflow.backend.c_types import c_type
from tapeflow.dialects import spad, stream, tape
from tapeflow.dialects.handle import HandleType
from tapeflow.dialects.record import field_bytes
from tapeflow.errors import TapeflowError


@dataclass(frozen=True)
class Field:
    """A field of a record: its name in the IR, and its type in C."""

    name: str
    ctype: str
    bytes: int


@dataclass(eq=False)
class CRegion:
    """One region, or bare tape.

    Attributes:
        label: what it is called in the source, `j` for the handle `tape_j`.
        home: the op that creates it; a buffer that nothing travels to or from has none.
        buffer: the op that gives it a place in the scratchpad; None in cache.
        fields: of a record; a bare tape has one without a name.
        layout: `value` for a bare tape, `aos` or `soa`.
        reserve: the most records there can be; None where the tape grows.
        location: of the creation.
        handed: whether the function's caller makes it: it is a parameter.
        shared: whether several functions use it: those that the function hands it to, or that hand it to it.
    """

    label: str
    home: Operation | None
    buffer: spad.AllocOp | None
    fields: tuple[Field, ...]
    layout: str
    reserve: SSAValue | None
    location: Attribute
    handed: bool = False
    shared: bool = False

    @property
    def is_struct(self) -> bool:
        """Whether a record is a struct in C."""
        return self.layout == "aos"

    @property
    def buffer_type(self) -> spad.BufferType:
        """The type of the buffer of a region that has one."""
        assert self.buffer is not None and isinstance(self.buffer.buffer.type, spad.BufferType)
        return self.buffer.buffer.type


@dataclass
class Regions:
    """All regions of a function, and which each handle belongs to."""

    function: func.FuncOp
    of_handle: dict[SSAValue, CRegion] = field(default_factory=dict[SSAValue, CRegion])
    all: list[CRegion] = field(default_factory=list[CRegion])

    def __post_init__(self) -> None:
        buffers: dict[SSAValue, spad.AllocOp] = {
            op.buffer: op for op in self.function.walk() if isinstance(op, spad.AllocOp)
        }
        for argument in self.function.args:
            if isinstance(argument.type, HandleType):
                self._add(_region(argument, None, None, None), argument)
        for op in self.function.body.walk():
            if isinstance(op, tape.CreateOp | stream.CreateOp):
                self._add_home(op, buffers)
            for argument in (argument for region in op.regions for block in region.blocks for argument in block.args):
                if isinstance(argument.type, HandleType):
                    raise TapeflowError(
                        "a tape, buffer or FIFO that is passed on cannot be printed as C", location=argument.location
                    )
        for buffer, alloc in buffers.items():
            if buffer not in self.of_handle:
                self._add(_region(buffer, None, None, alloc), buffer)

    def _add_home(self, op: tape.CreateOp | stream.CreateOp, buffers: dict[SSAValue, spad.AllocOp]) -> None:
        handle = op.results[0]
        buffer = next(_buffers_of(handle), None)
        region = _region(handle, op, op.reserve, None if buffer is None else buffers[buffer])
        self._add(region, handle)
        if buffer is not None:
            self.of_handle[buffer] = region

    def _add(self, region: CRegion, handle: SSAValue) -> None:
        self.all.append(region)
        self.of_handle[handle] = region

    def of(self, handle: SSAValue) -> CRegion:
        """The region that `handle` belongs to."""
        return self.of_handle[handle]


def _buffers_of(handle: SSAValue) -> Iterator[SSAValue]:
    for use in handle.uses:
        match use.operation:
            case spad.DmaStartOp() | stream.PushOp() | stream.PrefetchOp() | stream.PopOp():
                yield use.operation.buffer
            case _:
                pass


def _region(handle: SSAValue, home: Operation | None, reserve: SSAValue | None, buffer: spad.AllocOp | None) -> CRegion:
    match handle.type:
        case tape.TapeType():
            fields, layout = [("", handle.type.element_type)], "value"
        case tape.RegionType():
            fields = list(zip((name.data for name in handle.type.field_names), handle.type.field_types, strict=True))
            layout = handle.type.layout.data.value
        case stream.FifoType() | spad.BufferType():
            fields = list(zip((name.data for name in handle.type.field_names), handle.type.field_types, strict=True))
            layout = "aos"
        case _:
            raise AssertionError(f"{handle.type} is no handle")
    return CRegion(
        label=bare_name(source_name(handle) or "region"),
        home=home,
        buffer=buffer,
        fields=tuple(Field(name, c_type(type_, location_of(handle)), field_bytes(type_)) for name, type_ in fields),
        layout=layout,
        reserve=reserve,
        location=location_of(handle),
        handed=isinstance(handle, BlockArgument),
        shared=isinstance(handle, BlockArgument) or any(isinstance(use.operation, func.CallOp) for use in handle.uses),
    )

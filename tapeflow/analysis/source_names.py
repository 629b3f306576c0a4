"""Source names of values: what a value is called in the program that the user wrote.

A name travels as a named location, `loc("x_1"("f.c":3:5))`, because name hints lose suffixes such as `_1`. The
convention, for reading and writing alike:

- a block argument carries the name in its own location;
- an operation with one result carries the result's name in its location;
- a loop's results are named by the block arguments that carry them;
- an operation with several results carries a fused location with one named location a result.

Name hints are the fallback, so IR without locations keeps readable names too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from tapeflow.dialects import spad


def fused_locations(location: Attribute) -> tuple[Attribute, ...]:
    """The locations that `location` fuses; none if it fuses none."""
    # xDSL declares the parameter as a bare Attribute, and checks that it is an array of locations.
    return cast(ArrayAttr[Attribute], location.locations).data if isinstance(location, FusedLoc) else ()


def unnamed(location: Attribute) -> LocationAttr:
    """The place that `location` names, without the names."""
    match location:
        case NameLoc():
            return unnamed(location.location)
        case FusedLoc():
            places = (unnamed(child) for child in fused_locations(location))
            return next((place for place in places if not isinstance(place, UnknownLoc)), UNKNOWN_LOC)
        case NoneAttr():
            return UNKNOWN_LOC
        case _:
            return location  # pyright: ignore[reportReturnType] # LocationAttr is a closed union, checked by the parser


def named(name: str, location: Attribute) -> NameLoc:
    """`location` with its names replaced by `name`."""
    return NameLoc(StringAttr(name), unnamed(location))


def location_of(value: SSAValue) -> LocationAttr:
    """Where `value` comes from: the location of its block argument or of the operation that makes it."""
    match value:
        case BlockArgument():
            return value.location
        case OpResult():
            return value.op.location
        case _:
            return UNKNOWN_LOC


def _located_name(value: SSAValue) -> str | None:
    if isinstance(value, OpResult):
        op = value.op
        if isinstance(op, scf.WhileOp):
            arguments = op.before_region.block.args
            return _located_name(arguments[value.index]) if value.index < len(arguments) else None
        if isinstance(op, scf.ForOp | spad.LayerOp):
            return _located_name(op.body.block.args[1 + value.index])
        location: Attribute = op.location
        if len(op.results) > 1:
            fused = fused_locations(location)
            if len(fused) != len(op.results):
                return None
            location = fused[value.index]
    else:
        location = location_of(value)
    return location.desc.data if isinstance(location, NameLoc) else None


def source_name(value: SSAValue) -> str | None:
    """What `value` is called in the source, or None when it has no name there."""
    return _located_name(value) or value.name_hint


def set_source_name(value: SSAValue, name: str) -> None:
    """Call `value` `name`, in its name hint and, for a block argument or a sole result, in its location.

    The names of several results go into their operation's location together: see `set_result_names`.
    """
    value.name_hint = name if SSAValue.is_valid_name(name) else None
    if isinstance(value, BlockArgument):
        value.location = named(name, value.location)
    elif (
        isinstance(value, OpResult)
        and len(value.op.results) == 1
        and not isinstance(value.op, scf.ForOp | scf.WhileOp | spad.LayerOp)
    ):
        value.op.location = named(name, value.op.location)


def set_result_names(op: Operation, names: Sequence[str | None]) -> None:
    """Call the results of `op` `names`, one each; None leaves a name hint as it is."""
    for result, name in zip(op.results, names, strict=True):
        if name is not None:
            set_source_name(result, name)
    if len(names) > 1 and not isinstance(op, scf.ForOp | scf.WhileOp | spad.LayerOp) and any(names):
        place = unnamed(op.location)
        op.location = FusedLoc(tuple(place if name is None else named(name, place) for name in names), NoneAttr())

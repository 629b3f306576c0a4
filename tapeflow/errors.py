"""What Tapeflow says when it refuses an input, and when it does less than was asked."""

from __future__ import annotations

import warnings
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException


def source_position(location: Attribute | None) -> str | None:
    """The `file:line:column` inside `location`, or None when it holds none (an unknown or artificial location)."""
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return source_position(location.location)
        case FusedLoc():
            children = cast(ArrayAttr[Attribute], location.locations)
            return next((found for child in children if (found := source_position(child))), None)
        case _:
            return None


class TapeflowError(PassFailedException):
    """An input that Tapeflow refuses: the place, the construct and reason, and what to do about it.

    Args:
        message: names the construct and the reason.
        location: where in the source; an MLIR location, or a ready `file:line:column`.
        hint: what the user can do.
    """

    def __init__(self, message: str, *, location: Attribute | str | None = None, hint: str | None = None):
        self.message = message
        self.position = location if isinstance(location, str) else source_position(location)
        self.hint = hint
        where = f"{self.position}: " if self.position else ""
        help_line = f"\n  help: {hint}" if hint else ""
        super().__init__(f"{where}error: {message}{help_line}")


class ArgumentError(TapeflowError, ValueError):
    """An argument of a call that does not fit the kernel's parameters; nothing has been computed or changed."""


class TapeflowRemark(UserWarning):
    """Something that Tapeflow did less well than asked for, and why; never a wrong result."""


def remark(message: str, location: Attribute | str | None = None) -> None:
    """Emit a `TapeflowRemark` that points at `location`, an MLIR location or a ready one, where it is known."""
    position = location if isinstance(location, str) else source_position(location)
    where = f"{position}: " if position else ""
    warnings.warn(TapeflowRemark(f"{where}remark: {message}"), stacklevel=2)

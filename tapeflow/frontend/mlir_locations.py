"""Where operations stand in MLIR text: xDSL's parser keeps only the locations that the text itself gives."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser


class LocatingParser(Parser):
    """A parser that locates each operation without a location of its own, and its blocks' arguments, where it begins.

    Args:
        context: of the dialects.
        text: to parse.
        name: of the file, for positions.
    """

    def __init__(self, context: Context, text: str, name: str):
        super().__init__(context, text, name)
        self._file = StringAttr(name)
        self._line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def parse_operation(self) -> Operation:
        """Parse an operation, and locate it."""
        start = self.pos
        op = super().parse_operation()
        line = bisect_right(self._line_starts, start)
        place = FileLineColLoc(self._file, IntAttr(line), IntAttr(start - self._line_starts[line - 1] + 1))
        if isinstance(op.location, UnknownLoc):
            op.location = place
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    if isinstance(argument.location, UnknownLoc):
                        argument.location = place
        return op

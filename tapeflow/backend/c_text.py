"""Lines of C under construction: statements that know their operations, and blocks that know their statements.

Numbers come last, since what is printed first is not known to be first: the types of the records stand above the
function that needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.ir import Operation

from tapeflow.backend.printed import PrintedBlock

INDENT = "    "
WIDTH = 100


@dataclass(eq=False)
class Line:
    """One line of C, `depth` levels deep."""

    text: str
    depth: int = 0

    def __str__(self) -> str:
        return f"{INDENT * self.depth}{self.text}" if self.text else ""


@dataclass(eq=False)
class TextBlock:
    """A piece of straight code that begins at a `TF_STEP()` or `TF_ARM()`."""

    line: Line
    kind: Literal["loop", "segment", "arm"]
    parent: TextBlock | None
    ops: list[Operation] = field(default_factory=list[Operation])


@dataclass
class Text:
    """The lines of a file, with its blocks and where each operation is printed."""

    lines: list[Line] = field(default_factory=list[Line])
    blocks: list[TextBlock] = field(default_factory=list[TextBlock])
    line_of: dict[Operation, Line] = field(default_factory=dict[Operation, Line])

    def note(self, line: Line, ops: Iterable[Operation]) -> Line:
        """`line` is where `ops` are printed, unless they were before."""
        for op in ops:
            self.line_of.setdefault(op, line)
        return line

    def numbered(self) -> Iterator[PrintedBlock]:
        """The blocks with the numbers of their lines, in the order of the lines."""
        number = {line: index for index, line in enumerate(self.lines, start=1)}
        for block in sorted((block for block in self.blocks if block.line in number), key=lambda b: number[b.line]):
            yield PrintedBlock(
                line=number[block.line],
                kind=block.kind,
                parent=None if block.parent is None else number[block.parent.line],
                ops=tuple(block.ops),
                op_lines={op: number.get(self.line_of.get(op, block.line), number[block.line]) for op in block.ops},
            )

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def wrapped(start: str, items: Sequence[str], end: str, separator: str = ", ") -> list[str]:
    """`start` + the items + `end`, broken into lines that align behind `start` where it would be too long."""
    lines = [start]
    for index, item in enumerate(items):
        piece = item + (separator.rstrip() if index < len(items) - 1 else end)
        gap = "" if index == 0 else " "
        if index and len(lines[-1]) + len(gap) + len(piece) > WIDTH:
            lines.append(" " * len(start) + piece)
        else:
            lines[-1] += gap + piece
    if not items:
        lines[-1] += end
    return lines

"""Where the next line goes: how deep it is, and which operations it prints."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Operation

from tapeflow.backend.c_text import Line, Text
from tapeflow.backend.c_values import Values


class Lines:
    """Makes the lines of one function."""

    def __init__(self, text: Text, values: Values):
        self.text = text
        self.values = values
        self.depth = 1

    def line(self, text: str, *ops: Operation) -> Line:
        """A line at the present depth, where `ops` and what was printed since the last line are printed."""
        return self.text.note(Line(text, self.depth), [*ops, *self.values.take_printed()])

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Lines and names within the `with` block are within braces."""
        self.depth += 1
        with self.values.inner_scope():
            yield
        self.depth -= 1

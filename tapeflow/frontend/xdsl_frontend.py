"""The C frontend as xDSL knows frontends, so that `tapeflow-opt kernel.c` and `xdsl-opt kernel.c` work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.frontend import Frontend

from tapeflow.frontend.c import import_c_text


@dataclass(frozen=True)
class CFrontend(Frontend):
    """`.c` files, and `-f "c{function=f}"`."""

    name = "c"

    function: str | None = None
    """The function to import, with those it calls; all that the file defines if None."""

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input.c") -> ModuleOp:
        """Import the text in `input`.

        Raises:
            TapeflowError: as `import_c`.
        """
        return import_c_text(input.read(), input_name, function=self.function)

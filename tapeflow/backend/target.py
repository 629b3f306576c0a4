"""The xDSL target `tapeflow-c`: a module's functions as one C file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tapeflow.backend.c_printer import print_c


@dataclass(frozen=True)
class TapeflowCTarget(Target):
    """Print a module as C99 for `tapeflow_rt.h`."""

    name = "tapeflow-c"

    function: str | None = None
    """The one function to print; all, when not given."""

    header: bool = False
    """Print the header instead of the source."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the C of `module` to `output`.

        Raises:
            TapeflowError: something in `module` has no C, or there is no such function.
        """
        printed = print_c(module, name=self.function)
        output.write(printed.header if self.header else printed.source)

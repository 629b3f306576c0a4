"""The xDSL target `tapeflow-c`: a module's functions as one C file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from tapeflow.analysis.requests import requests_of
from tapeflow.backend.c_printer import print_c
from tapeflow.errors import TapeflowError


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
            TapeflowError: something in `module` has no C, a derivative is asked for but not made yet, or there is no
                such function.
        """
        if self.function is None and (requests := requests_of(module)):
            raise TapeflowError(
                f"{requests[0].name} of '{requests[0].primal.string_value()}' is still a request, which has no C",
                location=requests[0].location,
                hint="run ad-differentiate first, or print one function with tapeflow-c{function=...}",
            )
        printed = print_c(module, name=self.function)
        output.write(printed.header if self.header else printed.source)

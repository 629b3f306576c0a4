"""`tapeflow-run`: stock `xdsl-run` with Tapeflow's interpreters.

`xdsl-run` has no place where a plug-in could register implementations, hence this command:
`tapeflow-run f.mlir --symbol f_grad --verbose --args "2 : i32, dense<[1.0, 2.0]> : tensor<2xf64>"`.
"""

from __future__ import annotations

import sys

from xdsl.interpreter import Interpreter
from xdsl.tools.xdsl_run import xDSLRunMain
from xdsl.utils.exceptions import InterpretationError

from tapeflow.interpreters import register_implementations


class TapeflowRunMain(xDSLRunMain):
    """The `tapeflow-run` command."""

    def register_implementations(self, interpreter: Interpreter) -> None:
        """Register Tapeflow's implementations instead of xDSL's, which hold values in another way."""
        register_implementations(interpreter)


def main() -> int:
    """Run `tapeflow-run` on `sys.argv`; the exit status is 1 when the program means nothing."""
    try:
        TapeflowRunMain(description="Tapeflow modular runner").run()
    except InterpretationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

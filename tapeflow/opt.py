"""`tapeflow-opt`: stock `xdsl-opt` with the Tapeflow dialects, passes, frontend and target.

The base class loads every registered universe, Tapeflow's own among them, so there is nothing to add. What is ours is
how refusals and remarks are told: on standard error, each with its place, without a traceback.
"""

from __future__ import annotations

import sys
import warnings

from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.xdsl_opt_main import xDSLOptMain

from tapeflow.errors import TapeflowError, TapeflowRemark
from tapeflow.frontend.mlir_syntax import dialects


class TapeflowOptMain(xDSLOptMain):
    """The `tapeflow-opt` command."""

    def register_all_dialects(self) -> None:
        """Register every dialect, with parsers for what xDSL cannot read of mlir-opt's text."""
        for name, factory in dialects().items():
            self.ctx.register_dialect(name, factory)


def run(main: xDSLOptMain) -> int:
    """Run `main` and return the exit status: 1 when the input cannot be read, parsed, verified or transformed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TapeflowRemark)
        try:
            main.run()
        except (TapeflowError, ParseError, VerifyException, DiagnosticException, OSError) as refusal:
            print(refusal, file=sys.stderr)
            return 1
        finally:
            for warning in caught:
                print(warning.message, file=sys.stderr)
    return 0


def main() -> None:
    """Run `tapeflow-opt` on `sys.argv`; an unknown pass or option exits with 2."""
    try:
        command = TapeflowOptMain(description="Tapeflow modular optimizer driver")
    except (ValueError, ParseError) as misuse:
        print(f"tapeflow-opt: {misuse}", file=sys.stderr)
        sys.exit(2)
    sys.exit(run(command))

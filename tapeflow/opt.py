"""`tapeflow-opt`: stock `xdsl-opt` with the Tapeflow dialects, passes, frontend and target.

The base class loads every registered universe, Tapeflow's own among them, so there is nothing to add here.
"""

from xdsl.xdsl_opt_main import xDSLOptMain


class TapeflowOptMain(xDSLOptMain):
    """The `tapeflow-opt` command."""


def main() -> None:
    """Run `tapeflow-opt` on `sys.argv`."""
    TapeflowOptMain(description="Tapeflow modular optimizer driver").run()

"""lit configuration: FileCheck tests of the IR, the C and the error messages."""

import os
import sys

import lit.formats

config.name = "Tapeflow"  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".c", ".test"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
# The tools come from the environment that runs lit, whether or not it is activated.
config.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: F821
for name in ("CC", "HOME", "XDG_CACHE_HOME", "TAPEFLOW_CACHE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821

"""lit configuration: FileCheck tests of the IR, the C and the error messages."""

import os
import sys

import lit.formats

config.name = "Tapeflow"
config.test_source_root = os.path.dirname(__file__)
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".c", ".test"]
config.excludes = ["Inputs"]
# The tools come from the environment that runs lit, whether or not it is activated.
config.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
for name in ("CC", "HOME", "PYTHONPATH", "XDG_CACHE_HOME", "TAPEFLOW_CACHE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

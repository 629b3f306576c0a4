"""Natively a region is a plain array and a layer a plain loop: clang vectorises both sweeps, and gcc may not.

gcc 12 makes wrong code of some descending loops, so the runtime keeps its loop vectoriser off.
"""

import pytest
from c_build import COMPILERS, FLAGS, compiled, write
from stages import STAGES, module

from tapeflow.backend.c_printer import print_c

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

REMARKS = {"gcc": ["-fopt-info-vec"], "clang": ["-Rpass=loop-vectorize"]}
SAID = {"gcc": "loop vectorized", "clang": "vectorized loop"}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("stage", STAGES)
def test_sweeps_are_vectorised_where_that_is_safe(tmp_path, stage: str, compiler: str):
    printed = print_c(module("elementwise", stage))
    source = write(tmp_path, printed)
    words = compiled(tmp_path, compiler, [*FLAGS, *REMARKS[compiler], "-c", source.name, "-o", "out.o"])
    lines = printed.source.splitlines()
    vectorised = [
        lines[int(line.split(":")[1]) - 1]
        for line in words.splitlines()
        if SAID[compiler] in line and line.startswith(source.name)
    ]
    if compiler == "gcc":
        assert vectorised == []
    else:
        assert any("i < " in line for line in vectorised), "the forward sweep"
        assert any("i >" in line for line in vectorised), "the reverse sweep"

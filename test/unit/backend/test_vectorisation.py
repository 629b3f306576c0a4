"""Natively a region is a plain array and a layer a plain loop: compilers vectorise both sweeps."""

import pytest
from c_build import COMPILERS, FLAGS, compiled, write
from stages import STAGES, module

from tapeflow.backend.c_printer import print_c

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

REMARKS = {"gcc": ["-fopt-info-vec"], "clang": ["-Rpass=loop-vectorize"]}
SAID = {"gcc": "loop vectorized", "clang": "vectorized loop"}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("stage", STAGES)
def test_sweeps_are_vectorised(tmp_path, stage: str, compiler: str):
    printed = print_c(module("elementwise", stage))
    source = write(tmp_path, printed)
    words = compiled(tmp_path, compiler, [*FLAGS, *REMARKS[compiler], "-c", source.name, "-o", "out.o"])
    lines = printed.source.splitlines()
    vectorised = [
        lines[int(line.split(":")[1]) - 1]
        for line in words.splitlines()
        if SAID[compiler] in line and line.startswith(source.name)
    ]
    assert any("i < " in line for line in vectorised), "the forward sweep"
    # gcc does not turn an array of structs round.
    if compiler == "clang" or stage in ("tapes", "soa"):
        assert any("i >" in line for line in vectorised), "the reverse sweep"

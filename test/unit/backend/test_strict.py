"""Every function of the FileCheck tests compiles without a warning, with every compiler."""

import pytest
from c_build import COMPILERS, check_strictly
from parsing import context, parse
from stages import INPUTS, STAGES

from tapeflow.backend.c_printer import print_c

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

FILES = sorted(path.stem for path in INPUTS.parent.glob("*.mlir") if path.stem not in ("errors", "worked_example"))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", FILES)
def test_compiles_without_a_warning(tmp_path, name: str, compiler: str):
    module = parse((INPUTS.parent / f"{name}.mlir").read_text())
    if name == "layers":
        for a_pass in STAGES["streams"][1:]:
            a_pass.apply(context(), module)
    # "comparisons" compares a value with itself, as C programs ask for NaN.
    check_strictly(tmp_path, print_c(module), compiler, "-O3")

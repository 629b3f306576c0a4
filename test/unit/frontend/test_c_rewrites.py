"""What the help of a refusal advises is taken: a table of refused and rewritten C, with the rewrite's gradient."""

from __future__ import annotations

from pathlib import Path

import pytest
from differentiation import check

from tapeflow.errors import TapeflowError
from tapeflow.frontend.c import import_c
from tapeflow.loading import Kernel
from tapeflow.pipeline import requested
from tapeflow.random_arguments import complete_arguments, parse_assignment

_, *CASES = [
    case.strip("\n").split("\n--\n")
    for case in (Path(__file__).parent / "c_rewrites.txt").read_text().split("\n====\n")
]


def imported(text: str):
    # One line above the text, whatever it includes.
    return import_c(f'#include "prelude.h"\n{text}\n', filename="k.c", function="f")


@pytest.mark.parametrize("case", CASES, ids=[case[1].splitlines()[0] for case in CASES])
def test_the_rewrite_that_the_help_advises_is_right(case: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "prelude.h").write_text("#include <math.h>\n#include <stddef.h>\n#include <string.h>\n")
    monkeypatch.chdir(tmp_path)
    refused, message, rewritten, *values = case
    with pytest.raises(TapeflowError) as refusal:
        imported(refused)
    assert str(refusal.value) == message
    kernel = Kernel("f", Path("k.c"), imported(rewritten))
    floats = [parameter.name for parameter in kernel.parameters if parameter.is_float]
    given = dict(map(parse_assignment, values[0].split())) if values else {}
    arguments = complete_arguments(kernel.parameters, given, interval=(0.5, 1.5))
    gradient = check(str(requested(kernel, floats, floats)), arguments, pipelines=("differentiate", "plan"))
    assert any(adjoint.any() for adjoint in gradient.adjoints)

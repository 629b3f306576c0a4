"""What the help of a refusal advises is taken: a table of refused and rewritten Python, with the rewrite's gradient."""

from pathlib import Path

import numpy as np
import pytest
import python_prelude
from differentiation import check
from python_oracle import compare, define

from tapeflow.errors import TapeflowError
from tapeflow.frontend.python import import_python
from tapeflow.loading import Kernel
from tapeflow.pipeline import requested
from tapeflow.random_arguments import complete_arguments, parse_assignment

_, *CASES = [
    case.strip("\n").split("\n--\n")
    for case in (Path(__file__).parent / "python_rewrites.txt").read_text().split("\n====\n")
]


@pytest.mark.parametrize("case", CASES, ids=[case[1].splitlines()[0] for case in CASES])
def test_the_rewrite_that_the_help_advises_is_right(case: list[str]):
    refused, message, rewritten, values = case
    with pytest.raises(TapeflowError) as refusal:
        import_python(define(refused + "\n", vars(python_prelude), "kernel.py"))
    assert str(refusal.value) == message
    function = define(rewritten + "\n", vars(python_prelude))
    kernel = Kernel("f", Path("kernel.py"), import_python(function))
    floats = [parameter.name for parameter in kernel.parameters if parameter.is_float]
    given = dict(map(parse_assignment, values.split()))
    arguments = complete_arguments(kernel.parameters, given, interval=(0.5, 1.5))
    compare(function, *arguments, tolerance=1e-15)
    singles = "float32" in rewritten
    steps = ((0.3, 0.1),) if singles else ((1e-3, 1e-7),)
    text = str(requested(kernel, floats, floats))
    gradient = check(text, arguments, steps=steps, pipelines=("differentiate", "plan"))
    assert any(np.any(adjoint) for adjoint in gradient.adjoints)

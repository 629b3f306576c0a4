"""Random structured programs: the C means what the interpreter says, without a warning and clean under sanitizers."""

import numpy as np
import pytest
from c_build import COMPILERS, check_strictly, run_driver
from parsing import parse
from random_programs import SIZE, programs

from tapeflow.backend.c_printer import print_c
from tapeflow.backend.native import NativeFunction
from tapeflow.interpreters import run

pytestmark = pytest.mark.optimized

COUNT = 12


def arguments(seed: int, n: int) -> list[object]:
    rng = np.random.default_rng(seed)
    return [n, *map(float, rng.normal(size=2)), rng.normal(size=SIZE), rng.normal(size=SIZE)]


@pytest.mark.parametrize("seed", range(8))
def test_the_c_means_what_the_ir_means(seed: int):
    module = parse(programs(seed, COUNT))
    printed = print_c(module)
    for number in range(COUNT):
        function = NativeFunction(printed, f"f{number}")
        for n in (0, 1, 5):
            compiled, interpreted = arguments(seed, n), arguments(seed, n)
            got, expected = function.call(compiled), run(module, f"f{number}", interpreted)
            np.testing.assert_array_equal(got, expected)
            np.testing.assert_array_equal(compiled[3:], interpreted[3:])


@pytest.mark.parametrize("seed", range(100, 104))
def test_compiles_without_a_warning(tmp_path, seed: int):
    printed = print_c(parse(programs(seed, COUNT)))
    for compiler in COMPILERS:
        # Random comparisons compare a value with itself now and then.
        check_strictly(tmp_path, printed, compiler, "-Wno-tautological-compare")


@pytest.mark.parametrize("seed", range(200, 203))
def test_is_clean_under_sanitizers(tmp_path, seed: int):
    module = parse(programs(seed, 3))
    numbers = run_driver(tmp_path, print_c(module), "f1", inputs := arguments(seed, 5))
    expected = run(module, "f1", inputs)
    np.testing.assert_array_equal(numbers[0], expected[0])

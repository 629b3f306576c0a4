"""The worked example as C: the same gradient, bit for bit, at every stage and of every size; clean under sanitizers."""

import numpy as np
import pytest
from c_build import COMPILERS, check_strictly, run_driver
from stages import STAGES, module

from tapeflow.backend.c_printer import print_c
from tapeflow.backend.native import NativeFunction
from tapeflow.interpreters import run

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

SIZES = [(0, 0), (0, 3), (2, 0), (1, 1), (3, 5), (8, 8), (7, 24), (9, 64), (64, 1), (33, 70)]


def arguments(n: int, m: int) -> list[object]:
    rng = np.random.default_rng(n * 100 + m)
    return [n, m, rng.normal(size=(n, m)), rng.normal(size=m), 0.75, rng.normal(size=(n, m)), rng.normal(size=m)]


def copies(inputs: list[object]) -> list[object]:
    return [value.copy() if isinstance(value, np.ndarray) else value for value in inputs]


@pytest.fixture(scope="module")
def functions() -> dict[str, NativeFunction]:
    return {stage: NativeFunction(print_c(module("worked_example", stage)), "f_grad") for stage in STAGES}


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_every_stage_gives_the_same_bits(functions: dict[str, NativeFunction], n: int, m: int):
    outcomes = []
    for function in functions.values():
        inputs = arguments(n, m)
        outcomes.append((*function.call(inputs), *inputs))
        again = copies(arguments(n, m))
        assert function.call(again) == outcomes[-1][:1], "a second call gives the same"
    for outcome in outcomes[1:]:
        for one, other in zip(outcome, outcomes[0], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 5), (9, 7)])
def test_the_c_means_what_the_ir_means(functions: dict[str, NativeFunction], n: int, m: int):
    compiled, interpreted = arguments(n, m), arguments(n, m)
    (value,) = functions["streams"].call(compiled)
    (expected,) = run(module("worked_example", "tapes"), "f_grad", interpreted)
    assert value == expected
    for one, other in zip(compiled, interpreted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_tape_holds_what_the_design_says(functions: dict[str, NativeFunction]):
    n, m = 33, 70
    inputs = arguments(n, m)
    taken = int((inputs[2] > 0).sum())
    for stage in ("aos", "layers", "streams"):
        functions[stage].call(copies(inputs))
        assert functions[stage].tape_bytes == {"tape_i": 8 * n, "tape_j": n * m, "tape_j_if": 16 * taken}
    functions["soa"].call(copies(inputs))
    assert functions["soa"].tape_bytes == {
        "tape_i_t": 8 * n, "tape_j_c": n * m, "tape_j_if_t": 8 * taken, "tape_j_if_v": 8 * taken
    }  # fmt: skip


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("stage", STAGES)
def test_compiles_without_a_warning(tmp_path, stage: str, compiler: str):
    check_strictly(tmp_path, print_c(module("worked_example", stage)), compiler)


@pytest.mark.parametrize("stage", STAGES)
def test_is_clean_under_sanitizers(tmp_path, functions: dict[str, NativeFunction], stage: str):
    inputs = arguments(9, 31)
    numbers = run_driver(tmp_path, print_c(module("worked_example", stage)), "f_grad", inputs)
    (value,) = functions["tapes"].call(inputs)
    expected = np.concatenate([[value], *(array.ravel() for array in inputs if isinstance(array, np.ndarray))])
    np.testing.assert_array_equal(numbers, expected)


def test_a_reservation_that_no_machine_has_leaves_the_arrays_as_they_are(functions: dict[str, NativeFunction]):
    array = np.ones((1, 1))
    inputs = [2**31 - 1, 2**31 - 1, array, np.ones(1), 1.0, array.copy(), np.ones(1)]
    for function in functions.values():
        with pytest.raises(MemoryError, match="f_grad: out of memory"):
            function.call(inputs)
        assert inputs[3][0] == 1.0
        assert function.call(arguments(3, 5)) == functions["tapes"].call(arguments(3, 5)), "and the next call works"


def test_text_and_header_are_the_same_every_time():
    first, second = (print_c(module("worked_example", "streams")) for _ in range(2))
    assert (first.source, first.header) == (second.source, second.header)


def test_the_header_is_c_plus_plus(tmp_path):
    from c_build import compiled, write

    write(tmp_path, print_c(module("worked_example", "streams")))
    (tmp_path / "user.cpp").write_text('#include "f_grad.h"\nint main() { tf_free(tf_new()); return 0; }\n')
    for compiler in COMPILERS:
        flags = ["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "user.cpp"]
        compiled(tmp_path, compiler, flags)

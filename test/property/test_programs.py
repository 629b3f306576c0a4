"""Random C programs: every pipeline's compiled gradient against dual numbers, and against one another bit for bit."""

import pytest
from checking import failures
from programs import Generator, c_text


@pytest.mark.parametrize("seed", range(40))
def test_gradient_of_a_random_program(seed: int) -> None:
    program = Generator(seed).program()
    found = list(failures(program, seed))
    assert not found, "\n".join([*found, c_text(program)])

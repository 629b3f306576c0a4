"""Random programs at the level of C and of MLIR: see `batches` for what is compared. `make fuzz` runs more of them."""

import campaign
import pytest

BATCHES = 25
"""Of 20 programs each."""


@pytest.mark.parametrize("number", range(BATCHES))
def test_gradients_of_random_programs(number: int) -> None:
    cases = {case.name: case for case in campaign.batch(number)}
    outcome = campaign.run(number)
    assert not outcome.failures, "\n".join(
        f"{cases[name].text}\n{name}: {failures[0]}" for name, failures in outcome.failures.items()
    )

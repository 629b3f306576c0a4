"""Random programs at the level of C and of MLIR: see `batches` for what is compared. `make fuzz` runs more of them."""

import campaign
import pytest

pytestmark = pytest.mark.optimized

BATCHES = 25
PART = slice(5, 17)
"""Of the 20 programs of a batch; together they have all kinds of nodes, types and features that whole batches have."""


@pytest.mark.parametrize("number", range(BATCHES))
def test_gradients_of_random_programs(number: int) -> None:
    cases = {case.name: case for case in campaign.batch(number)[PART]}
    outcome = campaign.check([*cases.values()], number)
    assert not outcome.failures, "\n".join(
        f"{cases[name].text}\n{name}: {failures[0]}" for name, failures in outcome.failures.items()
    )

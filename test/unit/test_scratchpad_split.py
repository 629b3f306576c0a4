"""The static split of the scratchpad: plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeflow.analysis.scratchpad_split import BURST_BYTES, Demand, bursts_for, kept, records_in, split

WORKED_EXAMPLE = [Demand(8, 64), Demand(1, 64 * 64), Demand(16, 64 * 64)]


def tile_bursts(demand: Demand, records: int) -> int:
    return bursts_for(records, demand.record_bytes)


def test_the_worked_example() -> None:
    assert split(WORKED_EXAMPLE, 1024, buffers=2) == [8, 64, 24]


def test_each_gets_a_burst_a_buffer() -> None:
    assert split(WORKED_EXAMPLE, 3 * 64 * 2, buffers=2) == [8, 64, 4]
    assert split(WORKED_EXAMPLE, 3 * 64 * 3, buffers=3) == [8, 64, 4]


def test_one_region_takes_it_all() -> None:
    assert split([Demand(8, 100)], 1024, buffers=1) == [128]
    assert split([Demand(8, 100)], 1024, buffers=4) == [32]


def test_nothing_to_split() -> None:
    assert split([], 1024, buffers=2) == []


def test_the_heaviest_are_kept() -> None:
    assert split(WORKED_EXAMPLE, 2 * 64 * 2, buffers=2) == [0, 64, 4]
    assert split(WORKED_EXAMPLE, 64 * 2, buffers=2) == [0, 0, 4]
    assert split(WORKED_EXAMPLE, 64 * 2 - 1, buffers=2) == [0, 0, 0]


def test_a_light_region_is_kept_where_a_heavy_one_does_not_fit() -> None:
    assert kept([Demand(200, 1000), Demand(8, 10)], bursts=2) == [1]
    assert split([Demand(200, 1000), Demand(8, 10)], 64, buffers=1) == [0, 8]


def test_equals_are_served_in_order() -> None:
    assert split([Demand(8, 10)] * 3, 2 * 64, buffers=1) == [8, 8, 0]
    assert split([Demand(8, 10)] * 2, 3 * 64, buffers=1) == [16, 8]


@pytest.mark.parametrize(
    ("record_bytes", "bursts", "records"),
    [
        (1, 1, 64),
        (8, 1, 8),
        (16, 6, 24),
        (24, 1, 2),
        (24, 2, 5),
        (24, 3, 8),
        (24, 5, 8),
        (24, 6, 16),
        (72, 2, 1),
        (72, 9, 8),
    ],
)
def test_tiles_are_whole_records_and_from_some_size_on_whole_bursts(
    record_bytes: int, bursts: int, records: int
) -> None:
    assert records_in(bursts, record_bytes) == records


def test_a_record_wider_than_a_burst_takes_the_bursts_it_needs() -> None:
    assert Demand(72, 1).least_bursts == 2
    assert split([Demand(72, 10)], 128, buffers=1) == [1]
    assert split([Demand(72, 10)], 127, buffers=1) == [0]


def test_a_region_gets_no_more_than_it_can_fill() -> None:
    """A tile of more records than there are never travels."""
    assert split([Demand(8, 10, most=10), Demand(8, 64)], 4096, buffers=2) == [16, 240]
    assert split([Demand(8, 8, most=8)], 4096, buffers=2) == [16]
    assert split([Demand(8, 0, most=0)], 4096, buffers=2) == [8]


DEMANDS = st.lists(
    st.builds(Demand, st.integers(1, 200), st.integers(0, 10**6), st.one_of(st.none(), st.integers(0, 500))), max_size=8
)


@given(DEMANDS, st.integers(1, 1 << 16), st.integers(1, 5))
def test_a_split_fits_and_wastes_nothing_that_would_help(demands, scratchpad_bytes, buffers) -> None:
    tiles = split(demands, scratchpad_bytes, buffers)
    bursts = [tile_bursts(demand, records) for demand, records in zip(demands, tiles, strict=True)]
    left = scratchpad_bytes - sum(bursts) * BURST_BYTES * buffers
    assert left >= 0
    for demand, records, had in zip(demands, tiles, bursts, strict=True):
        if records == 0:
            # Room was missing when its turn came, if only because others were given more afterwards.
            assert demand.least_bursts * BURST_BYTES * buffers > left
        elif (larger := demand.next_bursts(had)) is not None:
            assert (larger - had) * BURST_BYTES * buffers > left
            assert records_in(larger, demand.record_bytes) > records

"""Minimum cuts against all cuts there are."""

from __future__ import annotations

from itertools import combinations

import pytest
from counting import calls_made
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.analysis.minimum_cut import Cut, Edge, minimum_cut


def edges(*triples: tuple[str, str, int | None]) -> list[Edge[str]]:
    return [Edge(*triple) for triple in triples]


def by_brute_force(network: list[Edge[int]], source: int, sink: int) -> Cut[int] | None:
    """Of all cuts the cheapest, of these the one with the fewest nodes on the sink's side; None if all are infinite."""
    inner = sorted({node for edge in network for node in (edge.source, edge.target)} - {source, sink})
    best: Cut[int] | None = None
    for size in range(len(inner) + 1):
        for chosen in combinations(inner, size):
            side = {sink, *chosen}
            crossing = [edge.capacity for edge in network if edge.source not in side and edge.target in side]
            if None in crossing:
                continue
            cost = sum(capacity for capacity in crossing if capacity is not None)
            if best is None or cost < best.cost:
                best = Cut(cost, frozenset(side))
    return best


def test_the_narrowest_place_is_cut() -> None:
    network = edges(("s", "a", 9), ("a", "b", 2), ("b", "t", 9))
    assert minimum_cut(network, "s", "t") == Cut(2, frozenset({"b", "t"}))


def test_of_equal_cuts_the_one_at_the_sink() -> None:
    network = edges(("s", "a", 3), ("a", "b", 3), ("b", "t", 3))
    assert minimum_cut(network, "s", "t") == Cut(3, frozenset({"t"}))


def test_flow_is_sent_back_along_an_edge_where_that_helps() -> None:
    network = edges(("s", "a", 1), ("s", "b", 1), ("a", "b", 1), ("a", "t", 1), ("b", "t", 1))
    assert minimum_cut(network, "s", "t").cost == 2


def test_without_a_path_nothing_is_cut() -> None:
    assert minimum_cut(edges(("s", "a", 1), ("b", "t", 1)), "s", "t") == Cut(0, frozenset({"b", "t"}))


def test_an_infinite_path_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite capacity"):
        minimum_cut(edges(("s", "a", None), ("a", "t", None), ("s", "b", 5), ("b", "t", 5)), "s", "t")


def test_a_negative_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        minimum_cut(edges(("s", "a", -1)), "s", "t")


def test_an_edge_from_source_to_sink_is_refused() -> None:
    with pytest.raises(ValueError, match="every cut"):
        minimum_cut(edges(("s", "t", 1)), "s", "t")


@st.composite
def networks(draw: st.DrawFn) -> list[Edge[int]]:
    """Source 0 and sink 1, up to six nodes between; capacities that often tie, some infinite."""
    nodes = draw(st.integers(2, 8))
    node = st.integers(0, nodes - 1)
    capacity = st.sampled_from([0, 1, 1, 2, 3, 5, None])
    pairs = draw(st.lists(st.tuples(node, node, capacity), max_size=16))
    return [Edge(a, b, c) for a, b, c in pairs if {a, b} != {0, 1} and a != b]


@settings(max_examples=250, deadline=None, derandomize=True)
@given(networks())
def test_as_good_as_the_best_of_all_cuts(network: list[Edge[int]]) -> None:
    expected = by_brute_force(network, 0, 1)
    if expected is None:
        with pytest.raises(ValueError, match="infinite"):
            minimum_cut(network, 0, 1)
        return
    cut = minimum_cut(network, 0, 1)
    assert cut.cost == expected.cost
    # Of minimum cuts there is one whose sink side lies in that of all others, so the smallest is unique.
    assert cut.sink_side == expected.sink_side


def test_many_small_networks_take_work_in_proportion() -> None:
    def calls(count: int) -> int:
        network = [
            edge
            for k in range(count)
            for edge in (Edge("s", (k, 0), 3), Edge((k, 0), (k, 1), k % 7), Edge((k, 1), "t", 3))
        ]
        cut, made = calls_made(lambda: minimum_cut(network, "s", "t"))
        assert cut.cost == sum(min(3, k % 7) for k in range(count))
        return made

    # In squares it were 64 times.
    assert calls(2_000) < 9 * calls(250)

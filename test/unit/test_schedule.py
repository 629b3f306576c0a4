"""The modulo scheduler against an exhaustive one, and on graphs whose best schedule is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tapeflow.analysis.schedule import (
    NEVER_USED,
    Dependence,
    Schedule,
    Task,
    on_cycles,
    recurrence_bound,
    schedule_loop,
    schedule_straight,
)

UNITS = {"add": 1, "mul": 1, "port": 2, "div": 1}


def check(done: Schedule, tasks: Sequence[Task], edges: Sequence[Dependence], units: Mapping[str, int]):
    """The schedule keeps every dependence and no unit is used more than there are."""
    assert len(done.starts) == len(tasks) and min(done.starts, default=0) == 0
    for edge in edges:
        assert done.starts[edge.sink] + done.ii * edge.distance >= done.starts[edge.source] + edge.latency
    taken: dict[tuple[str, int], int] = {}
    for task, start in zip(tasks, done.starts, strict=True):
        if task.unit is not None:
            for cycle in range(task.busy):
                column = task.unit, (start + cycle) % done.ii
                taken[column] = taken.get(column, 0) + 1
    assert all(count <= units[unit] for (unit, _), count in taken.items())
    assert done.ii >= max(done.rec_mii, done.res_mii)
    assert all(start + task.latency <= done.depth for start, task in zip(done.starts, tasks, strict=True))


def feasible(ii: int, tasks: Sequence[Task], edges: Sequence[Dependence], units: Mapping[str, int]) -> bool:
    """Whether any schedule has this II: every assignment of starts modulo II, by backtracking.

    Starts modulo II decide the use of units; that they can be completed by whole multiples of II to meet the
    dependences is a question of cycles of positive weight, answered by Bellman and Ford.
    """

    def completes(residues: Sequence[int]) -> bool:
        stage = [0] * len(tasks)
        for _ in range(len(tasks) + 1):
            changed = False
            for edge in edges:
                wait = residues[edge.source] + edge.latency - residues[edge.sink]
                needed = stage[edge.source] + -(-wait // ii) - edge.distance
                if needed > stage[edge.sink]:
                    stage[edge.sink] = needed
                    changed = True
            if not changed:
                return True
        return False

    def place(residues: list[int], taken: dict[tuple[str, int], int]) -> bool:
        if len(residues) == len(tasks):
            return completes(residues)
        task = tasks[len(residues)]
        for residue in range(ii):
            now = dict(taken)
            fits = True
            if task.unit is not None:
                for cycle in range(task.busy):
                    column = task.unit, (residue + cycle) % ii
                    now[column] = now.get(column, 0) + 1
                    fits &= now[column] <= units[task.unit]
            if fits and place([*residues, residue], now):
                return True
        return False

    return place([], {})


def best_ii(tasks: Sequence[Task], edges: Sequence[Dependence], units: Mapping[str, int]) -> int:
    ii = 1
    while not feasible(ii, tasks, edges, units):
        ii += 1
    return ii


tasks_strategy = st.lists(
    st.builds(
        lambda unit, latency, busy: Task(unit, latency, busy if unit == "div" else 1),
        st.sampled_from(["add", "mul", "port", "div", None]),
        st.integers(1, 4),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def graphs(draw: st.DrawFn):
    tasks = draw(tasks_strategy)
    edges: list[Dependence] = []
    for _ in range(draw(st.integers(0, 7))):
        source, sink = draw(st.integers(0, len(tasks) - 1)), draw(st.integers(0, len(tasks) - 1))
        distance = draw(st.integers(0 if source < sink else 1, 2))
        edges.append(Dependence(source, sink, draw(st.integers(0, 4)), distance))
    return tasks, edges


@settings(deadline=None, max_examples=300, derandomize=True)
@given(graph=graphs())
def test_ii_equals_the_exhaustive_schedulers(graph: tuple[list[Task], list[Dependence]]):
    tasks, edges = graph
    done = schedule_loop(tasks, edges, UNITS)
    check(done, tasks, edges, UNITS)
    assume(done.ii <= 7)
    assert done.ii == best_ii(tasks, edges, UNITS)


@settings(deadline=None, max_examples=100)
@given(graph=graphs())
def test_straight_code_is_valid_and_no_shorter_than_its_critical_path(graph: tuple[list[Task], list[Dependence]]):
    tasks, edges = graph
    done = schedule_straight(tasks, edges, UNITS)
    inner = [edge for edge in edges if edge.distance == 0]
    check(done, tasks, inner, UNITS)
    reach = [0] * len(tasks)
    for edge in sorted(inner, key=lambda edge: edge.source):
        reach[edge.sink] = max(reach[edge.sink], reach[edge.source] + edge.latency)
    assert done.ii == done.depth >= max(start + task.latency for start, task in zip(reach, tasks, strict=True))


def test_a_sum_is_bound_by_its_recurrence():
    tasks = [Task("port", 2), Task("port", 2), Task("mul", 4), Task("add", 5)]
    edges = [Dependence(0, 2, 2), Dependence(1, 2, 2), Dependence(2, 3, 4), Dependence(3, 3, 5, 1)]
    done = schedule_loop(tasks, edges, UNITS)
    assert (done.ii, done.rec_mii, done.res_mii, done.depth) == (5, 5, 1, 11)


def test_ports_bound_an_iteration_with_many_accesses():
    tasks = [Task("port", 2) for _ in range(5)]
    done = schedule_loop(tasks, [], UNITS)
    assert (done.ii, done.res_mii, done.use) == (3, 3, {"port": 5})


def test_a_divider_that_is_not_pipelined_bounds_ii():
    done = schedule_loop([Task("div", 16, 16)], [], UNITS)
    assert done.ii == 16
    assert schedule_loop([Task("div", 16, 16)], [], {"div": 2}).ii == 8


def test_distance_relaxes_a_recurrence():
    tasks = [Task("add", 5)]
    assert [recurrence_bound(1, [Dependence(0, 0, 5, d)]) for d in (1, 2, 3, 5)] == [5, 3, 2, 1]
    assert schedule_loop(tasks, [Dependence(0, 0, 5, 2)], UNITS).ii == 3


def test_slack_is_the_time_until_the_first_use():
    tasks = [Task("port", 2), Task("mul", 4), Task("add", 1), Task("port", 1)]
    edges = [Dependence(0, 2, 2), Dependence(1, 2, 4), Dependence(2, 3, 1)]
    done = schedule_loop(tasks, edges, UNITS)
    assert done.slack[0] == done.starts[2] - done.starts[0] - 2
    assert done.slack[3] == NEVER_USED


def test_order_alone_is_no_use():
    tasks = [Task("port", 2), Task("port", 1)]
    done = schedule_loop(tasks, [Dependence(0, 1, 0, is_use=False)], UNITS)
    assert done.slack[0] == NEVER_USED


def test_loads_go_ahead_only_where_no_recurrence_forbids_it():
    tasks = [Task("port", 2), Task("add", 1)]
    free = [Dependence(0, 1, 2, 0, ahead=30)]
    bound = [*free, Dependence(1, 0, 1, 1)]
    assert schedule_loop(tasks, free, UNITS).slack[0] == 30
    done = schedule_loop(tasks, bound, UNITS)
    assert (done.ii, done.slack[0]) == (3, 0)


def test_components():
    edges = [Dependence(0, 1, 1), Dependence(1, 2, 1), Dependence(2, 1, 1, 1), Dependence(2, 3, 1)]
    component = on_cycles(4, edges)
    assert component[1] == component[2]
    assert len({component[0], component[1], component[3]}) == 3


def test_an_empty_body_takes_a_cycle():
    done = schedule_loop([], [], UNITS)
    assert (done.ii, done.depth) == (1, 1)
    assert schedule_straight([], [], UNITS).depth == 1


def test_impossible_graphs_are_refused():
    with pytest.raises(ValueError, match="no unit 'sqrt'"):
        schedule_loop([Task("sqrt", 1)], [], UNITS)
    cycle = [Dependence(0, 1, 1), Dependence(1, 0, 1)]
    for scheduler in (schedule_loop, schedule_straight):
        with pytest.raises(ValueError, match="within one iteration form a cycle"):
            scheduler([Task("add", 1), Task("add", 1)], cycle, UNITS)

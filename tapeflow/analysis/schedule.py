"""Modulo scheduling: when each operation of a loop body starts, and how often an iteration can begin.

A body is a graph of tasks on limited units. A dependence says that its sink, `distance` iterations later, starts no
earlier than `latency` cycles after its source. The initiation interval II is at least

    RecMII = the greatest ceil(total latency / total distance) of a cycle of dependences
    ResMII = the greatest ceil(busy cycles / units) of a unit,

and the scheduler (B. R. Rau, Iterative modulo scheduling, 1994) starts there and adds one until a schedule is found.
Straight code is the same without a next iteration: only its depth counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

NEVER_USED = 1 << 16
"""The slack of a task that nothing depends on."""

_TRIES_A_TASK = 12
"""How often, on average, a task may be placed before II is given up (Rau: 6 suffices in almost all loops)."""


@dataclass(frozen=True)
class Task:
    """An operation of a body.

    Attributes:
        unit: the kind of unit it needs; None if it needs none.
        latency: cycles from its start until its result is there.
        busy: cycles for which it keeps a unit; more than one for a unit that is not pipelined, or several accesses.
    """

    unit: str | None
    latency: int
    busy: int = 1


@dataclass(frozen=True)
class Dependence:
    """`sink` of iteration i + `distance` starts at least `latency` cycles after `source` of iteration i.

    Attributes:
        source: index of a task.
        sink: index of a task.
        latency: in cycles.
        distance: in iterations.
        ahead: cycles of latency to add where that cannot lengthen II, that is unless it lies on a cycle.
        is_use: whether the sink uses the result of the source, and does not only keep its order.
    """

    source: int
    sink: int
    latency: int
    distance: int = 0
    ahead: int = 0
    is_use: bool = True


@dataclass(frozen=True)
class Schedule:
    """When the tasks of a body start.

    Attributes:
        ii: cycles between two iterations.
        depth: cycles from the start of an iteration to the end of its last task.
        starts: of each task, in cycles from the start of the iteration.
        slack: of each task, cycles between its result and its first use; `NEVER_USED` without a use.
        rec_mii: the bound by recurrences.
        res_mii: the bound by units.
        use: unit -> cycles of it that an iteration keeps busy.
    """

    ii: int
    depth: int
    starts: tuple[int, ...]
    slack: tuple[int, ...]
    rec_mii: int
    res_mii: int
    use: Mapping[str, int]


def schedule_loop(tasks: Sequence[Task], dependences: Sequence[Dependence], units: Mapping[str, int]) -> Schedule:
    """Schedule a loop body with the smallest initiation interval found.

    Raises:
        ValueError: a task needs a unit there is none of, or dependences within one iteration form a cycle.
    """
    if not tasks:
        return Schedule(1, 1, (), (), 1, 1, {})
    edges = _stretched(len(tasks), dependences)
    use, res_mii = _use(tasks, units)
    rec_mii = recurrence_bound(len(tasks), edges)
    ii = max(1, rec_mii, res_mii)
    while (starts := _place(tasks, edges, units, ii)) is None:
        ii += 1
    return _finished(tasks, edges, starts, ii, rec_mii, res_mii, use)


def schedule_straight(tasks: Sequence[Task], dependences: Sequence[Dependence], units: Mapping[str, int]) -> Schedule:
    """Schedule straight code, whose next execution begins when it has ended: `ii` is `depth`.

    Dependences with a distance are between executions, and so always met.

    Raises:
        ValueError: a task needs a unit there is none of, or the dependences form a cycle.
    """
    if not tasks:
        return Schedule(1, 1, (), (), 1, 1, {})
    edges = [edge for edge in dependences if edge.distance == 0]
    use, res_mii = _use(tasks, units)
    recurrence_bound(len(tasks), edges)
    longest = sum(task.latency + task.busy for task in tasks) + sum(edge.latency for edge in edges) + 1
    starts = _place(tasks, edges, units, longest)
    assert starts is not None, "one task after the other is always a schedule"
    done = _finished(tasks, edges, starts, longest, 1, res_mii, use)
    return Schedule(max(1, done.depth), max(1, done.depth), done.starts, done.slack, 1, res_mii, use)


def recurrence_bound(tasks: int, dependences: Sequence[Dependence]) -> int:
    """RecMII: the smallest II that every cycle of dependences allows; 1 without cycles.

    Raises:
        ValueError: a cycle within one iteration.
    """
    most = sum(max(0, edge.latency) for edge in dependences) + 1
    if _has_positive_cycle(tasks, dependences, most):
        raise ValueError("the dependences within one iteration form a cycle")
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if _has_positive_cycle(tasks, dependences, middle):
            low = middle + 1
        else:
            high = middle
    return low


def on_cycles(tasks: int, dependences: Sequence[Dependence]) -> tuple[int, ...]:
    """For each task a number that it shares with the tasks it is on a cycle with (its strong component)."""
    after: defaultdict[int, list[int]] = defaultdict(list)
    before: defaultdict[int, list[int]] = defaultdict(list)
    for edge in dependences:
        after[edge.source].append(edge.sink)
        before[edge.sink].append(edge.source)
    order: list[int] = []
    seen: set[int] = set()
    for root in range(tasks):
        _visit(root, after, seen, order)
    component = [-1] * tasks
    seen = set()
    for root in reversed(order):
        members: list[int] = []
        _visit(root, before, seen, members)
        for member in members:
            component[member] = root
    return tuple(component)


def _visit(root: int, after: Mapping[int, list[int]], seen: set[int], order: list[int]) -> None:
    """Append what is reachable from `root` and not seen to `order`, last visited first; without recursion."""
    if root in seen:
        return
    seen.add(root)
    stack = [(root, iter(after.get(root, ())))]
    while stack:
        task, rest = stack[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                stack.append((following, iter(after.get(following, ()))))
                break
        else:
            order.append(task)
            stack.pop()


def _stretched(tasks: int, dependences: Sequence[Dependence]) -> list[Dependence]:
    """The dependences with `ahead` added to their latency where they are on no cycle."""
    if not any(edge.ahead for edge in dependences):
        return list(dependences)
    component = on_cycles(tasks, dependences)
    return [
        edge if component[edge.source] == component[edge.sink] else replace(edge, latency=edge.latency + edge.ahead)
        for edge in dependences
    ]


def _use(tasks: Sequence[Task], units: Mapping[str, int]) -> tuple[dict[str, int], int]:
    use: defaultdict[str, int] = defaultdict(int)
    for task in tasks:
        if task.unit is not None:
            if units.get(task.unit, 0) < 1:
                raise ValueError(f"the machine has no unit '{task.unit}'")
            use[task.unit] += task.busy
    return dict(use), max((-(-busy // units[unit]) for unit, busy in use.items()), default=1)


def _has_positive_cycle(tasks: int, dependences: Sequence[Dependence], ii: int) -> bool:
    """Whether some cycle needs more than II cycles an iteration (Bellman and Ford on longest paths)."""
    start = [0] * tasks
    for _ in range(tasks + 1):
        changed = False
        for edge in dependences:
            earliest = start[edge.source] + edge.latency - ii * edge.distance
            if earliest > start[edge.sink]:
                start[edge.sink] = earliest
                changed = True
        if not changed:
            return False
    return True


def _heights(tasks: Sequence[Task], dependences: Sequence[Dependence], ii: int) -> list[int]:
    """The longest way from each task to the end: what is on the critical path is placed first."""
    height = [task.latency for task in tasks]
    for _ in range(len(tasks) + 1):
        changed = False
        for edge in dependences:
            needed = height[edge.sink] + edge.latency - ii * edge.distance
            if needed > height[edge.source]:
                height[edge.source] = needed
                changed = True
        if not changed:
            break
    return height


@dataclass
class _Reservations:
    """Which units are taken in each cycle modulo II."""

    tasks: Sequence[Task]
    units: Mapping[str, int]
    ii: int
    taken: defaultdict[tuple[str, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    def columns(self, task: int, start: int) -> list[tuple[str, int]]:
        unit = self.tasks[task].unit
        if unit is None:
            return []
        return [(unit, (start + cycle) % self.ii) for cycle in range(self.tasks[task].busy)]

    def fits(self, task: int, start: int) -> bool:
        needed: defaultdict[tuple[str, int], int] = defaultdict(int)
        for column in self.columns(task, start):
            needed[column] += 1
        return all(len(self.taken[column]) + count <= self.units[column[0]] for column, count in needed.items())

    def take(self, task: int, start: int) -> None:
        for column in self.columns(task, start):
            self.taken[column].append(task)

    def release(self, task: int, start: int) -> None:
        for column in self.columns(task, start):
            self.taken[column].remove(task)

    def in_the_way(self, task: int, start: int) -> set[int]:
        return {other for column in self.columns(task, start) for other in self.taken[column]}


def _place(
    tasks: Sequence[Task], dependences: Sequence[Dependence], units: Mapping[str, int], ii: int
) -> list[int] | None:
    """The start of each task for this II, or None if neither way of giving in to a conflict finds one."""
    return _try(tasks, dependences, units, ii, insist=False) or _try(tasks, dependences, units, ii, insist=True)


def _try(
    tasks: Sequence[Task], dependences: Sequence[Dependence], units: Mapping[str, int], ii: int, *, insist: bool
) -> list[int] | None:
    """The start of each task for this II, or None if none was found within the budget.

    Where the tasks after one leave it no free start, it either goes later and they are placed anew, or (`insist`) it
    takes the start from whoever has the unit then.
    """
    before: defaultdict[int, list[Dependence]] = defaultdict(list)
    after: defaultdict[int, list[Dependence]] = defaultdict(list)
    for edge in dependences:
        before[edge.sink].append(edge)
        after[edge.source].append(edge)
    priority = _heights(tasks, dependences, ii)
    reservations = _Reservations(tasks, units, ii)
    waiting = set(range(len(tasks)))
    starts: dict[int, int] = {}
    last = [-1] * len(tasks)
    for _ in range(_TRIES_A_TASK * len(tasks)):
        task = max(waiting, key=lambda candidate: (priority[candidate], -candidate))
        earliest, latest = _window(task, starts, before[task], after[task], ii)
        last_try = latest if insist else earliest + ii - 1
        free = (start for start in range(earliest, last_try + 1) if reservations.fits(task, start))
        start = next(free, None)
        if start is None:  # by force, and not where it was the last time if there is another place
            start = last[task] + 1 if earliest <= last[task] < latest or latest < earliest <= last[task] else earliest
            for other in reservations.in_the_way(task, start):
                reservations.release(other, starts.pop(other))
                waiting.add(other)
            if not reservations.fits(task, start):
                return None  # it does not even fit alone
        starts[task] = last[task] = start
        reservations.take(task, start)
        waiting.remove(task)
        for edge in after[task]:
            sink = edge.sink
            if sink != task and sink in starts and starts[sink] < start + edge.latency - ii * edge.distance:
                reservations.release(sink, starts.pop(sink))
                waiting.add(sink)
        if not waiting:
            first = min(starts.values())
            return [starts[task] - first for task in range(len(tasks))]
    return None


def _window(
    task: int, starts: Mapping[int, int], before: Sequence[Dependence], after: Sequence[Dependence], ii: int
) -> tuple[int, int]:
    """The first and the last start that tasks placed before and after `task` allow; at most II starts differ."""
    earliest = max(
        (starts[edge.source] + edge.latency - ii * edge.distance for edge in before if edge.source in starts),
        default=0,
    )
    earliest = max(earliest, 0)
    latest = min(
        (starts[edge.sink] - edge.latency + ii * edge.distance for edge in after if edge.sink in starts),
        default=earliest + ii - 1,
    )
    return earliest, min(latest, earliest + ii - 1)


def _finished(
    tasks: Sequence[Task],
    dependences: Sequence[Dependence],
    starts: Sequence[int],
    ii: int,
    rec_mii: int,
    res_mii: int,
    use: Mapping[str, int],
) -> Schedule:
    depth = max((start + max(task.latency, task.busy) for start, task in zip(starts, tasks, strict=True)), default=1)
    slack = [NEVER_USED] * len(tasks)
    for edge in (edge for edge in dependences if edge.is_use):
        arrives = starts[edge.source] + tasks[edge.source].latency
        slack[edge.source] = min(slack[edge.source], starts[edge.sink] + ii * edge.distance - arrives)
    slack = [max(0, cycles) for cycles in slack]
    return Schedule(ii, max(depth, 1), tuple(starts), tuple(slack), rec_mii, res_mii, use)

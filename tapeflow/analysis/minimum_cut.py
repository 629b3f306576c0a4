"""Minimum cuts of networks, by maximum flow (Dinic 1970): pure graphs, nothing of the IR.

A cut parts the nodes into those on the side of the source and those on the side of the sink; it costs the capacities of
the edges that lead from the former to the latter. Networks that hang together only through source and sink are cut one
by one, so that many small ones take time in proportion to their number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Edge(Generic[Node]):
    """An edge of a network; a `capacity` of None is infinite: the edge is in no cut."""

    source: Node
    target: Node
    capacity: int | None


@dataclass(frozen=True)
class Cut(Generic[Node]):
    """A minimum cut.

    Attributes:
        cost: the sum of the capacities of its edges, which is the maximum flow.
        sink_side: the nodes on the side of the sink: of all minimum cuts, the one with the fewest.
    """

    cost: int
    sink_side: frozenset[Node]


def minimum_cut(edges: Iterable[Edge[Node]], source: Node, sink: Node) -> Cut[Node]:
    """The minimum cut between `source` and `sink` that is closest to the sink.

    Raises:
        ValueError: a capacity is negative, or a path of infinite capacity leads from `source` to `sink`.
    """
    known = list(edges)
    for edge in known:
        if edge.capacity is not None and edge.capacity < 0:
            raise ValueError(f"a capacity is not negative: {edge}")
        if edge.source == source and edge.target == sink:
            raise ValueError(f"an edge from source to sink is in every cut: {edge}")
    cost, sink_side = 0, {sink}
    for part in _parts(known, source, sink):
        flow = _Flow(part, source, sink)
        cost += flow.value
        sink_side.update(flow.sink_side())
    return Cut(cost, frozenset(sink_side))


def _parts(edges: Sequence[Edge[Node]], source: Node, sink: Node) -> Iterable[list[Edge[Node]]]:
    """`edges` by the connected part that they are in, once source and sink are taken away."""
    leaders: dict[Node, Node] = {}

    def leader(node: Node) -> Node:
        leaders.setdefault(node, node)
        while leaders[node] != node:
            leaders[node] = leaders[leaders[node]]
            node = leaders[node]
        return node

    ends = {source, sink}
    for edge in edges:
        if edge.source not in ends and edge.target not in ends:
            leaders[leader(edge.source)] = leader(edge.target)
    parts: dict[Node, list[Edge[Node]]] = {}
    for edge in edges:
        parts.setdefault(leader(edge.target if edge.source in ends else edge.source), []).append(edge)
    return parts.values()


class _Flow(Generic[Node]):
    """A maximum flow. Edge `2k` is the k-th edge given, `2k + 1` the way back along it."""

    def __init__(self, edges: Sequence[Edge[Node]], source: Node, sink: Node):
        # More than all finite edges together is as good as infinite, and stays an integer.
        self._infinite = 1 + sum(edge.capacity for edge in edges if edge.capacity is not None)
        self._numbers: dict[Node, int] = {source: 0, sink: 1}
        self._outgoing: list[list[int]] = [[], []]
        self._target: list[int] = []
        self._left: list[int] = []
        for edge in edges:
            ends = self._number(edge.source), self._number(edge.target)
            for end, other, capacity in (
                (*ends, self._infinite if edge.capacity is None else edge.capacity),
                (*reversed(ends), 0),
            ):
                self._outgoing[end].append(len(self._target))
                self._target.append(other)
                self._left.append(capacity)
        self.value = 0
        while (levels := self._levels())[1] >= 0:
            self.value += self._augment(levels)
            if self.value >= self._infinite:
                raise ValueError("a path of infinite capacity leads from source to sink")

    def _number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self._outgoing)
            self._outgoing.append([])
        return self._numbers[node]

    def sink_side(self) -> Iterable[Node]:
        """The nodes from which more could flow to the sink."""
        reaching, pending = {1}, [1]
        while pending:
            for edge in self._outgoing[pending.pop()]:
                before = self._target[edge]
                if self._left[edge ^ 1] and before not in reaching:
                    reaching.add(before)
                    pending.append(before)
        return (node for node, number in self._numbers.items() if number in reaching)

    def _levels(self) -> list[int]:
        """The distance of each node from the source along edges with capacity left; -1 for none."""
        levels = [-1] * len(self._outgoing)
        levels[0] = 0
        pending = deque([0])
        while pending and levels[1] < 0:
            node = pending.popleft()
            for edge in self._outgoing[node]:
                target = self._target[edge]
                if self._left[edge] and levels[target] < 0:
                    levels[target] = levels[node] + 1
                    pending.append(target)
        return levels

    def _augment(self, levels: list[int]) -> int:
        """Send all that can flow along shortest paths; returns how much."""
        total = 0
        untried = [iter(edges) for edges in self._outgoing]
        path: list[int] = []
        node = 0
        while True:
            if node == 1:
                amount = min(self._left[edge] for edge in path)
                total += amount
                for edge in path:
                    self._left[edge] -= amount
                    self._left[edge ^ 1] += amount
                # Back to where the first edge is full, and on from there.
                full = next(position for position, edge in enumerate(path) if not self._left[edge])
                node = self._target[path[full] ^ 1]
                del path[full:]
                continue
            step = next((it for it in untried[node] if self._leads_on(it, levels[node], levels)), None)
            if step is not None:
                path.append(step)
                node = self._target[step]
            elif path:
                levels[node] = -1
                node = self._target[path.pop() ^ 1]
            else:
                return total

    def _leads_on(self, edge: int, level: int, levels: list[int]) -> bool:
        return self._left[edge] > 0 and levels[self._target[edge]] == level + 1

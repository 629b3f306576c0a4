"""Who calls whom: which functions are recursive, and how large they are with what is inlined in them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from xdsl.dialects import func

INLINE_LIMIT = 5000
"""The most operations of a function that is inlined where it is called, by default."""

UNLIMITED = -1
"""As a limit: of any size."""


def calls_in(function: func.FuncOp) -> Iterator[func.CallOp]:
    """The calls in `function`, in order."""
    return (op for op in function.body.walk() if isinstance(op, func.CallOp))


class CallGraph:
    """The calls among functions.

    Args:
        functions: by name; those without a body call nobody.
        opaque: names of functions whose calls do not count, as their bodies are not looked into.
    """

    def __init__(self, functions: Mapping[str, func.FuncOp], opaque: Container[str] = ()):
        self._functions = functions
        self._callees: dict[str, Sequence[str]] = {
            name: [
                called
                for called in (call.callee.string_value() for call in calls_in(function))
                if called in functions and not functions[called].is_declaration and called not in opaque
            ]
            for name, function in functions.items()
        }
        self.components: Sequence[frozenset[str]] = tuple(self._strong_components())
        """The functions that call one another in circles, each alone if it is in none; callees come first."""

    def callees(self, name: str) -> Sequence[str]:
        """The functions with a body that `name` calls, one for each call, in order."""
        return self._callees[name]

    def is_recursive(self, name: str) -> bool:
        """Whether `name` calls itself, directly or by way of others."""
        return name in self.recursive

    @cached_property
    def recursive(self) -> frozenset[str]:
        """The functions that call themselves, directly or by way of others."""
        circles = (component for component in self.components if len(component) > 1)
        return frozenset(chain(*circles, (name for name, called in self._callees.items() if name in called)))

    def _strong_components(self) -> Iterator[frozenset[str]]:
        """Tarjan's algorithm, without recursion."""
        order: dict[str, int] = {}
        lowest: dict[str, int] = {}
        open_names: list[str] = []
        for root in self._callees:
            if root in order:
                continue
            path = [(root, iter(self._callees[root]))]
            order[root] = lowest[root] = len(order)
            open_names.append(root)
            while path:
                name, rest = path[-1]
                for called in rest:
                    if called not in order:
                        order[called] = lowest[called] = len(order)
                        open_names.append(called)
                        path.append((called, iter(self._callees[called])))
                        break
                    if called in open_names:
                        lowest[name] = min(lowest[name], order[called])
                else:
                    path.pop()
                    if path:
                        lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                    if lowest[name] == order[name]:
                        start = open_names.index(name)
                        yield frozenset(open_names[start:])
                        del open_names[start:]

    def kept(self, limit: int) -> frozenset[str]:
        """The functions whose calls stay calls: the recursive, and those of more than `limit` operations when inlined.

        Args:
            limit: on the operations of a function together with those of what is inlined in it; `UNLIMITED` for none.
        """
        kept: set[str] = set()
        sizes: dict[str, int] = {}
        for component in self.components:
            for name in component:
                sizes[name] = sum(1 for _ in self._functions[name].body.walk()) + sum(
                    0 if called in kept or called in component else sizes[called] for called in self._callees[name]
                )
            for name in component:
                if self.is_recursive(name) or (limit != UNLIMITED and sizes[name] > limit):
                    kept.add(name)
        return frozenset(kept)

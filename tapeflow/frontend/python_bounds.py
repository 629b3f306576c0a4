"""What is known of integers while importing: linear forms over unknowns, and proofs that a form is never negative.

Python reads `x[-1]` from the end of `x`. An index that is provably never negative needs no test for that, and a
quotient of numbers that are provably not negative needs no correction to round down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

_serials = count()

_MOST_FACTS_COMBINED = 2


@dataclass(eq=False)
class Unknown:
    """An integer known at run time only: it keeps its value as long as it can be named.

    Attributes:
        name: for messages.
        lower: forms that it is not less than, over older unknowns.
        upper: forms that it is not greater than, over older unknowns.
    """

    name: str
    lower: Sequence[Linear] = ()
    upper: Sequence[Linear] = ()
    serial: int = field(default_factory=lambda: next(_serials))


@dataclass(frozen=True)
class Linear:
    """An integer as a sum of multiples of unknowns, and a constant.

    Attributes:
        constant: the constant.
        terms: each unknown with its factor, which is not 0; the oldest first.
    """

    constant: int
    terms: tuple[tuple[Unknown, int], ...] = ()

    @property
    def number(self) -> int | None:
        """The integer, where no unknown is left."""
        return None if self.terms else self.constant

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.terms)
        factors = dict(self.terms)
        for unknown, factor in other.terms:
            factors[unknown] = factors.get(unknown, 0) + factor
        return _linear(self.constant + other.constant, factors.items())

    def __mul__(self, factor: int) -> Linear:
        return _linear(self.constant * factor, ((unknown, known * factor) for unknown, known in self.terms))

    def __neg__(self) -> Linear:
        return self * -1

    def __sub__(self, other: Linear | int) -> Linear:
        return self + -other

    def __str__(self) -> str:
        """As Python would write it, for messages."""
        if not self.terms:
            return str(self.constant)
        parts = [_term(factor, unknown.name) for unknown, factor in self.terms]
        if self.constant:
            parts.append(_term(self.constant, ""))
        text = " ".join(parts)
        return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)


def unknown(name: str, lower: Iterable[Linear] = (), upper: Iterable[Linear] = ()) -> Linear:
    """The form of a new unknown with these bounds."""
    return Linear(0, ((Unknown(name, tuple(lower), tuple(upper)), 1),))


def _linear(constant: int, factors: Iterable[tuple[Unknown, int]]) -> Linear:
    terms = sorted((pair for pair in factors if pair[1]), key=lambda pair: pair[0].serial)
    return Linear(constant, tuple(terms))


def _term(factor: int, name: str) -> str:
    sign = "-" if factor < 0 else "+"
    size = str(abs(factor)) if abs(factor) != 1 or not name else ""
    return f"{sign} {size}{' * ' if size and name else ''}{name}"


def never_negative(form: Linear, facts: Sequence[Linear] = ()) -> bool:
    """Whether `form` is provably at least 0, given that each of `facts` is."""
    return _proved(form, facts, _MOST_FACTS_COMBINED)


def always_equal(left: Linear, right: Linear, facts: Sequence[Linear] = ()) -> bool:
    """Whether the two are provably the same number, given that each of `facts` is at least 0."""
    if left == right:
        return True
    return never_negative(left - right, facts) and never_negative(right - left, facts)


def _proved(form: Linear, facts: Sequence[Linear], more: int) -> bool:
    if _bounded(form):
        return True
    if not more:
        return False
    # form = fact + rest: it is enough that the rest is not negative either.
    return any(_proved(form - fact, facts, more - 1) for fact in facts if _related(form, fact))


def _related(form: Linear, fact: Linear) -> bool:
    named = {unknown for unknown, _ in form.terms}
    return any(unknown in named for unknown, _ in fact.terms)


def _bounded(form: Linear) -> bool:
    """Whether putting bounds in place of unknowns, the newest first, leaves a constant that is not negative."""
    if not form.terms:
        return form.constant >= 0
    newest, factor = form.terms[-1]
    rest = Linear(form.constant, form.terms[:-1])
    return any(_bounded(rest + bound * factor) for bound in (newest.lower if factor > 0 else newest.upper))

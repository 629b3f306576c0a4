"""Formulas: integer polynomials in the parameters of a function, for counting how often things happen.

`n*m`, `n*(n - 1)/2`, `max(n - 2, 0)*steps`. A formula is a polynomial with rational coefficients over atoms: variables,
`max(f, 0)` and rounded quotients of formulas. Equal formulas are equal objects and print alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class Variable:
    """An unknown integer: a parameter of the function, or a loop's variable."""

    name: str

    nonnegative: bool = False
    """Known to be >= 0, as the extent of an array is."""

    position: int = 0
    """Of the parameter among those of the function: formulas are written in this order."""

    loop: int | None = None
    """For a loop's variable, a number that tells it from others of that name."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Positive:
    """max(formula, 0)."""

    formula: Formula

    @property
    def nonnegative(self) -> bool:
        """True: it is clamped."""
        return True

    def __str__(self) -> str:
        return f"max({self.formula}, 0)"


@dataclass(frozen=True)
class Quotient:
    """dividend / divisor, rounded up or down; the divisor is positive."""

    dividend: Formula
    divisor: Formula
    up: bool = True

    @property
    def nonnegative(self) -> bool:
        """Whether the dividend is known to be."""
        return is_nonnegative(self.dividend)

    def __str__(self) -> str:
        rounded = "ceil" if self.up else "floor"
        return f"{rounded}({_within_product(self.dividend)}/{_within_product(self.divisor)})"


Atom = Variable | Positive | Quotient
Monomial = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, in the order of the parameters."""


def _variables_of(atom: Atom) -> Iterator[Variable]:
    match atom:
        case Variable():
            yield atom
        case Positive(formula):
            yield from formula.variables
        case Quotient(dividend, divisor):
            yield from dividend.variables
            yield from divisor.variables


@dataclass(frozen=True)
class Formula:
    """A polynomial: its terms, each a monomial with a rational coefficient that is not 0."""

    terms: tuple[tuple[Monomial, Fraction], ...]

    @staticmethod
    def of(value: Formula | Atom | int) -> Formula:
        """A number or an atom as a formula."""
        match value:
            case Formula():
                return value
            case int():
                return _formula({(): Fraction(value)})
            case _:
                return _formula({((value, 1),): Fraction(1)})

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """The variables in it, those in `max` and quotients too."""
        return frozenset(
            variable for monomial, _ in self.terms for atom, _ in monomial for variable in _variables_of(atom)
        )

    @property
    def constant(self) -> int | None:
        """The integer that it is, or None if it has variables."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0] and self.terms[0][1].denominator == 1:
            return int(self.terms[0][1])
        return None

    def __add__(self, other: Formula | int) -> Formula:
        terms = dict(self.terms)
        for monomial, coefficient in Formula.of(other).terms:
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return _formula(terms)

    def __neg__(self) -> Formula:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: Formula | int) -> Formula:
        return self + -Formula.of(other)

    def __mul__(self, other: Formula | int) -> Formula:
        terms: dict[Monomial, Fraction] = {}
        for left, left_coefficient in self.terms:
            for right, right_coefficient in Formula.of(other).terms:
                monomial = _monomial(left, right)
                terms[monomial] = terms.get(monomial, Fraction(0)) + left_coefficient * right_coefficient
        return _formula(terms)

    def scaled(self, factor: Fraction) -> Formula:
        """The formula times a number."""
        return _formula({monomial: coefficient * factor for monomial, coefficient in self.terms})

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Its value for parameters of these names.

        Raises:
            KeyError: names a parameter that has no value.
        """
        return int(sum((c * _product(_evaluate(a, values) ** p for a, p in m) for m, c in self.terms), Fraction(0)))

    def __str__(self) -> str:
        return _text(self)


def _product(factors: Iterable[int]) -> int:
    return math.prod(factors)


def _place(atom: Atom) -> tuple[int, bool, str]:
    position = min((variable.position for variable in _variables_of(atom)), default=0)
    return position, not isinstance(atom, Variable), str(atom)


def _monomial(*factors: Monomial) -> Monomial:
    powers: dict[Atom, int] = {}
    for factor in factors:
        for atom, power in factor:
            powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: _place(item[0])))


def _order(term: tuple[Monomial, Fraction]) -> tuple[int, tuple[tuple[int, bool, str], ...]]:
    """Highest degree first, then in the order of the parameters."""
    monomial, _ = term
    return -sum(power for _, power in monomial), tuple(_place(atom) for atom, _ in monomial)


def _formula(terms: Mapping[Monomial, Fraction]) -> Formula:
    return Formula(tuple(sorted(((m, c) for m, c in terms.items() if c), key=_order)))


def _evaluate(atom: Atom, values: Mapping[str, int]) -> int:
    match atom:
        case Variable(name):
            return values[name]
        case Positive(formula):
            return max(formula.evaluate(values), 0)
        case Quotient(dividend, divisor, up):
            above, below = dividend.evaluate(values), divisor.evaluate(values)
            return -(-above // below) if up else above // below


# What is known without knowing the parameters


def is_nonnegative(formula: Formula, given: Sequence[Formula] = ()) -> bool:
    """Whether `formula` is known to be >= 0 wherever all of `given` are; False also where it is just not seen."""
    doubtful = next((it for it in formula.terms if it[1] < 0 or not all(atom.nonnegative for atom, _ in it[0])), None)
    if doubtful is None:
        return True
    monomial, coefficient = doubtful
    for position, fact in enumerate(given):
        # Take off as much of the fact as makes the doubtful term vanish.
        there = dict(fact.terms).get(monomial, Fraction(0))
        if there * coefficient > 0:
            rest = formula - fact.scaled(coefficient / there)
            if is_nonnegative(rest, (*given[:position], *given[position + 1 :])):
                return True
    return False


def positive(formula: Formula, given: Sequence[Formula] = ()) -> Formula:
    """max(formula, 0), simplified where `formula` is known to be >= 0."""
    constant = formula.constant
    if constant is not None:
        return Formula.of(max(constant, 0))
    return formula if is_nonnegative(formula, given) else Formula.of(Positive(formula))


def quotient(dividend: Formula, divisor: Formula, *, up: bool = True) -> Formula:
    """The rounded quotient, simplified where the numbers are known; the divisor is positive."""
    above, below = dividend.constant, divisor.constant
    if below == 1:
        return dividend
    if above is not None and below is not None:
        return Formula.of(-(-above // below) if up else above // below)
    return Formula.of(Quotient(dividend, divisor, up))


# Substitution, sums and bounds


def substitute(formula: Formula, variable: Variable, value: Formula) -> Formula:
    """`formula` with `value` for `variable`."""
    if variable not in formula.variables:
        return formula
    total = Formula.of(0)
    for monomial, coefficient in formula.terms:
        term = Formula.of(1).scaled(coefficient)
        for atom, power in monomial:
            factor = _substitute_in_atom(atom, variable, value)
            for _ in range(power):
                term = term * factor
        total = total + term
    return total


def _substitute_in_atom(atom: Atom, variable: Variable, value: Formula) -> Formula:
    match atom:
        case Variable():
            return value if atom == variable else Formula.of(atom)
        case Positive(formula):
            return positive(substitute(formula, variable, value))
        case Quotient(dividend, divisor, up):
            return quotient(substitute(dividend, variable, value), substitute(divisor, variable, value), up=up)


def _powers_below(count: Formula, power: int) -> Formula:
    """0^power + 1^power + ... + (count - 1)^power, by Pascal's identity."""
    sums: list[Formula] = []
    for p in range(power + 1):
        # count^(p+1) is the sum of binomial(p+1, q) times the sum of k^q, over q <= p.
        total = Formula.of(1)
        for _ in range(p + 1):
            total = total * count
        for q in range(p):
            total = total - sums[q].scaled(Fraction(math.comb(p + 1, q)))
        sums.append(total.scaled(Fraction(1, p + 1)))
    return sums[power]


def sum_over(formula: Formula, variable: Variable, first: Formula, step: Formula, count: Formula) -> Formula | None:
    """The sum of `formula` over `count` values of `variable`: first, first + step, ...

    `count` is >= 0. None where the variable is in a `max` or a quotient: such sums have no closed form here.
    """
    if variable not in formula.variables:
        return count * formula
    index = Variable("k", nonnegative=True, loop=-1)
    if any(atom != variable and variable in set(_variables_of(atom)) for m, _ in formula.terms for atom, _ in m):
        return None
    inner = substitute(formula, variable, first + step * Formula.of(index))
    total = Formula.of(0)
    for monomial, coefficient in inner.terms:
        power = dict(monomial).get(index, 0)
        rest = _formula({tuple(item for item in monomial if item[0] != index): coefficient})
        total = total + rest * _powers_below(count, power)
    return total


def upper_bound(formula: Formula, variable: Variable, first: Formula, last: Formula) -> Formula | None:
    """A bound from above of `formula` for `variable` from `first` to `last`, without the variable; or None."""
    total = Formula.of(0)
    for monomial, coefficient in formula.terms:
        term = Formula.of(1).scaled(coefficient)
        bounded = [(atom, power) for atom, power in monomial if variable in set(_variables_of(atom))]
        others = [(atom, power) for atom, power in monomial if (atom, power) not in bounded]
        if bounded and not all(atom.nonnegative for atom, _ in others):
            return None
        for atom, power in others:
            term = term * _formula({((atom, power),): Fraction(1)})
        for atom, power in bounded:
            if power > 1 and not (atom.nonnegative or is_nonnegative(first)):
                return None
            factor = _bound_atom(atom, variable, *((first, last) if coefficient > 0 else (last, first)))
            if factor is None:
                return None
            for _ in range(power):
                term = term * factor
        total = total + term
    return total


def _bound_atom(atom: Atom, variable: Variable, low: Formula, high: Formula) -> Formula | None:
    """The value of `atom`, which is monotone in formulas, where it is largest for `variable` from `low` to `high`."""
    match atom:
        case Variable():
            return high
        case Positive(formula):
            inner = upper_bound(formula, variable, low, high)
            return None if inner is None else positive(inner)
        case Quotient(dividend, divisor, up):
            inner = None if variable in divisor.variables else upper_bound(dividend, variable, low, high)
            return None if inner is None else quotient(inner, divisor, up=up)


# Text


@dataclass(frozen=True)
class Factored:
    """A formula as numerator * monomial * rest / denominator; the rest has whole coefficients and nothing in common."""

    numerator: int
    monomial: Monomial
    rest: Formula
    denominator: int


def factored(formula: Formula) -> Factored:
    """What the terms of `formula` have in common, taken out of them."""
    if not formula.terms:
        return Factored(0, (), Formula.of(1), 1)
    denominator = math.lcm(*(coefficient.denominator for _, coefficient in formula.terms))
    whole = {monomial: int(coefficient * denominator) for monomial, coefficient in formula.terms}
    numerator = math.gcd(*whole.values())
    if formula.terms[0][1] < 0 and all(value < 0 for value in whole.values()):
        numerator = -numerator
    shared = dict(formula.terms[0][0])
    for monomial in whole:
        powers = dict(monomial)
        shared = {atom: min(power, powers.get(atom, 0)) for atom, power in shared.items() if atom in powers}
    common = tuple(shared.items())
    rest = {
        tuple((atom, left) for atom, power in monomial if (left := power - shared.get(atom, 0))): Fraction(
            value, numerator
        )
        for monomial, value in whole.items()
    }
    reduced = Fraction(numerator, denominator)
    return Factored(reduced.numerator, common, _formula(rest), reduced.denominator)


def _monomial_text(monomial: Monomial) -> list[str]:
    return [str(atom) if power == 1 else f"{atom}^{power}" for atom, power in monomial]


def _sum_text(formula: Formula) -> str:
    parts: list[str] = []
    for monomial, coefficient in formula.terms:
        factors = _monomial_text(monomial)
        magnitude = abs(coefficient)
        if magnitude != 1 or not factors:
            factors.insert(0, str(magnitude))
        sign = "-" if coefficient < 0 else "+"
        parts.append("*".join(factors) if not parts and sign == "+" else f"{sign} {'*'.join(factors)}")
    text = " ".join(parts)
    return "-" + text[2:] if text.startswith("- ") else text


def _text(formula: Formula) -> str:
    if not formula.terms:
        return "0"
    parts = factored(formula)
    if len(parts.rest.terms) > 1 and not parts.monomial and parts.denominator == 1 and abs(parts.numerator) == 1:
        return _sum_text(formula)
    factors = _monomial_text(parts.monomial)
    if parts.rest.constant != 1:
        factors.append(f"({_sum_text(parts.rest)})")
    if abs(parts.numerator) != 1 or not factors:
        factors.insert(0, str(abs(parts.numerator)))
    sign = "-" if parts.numerator < 0 else ""
    over = f"/{parts.denominator}" if parts.denominator != 1 else ""
    return f"{sign}{'*'.join(factors)}{over}"


def _within_product(formula: Formula) -> str:
    text = str(formula)
    return f"({text})" if any(sign in text for sign in "+-*/ ") else text

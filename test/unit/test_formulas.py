"""Formulas on their own, without IR: arithmetic, text, sums and bounds, against direct counting."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tapeflow.analysis.formulas import (
    Formula,
    Variable,
    is_nonnegative,
    positive,
    quotient,
    substitute,
    sum_over,
    upper_bound,
)
from tapeflow.analysis.trip_counts import Loop, executions

N = Formula.of(Variable("n", nonnegative=True))
M = Formula.of(Variable("m", nonnegative=True, position=1))
T = Formula.of(Variable("steps", position=2))
I = Variable("i", loop=0)  # noqa: E741
J = Variable("j", loop=1)
K = Variable("k", loop=2)


def number(value: int) -> Formula:
    return Formula.of(value)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (N * M, "n*m"),
        (M * N, "n*m"),
        (N - N, "0"),
        (number(-3), "-3"),
        (N * 1, "n"),
        (N + 1, "n + 1"),
        (N - 1, "n - 1"),
        (-N, "-n"),
        (N * N - N, "n*(n - 1)"),
        ((N * N - N).scaled(Fraction(1, 2)), "n*(n - 1)/2"),
        (N * N - 1, "n^2 - 1"),
        (N * 2 + 2, "2*(n + 1)"),
        (positive(N - 2) * positive(M - 2) * positive(T), "max(n - 2, 0)*max(m - 2, 0)*max(steps, 0)"),
        (quotient(N - 1, number(2)), "ceil((n - 1)/2)"),
        (quotient(N, number(3)) * M, "ceil(n/3)*m"),
        (quotient(N, number(2), up=False), "floor(n/2)"),
        (N * M + N, "n*(m + 1)"),
    ],
)
def test_text(formula: Formula, text: str):
    assert str(formula) == text


def test_equal_formulas_are_equal():
    assert (N + M) * (N - M) == N * N - M * M
    assert hash((N + 1) * 2) == hash(N * 2 + 2)


def test_evaluation():
    formula = positive(T - 2) * N + quotient(N, number(2))
    assert formula.evaluate({"n": 5, "steps": 4}) == 2 * 5 + 3
    assert formula.evaluate({"n": 5, "steps": -4}) == 3
    assert quotient(N, number(2), up=False).evaluate({"n": 5}) == 2
    with pytest.raises(KeyError, match="steps"):
        formula.evaluate({"n": 5})


def test_numbers_are_folded():
    assert positive(number(-1)).constant == 0
    assert positive(N) == N
    assert quotient(number(7), number(2)).constant == 4
    assert quotient(number(7), number(2), up=False).constant == 3
    assert quotient(N, number(1)) == N
    assert (N - N + 4).constant == 4
    assert N.constant is None


def test_what_is_known_to_be_nonnegative():
    i = Formula.of(I)
    inside = (i, N - 1 - i)
    assert is_nonnegative(N * M + 3)
    assert not is_nonnegative(N - 1)
    assert not is_nonnegative(T)
    assert is_nonnegative(positive(T) * N)
    assert is_nonnegative(N - 1 - i, inside)
    assert is_nonnegative(N - i, inside)
    assert is_nonnegative(i + 1, inside)
    assert not is_nonnegative(N - 2 - i, inside)
    # From both facts together: n - 1 = (n - 1 - i) + i.
    assert is_nonnegative(N - 1, inside)


def test_substitution_goes_into_max_and_quotients():
    i = Formula.of(I)
    assert substitute(positive(i - 1) * i, I, number(4)).constant == 12
    assert substitute(quotient(i, number(2)), I, number(5)).constant == 3
    assert substitute(N, I, number(5)) == N


@pytest.mark.parametrize("power", range(6))
@pytest.mark.parametrize(("first", "step"), [(0, 1), (3, 1), (-2, 2), (1, 5)])
def test_sums_of_powers(power: int, first: int, step: int):
    term = number(1)
    for _ in range(power):
        term = term * Formula.of(I)
    total = sum_over(term, I, number(first), number(step), N)
    assert total is not None
    for n in range(7):
        assert total.evaluate({"n": n}) == sum((first + step * k) ** power for k in range(n))


def test_bounds_hold():
    i = Formula.of(I)
    for formula in (positive(N - 2 - i), i * 2 + 1, -i, quotient(N - i, number(2)) * M, i * i):
        bound = upper_bound(formula, I, number(0), N - 1)
        assert bound is not None and I not in bound.variables
        for n in range(1, 6):
            for k in range(n):
                assert substitute(formula, I, number(k)).evaluate({"n": n, "m": 3}) <= bound.evaluate({"n": n, "m": 3})


def test_no_bound_is_found_for_products_of_unknown_sign():
    assert upper_bound(T * Formula.of(I), I, number(0), N - 1) is None


ONE, ZERO = number(1), number(0)


@pytest.mark.parametrize(
    ("loops", "text"),
    [
        ([], "1"),
        ([Loop(I, ZERO, N, ONE)], "n"),
        ([Loop(I, ZERO, N, ONE), Loop(J, ZERO, M, ONE)], "n*m"),
        ([Loop(I, ONE, N - 1, ONE)], "max(n - 2, 0)"),
        ([Loop(I, ZERO, T, ONE), Loop(J, ZERO, N, ONE)], "n*max(steps, 0)"),
        ([Loop(I, ZERO, N, ONE), Loop(J, Formula.of(I) + 1, N, ONE)], "n*(n - 1)/2"),
        ([Loop(I, ZERO, N, ONE), Loop(J, ZERO, Formula.of(I), ONE)], "n*(n - 1)/2"),
        ([Loop(I, ZERO, N, ONE), Loop(J, ZERO, Formula.of(I) + 1, ONE)], "n*(n + 1)/2"),
        (
            [
                Loop(I, ZERO, N, ONE),
                Loop(J, ZERO, Formula.of(I), ONE),
                Loop(K, ZERO, Formula.of(J), ONE),
            ],
            "n*(n^2 - 3*n + 2)/6",
        ),
        ([Loop(I, ZERO, N, number(2))], "ceil(n/2)"),
        ([Loop(I, ZERO, N, ONE), Loop(J, Formula.of(I), Formula.of(I) + 3, ONE)], "3*n"),
    ],
)
def test_exact_counts(loops: list[Loop], text: str):
    count = executions(loops)
    assert count is not None and count.exact
    assert str(count) == text


def test_a_branch_bounds_the_count():
    count = executions([Loop(I, ZERO, N, ONE)], guarded=True)
    assert count is not None and not count.exact
    assert str(count) == "at most n"


def test_what_has_no_closed_form_is_bounded():
    count = executions([Loop(I, ZERO, N, ONE), Loop(J, Formula.of(I) + 2, N, ONE)])
    assert count is not None and not count.exact
    assert str(count) == "at most n*max(n - 2, 0)"


def counted(loops: list[Loop], values: dict[str, int], inside: dict[Variable, int]) -> int:
    """How often the body runs, by running the loops."""
    if not loops:
        return 1
    first, *rest = loops

    def value(formula: Formula) -> int:
        for variable, it in inside.items():
            formula = substitute(formula, variable, number(it))
        return formula.evaluate(values)

    return sum(
        counted(rest, values, {**inside, first.variable: i})
        for i in range(value(first.lower), value(first.upper), value(first.step))
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_nests_are_counted_or_bounded(seed: int):
    rng = random.Random(seed)
    loops: list[Loop] = []
    for depth in range(rng.randint(1, 4)):
        terms = [ZERO, ONE, N, M, T, *(Formula.of(loop.variable) for loop in loops)]
        lower = rng.choice([ZERO, ONE, *terms[5:]]) + rng.randint(-1, 1)
        upper = rng.choice(terms[2:]) + rng.randint(-2, 2)
        loops.append(Loop(Variable(f"i{depth}", loop=depth), lower, upper, number(rng.choice([1, 1, 1, 2, 3]))))
    count = executions(loops)
    if count is None:
        return
    for n, m, steps in ((0, 0, -3), (1, 4, 2), (4, 3, 1), (5, 1, 6)):
        values = {"n": n, "m": m, "steps": steps}
        runs = counted(loops, values, {})
        claimed = count.formula.evaluate(values)
        assert claimed == runs if count.exact else claimed >= runs, (str(count), values)

"""What is proved of integers is true of them."""

import random
from itertools import product

from tapeflow.frontend.python_bounds import Linear, always_equal, never_negative, unknown


def test_forms_add_up_and_print_as_python():
    n, m = unknown("n"), unknown("m")
    assert (n + 1) - (n - 2) == Linear(3)
    assert n * 2 - n - n == Linear(0)
    assert [str(form) for form in (n - 1, -n + 2, n * 3 - m, Linear(-4), m + n, n * 0)] == [
        "n - 1",
        "-n + 2",
        "3 * n - m",
        "-4",
        "n + m",
        "0",
    ]


def test_what_subscripts_need():
    n = unknown("n")
    i = unknown("i", [Linear(1)], [n - 2])
    j = unknown("j", [Linear(0)], [i])
    assert never_negative(i - 1)
    assert not never_negative(i - 2)
    assert never_negative(n - 1 - i)
    assert never_negative(n - 2 - j)
    assert never_negative(i - j)
    assert not never_negative(j - 1)
    assert not never_negative(n - 1)
    assert never_negative(n - 1, [n - 1])
    assert never_negative(n * 2 - 2, [n - 1])
    assert never_negative(n - 1, [n - i - 1, i])


def test_equality_by_bounds():
    n = unknown("n")
    extent = unknown("extent", [Linear(0), n], [n])
    assert always_equal(extent, n)
    assert always_equal(n + 1 - n, Linear(1))
    assert not always_equal(n, n + 1)
    assert not always_equal(n, unknown("m"))


def test_proofs_hold_for_all_numbers():
    """Random forms, bounds and facts: wherever the facts hold, what is proved holds, tried on small numbers."""
    rng = random.Random(0)
    proved = 0
    for _ in range(3000):
        unknowns = []
        for name in "abc":
            bounds = [_random_form(rng, unknowns) for _ in range(2)]
            unknowns.append(unknown(name, bounds[: rng.randint(0, 1)], bounds[1 : 1 + rng.randint(0, 1)]))
        form = _random_form(rng, unknowns)
        facts = [_random_form(rng, unknowns) for _ in range(rng.randint(0, 2))]
        if not never_negative(form, facts):
            continue
        proved += 1
        for numbers in product(range(-3, 4), repeat=3):
            values = {u.terms[0][0]: number for u, number in zip(unknowns, numbers, strict=True)}
            in_bounds = all(
                all(_value(low, values) <= number for low in u.terms[0][0].lower)
                and all(number <= _value(high, values) for high in u.terms[0][0].upper)
                for u, number in zip(unknowns, numbers, strict=True)
            )
            if in_bounds and all(_value(fact, values) >= 0 for fact in facts):
                assert _value(form, values) >= 0
    assert proved > 300


def _random_form(rng, unknowns):
    form = Linear(rng.randint(-3, 3))
    for u in unknowns:
        form += u * rng.choice((-2, -1, 0, 0, 1, 1, 2))
    return form


def _value(form, values):
    return form.constant + sum(factor * values[u] for u, factor in form.terms)

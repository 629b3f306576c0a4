"""`tapeflow.rule`: derivatives that a Python file gives, with a scale in them that shows that they are used."""

# ruff: noqa: F821, UP037 # extents stand in quotes
# The names in f64["n"] are those of parameters.

from __future__ import annotations

import numpy as np
import pytest
import rules_in_python as rules

import tapeflow
from tapeflow import f64
from tapeflow.errors import TapeflowError

X, W, C = np.array([0.5, 1.7, 2.2]), np.array([0.3, 0.9, -0.4]), 0.8
V = np.array([0.25, -0.5, 1.5], dtype=np.float32)
WRT = ["x", "w", "c"]


def value(x: np.ndarray, w: np.ndarray, c: float) -> float:
    p, q = np.sum(w) * x * c, np.sum(w) + np.sin(x)
    return float(np.sum(np.sqrt(x * c) * p + q * x**2 + x**3))


def slope(ways: tuple[np.ndarray, np.ndarray, float]) -> float:
    def moved(t: float) -> float:
        return value(X + t * ways[0], W + t * ways[1], C + t * ways[2])

    h = 1e-3
    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)


@pytest.fixture(scope="module")
def gradients() -> dict[float, dict[str, np.ndarray]]:
    found = {}
    for scale in (1.0, 2.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rules, "SCALE", scale)
            made = tapeflow.gradient(tapeflow.load(rules.kernel), [*WRT, "v"])
        found[scale] = made(3, X.copy(), W.copy(), V.copy(), C).gradients
    return found


def test_reverse_mode_is_that_of_the_rules(gradients):
    ways = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.7, -0.3]), 0.4
    found = gradients[1.0]
    inner = found["x"] @ ways[0] + found["w"] @ ways[1] + found["c"] * ways[2]
    assert inner == pytest.approx(slope(ways), rel=1e-8)
    np.testing.assert_allclose(found["v"], 3 * V**2, rtol=1e-6)
    for name in ("w", "c", "v"):
        np.testing.assert_allclose(gradients[2.0][name], 2 * found[name], rtol=1e-6)


def test_forward_mode_is_that_of_the_rules_or_of_the_body(gradients):
    ways = {"x": np.array([0.3, -0.2, 0.5]), "w": np.array([0.1, 0.7, -0.3]), "c": 0.4}
    forward = tapeflow.jvp(tapeflow.load(rules.kernel), WRT)
    ahead = forward(3, X.copy(), W.copy(), V.copy(), C, tangents=ways)
    assert ahead.tangents["return"] == pytest.approx(sum(np.sum(gradients[1.0][k] * ways[k]) for k in WRT), rel=1e-12)


def test_python_runs_the_function_itself():
    assert rules.kernel(3, X, W, V, C) == pytest.approx(value(X, W, C) + float(np.sum(V.astype(float) ** 3)), rel=1e-6)


def test_one_module_has_a_rule_for_each_way_a_function_is_called():
    text = str(tapeflow.load(rules.kernel).module)
    assert "ad.rule @generic vjp @generic_vjp\n" in text
    assert "ad.rule @generic_1 vjp @generic_vjp_1\n" in text
    assert "ad.rule @blend vjp @blend_vjp_rule jvp @blend_jvp_rule" in text


# What is refused.


def scaled(x: float, w: f64[:]) -> float:
    return x * w[0]


def user(n: int, x: f64["n"]) -> float:
    return scaled(x[0], x)


def one_short(x: float, w: f64[:], y_b: float) -> float:
    return y_b * w[0]


def no_array(x: float, w: f64[:], y_b: float, w_b: float) -> float:
    return y_b * w[0] + w_b


def wrong_number(x: int, w: f64[:], y_b: float, w_b: f64[:]) -> float:
    return y_b * w[0]


def wrong_result(x: float, w: f64[:], y_b: float, w_b: f64[:]):
    w_b[0] += y_b * x


def wrong_extent(x: float, w: f64[:], y_b: float, w_b: f64[3]) -> float:
    w_b[0] += y_b * x
    return y_b * w[0]


def not_supported(x: float, w: f64[:], y_b: float, w_b: f64[:]) -> float:
    w_b[0] += [y_b]
    return y_b


FIT = (
    r"does not fit as the vjp of 'scaled'.*\n"
    r"  help: declare it as 'def \w+\(x: float, w: f64\[:\], scaled_b: float, w_b: f64\[:\]\) -> float:'"
)


@pytest.mark.parametrize(
    ("vjp", "place", "message"),
    [
        (one_short, "1", FIT),
        (no_array, "47", FIT),
        (wrong_number, "18", FIT),
        (wrong_result, "1", FIT),
        (wrong_extent, "51", r"'w_b' is declared with the extent 3, which that of 'w' of 'scaled' may not be equal to"),
        (not_supported, "15", "lists are not supported"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_stands(vjp, place: str, message: str):
    tapeflow.rule(scaled, vjp=vjp)
    line = vjp.__code__.co_firstlineno + (vjp is not_supported)
    with pytest.raises(TapeflowError, match=rf"test_rules_in_python.py:{line}:{place}: error: .*{message}"):
        tapeflow.load(user)


def test_a_rule_is_of_functions():
    with pytest.raises(
        TapeflowError, match=r"python.py:\d+:1: error: a rule is for a Python function of yours, not 'e"
    ):
        tapeflow.rule(np.exp, vjp=one_short)
    with pytest.raises(TapeflowError, match=r"error: the vjp of 'scaled' is a Python function of yours, not a float"):
        tapeflow.rule(scaled, vjp=1.0)
    with pytest.raises(
        TapeflowError, match=r"error: the rule of 'user' gives no derivative\n  help: write 'tapeflow.rule"
    ):
        tapeflow.rule(user)
    with pytest.raises(TapeflowError, match=r"'root' has a rule, which is about calls of it, and cannot be a kernel"):
        tapeflow.gradient(rules.root, ["x"])

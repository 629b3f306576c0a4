"""Banks of the scratchpad: cycles lost to conflicts against a brute-force count over cycles and banks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeflow.hardware import Hardware

from .machine import COMPILER, Machine

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

BUFFER_BYTES = 42 * 8
Access = tuple[int, int, int]
"""Cycles into its step, bytes, and the buffer from 1: with a minus the last bytes written are read back."""


def machine(ports: int, banks: int, port_bytes: int = 8) -> Hardware:
    return Hardware.preset("stream-1k").with_(
        name="banked",
        scratchpad={"size_bytes": 2048, "ports": ports, "banks": banks, "port_bytes": port_bytes, "access_cycles": 2},
    )


def brute_force(steps: list[list[Access]], banks: int, port_bytes: int) -> int:
    """Over all cycles: how often the fullest bank has to serve one access more than the first."""
    top = [0, 0, 0]
    used: Counter[tuple[int, int]] = Counter()
    for begin, step in enumerate(steps):
        for offset, size, turn in step:
            buffer = abs(turn) - 1
            if turn < 0:
                top[buffer] -= size
            word = (buffer * BUFFER_BYTES + top[buffer]) // port_bytes
            if turn > 0:
                top[buffer] += size
            for k in range(-(-size // port_bytes)):
                used[begin + offset + k, (word + k) % banks] += 1
    fullest: Counter[int] = Counter()
    for (cycle, _), count in used.items():
        fullest[cycle] = max(fullest[cycle], count)
    return sum(count - 1 for count in fullest.values())


@st.composite
def patterns(draw: st.DrawFn) -> list[list[Access]]:
    """Steps of as many accesses; what is read was written, and no buffer overflows."""
    each = draw(st.integers(1, 4))
    written: list[list[int]] = [[], [], []]
    steps: list[list[Access]] = []
    for _ in range(draw(st.integers(1, 40))):
        step: list[Access] = []
        for _ in range(each):
            buffer, offset = draw(st.integers(0, 2)), draw(st.integers(0, 9))
            reads = written[buffer] and (draw(st.booleans()) or sum(written[buffer]) > BUFFER_BYTES - 24)
            if reads:
                step.append((offset, written[buffer].pop(), -1 - buffer))
            else:
                size = draw(st.sampled_from([8, 16, 24]))
                written[buffer].append(size)
                step.append((offset, size, 1 + buffer))
        steps.append(step)
    return steps


@pytest.mark.parametrize(("ports", "banks", "port_bytes"), [(2, 4, 8), (3, 8, 8), (7, 8, 64)])
@settings(deadline=None, max_examples=60)
@given(steps=patterns())
def test_conflicts_equal_a_brute_force_count(ports: int, banks: int, port_bytes: int, steps: list[list[Access]]):
    with Machine(machine(ports, banks, port_bytes), "-O0") as model:
        model.banks(steps)
        counted = model.counters()
        assert model.error is None
    lost = brute_force(steps, banks, port_bytes)
    assert counted["stall_bank"] == lost
    assert counted["cycles"] == len(steps) + lost


def test_one_port_never_meets_itself():
    with Machine(machine(1, 2), "-O0") as model:
        model.banks([[(0, 8, 1), (0, 8, 2), (0, 8, 3)]] * 20)
        assert model.counters()["stall_bank"] == 0


def test_two_ports_in_one_bank_take_two_cycles_and_in_two_banks_one():
    same = [[(0, 8, 1), (0, 8, 3)]] * 10  # buffers 0 and 84 words from the start: the same bank of 4
    apart = [[(0, 8, 1), (0, 8, 2)]] * 10  # 0 and 42: two banks
    for steps, lost in ((same, 10), (apart, 0)):
        with Machine(machine(2, 4), "-O0") as model:
            model.banks(steps)
            assert model.counters()["stall_bank"] == lost

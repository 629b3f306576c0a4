"""Distances between accesses of a line: against a list that is searched, and the fully associative cache itself."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapeflow
from bench.suite import SUITE
from tapeflow.hardware import Hardware
from tapeflow.hardware.reuse import ReuseCurve, bin_distances, read
from tapeflow.simulation import options_for

from .machine import COMPILER, Machine
from .test_cache import machine, stack_distances

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def curve(lines: list[int], *flags: str) -> ReuseCurve:
    with Machine(machine(1024, 16), "-DTF_REUSE=1", *flags) as model:
        model.accesses([64 * line for line in lines], [0] * len(lines))
        return read(model.library, model.tape)


# 64 lines have 256 times, so that these patterns also renumber them.
@settings(deadline=None, max_examples=60)
@given(lines=st.lists(st.integers(0, 50), max_size=600))
def test_distances_are_mattsons(lines: list[int]):
    found = curve(lines, "-DTF_REUSE_LINES=64u")
    expected = Counter(stack_distances(lines))
    arrays = found.of["arrays"]
    assert found.sampled == 1
    assert arrays.cold == expected.pop(None, 0)
    assert dict(zip(arrays.distances.tolist(), arrays.counts.tolist(), strict=True)) == expected
    assert found.of["tape"].accesses == 0


@pytest.mark.parametrize("capacity", [4, 16, 64])
def test_the_curve_is_the_fully_associative_caches(capacity: int):
    shape = random.Random(capacity)
    lines = [shape.randrange(40) if shape.random() < 0.7 else shape.randrange(400) for _ in range(6000)]
    with Machine(machine(64 * capacity, capacity)) as model:
        model.accesses([64 * line for line in lines], [0] * len(lines))
        misses = model.counters()["array_read_misses"]
    assert curve(lines).misses(capacity) == misses


@pytest.mark.parametrize("name", ["cache-4k", "stream-1k"])
def test_a_gradients_curve_is_that_of_a_cache_with_one_set(name: str):
    kernel = SUITE["worked_example"]
    hardware = Hardware.preset(name)
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(hardware))
    arguments = list(kernel.arguments({"n": 30, "m": 40}).values())
    plain = tapeflow.simulate(grad, arguments, hardware=hardware)
    report = tapeflow.simulate(grad, arguments, hardware=hardware, reuse=True)
    assert dict(report.counters) == dict(plain.counters) and plain.reuse is None
    assert hardware.cache is not None and report.reuse is not None
    lines = hardware.cache.size_bytes // 64
    one_set = hardware.model_copy(update={"cache": hardware.cache.model_copy(update={"ways": lines, "hit_cycles": 9})})
    # Counts only: the energy tables have no cache of so many ways.
    counts = _counts(grad, arguments, one_set)
    assert report.reuse.of["arrays"].misses(lines) == counts["array_read_misses"] + counts["array_write_misses"]
    assert report.reuse.of["tape"].misses(lines) == counts["tape_read_misses"] + counts["tape_write_misses"]
    assert (report.reuse.of["tape"].accesses > 0) == (name == "cache-4k")


def _counts(grad: tapeflow.Gradient, arguments: list[object], hardware: Hardware) -> dict[str, int]:
    from tapeflow.backend.model_build import build_model
    from tapeflow.backend.schedule_header import schedule_printed
    from tapeflow.hardware.machine import machine_header

    printed = grad.compiled.printed
    model = build_model(printed, grad.name, machine_header(hardware), schedule_printed(printed, hardware).header)
    model.call(grad.prepare(arguments, None).inputs)
    return dict(model.counters)


def test_long_runs_are_sampled_and_close():
    shape = np.random.default_rng(3)
    lines = [int(line) for line in shape.zipf(1.2, 60000) % 5000]
    exact, sampled = curve(lines), curve(lines, "-DTF_REUSE_LINES=1024u")
    assert exact.sampled == 1 and sampled.sampled in (4, 8, 16)
    for capacity in (256, 1024, 2048):
        whole = exact.misses(capacity) / len(lines)
        part = sampled.misses(capacity) / sampled.of["arrays"].accesses
        assert part == pytest.approx(whole, abs=0.06)
    assert sampled.of["arrays"].cold == pytest.approx(exact.of["arrays"].cold, rel=0.15)


def test_bins_of_far_distances_follow_one_another():
    distances = bin_distances(65536 + 48 * 256, 65536)
    assert list(distances[65534:65539]) == [65534, 65535, 65536, 65536 + 256, 65536 + 512]
    rising = distances[distances < 1 << 62]
    assert (np.diff(rising) > 0).all()

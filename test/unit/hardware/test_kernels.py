"""Whole gradients on whole machines: what must hold whatever they cost."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.api import Call, Result
from tapeflow.hardware import Hardware, Report
from tapeflow.simulation import options_for, simulate

from .machine import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

KERNELS = ("worked_example", "pathfinder")
MACHINES = ("cache-2k", "cache-2k-aos-prefetch", "stream-1k")


@functools.cache
def report(name: str, machine: str, run: int = 0) -> Report:
    """The report of a gradient at its mini size; `run` tells repeated calls apart."""
    del run
    kernel, hardware = SUITE[name], Hardware.preset(machine)
    loaded = tapeflow.load(kernel.source, function=kernel.function)
    gradient = tapeflow.gradient(loaded, wrt=list(kernel.wrt), options=options_for(hardware))
    return simulate(gradient, list(kernel.arguments("mini").values()), hardware=hardware)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", KERNELS)
def test_what_always_holds(name: str, machine: str):
    done = report(name, machine)
    counters = done.counters
    assert done.cycles >= max(bound.cycles for bound in done.bounds)
    assert done.compute + sum(done.stalls.values()) == done.cycles and done.compute > 0
    assert counters["tape_bytes_pushed"] == counters["tape_bytes_popped"] == counters["tape_bytes_peak"] > 0
    misses = sum(counters[f"{of}_{what}_misses"] for of in ("array", "tape") for what in ("read", "write"))
    fills = counters["dram_cache_array_reads"] + counters["dram_cache_tape_reads"]
    assert fills == misses + counters["prefetches"]
    assert counters["tiles_pushed"] == counters["tiles_fetched"] + counters["tiles_resident"]
    assert counters["dma_descriptors"] == counters["tiles_pushed"] + counters["tiles_fetched"]
    assert all(energy >= 0 for energy in done.energy.parts.values())
    assert counters["spad_bytes_used"] <= (done.hardware.scratchpad.size_bytes if done.hardware.scratchpad else 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_second_run_counts_the_same(machine: str):
    assert report("worked_example", machine).counters == report("worked_example", machine, 1).counters


@pytest.mark.parametrize("what", ["value", "gradient", "zero"])
def test_numbers_are_the_plain_builds_bit_for_bit(what: str, monkeypatch: pytest.MonkeyPatch):
    """Every simulated call compares its numbers with the plain build's: one bit more, or -0 for 0, is seen."""
    kernel, hardware = SUITE["worked_example"], Hardware.preset("cache-2k")
    gradient = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(hardware))
    run = gradient.run

    def changed(call: Call) -> Result:
        result = run(call)
        array = result.gradients["A"]
        if what == "value":
            return dataclasses.replace(result, value=math.nextafter(result.value, math.inf))
        array.flat[0] = np.nextafter(array.flat[0], np.inf) if what == "gradient" else -array.flat[0]
        return result

    arguments = kernel.arguments({"n": 2, "m": 3})
    if what == "zero":
        arguments["A"][:] = -1.0  # no factor, so a gradient of 0
    simulate(gradient, list(arguments.values()), hardware=hardware)
    monkeypatch.setattr(gradient, "run", changed)
    with pytest.raises(AssertionError, match="differs between the native and the modelled machine"):
        simulate(gradient, list(arguments.values()), hardware=hardware)


def test_the_tape_is_the_same_size_everywhere_and_travels_only_where_it_must():
    in_cache, streamed = report("pathfinder", "cache-2k-aos-prefetch"), report("pathfinder", "stream-1k")
    pushed = {done.counters["tape_bytes_pushed"] for done in (in_cache, streamed)}
    assert len(pushed) == 1
    assert in_cache.traffic["tiles read"] == in_cache.traffic["tiles written"] == 0
    assert streamed.traffic["tape read"] == 0
    assert streamed.traffic["tiles read"] <= streamed.traffic["tiles written"]

"""Simulating a gradient: what goes in, what must hold, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.arguments import ArgumentError
from tapeflow.hardware import Hardware
from tapeflow.hardware.energy import DRAM, MEMORY, UNITS
from tapeflow.simulation import options_for

VOID = """
#include <math.h>

void iterate(int n, int steps, double u[n])
{
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++)
      u[i] = sin(u[i]) * u[i];
}
"""


@pytest.fixture(scope="module")
def worked_example():
    kernel = SUITE["worked_example"]
    options = tapeflow.Options(layout="aos", spad_bytes=1024, stream=True)
    return tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options)


@pytest.fixture
def iterate(tmp_path):
    (tmp_path / "iterate.c").write_text(VOID)
    return tapeflow.gradient(tapeflow.load(tmp_path / "iterate.c"), wrt=["u"])


def test_a_report_has_time_traffic_memory_and_energy(worked_example):
    arguments = list(SUITE["worked_example"].arguments({"n": 30, "m": 40}).values())
    before = [np.array(argument) for argument in arguments]
    report = tapeflow.simulate(worked_example, arguments, hardware="stream-1k")
    assert report.cycles > 0
    assert report.sram_bytes == 2048
    assert report.energy.on_chip > 0
    assert report.traffic["tiles written"] > 0
    for argument, original in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, original)

    counters = report.counters
    assert counters["tape_bytes_pushed"] == counters["tape_bytes_popped"] == worked_example.tape_report().bytes
    again = tapeflow.simulate(worked_example, arguments, hardware=Hardware.preset("stream-1k"))
    assert dict(again.counters) == dict(counters)


@pytest.mark.parametrize("name", Hardware.presets())
def test_every_preset_runs_the_pipeline_that_it_asks_for(name):
    kernel = SUITE["worked_example"]
    machine = Hardware.preset(name)
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
    report = tapeflow.simulate(grad, list(kernel.arguments("mini").values()), hardware=machine)
    assert report.hardware == machine
    assert (report.counters["spad_writes"] > 0) == (machine.scratchpad is not None)
    # Energy is the sum of its parts, byte for byte, in the JSON that users get.
    written = json.dumps(report.as_dict())
    energy = json.loads(written)["energy_pj"]
    parts = {name: Fraction(value) for name, value in energy.items() if name in report.energy.parts}
    sums = {
        "memory": sum(parts[name] for name in MEMORY),
        "on chip": sum(parts[name] for name in (*MEMORY, *UNITS)),
        "dram": sum(parts[name] for name in DRAM),
        "total": sum(parts.values()),
    }
    assert set(energy) == {*parts, *sums} and set(parts) == {*MEMORY, *UNITS, *DRAM}
    for name, exact in sums.items():
        assert f'"{name}": {json.dumps(float(exact))}' in written
    # Values computed forward are apart from read-only inputs: `A` is read again, `w` is written in place.
    n, m = kernel.sizes["mini"]["n"], kernel.sizes["mini"]["m"]
    assert (report.tape_bytes, report.reread_bytes) == (grad.tape_report().bytes, n * m * 8)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ({"layout": "soa", "spad_bytes": 1024}, "needs layout='aos'"),
        ({"layout": "aos", "spad_bytes": 64}, "2 buffers of at least one 64-byte burst need 128"),
        ({"layout": "aos", "spad_bytes": 1024, "buffers": 1, "stream": True}, "stream=True needs buffers >= 2"),
    ],
)
def test_a_pipeline_that_contradicts_itself_is_refused(pipeline, message):
    machine = Hardware.preset("stream-1k").with_(name="mine", pipeline={"stream": False, **pipeline})
    with pytest.raises(tapeflow.TapeflowError, match=f"mine: pipeline: .*{message}"):
        options_for(machine)


def test_layers_must_fit_the_scratchpad(worked_example):
    kernel = SUITE["worked_example"]
    arguments = list(kernel.arguments("mini").values())
    options = tapeflow.Options(layout="aos", spad_bytes=4096)
    large = tapeflow.gradient(worked_example.kernel, wrt=list(kernel.wrt), options=options)
    message = (
        r"f_grad keeps 40\d\d bytes in the scratchpad, but stream-1k has 1024\n  help: compile with spad_bytes=1024"
    )
    with pytest.raises(tapeflow.TapeflowError, match=message):
        tapeflow.simulate(large, arguments, hardware="stream-1k")
    with pytest.raises(tapeflow.TapeflowError, match=r"but cache-32k has 0\n  help: compile without spad_bytes"):
        tapeflow.simulate(worked_example, arguments, hardware="cache-32k")


@pytest.mark.parametrize(
    ("make", "kind"),
    [(tapeflow.jvp, "Jvp"), (tapeflow.hvp, "HessianProduct"), (tapeflow.jacobian, "Jacobian")],
)
def test_what_takes_other_arguments_than_a_gradient_is_refused(make, kind):
    # Forward mode was called with the arguments of a gradient, and the process died.
    made = make(tapeflow.load(SUITE["logsum"].source), wrt=["x"])
    with pytest.raises(tapeflow.TapeflowError, match=f"the modelled machine runs gradients, and this is a {kind}"):
        tapeflow.simulate(made, [3, np.ones(3)], hardware="cache-2k")


def test_machines_come_by_name_object_or_file(worked_example, tmp_path):
    arguments = list(SUITE["worked_example"].arguments("mini").values())
    (tmp_path / "mine.yaml").write_text(
        "cache: {size_bytes: 1024, ways: 2}\n"
        "scratchpad: {size_bytes: 1024}\n"
        "pipeline: {layout: aos, spad_bytes: 1024}\n"
    )
    report = tapeflow.simulate(worked_example, arguments, hardware=str(tmp_path / "mine.yaml"))
    assert report.hardware.name == "mine"
    again = tapeflow.simulate(worked_example, arguments, hardware=tmp_path / "mine.yaml")
    assert again.counters == report.counters
    with pytest.raises(tapeflow.TapeflowError, match="a machine is wanted, not int"):
        tapeflow.simulate(worked_example, arguments, hardware=2048)
    with pytest.raises(tapeflow.TapeflowError, match="no hardware preset 'abacus'"):
        tapeflow.simulate(worked_example, arguments, hardware="abacus")
    with pytest.raises(tapeflow.TapeflowError, match="cannot read the hardware file"):
        tapeflow.simulate(worked_example, arguments, hardware="nowhere.yaml")


def test_seeds_and_arguments_are_as_in_a_call(iterate):
    u = np.linspace(0.1, 1, 20)
    assert tapeflow.simulate(iterate, (20, 5, u), hardware="cache-2k", seeds={"u": np.ones(20)}).cycles > 0
    with pytest.raises(ArgumentError, match="seeds are needed"):
        tapeflow.simulate(iterate, (20, 5, u), hardware="cache-2k")
    with pytest.raises(ArgumentError, match="expected shape"):
        tapeflow.simulate(iterate, (20, 5, u[:3]), hardware="cache-2k", seeds={"u": np.ones(20)})


def test_an_operation_without_an_energy_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    source = tmp_path / "ratio.c"
    source.write_text("double ratio(double x, double y)\n{\n  return x / y;\n}\n")
    gradient = tapeflow.gradient(tapeflow.load(source), wrt=["x"])
    assert tapeflow.simulate(gradient, [1.0, 2.0], hardware="cache-2k").energy.parts["functional units"] > 0
    monkeypatch.setattr("tapeflow.simulation.build_model", None)
    monkeypatch.setattr(tapeflow.Gradient, "prepare", None)
    high = Hardware.preset("cache-2k").with_(energy={"functional_units": "high"}, name="costly")
    with pytest.raises(tapeflow.TapeflowError) as refused:
        tapeflow.simulate(gradient, [1.0, 2.0], hardware=high)
    place, _, message = str(refused.value).partition(" error: ")
    assert place.endswith("ratio.c:3:10:")
    assert message == (
        "functional-units.csv: 'fp_div64' has no high_pj, which the energy of costly is made of\n"
        "  help: choose a machine with energy.functional_units: low, which has every operation"
    )

"""The kernels of the suite in the interpreter: the same bits at every stage, and the transfers the design counts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from parsing import context, parse
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

import tapeflow
from bench.suite import SUITE
from tapeflow.analysis import scratchpad_split
from tapeflow.api import Gradient
from tapeflow.interpreters import Buffer, Fifo, Stack, observe
from tapeflow.pipeline import requested, run_passes
from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass

pytestmark = pytest.mark.filterwarnings("ignore::tapeflow.errors.TapeflowRemark")

TINY = {
    "worked_example": {"n": 4, "m": 7},
    "logsum": {"n": 23},
    "logsum_shifted": {"n": 23},
    "matdescent": {"n": 5, "m": 4},
    "mttkrp": {"I": 2, "J": 3, "K": 2, "F": 3},
    "pathfinder": {"n": 4, "m": 5},
    "gravity": {"n": 5},
    "jacobi": {"n": 4, "steps": 2},
}


@cache
def gradient(name: str) -> Gradient:
    kernel = SUITE[name]
    return tapeflow.gradient(tapeflow.load(str(kernel.source), function=kernel.function), wrt=kernel.wrt)


@cache
def planned(name: str) -> ModuleOp:
    """The kernel after `tape-plan`, located."""
    compiled = gradient(name).compiled
    module = requested(compiled.kernel, compiled.wrt, compiled.active)
    run_passes(module, compiled.options.passes()[:3])
    return module


def run(name: str, module: ModuleOp) -> tuple[bytes, list]:
    """All that the gradient returns and writes, and its handles."""
    grad = gradient(name)
    inputs = grad.prepare(list(SUITE[name].arguments(TINY[name]).values()), None).inputs
    observed = observe(module, grad.name, inputs)
    arrays = [value.tobytes() for value in inputs if isinstance(value, np.ndarray)]
    return np.array(observed.results).tobytes() + b"".join(arrays), list(observed.handles)


@pytest.mark.parametrize("name", SUITE)
def test_every_stage_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratchpad_split, "BURST_BYTES", 8)
    module = planned(name).clone()
    expected, _ = run(name, module)

    TapeFormRegionsPass().apply(context(), module)
    bits, handles = run(name, module)
    assert bits == expected
    records = {handle.name.removeprefix("tape_"): handle.pushes for handle in handles if isinstance(handle, Stack)}

    for buffers, bytes_ in ((1, 160), (2, 400), (3, 3_000)):
        staged = module.clone()
        for stage in (SpadFormLayersPass(bytes=bytes_, buffers=buffers), StreamFormFifosPass()):
            stage.apply(context(), staged)
            staged.verify()
            assert not [op.name for op in staged.walk() if isinstance(op.location, UnknownLoc) and op is not staged]
            bits, handles = run(name, staged)
            assert bits == expected
            for buffer in handles:
                if isinstance(buffer, Buffer):
                    tiles = records[buffer.name.removeprefix("spad_")] // buffer.records
                    assert (buffer.pushed, buffer.fetched) == (tiles, max(tiles - (buffer.copies - 1), 0))
        assert all(handle.closed for handle in handles if isinstance(handle, Fifo))
        assert parse(str(staged)).is_structurally_equivalent(staged)

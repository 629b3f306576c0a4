"""The worked example, and others, at every stage from one-value tapes to streams."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from parsing import context, parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass

INPUTS = Path(__file__).parents[2] / "filecheck" / "backend" / "Inputs"


def _layers(bytes_: int, buffers: int) -> list[ModulePass]:
    return [TapeFormRegionsPass("aos"), SpadFormLayersPass(bytes=bytes_, buffers=buffers)]


STAGES: dict[str, list[ModulePass]] = {
    "tapes": [],
    "soa": [TapeFormRegionsPass("soa")],
    "aos": [TapeFormRegionsPass("aos")],
    "layers": _layers(1024, 2),
    "streams": [*_layers(1024, 2), StreamFormFifosPass()],
    "streams-3": [*_layers(576, 3), StreamFormFifosPass()],
}


@cache
def module(name: str, stage: str) -> ModuleOp:
    """The module of `Inputs/<name>.mlir` at `stage`."""
    parsed = parse((INPUTS / f"{name}.mlir").read_text())
    for a_pass in STAGES[stage]:
        a_pass.apply(context(), parsed)
    return parsed

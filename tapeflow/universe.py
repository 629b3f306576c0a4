"""Tapeflow as an xDSL plug-in: every name it adds, each with a factory that imports lazily.

Stock `xdsl-opt` finds this through the `xdsl.universe` entry point, and so knows our dialects, passes, target and the
`.c` file extension.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe


def _lazily(module: str, name: str) -> Callable[[], Any]:
    """A factory that imports `tapeflow.<module>` only when `name` is asked for."""
    return lambda: getattr(import_module(f"tapeflow.{module}"), name)


TAPEFLOW_UNIVERSE = Universe(
    all_dialects={
        "ad": _lazily("dialects.ad", "AD"),
        "tape": _lazily("dialects.tape", "Tape"),
        "spad": _lazily("dialects.spad", "Spad"),
        "stream": _lazily("dialects.stream", "Stream"),
    },
    all_passes={
        "ad-prepare": _lazily("transforms.ad_prepare", "AdPreparePass"),
        "ad-differentiate": _lazily("transforms.ad_differentiate", "AdDifferentiatePass"),
        "tape-plan": _lazily("transforms.tape_plan", "TapePlanPass"),
        "tape-form-regions": _lazily("transforms.tape_form_regions", "TapeFormRegionsPass"),
        "spad-form-layers": _lazily("transforms.spad_form_layers", "SpadFormLayersPass"),
        "stream-form-fifos": _lazily("transforms.stream_form_fifos", "StreamFormFifosPass"),
    },
    all_targets={"tapeflow-c": _lazily("backend.target", "TapeflowCTarget")},
    all_frontends={"c": _lazily("frontend.xdsl_frontend", "CFrontend")},
)

"""Every place where the pipeline may end, with scratchpads that make tiles small, large, and larger than the tape."""

from __future__ import annotations

from collections.abc import Mapping

from tapeflow.api import Gradient
from tapeflow.loading import Kernel
from tapeflow.options import Options
from tapeflow.pipeline import compile_gradient

PIPELINES: Mapping[str, tuple[Options, str | None]] = {
    "differentiate": (Options(), "differentiate"),
    "plan": (Options(), "plan"),
    "soa": (Options(), None),
    "aos": (Options(layout="aos"), None),
    "layers": (Options(layout="aos", spad_bytes=512), None),
    "layers, one buffer": (Options(layout="aos", spad_bytes=256, buffers=1), None),
    "streams": (Options(layout="aos", spad_bytes=512, stream=True), None),
    "streams, four buffers": (Options(layout="aos", spad_bytes=1024, buffers=4, stream=True), None),
    "streams, one tile": (Options(layout="aos", spad_bytes=1 << 20, stream=True), None),
}
"""Name to the options and the last stage (None: the end of the options)."""

REFERENCE = "soa"


def gradient_at(pipeline: str, kernel: Kernel, wrt: tuple[str, ...]) -> Gradient:
    """The gradient of `kernel` at the end of `pipeline`."""
    options, last_stage = PIPELINES[pipeline]
    return Gradient(compile_gradient(kernel, wrt, options, last_stage))

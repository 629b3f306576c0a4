"""How a gradient treats its tape: the options of the Python surface and the command line, and the passes they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from xdsl.passes import ModulePass

from tapeflow.analysis.call_graph import INLINE_LIMIT, UNLIMITED

BURST_BYTES = 64
"""The smallest transfer between scratchpad and DRAM, so the least that a buffer holds."""

STAGES = ("import", "prepare", "differentiate", "plan", "regions", "layers", "streams")
"""The stages of the pipeline in order; each is the output of one pass, `import` that of the frontend."""


class Options(BaseModel):
    """What is done with the tape after differentiation; the defaults are plain arrays in cache, as other tools do.

    `Options()` is a struct of arrays in cache, `Options(layout="aos")` an array of structs in cache. With `spad_bytes`
    records go through a scratchpad of that many bytes in all, and with `stream` its tiles are drained and fetched while
    the computation goes on.

    Raises:
        pydantic.ValidationError: an option is unknown, out of range, or contradicts another.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    recompute: Literal["balanced", "all", "cheap"] = "balanced"
    """What is computed again instead of taped: where that costs less, all that saves a byte of tape, or only what is
    cheap of that: no divisions, square roots or functions."""

    inline_limit: int = Field(default=INLINE_LIMIT, ge=UNLIMITED)
    """The most operations of a function that is inlined where it is called; -1 for no limit. Calls of recursive
    functions stay calls, whatever the limit."""

    layout: Literal["soa", "aos"] = "soa"
    """How records lie in memory: an array a field, or records side by side."""

    spad_bytes: int = Field(default=0, ge=0)
    """The whole scratchpad in bytes, all regions and buffers; 0 for none."""

    buffers: int = Field(default=2, ge=1, le=64)
    """Copies of each region's tile in the scratchpad, in rotation."""

    stream: bool = False
    """Whether transfers overlap with computation."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.spad_bytes and self.layout != "aos":
            raise ValueError(
                f"spad_bytes={self.spad_bytes} needs layout='aos': only whole records go through the scratchpad"
            )
        if self.spad_bytes and self.spad_bytes < BURST_BYTES * self.buffers:
            raise ValueError(
                f"spad_bytes={self.spad_bytes} is too small for any region: {self.buffers} buffers of at least one "
                f"{BURST_BYTES}-byte burst need {BURST_BYTES * self.buffers}"
            )
        if self.stream and not self.spad_bytes:
            raise ValueError("stream=True needs spad_bytes > 0: tiles travel between the scratchpad and DRAM")
        if self.stream and self.buffers < 2:
            raise ValueError("stream=True needs buffers >= 2: one drains or is fetched while another is used")
        return self

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that these options go through, in order."""
        return STAGES[: 1 + len(self.passes())]

    def passes(self) -> Sequence[ModulePass]:
        """The passes from the imported module to the one that is printed as C, in order."""
        from tapeflow.transforms.ad_differentiate import AdDifferentiatePass
        from tapeflow.transforms.ad_prepare import AdPreparePass
        from tapeflow.transforms.spad_form_layers import SpadFormLayersPass
        from tapeflow.transforms.stream_form_fifos import StreamFormFifosPass
        from tapeflow.transforms.tape_form_regions import TapeFormRegionsPass
        from tapeflow.transforms.tape_plan import TapePlanPass

        passes: list[ModulePass] = [
            AdPreparePass(inline_limit=self.inline_limit),
            AdDifferentiatePass(),
            TapePlanPass(recompute=self.recompute),
            TapeFormRegionsPass(layout=self.layout),
        ]
        if self.spad_bytes:
            passes.append(SpadFormLayersPass(bytes=self.spad_bytes, buffers=self.buffers))
        if self.stream:
            passes.append(StreamFormFifosPass())
        return passes

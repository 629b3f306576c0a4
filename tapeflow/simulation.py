"""Running a gradient on a modelled machine: the same C, which drives caches, scratchpad and DRAM as it computes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError
from xdsl.dialects import func

from tapeflow.analysis.library_functions import library_function
from tapeflow.api import Call, Gradient, Result
from tapeflow.arguments import Array, BoundArray
from tapeflow.backend.c_calls import callee_of
from tapeflow.backend.model_build import build_model
from tapeflow.backend.printed import PrintedC
from tapeflow.backend.reread_inputs import reread_inputs
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.dialects import spad
from tapeflow.errors import TapeflowError
from tapeflow.hardware import Counters, Hardware, Report
from tapeflow.hardware.config import explain
from tapeflow.hardware.machine import machine_header
from tapeflow.hardware.reuse import read as read_reuse
from tapeflow.hardware.timeline import read as read_timeline
from tapeflow.options import Options


def machine(hardware: Hardware | str | os.PathLike[str]) -> Hardware:
    """The machine that `hardware` is or names: a preset, or a YAML file, as a path or by a name in .yaml or .yml.

    Raises:
        TapeflowError: there is no such preset; the file is not a machine; or `hardware` is nothing of these.
    """
    if isinstance(hardware, Hardware):
        return hardware
    if isinstance(hardware, os.PathLike):
        return Hardware.from_yaml(Path(hardware))
    if not isinstance(hardware, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users need not check types
        raise TapeflowError(
            f"a machine is wanted, not {type(hardware).__name__}",
            hint="give a tapeflow.Hardware, the name of a preset, or a YAML file",
        )
    if hardware.lower().endswith((".yaml", ".yml")):
        return Hardware.from_yaml(Path(hardware))
    return Hardware.preset(hardware)


def options_for(hardware: Hardware) -> Options:
    """How the tape is treated for `hardware`: as the pipeline in its description says.

    Raises:
        TapeflowError: the parts of the pipeline contradict one another, e.g. tiles are smaller than a burst.
    """
    try:
        return Options.model_validate(hardware.pipeline.model_dump())
    except ValidationError as error:
        raise TapeflowError(f"{hardware.name}: pipeline: {explain(error)}") from error


def simulate(
    gradient: Gradient,
    arguments: Sequence[Any],
    *,
    hardware: Hardware | str | os.PathLike[str],
    seeds: Mapping[str, Any] | None = None,
    timeline: bool = False,
    reuse: bool = False,
) -> Report:
    """Run `gradient` on a modelled machine that starts cold.

    The values that the run computes are compared with those of the native machine, bit for bit.

    Args:
        gradient: compiled code, run as it is.
        arguments: of the kernel, in source order; they are not changed.
        hardware: a machine, a preset's name, or a YAML file.
        seeds: as in calling the gradient.
        timeline: whether to record what happens when; it changes no count, and takes a few megabytes.
        reuse: whether to count how far apart accesses of a line are, for caches of every size; nor does this.

    Raises:
        ArgumentError: an argument or seed does not fit the kernel.
        TapeflowError: this is no gradient, but e.g. forward mode; its layers are larger than the machine's scratchpad,
            it has calls that were kept, or operations that the machine's energy table lacks; there is no such machine,
            or no C compiler.
        MemoryError: there is no memory for the tape.
    """
    chosen = machine(hardware)
    _check_kind(gradient)
    _check_calls(gradient)
    _check_scratchpad(gradient, chosen)
    printed = gradient.compiled.printed
    schedule = schedule_printed(printed, chosen)
    model = build_model(printed, gradient.name, machine_header(chosen, timeline=timeline, reuse=reuse), schedule.header)
    native_call, model_call = (gradient.prepare(_copies(arguments), seeds) for _ in range(2))
    modelled = gradient.collect(model_call, model.call(model_call.inputs))
    _check_values(gradient, (native_call, gradient.run(native_call)), (model_call, modelled))
    counters = Counters(model.counters, model.executions)
    recorded = read_timeline(model.library, model.tape, _block_names(printed)) if timeline else None
    curve = read_reuse(model.library, model.tape) if reuse else None
    again = reread_inputs(printed, len(gradient.parameters))
    return Report.from_counters(
        chosen, counters, schedule.mix, label=gradient.name, timeline=recorded, reuse=curve, reread=again
    )


def _block_names(printed: PrintedC) -> dict[str, str]:
    """Line of a block -> the head of its loop, or what else it is."""
    lines = printed.source.splitlines()
    names: dict[str, str] = {}
    for block in printed.blocks:
        head = lines[block.line - 2].partition("{")[0].strip() if block.kind == "loop" else ""
        names[str(block.line)] = f"{head or block.kind} at line {block.line - bool(head)}"
    return names


def _check_kind(gradient: Gradient) -> None:
    """Functions that take tangents have other arguments than the model's call passes."""
    if type(gradient) is not Gradient:
        raise TapeflowError(
            f"the modelled machine runs gradients, and this is a {type(gradient).__name__}",
            hint="make one with tapeflow.gradient(kernel, wrt=[...])",
        )


def _check_calls(gradient: Gradient) -> None:
    """The modelled machine has no calls: no time for them, and no addresses for the arrays that they are given."""
    for op in gradient.compiled.final.walk():
        if isinstance(op, func.CallOp) and library_function(op) is None:
            raise TapeflowError(
                f"{gradient.name} calls '{op.callee.string_value()}', and the modelled machine runs no calls",
                location=op.location,
                hint="define it in the kernel's file: the machine runs what it can see"
                if callee_of(op) is None
                else "compile with inline_limit=-1; write a recursion as a loop",
            )


def _check_scratchpad(gradient: Gradient, hardware: Hardware) -> None:
    needed = sum(op.buffer.type.total_bytes for op in gradient.compiled.final.walk() if isinstance(op, spad.AllocOp))
    size = hardware.scratchpad.size_bytes if hardware.scratchpad is not None else 0
    if needed > size:
        raise TapeflowError(
            f"{gradient.name} keeps {needed} bytes in the scratchpad, but {hardware.name} has {size}",
            hint=f"compile with spad_bytes={size}, or choose a machine with a larger scratchpad"
            if size
            else "compile without spad_bytes, or choose a machine with a scratchpad",
        )


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [cast(Array, a).copy() if isinstance(a, np.ndarray) else a for a in arguments]


def _check_values(gradient: Gradient, native: tuple[Call, Result], model: tuple[Call, Result]) -> None:
    """The two machines must agree on every bit; a difference is a bug of ours.

    Raises:
        AssertionError: names what differs.
    """
    same: dict[str, tuple[Any, Any]] = {"the return value": (native[1].value, model[1].value)}
    same |= {f"the gradient of {name}": (g, model[1].gradients[name]) for name, g in native[1].gradients.items()}
    for parameter, ours, theirs in zip(gradient.parameters, native[0].bound, model[0].bound, strict=True):
        if isinstance(ours, BoundArray) and isinstance(theirs, BoundArray):
            same[parameter.name] = (ours.used, theirs.used)
    for what, (ours, theirs) in same.items():
        if np.asarray(ours).tobytes() != np.asarray(theirs).tobytes():
            raise AssertionError(f"{gradient.name}: {what} differs between the native and the modelled machine")

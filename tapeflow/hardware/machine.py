"""The header "tf_machine.h": a machine as the compile-time constants of the model in C."""

from __future__ import annotations

from tapeflow.hardware.config import LINE_BYTES, Hardware

_DRAM_CLOCKS = {
    "TF_DRAM_CL": "cl",
    "TF_DRAM_CWL": "cwl",
    "TF_DRAM_TRCD": "trcd",
    "TF_DRAM_TRP": "trp",
    "TF_DRAM_TRAS": "tras",
    "TF_DRAM_TCCD_L": "tccd_l",
    "TF_DRAM_TRRD": "trrd",
    "TF_DRAM_TFAW": "tfaw",
    "TF_DRAM_TRTP": "trtp",
    "TF_DRAM_TWR": "twr",
    "TF_DRAM_TWTR": "twtr",
    "TF_DRAM_RTW": "trtw",
    "TF_DRAM_TRFC": "trfc",
    "TF_DRAM_TREFI": "trefi",
    "TF_DRAM_BURST_CK": "burst_ck",
    "TF_DRAM_CONTROLLER_CK": "controller_ck",
    "TF_DRAM_RANKS": "ranks",
    "TF_DRAM_GROUPS": "bank_groups",
    "TF_DRAM_BANKS": "banks_per_group",
    "TF_DRAM_ROW_BYTES": "row_bytes",
}
"""Macro -> column of the DRAM tables."""


def machine_constants(hardware: Hardware) -> dict[str, int]:
    """Every constant of "tf_machine.h". Sizes are in bytes, times in cycles, `_CK` in DRAM clocks, `_PS` in ps."""
    cache, pad, dma, dram = hardware.cache, hardware.scratchpad, hardware.dma, hardware.dram
    second = hardware.second_cache
    constants = {
        "TF_PS_PER_CYCLE": hardware.cycle_ps,
        "TF_ARRAY_SKEW_BYTES": hardware.array_skew_bytes,
        "TF_LINE_BYTES": LINE_BYTES,
        "TF_CACHE_LEVELS": bool(cache) + bool(second),
        "TF_CACHE_BYTES": cache.size_bytes if cache else 0,
        "TF_CACHE_WAYS": cache.ways if cache else 1,
        "TF_CACHE_HIT_CYCLES": cache.hit_cycles if cache else 1,
        "TF_CACHE_PORT_BYTES": cache.port_bytes if cache else 8,
        "TF_CACHE_BLOCKING": int(cache.blocking) if cache else 0,
        "TF_SECOND_BYTES": second.size_bytes if second else 0,
        "TF_SECOND_WAYS": second.ways if second else 1,
        "TF_SECOND_HIT_CYCLES": second.hit_cycles if second else 0,
        "TF_STREAMING_BUFFERS": cache.streaming_buffers if cache else 0,
        "TF_PREFETCH_LINES": cache.prefetch_lines if cache else 0,
        "TF_MSHRS": cache.mshrs if cache else hardware.uncached_requests,
        "TF_SPAD_BYTES": pad.size_bytes if pad else 0,
        "TF_SPAD_PORTS": pad.ports if pad else 1,
        "TF_SPAD_BANKS": pad.banks if pad else 1,
        "TF_SPAD_PORT_BYTES": pad.port_bytes if pad else 8,
        "TF_DMA_OUTSTANDING": dma.outstanding,
        "TF_DMA_START_CYCLES": dma.start_cycles,
        "TF_DMA_SETUP_CYCLES": dma.setup_cycles,
        "TF_DMA_PORT_BYTES": pad.port_bytes if pad else 8,
        "TF_DRAM_BANKED": int(dram.timing == "banked"),
        "TF_DRAM_LATENCY_CK": dram.fixed_latency_clocks,
        "TF_DRAM_CK_PS": dram.clock_ps,
        "TF_DRAM_BURST_BYTES": dram.burst_bytes,
        "TF_DRAM_WRITE_QUEUE": dram.write_queue,
    }
    return constants | {macro: int(dram.number(column)) for macro, column in _DRAM_CLOCKS.items()}


def machine_header(
    hardware: Hardware, *, timeline: bool = False, timeline_spans: int = 1 << 16, reuse: bool = False
) -> str:
    """The text of "tf_machine.h" for this machine.

    Args:
        hardware: the machine.
        timeline: whether runs are recorded for `tapeflow.hardware.timeline`.
        timeline_spans: how many spans are kept of a recorded run, at 40 bytes each.
        reuse: whether distances between accesses of a line are counted, for `tapeflow.hardware.reuse`.
    """
    name = hardware.name.replace("*/", "* /")
    lines = [f"/* {name}: written by tapeflow.hardware.machine, included by tapeflow_model.h. */"]
    lines += ["#ifndef TF_MACHINE_H", "#define TF_MACHINE_H", ""]
    lines += [f"#define {macro} {value}" for macro, value in machine_constants(hardware).items()]
    if timeline:
        lines += ["", "#define TF_TIMELINE 1", f"#define TF_TIMELINE_EVENTS {timeline_spans}"]
    if reuse:
        lines += ["", "#define TF_REUSE 1"]
    lines += ["", "#endif", ""]
    return "\n".join(lines)

"""How fast the hardware model runs: memory accesses a second of CPU time, with timing on.

    python -m bench.model_speed [--size paper] [--machine cache-32k] [--repeats 5] [--json] [--out out]

An access is a load or store of an array or of the tape, in cache or scratchpad. Beside it stand the share of accesses
that hit, how many times longer the call takes than natively and how many times longer it would take in callgrind (with
its cache simulation, which has no timing), and the time to build the model: with nothing built before, for a cache of
another size, and once more. Then come runs in which every access misses, over 128 MiB. All is CPU time, the least of
several runs: what else the machine does is in the way of the others. Only a build, most of which is compilers that run
at the same time, is measured by the clock as well, and judged by that, so that it says less on a machine that is not
idle. Writes model_speed.json and model_speed.md.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tapeflow
from bench.callgrind_time import callgrind_seconds
from bench.options import ALL, Kernels, Machine, Out, Repeats, Size
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.model_build import build_model, compile_model
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.hardware import Hardware, counters
from tapeflow.hardware.config import LINE_BYTES
from tapeflow.hardware.machine import machine_header
from tapeflow.simulation import options_for

ACCESSES = ("array_reads", "array_writes", "tape_reads", "tape_writes", "spad_reads", "spad_writes")
MISSES = ("array_read_misses", "array_write_misses", "tape_read_misses", "tape_write_misses")

HIT_DOMINATED = 0.98
"""The share of accesses that hit, from which on a run is dominated by them."""

ALL_MISS_LINES = 1 << 21
"""Lines of an array that is swept once: 128 MiB."""

ALL_MISS = """
#define TF_MODEL
#define TF_MODEL_EXPORTS
#include "tapeflow_rt.h"

tf_tape *sweep_new(void);
void sweep_free(tf_tape *tf);
void sweep_reads(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step);
void sweep_writes(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step);

tf_tape *sweep_new(void) { return tf_new(); }
void sweep_free(tf_tape *tf) { tf_free(tf); }

/* Every line once, `step` lines from one to the next, round and round; `lines` is a power of two and `step` is odd. */
#define SWEEP(ACCESS)                                                      \\
    (void)tf_model_reset(tf);                                              \\
    TF_ARRAY(x, lines * (ptrdiff_t)(TF_LINE_BYTES / sizeof *x));           \\
    for (ptrdiff_t k = 0, at = 0; k < lines; k++) {                        \\
        TF_STEP();                                                         \\
        ACCESS;                                                            \\
        at = (at + step * 8) & (lines * 8 - 1);                            \\
    }                                                                      \\
    tf_model_finish(tf)

void sweep_reads(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step)
{
    double sum = 0.0;
    SWEEP(sum += TF_LOAD(x, at));
    x[0] = sum;
}

void sweep_writes(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step)
{
    SWEEP(TF_STORE(x, at, 1.0));
}

/* The same to the model, without the program's own load or store. */
#define TF_ALONE(A, k, write)                                                                               \\
    tf_m_array_access(tf_m(tf), TF_M_ADDRESS(A, k), write, TF_M_LINE.offset, TF_M_LINE.slack, TF_M_SITE)

void alone_reads(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step);
void alone_writes(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step);

void alone_reads(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step)
{
    SWEEP(TF_ALONE(x, at, false));
}

void alone_writes(tf_tape *tf, double *restrict x, ptrdiff_t lines, ptrdiff_t step)
{
    SWEEP(TF_ALONE(x, at, true));
}

ptrdiff_t sweep_chain(const double *x, ptrdiff_t lines, ptrdiff_t step);

/* Not modelled: where a load is depends on the one before it, though not in fact. */
ptrdiff_t sweep_chain(const double *x, ptrdiff_t lines, ptrdiff_t step)
{
    ptrdiff_t at = 0;
    for (ptrdiff_t k = 0; k < lines; k++) at = (at + step * 8 + (x[at] < 0.0)) & (lines * 8 - 1);
    return at;
}
"""
_ROW_LINES = 4096 * 8 // 64
"""Lines in a row of 4096 numbers of a matrix, the whole of which is as large as the array that is swept."""

_GOLDEN = (5**0.5 - 1) / 2
"""Steps of this part of a circle come near no earlier one for as long as any can."""

# Every line may be a block or an access: an access a cycle, a value is used as soon as a hit brings it.
_SCHEDULE = """
#define TF_LINE_COUNT 64
static const tf_line tf_lines[TF_LINE_COUNT] = {{{}}};
"""


def least(repeats: int, run: Callable[[], float]) -> float:
    """The least of so many results."""
    return min(run() for _ in range(repeats))


def measure(
    kernel: Kernel, size: str, machine: Hardware, repeats: int, *, with_callgrind: bool = True
) -> dict[str, Any]:
    """Accesses of one call of the kernel's gradient, and what it costs here, natively, in callgrind, and to build."""
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
    printed = grad.compiled.printed
    model = build_model(printed, grad.name, machine_header(machine), schedule_printed(printed, machine).header)
    built = rebuild_seconds(grad, machine, min(repeats, 3))

    def inputs() -> Sequence[Any]:
        return grad.prepare(list(kernel.arguments(size).values()), None).inputs

    def seconds(call: Callable[[Sequence[Any]], Any]) -> float:
        given = inputs()
        started = time.process_time()
        call(given)
        return time.process_time() - started

    modelled = least(repeats, lambda: seconds(model.call))
    native = least(repeats + 3, lambda: seconds(grad.native.call))
    counted = model.counters
    accesses = sum(counted[name] for name in ACCESSES)
    traced = callgrind_seconds(printed, grad.name, inputs(), machine) if with_callgrind else None
    return {
        "kernel": kernel.name,
        "accesses": accesses,
        "hit_share": 1 - sum(counted[name] for name in MISSES) / accesses,
        "seconds": modelled,
        "accesses_per_second": accesses / modelled,
        "over_native": modelled / native,
        "callgrind_over_native": None if traced is None else traced / native,
        "callgrind_over_model": None if traced is None else traced / modelled,
        "build_seconds": built,
    }


def rebuild_seconds(grad: tapeflow.Gradient, machine: Hardware, geometries: int) -> dict[str, dict[str, float]]:
    """What it takes to build the model: `cpu` and `wall` seconds of each case, the compiler's with ours.

    `first` is with nothing built before, `rebuild` for a cache of another size on the same machine, of which only what
    depends on that is compiled, and `again` for one that was built before. The least of so many geometries.
    """
    printed = grad.compiled.printed
    taken: dict[str, list[tuple[float, float]]] = {"first": [], "rebuild": [], "again": []}

    def build(case: str, geometry: Hardware) -> None:
        cpu, wall = _cpu_seconds(), time.perf_counter()
        build_model(printed, grad.name, machine_header(geometry), schedule_printed(printed, geometry).header)
        taken[case].append((_cpu_seconds() - cpu, time.perf_counter() - wall))

    for k in range(geometries):
        with _empty_cache():  # of compiled libraries: the user's outlives this program
            build("first", machine)
            build("rebuild", _other_geometry(machine, k + 1))
            build("again", machine)
    return {
        case: {what: min(times[k] for times in all_times) for k, what in enumerate(("cpu", "wall"))}
        for case, all_times in taken.items()
    }


def _other_geometry(machine: Hardware, k: int) -> Hardware:
    """The machine with another cache; without one, with arrays elsewhere in memory."""
    if machine.cache is None:
        return machine.with_(array_skew_bytes=machine.array_skew_bytes + k * LINE_BYTES)
    return machine.with_(cache={"size_bytes": machine.cache.size_bytes << k})


@contextmanager
def _empty_cache() -> Iterator[None]:
    """No library was compiled before."""
    before = os.environ.get("TAPEFLOW_CACHE")
    with tempfile.TemporaryDirectory(prefix="tapeflow-") as directory:
        os.environ["TAPEFLOW_CACHE"] = directory
        try:
            yield
        finally:
            del os.environ["TAPEFLOW_CACHE"]
            if before is not None:
                os.environ["TAPEFLOW_CACHE"] = before


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def measure_misses(machine: Hardware, repeats: int, lines: int | None = None) -> list[dict[str, Any]]:
    """Runs in which every access misses, loads and stores.

    One line follows the other, or three such sequences take turns, or they are those of a matrix's columns, each in
    another row of DRAM, which misses there too. Or they follow no order that any prefetcher could know, so that each
    misses in the DRAM of the machine that the model runs on as well. Beside each stands what the model takes without
    the program's own load or store, and how fast that machine is: loads of the same lines without the model, each of
    which waits for the one before it.

    Args:
        machine: with a cache.
        repeats: of which the least time counts.
        lines: of the array, a power of two, more than the cache has; `ALL_MISS_LINES` if None.
    """
    lines = lines or ALL_MISS_LINES
    headers = {"tf_schedule.h": _SCHEDULE.format(", ".join(["{TF_LINE_ACCESS, 1, 1, 0, 0}"] * 64))}
    library = ctypes.CDLL(str(compile_model("all_miss.c", ALL_MISS, headers, machine_header(machine))))
    library.sweep_new.restype = ctypes.c_void_p
    tape = ctypes.c_void_p(library.sweep_new())
    swept = np.ones(lines * 8)  # its pages are there before the first run
    rows: list[dict[str, Any]] = []
    for what in ("reads", "writes"):
        for order, step in (
            ("one line after the other", 1),
            ("lines far apart", (lines // 3) | 1),
            ("down the columns of a matrix", _ROW_LINES + 1),
            ("in no order", int(lines * _GOLDEN) | 1),
        ):

            def seconds(function: str, step: int = step) -> float:
                started = time.process_time()
                library[function](
                    tape, ctypes.c_void_p(swept.ctypes.data), ctypes.c_ssize_t(lines), ctypes.c_ssize_t(step)
                )
                return time.process_time() - started

            def chain(step: int = step) -> float:
                started = time.process_time()
                library.sweep_chain(ctypes.c_void_p(swept.ctypes.data), ctypes.c_ssize_t(lines), ctypes.c_ssize_t(step))
                return time.process_time() - started

            taken: dict[str, float] = {}
            for who in ("sweep", "alone"):
                taken[who] = least(repeats, lambda who=who, what=what: seconds(f"{who}_{what}"))
                counted = counters.read(library, tape)
                misses = sum(counted[name] for name in MISSES)
                assert misses == lines == sum(counted[name] for name in ACCESSES), "an access did not miss"
            rows.append(
                {
                    "what": f"{what}, {order}",
                    "accesses": lines,
                    "misses_per_second": lines / taken["sweep"],
                    "model_alone_per_second": lines / taken["alone"],
                    "native_chain_per_second": lines / least(repeats, chain),
                }
            )
    library.sweep_free(tape)
    return rows


def targets(kernels: Sequence[dict[str, Any]], misses: Sequence[dict[str, Any]]) -> list[str]:
    """What was aimed at, and what came of it."""
    hits = [row for row in kernels if row["hit_share"] >= HIT_DOMINATED]
    found: list[tuple[str, bool]] = []
    for row in hits:
        speed = row["accesses_per_second"] / 1e6
        found.append((f"{row['kernel']}: 100 million accesses a second when most hit, {speed:.0f}", speed >= 100))
    for row in misses:
        speed, alone = row["misses_per_second"] / 1e6, row["model_alone_per_second"] / 1e6
        said = f"{row['what']}: 8 million accesses a second when all miss, {speed:.1f} ({alone:.1f} by the model alone)"
        found.append((said, speed >= 8))
    if kernels:
        slowest, cpu = (max(row["build_seconds"]["rebuild"][what] for row in kernels) for what in ("wall", "cpu"))
        found.append(
            (
                f"500 ms by the clock for a new geometry, at most {1e3 * slowest:.0f} ({1e3 * cpu:.0f} of CPU time)",
                slowest <= 0.5,
            )
        )
    return [f"{'met   ' if met else 'MISSED'} {what}" for what, met in found]


def table(kernels: Sequence[dict[str, Any]], misses: Sequence[dict[str, Any]], size: str, machine: str) -> str:
    """The measurements in Markdown."""
    lines = [
        f"Gradients at {size} size on {machine}",
        "",
        "| kernel | accesses | hits | million accesses a second | time over native | callgrind's over native "
        "| first build (ms, CPU) | new geometry (ms, CPU) | again (ms) |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in kernels:
        traced = row["callgrind_over_native"]
        slower = "not measured" if traced is None else f"{traced:.0f}x"
        lines.append(
            f"| {row['kernel']} | {row['accesses']:,} | {100 * row['hit_share']:.1f} % "
            f"| {row['accesses_per_second'] / 1e6:.0f} | {row['over_native']:.0f}x | {slower} "
            f"| {_milliseconds(row, 'first')} | {_milliseconds(row, 'rebuild')} "
            f"| {1e3 * row['build_seconds']['again']['wall']:.0f} |"
        )
    lines += ["", "Every access misses", ""]
    lines += [
        "| accesses | how many | million a second | the model alone | chain of loads natively |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['what']} | {row['accesses']:,} | {row['misses_per_second'] / 1e6:.1f} "
        f"| {row['model_alone_per_second'] / 1e6:.1f} | {row['native_chain_per_second'] / 1e6:.1f} |"
        for row in misses
    ]
    return "\n".join(lines) + "\n"


def _milliseconds(row: dict[str, Any], case: str) -> str:
    return ", ".join(f"{1e3 * row['build_seconds'][case][what]:.0f}" for what in ("wall", "cpu"))


def main(
    size: Size = "paper",
    machine: Machine = "cache-32k",
    kernels: Kernels = ALL,
    repeats: Repeats = 5,
    callgrind: Annotated[bool, typer.Option(help="Whether to run the gradients in callgrind too.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measurements as JSON.")] = False,
    out: Out = Path("out"),
) -> None:
    """Measure how many accesses a second the hardware model runs, print that and save it.

    For example:

        python -m bench.model_speed --kernels gravity,mttkrp --repeats 9 --no-callgrind --json
    """
    chosen = Hardware.preset(machine)
    if callgrind and shutil.which("valgrind") is None:
        print("CALLGRIND IS NOT MEASURED: there is no valgrind", file=sys.stderr)
        callgrind = False
    rows = [measure(SUITE[name], size, chosen, repeats, with_callgrind=callgrind) for name in kernels.split(",")]
    # What a prefetcher fetches ahead is no miss.
    fetching_nothing = chosen.with_(cache={"prefetch_lines": 0}) if chosen.cache is not None else chosen
    misses = measure_misses(fetching_nothing, repeats)
    text = table(rows, misses, size, machine)
    measured = {"kernels": rows, "misses": misses}
    data = save(out, "model_speed", measured, text)
    print(data if as_json else "\n".join([text, *targets(rows, misses)]))


if __name__ == "__main__":
    typer.run(main)

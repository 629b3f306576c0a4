"""Pictures of simulated calls: time by cause, energy by part, roofline, and the timeline.

Each function makes a matplotlib figure that nobody else holds; `png` turns one into bytes.
"""
# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, FuncFormatter, NullFormatter, StrMethodFormatter

from tapeflow.hardware.config import LINE_BYTES
from tapeflow.hardware.report import STALLS, Report
from tapeflow.hardware.timeline import LAYERS, Span, Timeline, lanes

INK, FAINT = "#1f2328", "#d0d7de"
STALL_COLORS = {
    "stall_fill": "#d1495b",
    "stall_mshr": "#edae49",
    "stall_dma": "#8d5a97",
    "stall_start": "#b0a160",
    "stall_bank": "#937860",
    "stall_flush": "#6c757d",
}
COMPUTE_COLOR = "#30638e"
ENERGY_COLORS = {
    "scratchpad": "#66a182",
    "cache": "#d1495b",
    "second cache": "#e29578",
    "dma": "#8d5a97",
    "leakage": "#adb5bd",
    "functional units": "#30638e",
    "dram activate": "#f4d58d",
    "dram read": "#edae49",
    "dram write": "#bf7e1e",
    "dram standby": "#e9ecef",
}
SPAN_COLORS = {
    "fill": "#30638e",
    "turn-around": "#c9ada7",
    "use": "#66a182",
    "wait": "#212529",
    "out": "#e76f51",
    "in": "#2a9d8f",
    "tile": "#9fc2de",
}
MOST_SPANS = 1200
"""Spans that a picture of the timeline can show apart."""


def png(figure: Figure, dpi: int = 110) -> bytes:
    """The figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    # No date and no version: the same run gives the same bytes.
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


def _plot(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=8)
    return figure, axes


def _stacked(
    axes: Axes, names: Sequence[str], parts: Mapping[str, Sequence[float]], colors: Mapping[str, str], unit: str
) -> None:
    """Bars side by side, a name each, of parts on top of each other, totals at their ends."""
    left = np.zeros(len(names))
    for part, values in parts.items():
        if any(values):
            axes.barh(names, values, left=left, color=colors[part], label=part, height=0.6, edgecolor="white")
            left = left + np.asarray(values)
    for row, total in enumerate(left):
        shown = f"{total:,.0f}" if total >= 100 else f"{total:.3g}"
        axes.text(float(total), row, f" {shown} {unit}", va="center", fontsize=8, color=INK)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.18), ncols=3)


def stall_figure(reports: Sequence[Report]) -> Figure:
    """Where the cycles went: computing, and waiting by cause, a bar a machine."""
    figure, axes = _plot(8, 1.9 + 0.45 * len(reports))
    parts = {"compute": [report.compute / 1e3 for report in reports]}
    parts |= {what: [report.stalls[what] / 1e3 for report in reports] for what in STALLS.values()}
    colors = {"compute": COMPUTE_COLOR} | {what: STALL_COLORS[name] for name, what in STALLS.items()}
    _stacked(axes, [report.hardware.name for report in reports], parts, colors, "k")
    axes.set_xlabel("thousand cycles", fontsize=8)
    return figure


def energy_figure(reports: Sequence[Report]) -> Figure:
    """Energy by part, in nJ: on chip above, with DRAM below, a bar a machine each."""
    figure = Figure(figsize=(8, 3.4 + 0.9 * len(reports)), layout="constrained")
    names = [report.hardware.name for report in reports]
    for axes, title, dram in zip(figure.subplots(2), ("on chip", "with DRAM"), (False, True), strict=True):
        parts = {
            part: [report.energy.parts[part] / 1e3 for report in reports]
            for part in ENERGY_COLORS
            if dram or not part.startswith("dram")
        }
        _stacked(axes, names, parts, ENERGY_COLORS, "nJ")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_xlabel(f"nJ, {title}", fontsize=8)
    return figure


# Roofline


def roofline_figure(reports: Sequence[Report]) -> Figure:
    """Operations a nanosecond over operations a byte of DRAM traffic, under the ceilings of each machine.

    Ceilings are the floating-point units, the bandwidth of DRAM, and what its requests in flight can bring at the
    shortest latency (Little's law). Machines with equal ceilings share lines.
    """
    figure, axes = _plot(8, 4.6)
    points = [
        (report, report.operations / max(report.dram_bytes, 1), report.operations / max(report.seconds * 1e9, 1e-9))
        for report in reports
        if report.operations > 0  # what is not known, or not there, has no place in a logarithmic picture
    ]
    intensities = [max(intensity, 1e-3) for _, intensity, _ in points] or [1.0]
    span = np.geomspace(min(*intensities, 0.05) / 3, max(*intensities, 2.0) * 6, 200)
    slopes: dict[float, list[str]] = {}  # of the lines, and all that they stand for
    for report in reports:
        for name, slope in list(report.ceilings.items())[1:]:
            if name not in slopes.setdefault(slope, []):
                slopes[slope].append(name)
    peaks = dict.fromkeys(next(iter(report.ceilings.items())) for report in reports)
    for name, peak in peaks:
        axes.plot(span, np.full_like(span, peak), "-", color=INK, lw=1.1, label=name)
    top = max(peak for _, peak in peaks)
    for (slope, names), style in zip(slopes.items(), ("-", "--", "-.", ":") * len(slopes), strict=False):
        axes.plot(span, np.minimum(span * slope, top), style, color="#57606a", lw=1.1, label="\n".join(names))
    for (report, intensity, rate), color in zip(points, ("#d1495b", "#30638e", "#66a182", "#edae49") * 4, strict=False):
        axes.plot([intensity], [rate], "o", color=color, ms=8, label=report.hardware.name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("floating-point operations a byte of DRAM traffic", fontsize=8)
    axes.set_ylabel("floating-point operations a nanosecond", fontsize=8)
    axes.set_ylim(bottom=min((rate for *_, rate in points), default=0.04) / 4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axes.grid(True, which="major", color=FAINT, lw=0.5)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return figure


# Reuse

REUSE_COLORS = {"tape": "#d1495b", "arrays": "#30638e"}


def reuse_figure(report: Report, capacities: Mapping[str, int] | None = None) -> Figure:
    """Misses of tape and arrays over the size of a fully associative cache, with sizes that exist marked.

    Args:
        report: of a run whose reuse was counted.
        capacities: name -> bytes of what to mark; those of the report's machine if None.
    """
    if report.reuse is None:
        raise ValueError(f"the reuse of {report.label} on {report.hardware.name} was not counted")
    figure, axes = _plot(8, 4.0)
    marked = report.hardware.memories if capacities is None else capacities
    held = [int(d.distances.max()) + 1 for d in report.reuse.of.values() if d.distances.size]
    last = max([*held, *(size // LINE_BYTES for size in marked.values()), 16])
    sizes = np.unique(np.geomspace(1, 2 * last, 400).astype(np.int64))
    for owner, distances in report.reuse.of.items():
        if distances.accesses:
            misses = [distances.misses(int(lines)) for lines in sizes]
            label = f"{owner}: {distances.accesses:,} accesses, {distances.cold:,} of them to new lines"
            axes.step(sizes * LINE_BYTES, misses, where="post", color=REUSE_COLORS[owner], lw=1.6, label=label)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    top = axes.get_ylim()[1]
    at: dict[int, list[str]] = {}
    for name, size in marked.items():
        at.setdefault(size, []).append(name)
    for size, names in at.items():
        axes.axvline(size, color="#57606a", lw=0.9, ls="--")
        axes.annotate(
            ", ".join(names), (size, top), (3, -3), textcoords="offset points", rotation=90, va="top", fontsize=8
        )
    axes.xaxis.set_major_formatter(FuncFormatter(_binary_size))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("bytes of a fully associative cache", fontsize=8)
    axes.set_ylabel("misses", fontsize=8)
    axes.grid(True, which="major", color=FAINT, lw=0.5)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.14))
    return figure


def _binary_size(size: float, _position: int | None = None) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


# Timeline


def interesting_window(timeline: Timeline) -> tuple[int, int]:
    """The cycles that a picture shows: all of a short run, else those about the turn-around."""
    spans = timeline.spans
    if not spans:
        return 0, 1
    end = max(span.end for span in spans)
    if len(spans) <= MOST_SPANS:
        return 0, end
    turns = timeline.of("turn-around")
    middle = turns[-1].begin if turns else end // 2
    begins = np.asarray([span.begin for span in spans])
    nearest = np.sort(np.abs(begins - middle))[MOST_SPANS - 1]
    return max(middle - int(nearest), 0), min(middle + int(nearest), end)


def timeline_figure(timeline: Timeline, window: tuple[int, int] | None = None) -> Figure:
    """What happened when, a row a track, in `window` (cycles), or where it is interesting."""
    begin, end = window or interesting_window(timeline)
    rows = _rows(timeline, begin, end)
    figure, axes = _plot(11, 1.1 + 0.27 * len(rows))
    labelled: set[str] = set()
    for height, (_, spans) in enumerate(rows):
        for color in dict.fromkeys(_color(span) for span in spans):
            same = [span for span in spans if _color(span) == color]
            kind = same[0].track.replace("_", ": ") if same[0].kind == "stall" else same[0].kind
            axes.broken_barh(
                [(span.begin, span.cycles) for span in same],
                (height - 0.4, 0.8),
                facecolors=color,
                edgecolors="white",
                linewidth=0.3,
                label="" if kind in labelled or kind == "block" else kind,
            )
            labelled.add(kind)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(begin, end)
    axes.set_xlabel("cycles", fontsize=8)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower center", ncols=8)
    return figure


def _rows(timeline: Timeline, begin: int, end: int) -> list[tuple[str, list[Span]]]:
    """Name and spans of each row, those that lie in the window at least in part."""

    def shown(spans: Sequence[Span]) -> list[Span]:
        return [span for span in spans if span.begin < end and span.end > begin]

    rows = [("blocks", shown(timeline.of("block"))), ("stalls", shown(timeline.of("stall")))]
    for stream in timeline.streams:
        # The waits lie in the layers, and are drawn over them.
        rows.append((f"{stream} layers", shown(timeline.of(*LAYERS, "wait", track=stream))))
        held = timeline.of("tile", track=stream)
        for copy in sorted({span.transfer for span in held}):
            rows.append((f"{stream} buffer {copy}", shown([span for span in held if span.transfer == copy])))
        rows += [(f"{stream} DMA", lane) for lane in lanes(shown(timeline.of("out", "in", track=stream)))]
    return rows


def _color(span: Span) -> str:
    if span.kind == "block":
        return ("#30638e", "#4f83ae", "#7fa8c9", "#a9c6de")[int(span.track) % 4]
    return STALL_COLORS[span.track] if span.kind == "stall" else SPAN_COLORS[span.kind]

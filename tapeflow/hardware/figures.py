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
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, StrMethodFormatter

from tapeflow.hardware.config import LINE_BYTES
from tapeflow.hardware.report import STALLS, Comparison, Report, stall_texts
from tapeflow.hardware.timeline import LAYERS, Span, Timeline, lanes

INK, FAINT = "#1f2328", "#d0d7de"

# M. Okabe and K. Ito, Color Universal Design (2008): told apart with any kind of colour vision.
BLUE, VERMILION, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
SKY, PURPLE, YELLOW, GREY = "#56b4e9", "#cc79a7", "#f0e442", "#8c959f"

STALL_COLORS = {
    "stall_fill": VERMILION,
    "stall_mshr": ORANGE,
    "stall_dma": PURPLE,
    "stall_start": YELLOW,
    "stall_bank": "#332288",
    "stall_flush": GREY,
}
COMPUTE_COLOR = BLUE
ENERGY_COLORS = {
    "scratchpad": GREEN,
    "cache": VERMILION,
    "second cache": ORANGE,
    "dma": PURPLE,
    "leakage": GREY,
    "functional units": BLUE,
    "dram activate": YELLOW,
    "dram read": SKY,
    "dram write": "#1b4f72",
    "dram standby": "#d8dee4",
}
BLOCK_COLORS = ("#4f83ae", "#7fa8c9", "#a9c6de", "#365f82", "#93a8ba", "#c3d3e0")
SPAN_COLORS = {
    "fill": BLUE,
    "turn-around": "#c9ada7",
    "use": GREEN,
    "wait": INK,
    "out": VERMILION,
    "in": SKY,
    "tile": "#c3d3e0",
}
SPAN_NAMES = {
    "fill": "layer of the forward sweep",
    "turn-around": "layer at the turn-around",
    "use": "layer of the reverse sweep",
    "wait": "wait for a tile",
    "out": "DMA to DRAM",
    "in": "DMA from DRAM",
    "tile": "tile in the buffer",
}
MACHINE_COLORS, MACHINE_MARKERS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY), "os^DvP"
MOST_SPANS = 1200
"""Spans that a picture of the timeline can show apart."""

MOST_BLOCKS = 6
"""Blocks that its legend names."""


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
    """Bars side by side, a name each, of parts on top of each other, shares in them and totals at their ends."""
    totals = np.sum([*parts.values()], axis=0)
    left = np.zeros(len(names))
    for part, values in parts.items():
        if not any(values):
            continue
        axes.barh(names, values, left=left, color=colors[part], label=_spelled(part), height=0.6, edgecolor="white")
        for row, value in enumerate(values):
            if value > 0.06 * max(totals):
                share = f"{100 * value / totals[row]:.0f} %"
                at = float(left[row]) + value / 2
                axes.text(at, row, share, ha="center", va="center", fontsize=8, color=_ink_on(colors[part]))
        left = left + np.asarray(values)
    for row, total in enumerate(totals):
        shown = f"{total:,.0f}" if total >= 100 else f"{total:.3g}"
        axes.text(float(total), row, f" {shown} {unit}", va="center", fontsize=8, color=INK)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    if np.any(totals):
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.22), ncols=4)


def _spelled(part: str) -> str:
    return part.replace("dram", "DRAM").replace("dma", "DMA")


def _ink_on(color: str) -> str:
    """What can be read on `color`."""
    red, green, blue = to_rgb(color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else INK


def _plain(name: str) -> str:
    """A user's name as it is: `$` begins no formula, and a first `_` hides it from no legend."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def _names(reports: Sequence[Report]) -> list[str]:
    """What each call is named in a picture."""
    return [*map(_plain, Comparison(tuple(reports)).names)]


def stall_figure(reports: Sequence[Report]) -> Figure:
    """Where the cycles went: computing, and waiting by cause, a bar a machine."""
    figure, axes = _plot(8, 1.9 + 0.45 * len(reports))
    parts = {"compute": [report.compute / 1e3 for report in reports]}
    colors = {"compute": COMPUTE_COLOR}
    for name, color in STALL_COLORS.items():
        # What has another name on another machine is of one colour: the bars tell which machine it is.
        for what in dict.fromkeys(texts[name] for report in reports if name in (texts := stall_texts(report.hardware))):
            parts[what] = [report.stalls.get(what, 0) / 1e3 for report in reports]
            colors[what] = color
    _stacked(axes, _names(reports), parts, colors, "thousand")
    axes.set_xlabel("time (thousand cycles)", fontsize=8)
    return figure


def energy_figure(reports: Sequence[Report]) -> Figure:
    """Energy by part, in nJ: on chip above, with DRAM below, a bar a machine each."""
    figure = Figure(figsize=(8, 3.4 + 0.9 * len(reports)), layout="constrained")
    names = _names(reports)
    for axes, title, dram in zip(figure.subplots(2), ("on chip", "with DRAM"), (False, True), strict=True):
        parts = {
            part: [report.energy.parts[part] / 1e3 for report in reports]
            for part in ENERGY_COLORS
            if dram or not part.startswith("dram")
        }
        _stacked(axes, names, parts, ENERGY_COLORS, "nJ")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_xlabel(f"energy {title} (nJ)", fontsize=8)
    return figure


# Roofline


def roofline_figure(reports: Sequence[Report]) -> Figure:
    """Operations a nanosecond over operations a byte of DRAM traffic, under the ceilings of each machine.

    Ceilings are the floating-point units, the bandwidth of DRAM, and what its requests in flight can bring at the
    shortest latency and where rows have to be opened (Little's law). A ceiling that one machine alone has is of its
    colour, one that several share is grey.
    """
    figure, axes = _plot(8, 5.6)
    points = [
        (number, report.operations / max(report.dram_bytes, 1), report.operations / max(report.seconds * 1e9, 1e-9))
        for number, report in enumerate(reports)
        if report.operations > 0  # what is not known, or not there, has no place in a logarithmic picture
    ]
    intensities = [max(intensity, 1e-3) for _, intensity, _ in points] or [1.0]
    span = np.geomspace(min(*intensities, 0.05) / 3, max(*intensities, 2.0) * 6, 200)
    peaks = [next(iter(report.ceilings.values())) for report in reports]
    names = _names(reports)
    for (name, peak), owners in _shared(reports, slice(0, 1)).items():
        axes.plot(span, np.full_like(span, peak), color=_owner_color(owners, reports), lw=1.6, label=name)
    for (name, slope), owners in _shared(reports, slice(1, None)).items():
        kind = "-" if "GB/s" in name else "--" if "open rows" in name else "-."
        below = span[span * slope <= max(peaks[k] for k in owners)]
        axes.plot(below, below * slope, kind, color=_owner_color(owners, reports), lw=1.2, label=name)
    for number, intensity, rate in points:
        color, marker = _machine_color(number), MACHINE_MARKERS[number % len(MACHINE_MARKERS)]
        axes.plot([intensity], [rate], marker, color=color, ms=8, ls="", mec="white", label=names[number])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("floating-point operations per byte of DRAM traffic", fontsize=8)
    axes.set_ylabel("floating-point operations per ns", fontsize=8)
    axes.set_ylim(min((rate for *_, rate in points), default=0.04) / 4, 1.6 * max(peaks))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color=FAINT, lw=0.5)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.11), ncols=2)
    return figure


def _shared(reports: Sequence[Report], which: slice) -> dict[tuple[str, float], list[int]]:
    """Name and height of each of these ceilings -> the machines that have it."""
    found: dict[tuple[str, float], list[int]] = {}
    for number, report in enumerate(reports):
        for ceiling in list(report.ceilings.items())[which]:
            found.setdefault(ceiling, []).append(number)
    return found


def _machine_color(number: int) -> str:
    return MACHINE_COLORS[number % len(MACHINE_COLORS)]


def _owner_color(owners: Sequence[int], reports: Sequence[Report]) -> str:
    return _machine_color(owners[0]) if len(owners) == 1 < len(reports) else "#57606a"


# Reuse

REUSE_COLORS = {"tape": VERMILION, "arrays": BLUE}
REUSE_LINES = {"tape": "-", "arrays": "--"}


def reuse_figure(report: Report, capacities: Mapping[str, int] | None = None) -> Figure:
    """Misses of tape and arrays over the size of a fully associative cache, with sizes that exist marked.

    Args:
        report: of a run whose reuse was counted.
        capacities: name -> bytes of what to mark; those of the report's machine if None.
    """
    if report.reuse is None:
        raise ValueError(f"the reuse of {report.label} on {report.hardware.name} was not counted")
    figure, axes = _plot(8, 4.6)
    marked = report.hardware.memories if capacities is None else capacities
    held = [int(d.distances.max()) + 1 for d in report.reuse.of.values() if d.distances.size]
    last = max([*held, *(size // LINE_BYTES for size in marked.values()), 16])
    sizes = np.unique(np.geomspace(1, 2 * last, 400).astype(np.int64))
    for owner, distances in report.reuse.of.items():
        if distances.accesses:
            misses = [distances.misses(int(lines)) for lines in sizes]
            label = f"{owner}: {distances.accesses:,} accesses, {distances.cold:,} of them to new lines"
            style, color = REUSE_LINES[owner], REUSE_COLORS[owner]
            axes.step(sizes * LINE_BYTES, misses, style, where="post", color=color, lw=1.6, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")  # a line that is accessed has a first access, so that there is no 0
    at: dict[int, list[str]] = {}
    for name, size in marked.items():
        at.setdefault(size, []).append(_plain(name))
    for size, names in at.items():
        axes.axvline(size, color="#57606a", lw=0.9, ls=":")
        axes.annotate(
            f"{_binary_size(size)}: {', '.join(names)}",
            (size, 1.0),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            rotation=20,
            va="bottom",
            fontsize=8,
            color=INK,
        )
    axes.xaxis.set_major_formatter(FuncFormatter(_binary_size))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("capacity of a fully associative cache (B, KiB, MiB)", fontsize=8)
    axes.set_ylabel("misses (accesses)", fontsize=8)
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


def timeline_figure(
    timeline: Timeline, window: tuple[int, int] | None = None, *, stalls: Mapping[str, str] = STALLS
) -> Figure:
    """What happened when, a row a track, in `window` (cycles), or where it is interesting.

    `stalls` says what each stall is called, by its counter: `stall_texts` of the machine that ran.
    """
    begin, end = window or interesting_window(timeline)
    rows = _rows(timeline, begin, end)
    figure, axes = _plot(11, 1.1 + 0.27 * len(rows))
    colors = {line: BLOCK_COLORS[k % len(BLOCK_COLORS)] for k, line in enumerate(_lines(timeline, begin, end))}
    labelled: set[str] = set()
    for height, (_, spans) in enumerate(rows):
        for kind in dict.fromkeys(_kind(span, timeline, stalls) for span in spans):
            same = [span for span in spans if _kind(span, timeline, stalls) == kind]
            named = same[0].kind != "block" or same[0].track in list(colors)[:MOST_BLOCKS]
            axes.broken_barh(
                [(span.begin, span.cycles) for span in same],
                (height - 0.4, 0.8),
                facecolors=_color(same[0], colors),
                edgecolors="white",
                linewidth=0.3,
                label=kind if named and kind not in labelled else "",
            )
            labelled.add(kind)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(begin, end)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("time (cycles)", fontsize=8)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower center", ncols=4)
    return figure


def _lines(timeline: Timeline, begin: int, end: int) -> list[str]:
    """The lines of the blocks that are seen in the window, those that take longest first."""
    cycles: dict[str, int] = {}
    for span in timeline.of("block"):
        seen = min(span.end, end) - max(span.begin, begin)
        if seen > 0:
            cycles[span.track] = cycles.get(span.track, 0) + seen
    return sorted(cycles, key=lambda line: -cycles[line])


def _kind(span: Span, timeline: Timeline, stalls: Mapping[str, str]) -> str:
    """What the legend calls `span`."""
    if span.kind == "block":
        what, at, line = timeline.blocks.get(span.track, f"line {span.track}").partition(" at line ")
        return f"block: {what[:36]}{'…' if len(what) > 36 else ''}{at}{line}"
    return f"stall: {stalls[span.track]}" if span.kind == "stall" else SPAN_NAMES[span.kind]


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


def _color(span: Span, blocks: Mapping[str, str]) -> str:
    if span.kind == "block":
        return blocks[span.track]
    return STALL_COLORS[span.track] if span.kind == "stall" else SPAN_COLORS[span.kind]

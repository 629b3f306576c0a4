"""A page about simulated calls: numbers, pictures, and the machines that made them, in one file that needs no other."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from html import escape

import yaml

from tapeflow.hardware.fields import flat_fields
from tapeflow.hardware.figures import (
    energy_figure,
    interesting_window,
    png,
    reuse_figure,
    roofline_figure,
    stall_figure,
    timeline_figure,
)
from tapeflow.hardware.report import Comparison, Report, energy_text, stall_texts
from tapeflow.hardware.timeline import WINDOW_CYCLES, Timeline

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #d0d7de; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .9rem .15rem 0; text-align: right; } th:first-child, td:first-child { text-align: left; }
th { border-bottom: 1px solid #d0d7de; } td.part { padding-left: 1.2rem; color: #57606a; }
figure { margin: 1rem 0; } img { max-width: 100%; } figcaption, .note { color: #57606a; }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; font-size: 13px; }
"""


def html_page(reports: Sequence[Report]) -> str:
    """The page of one call, or of several on different machines, the last being the one that it is about.

    It loads nothing: pictures are inside, and the numbers are in it once more as JSON, in the element `numbers`.
    """
    main = reports[-1]
    title = f"{main.label} on {main.hardware.name}".removeprefix(" on ")
    numbers = json.dumps([report.as_dict() for report in reports]).replace("<", "\\u003c")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(title)}</title>',
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>',
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *_summary(reports),
            *_pictures(reports),
            *_numbers(reports),
            *_machines(reports),
            f'<script type="application/json" id="numbers">{numbers}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _named(reports: Sequence[Report]) -> Iterator[tuple[str, Report]]:
    """Each call, and what tells its machine from the others."""
    return zip(Comparison(tuple(reports)).names, reports, strict=True)


def _summary(reports: Sequence[Report]) -> Iterator[str]:
    yield "<ul>"
    for name, report in _named(reports):
        yield f"<li><b>{escape(name)}</b>: {report.cycles:,} cycles; {escape(report.bottleneck)}.</li>"
    yield "</ul>"
    for name, differences in Comparison(tuple(reports)).differences.items():
        said = f"differs in {'; '.join(differences)}" if differences else "is equal in all that is not compared here"
        main = escape(Comparison(tuple(reports)).names[-1])
        yield f'<p class="note">Beside {main}, {escape(name)} {escape(said)}.</p>'


def _pictures(reports: Sequence[Report]) -> Iterator[str]:
    yield "<h2>Where time goes</h2>"
    yield _figure(
        png(stall_figure(reports)), "stalls", "Cycles of the static schedules, and cycles in which the datapath waits."
    )
    unknown = ", ".join(dict.fromkeys(report.label for report in reports if report.accesses_only))
    if all(report.accesses_only for report in reports):
        yield f'<p class="note">There is no roofline: the operations of {escape(unknown)} are not known.</p>'
    else:
        yield _figure(
            png(roofline_figure(reports)),
            "roofline",
            "What bounds the run: units, bandwidth of DRAM, and what requests in flight can bring at its latency."
            + (f" The operations of {unknown} are not known, so it has no point." if unknown else ""),
        )
    yield "<h2>Where energy goes</h2>"
    spread = reports[-1].energy_spread
    yield _figure(
        png(energy_figure(reports)),
        "energy",
        f"On chip, {Comparison(tuple(reports)).names[-1]} takes {energy_text(spread.minimum)} to "
        f"{energy_text(spread.maximum)}, median {energy_text(spread.median)}, over all choices of energy table.",
    )
    if any(report.reuse is not None for report in reports):
        yield "<h2>What larger caches would hold</h2>"
    for name, report in _named(reports):
        if report.reuse is not None:
            yield _figure(png(reuse_figure(report, _capacities(reports))), "reuse", _reuse_caption(name, report))
    for name, report in _named(reports):
        if report.timeline is not None:
            yield f"<h2>What happens when on {escape(name)}</h2>"
            yield _figure(
                png(timeline_figure(report.timeline, stalls=stall_texts(report.hardware))),
                "timeline",
                _timeline_caption(report.timeline, report.cycles),
            )


def _timeline_caption(timeline: Timeline, cycles: int) -> str:
    begin, end = interesting_window(timeline)
    what = "Blocks and stalls of the datapath, and what each stream does"
    shown = "in the whole run" if (begin, end) == (0, cycles) else f"from cycle {begin:,} to {end:,} of {cycles:,}"
    sampled = "" if timeline.complete else f" One window of {WINDOW_CYCLES:,} cycles in {timeline.stride} was recorded."
    return f"{what}, {shown}.{sampled}"


def _capacities(reports: Sequence[Report]) -> dict[str, int]:
    """Every memory of these machines."""
    return {
        f"{what} of {name}": size for name, report in _named(reports) for what, size in report.hardware.memories.items()
    }


def _reuse_caption(name: str, report: Report) -> str:
    """What the curve is of; `report` has one."""
    sampled = report.reuse.sampled if report.reuse is not None else 1
    return (
        f"On {name}: accesses that a cache would miss that is as large and evicts what was used least "
        "recently, by Mattson's stack distances."
        + (" Tape in a scratchpad goes through no cache." if report.hardware.scratchpad else "")
        + (f" Of {sampled} lines one was followed." if sampled > 1 else " Every line was followed.")
    )


def _figure(picture: bytes, name: str, caption: str) -> str:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    return f'<figure><img alt="{name}" src="{source}"><figcaption>{escape(caption)}</figcaption></figure>'


def _numbers(reports: Sequence[Report]) -> Iterator[str]:
    yield "<h2>Numbers</h2>"
    rows = [(name, *values) for name, values in Comparison(tuple(reports)).rows().items()]
    yield from _table(["", *Comparison(tuple(reports)).names], rows)
    yield "<h2>Lower bounds on the time of each machine</h2>"
    bounds = [(name, bound.what, f"{bound.cycles:,}") for name, report in _named(reports) for bound in report.bounds]
    yield from _table(["machine", "resource", "cycles at least"], bounds)


def _machines(reports: Sequence[Report]) -> Iterator[str]:
    yield "<h2>Machines</h2>"
    if len(reports) > 1:
        fields = [flat_fields(report.hardware) for report in reports]
        names = dict.fromkeys(name for machine in fields for name in machine if name not in ("name", "description"))
        rows = [(name, *(_shown(machine.get(name)) for machine in fields)) for name in names]
        yield '<p class="note">What differs:</p>'
        different = [row for row in rows if len(set(row[1:])) > 1]
        yield from _table(["field", *Comparison(tuple(reports)).names], different)
    for name, report in _named(reports):
        text = yaml.safe_dump(report.hardware.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        yield f"<details><summary>{escape(name)}, all fields</summary>"
        yield f"<pre>{escape(text)}</pre></details>"


def _shown(value: object) -> str:
    return "none" if value is None else str(value)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; a name that begins with spaces is part of the row above."""
    yield f"<table><tr>{''.join(f'<th>{escape(heading)}</th>' for heading in headings)}</tr>"
    for name, *values in rows:
        part = ' class="part"' if name.startswith(" ") else ""
        cells = "".join(f"<td>{escape(value)}</td>" for value in values)
        yield f"<tr><td{part}>{escape(name.strip())}</td>{cells}</tr>"
    yield "</table>"

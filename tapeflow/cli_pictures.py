"""The files that `tapeflow simulate` writes beside its table: timelines, and a page about the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from tapeflow.errors import TapeflowError
from tapeflow.files import check_writable
from tapeflow.hardware import Report


def check_places(timeline: Path | None, report: Path | None) -> None:
    """Refuse a timeline that is neither a trace nor a picture, and places that cannot be written, before a long run.

    Raises:
        typer.BadParameter: the timeline's ending says neither.
        TapeflowError: a place cannot be written.
    """
    if timeline is not None:
        if timeline.suffix not in (".json", ".png"):
            raise typer.BadParameter(
                f"--timeline: '{timeline}' ends neither in .json (a trace) nor in .png (a picture)"
            )
        check_writable(timeline)
    if report is not None:
        there = next(path for path in (report, *report.parents) if path.exists())
        if not there.is_dir():
            raise TapeflowError(f"cannot make the folder {report}: {there} is a file")
        check_writable(there / "index.html")


def timeline_file(report: Report, path: Path) -> dict[Path, str | bytes]:
    """The timeline of `report`, which has one, as the file `path`: a trace, or a picture, by its ending."""
    from tapeflow.hardware.figures import png, timeline_figure
    from tapeflow.hardware.report import stall_texts
    from tapeflow.hardware.timeline import chrome_trace

    if report.timeline is None:
        raise AssertionError("the run was not recorded")
    if path.suffix == ".png":
        return {path: png(timeline_figure(report.timeline, stalls=stall_texts(report.hardware)))}
    about = {
        "what": report.label,
        "hardware": report.hardware.model_dump(mode="json"),
        "cycles": report.cycles,
        "stalls": report.stalls,
    }
    return {path: json.dumps(chrome_trace(report.timeline, about))}


def report_files(reports: Sequence[Report], folder: Path) -> dict[Path, str | bytes]:
    """A page about `reports`, and the trace of the last one if it was recorded, in `folder`, which is made if need be.

    Raises:
        TapeflowError: the folder cannot be made.
    """
    from tapeflow.hardware.html_report import html_page

    page = html_page(reports)
    recorded = reports[-1].timeline is not None
    trace = timeline_file(reports[-1], folder / "timeline.json") if recorded else {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TapeflowError(f"cannot make the folder {folder}: {error.strerror}") from error
    return {folder / "index.html": page, **trace}

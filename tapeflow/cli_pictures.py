"""The files that `tapeflow simulate` writes beside its table: timelines."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tapeflow.hardware import Report


def check_timeline_path(path: Path | None) -> None:
    """Refuse what is neither a trace nor a picture, before anything is run.

    Raises:
        typer.BadParameter: the file's ending says neither.
    """
    if path is not None and path.suffix not in (".json", ".png"):
        raise typer.BadParameter(f"--timeline: '{path}' ends neither in .json (a trace) nor in .png (a picture)")


def timeline_file(report: Report, path: Path) -> dict[Path, str | bytes]:
    """The timeline of `report`, which has one, as the file `path`: a trace, or a picture, by its ending."""
    from tapeflow.hardware.figures import png, timeline_figure
    from tapeflow.hardware.timeline import chrome_trace

    if report.timeline is None:
        raise AssertionError("the run was not recorded")
    if path.suffix == ".png":
        return {path: png(timeline_figure(report.timeline))}
    about = {
        "what": report.label,
        "hardware": report.hardware.model_dump(mode="json"),
        "cycles": report.cycles,
        "stalls": report.stalls,
    }
    return {path: json.dumps(chrome_trace(report.timeline, about))}

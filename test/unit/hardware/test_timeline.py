"""The timeline: spans that agree with the counters, and a trace whose events nest and whose arrows have both ends."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import tapeflow
from bench.suite import SUITE
from tapeflow.backend.model_build import build_model
from tapeflow.backend.schedule_header import schedule_printed
from tapeflow.hardware import Hardware, Report
from tapeflow.hardware.figures import interesting_window, png, timeline_figure
from tapeflow.hardware.machine import machine_header
from tapeflow.hardware.timeline import CAUSES, LAYERS, WINDOW_CYCLES, Span, Timeline, chrome_trace, lanes, read
from tapeflow.simulation import options_for, simulate

from .machine import COMPILER
from .trace_format import check_trace, innermost

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

EXTENTS = {"n": 30, "m": 40}
BLOCKING = Hardware.preset("stream-1k").with_(name="blocking", pipeline={"stream": False})
MACHINES = {"stream-1k": Hardware.preset("stream-1k"), "blocking": BLOCKING, "cache-2k": Hardware.preset("cache-2k")}


@functools.cache
def gradient(machine: str) -> tapeflow.Gradient:
    kernel = SUITE["worked_example"]
    return tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(MACHINES[machine]))


@functools.cache
def run(machine: str, timeline: bool = True) -> Report:
    arguments = list(SUITE["worked_example"].arguments(EXTENTS).values())
    return simulate(gradient(machine), arguments, hardware=MACHINES[machine], timeline=timeline)


def recorded(machine: str) -> Timeline:
    timeline = run(machine).timeline
    assert timeline is not None
    return timeline


@functools.cache
def short_of_room(spans: int) -> Timeline:
    """The run on stream-1k, where only so many spans can be kept."""
    machine = MACHINES["stream-1k"]
    made = gradient("stream-1k")
    printed = made.compiled.printed
    header = machine_header(machine, timeline=True, timeline_spans=spans)
    model = build_model(printed, made.name, header, schedule_printed(printed, machine).header)
    model.call(made.prepare(list(SUITE["worked_example"].arguments(EXTENTS).values()), None).inputs)
    return read(model.library, model.tape)


@pytest.mark.parametrize("machine", MACHINES)
def test_recording_changes_no_count(machine: str):
    assert run(machine).counters == run(machine, timeline=False).counters
    assert run(machine, timeline=False).timeline is None


@pytest.mark.parametrize("machine", MACHINES)
def test_stalls_add_up_to_the_counters_and_do_not_overlap(machine: str):
    timeline, counters = recorded(machine), run(machine).counters
    assert timeline.complete
    total: Counter[str] = Counter()
    stalls = timeline.of("stall")
    for span in stalls:
        total[span.track] += span.cycles
    assert {cause: total[cause] for cause in CAUSES} == {cause: counters[cause] for cause in CAUSES}
    assert all(before.end <= after.begin for before, after in pairwise(stalls))
    assert max(span.end for span in timeline.spans) <= run(machine).cycles


@pytest.mark.parametrize("machine", MACHINES)
def test_blocks_fill_the_run_up_to_the_last_write(machine: str):
    blocks = recorded(machine).of("block")
    assert all(before.end == after.begin for before, after in pairwise(blocks))
    assert blocks[0].begin == 0
    assert blocks[-1].end == run(machine).cycles - run(machine).counters["stall_flush"]
    assert {span.track for span in blocks} <= set(recorded(machine).blocks)


@pytest.mark.parametrize("machine", ["stream-1k", "blocking"])
def test_layers_tiles_and_transfers_are_as_many_as_counted(machine: str):
    timeline, counters = recorded(machine), run(machine).counters
    assert len(timeline.of("out")) == counters["tiles_pushed"]
    assert len(timeline.of("in")) == counters["tiles_fetched"]
    assert len(timeline.of("wait")) == counters["dma_waits"]
    assert len(timeline.of("turn-around")) == len(timeline.streams) == 2
    numbers = sorted(span.transfer for span in timeline.of("out", "in"))
    assert numbers == list(range(1, counters["dma_descriptors"] + 1))
    for stream in timeline.streams:
        layers = timeline.of(*LAYERS, track=stream)
        assert all(before.end == after.begin for before, after in pairwise(layers))
        tiles = [span.number for span in layers]
        top = max(tiles)
        assert tiles == [*range(top + 1), *range(top - 1, -1, -1)]
        for copy in (0, 1):
            held = [span for span in timeline.of("tile", track=stream) if span.transfer == copy]
            assert all(before.end <= after.begin for before, after in pairwise(held))
            assert all(span.number % 2 == copy for span in held)


@pytest.mark.parametrize("machine", ["stream-1k", "blocking"])
def test_a_wait_ends_with_its_transfer(machine: str):
    timeline = recorded(machine)
    transfers = {span.transfer: span for span in timeline.of("out", "in")}
    waits = [span for span in timeline.of("wait") if span.cycles]
    assert len(waits) > 0 or machine == "stream-1k"
    for wait in waits:
        assert wait.end == transfers[wait.transfer].end


@pytest.mark.parametrize("machine", MACHINES)
def test_the_trace_is_one_that_opens(machine: str):
    trace = json.loads(json.dumps(chrome_trace(recorded(machine), {"hardware": machine})))
    tracks = check_trace(trace)
    slices = sum(map(len, tracks.values()))
    waits = recorded(machine).of("wait")
    assert slices == recorded(machine).seen - sum(span.cycles == 0 for span in waits)
    arrows = [event for event in trace["traceEvents"] if event["ph"] == "f"]
    assert len(arrows) == sum(span.transfer != 0 for span in waits)
    assert trace["otherData"]["hardware"] == machine
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert {"datapath", "blocks", "stalls"} <= names
    if machine != "cache-2k":
        assert {"tape_i", "tape_j_if", "layers", "buffer 0", "buffer 1", "DMA 0"} <= names
        assert len(arrows) > 40


@pytest.mark.parametrize("machine", ["stream-1k", "blocking"])
def test_an_arrow_leads_from_each_transfer_to_what_needs_it(machine: str):
    timeline = recorded(machine)
    trace = chrome_trace(timeline)
    tracks = check_trace(trace)
    names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    found: Counter[tuple[str, int, str, int]] = Counter()
    ends = {(event["id"], event["ph"]): event for event in trace["traceEvents"] if event["ph"] in "sf"}
    for (number, kind), start in ends.items():
        if kind == "f":
            continue
        transfer = innermost(tracks, start)
        needing = innermost(tracks, ends[number, "f"])
        assert transfer["cat"] in ("in", "out")
        assert needing["cat"] in ("wait", *LAYERS)
        if needing["cat"] == "wait":
            assert needing["args"]["transfer"] == transfer["args"]["transfer"]
            assert needing["ts"] + needing["dur"] == transfer["ts"] + transfer["dur"]
        else:  # it had nothing to wait for: the transfer was over when the layer began
            assert transfer["ts"] + transfer["dur"] <= needing["ts"]
        found[names[start["pid"]], transfer["args"]["transfer"], transfer["cat"], needing["ts"]] += 1
    assert set(found.values()) == {1}
    waits = Counter((span.track, span.transfer) for span in timeline.of("wait") if span.transfer)
    assert Counter((stream, transfer) for stream, transfer, *_ in found) == waits


def test_what_is_wrong_with_a_trace_is_seen():
    """The check of the format can fail, for each of its rules."""
    whole = chrome_trace(recorded("stream-1k"))

    def refused(change: Callable[[list[dict[str, Any]]], object]):
        events = [dict(event) for event in whole["traceEvents"]]
        change(events)
        with pytest.raises((AssertionError, KeyError)):
            check_trace(whole | {"traceEvents": events})

    def first(events: list[dict[str, Any]], phase: str) -> dict[str, Any]:
        return next(event for event in events if event["ph"] == phase)

    check_trace(whole)
    refused(lambda events: first(events, "X").update(dur=-1))
    refused(lambda events: first(events, "X").pop("ts"))
    refused(lambda events: first(events, "X").update(tid=99))
    refused(lambda events: first(events, "s").update(ts=10**9))
    refused(lambda events: first(events, "f").update(name="other"))
    refused(lambda events: first(events, "f").pop("bp"))
    refused(lambda events: events.remove(first(events, "f")))
    refused(lambda events: first(events, "M").update(ph="Q"))
    refused(lambda events: events.append(first(events, "X")))


@pytest.mark.parametrize("spans", [1, 100, 400])
def test_a_run_that_is_too_long_is_sampled_in_whole_windows(spans: int):
    whole, part = recorded("stream-1k"), short_of_room(spans)
    assert part.seen == whole.seen and len(part.spans) <= spans and part.stride > 1
    assert not part.complete
    assert set(part.spans) <= set(whole.spans)
    trace = chrome_trace(part)
    check_trace(trace)
    # A slice a span, an arrow of two ends a wait, names: so the size of a file has an end too.
    assert len(trace["traceEvents"]) <= 3 * spans + 20
    if spans >= 400:  # as many as a window has
        assert list(part.spans) == [span for span in whole.spans if span.begin // WINDOW_CYCLES % part.stride == 0]


def test_lanes_hold_spans_without_overlap():
    spans = [Span("in", begin, end, "t") for begin, end in ((0, 5), (1, 3), (3, 9), (5, 6), (5, 7))]
    assert [[(span.begin, span.end) for span in lane] for lane in lanes(spans)] == [
        [(0, 5), (5, 6)],
        [(1, 3), (3, 9)],
        [(5, 7)],
    ]


def test_a_picture_shows_all_of_a_short_run_and_the_turn_around_of_a_long_one():
    timeline = recorded("stream-1k")
    assert interesting_window(timeline) == (0, run("stream-1k").cycles)
    picture = png(timeline_figure(timeline))
    assert picture.startswith(b"\x89PNG") and picture == png(timeline_figure(timeline))
    turn = timeline.of("turn-around")[-1].begin
    longer = Timeline(timeline.spans * 5, timeline.seen * 5)
    begin, end = interesting_window(longer)
    assert begin < turn < end < run("stream-1k").cycles
    assert png(timeline_figure(Timeline((), 0))).startswith(b"\x89PNG")

"""A run as spans of time: what the model in C recorded with TF_TIMELINE, and the trace that a browser shows.

`chrome_trace` gives the JSON that https://ui.perfetto.dev opens; a microsecond there is a cycle here.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

WINDOW_CYCLES = 4096
"""Cycles of a window that is kept or dropped as a whole; TF_TIMELINE_WINDOW in tapeflow_model_state.h."""

KINDS = ("block", "stall", "fill", "use", "wait", "out", "in", "tile", "turn-around")
"""Of spans, in the order of TF_EVENT_*.

A block of the C runs; the datapath stalls; a layer's tile is filled, used, or both at the turn-around; the datapath
waits for a transfer, for no time if that is over already; a transfer goes out to DRAM or comes in; a copy of a buffer
holds a tile.
"""

CAUSES = ("stall_fill", "stall_mshr", "stall_dma", "stall_start", "stall_flush", "stall_bank")
"""Counters of stalls, in the order of TF_WAIT_*."""

LAYERS = ("fill", "turn-around", "use")
"""Kinds of spans that are layers."""


@dataclass(frozen=True)
class Span:
    """Something that lasts from one cycle to another."""

    kind: str
    """One of `KINDS`."""

    begin: int
    """In cycles."""

    end: int
    """In cycles; equal to `begin` for a wait that had nothing to wait for."""

    track: str
    """The stream's name; of a stall its counter; of a block its line in the C source."""

    number: int = 0
    """The tile."""

    transfer: int = 0
    """The transfer, counted from 1, that this is or waits for; of a tile the copy of the buffer that holds it."""

    @property
    def cycles(self) -> int:
        """How long it lasts."""
        return self.end - self.begin


@dataclass(frozen=True)
class Timeline:
    """The spans of one run, in order of their beginnings, longer ones first.

    Where a run has more spans than fit, those that begin in one of `stride` windows are kept, and the rest is dropped.
    """

    spans: tuple[Span, ...]
    """Those kept."""

    seen: int
    """How many there were."""

    stride: int = 1
    """Of so many windows of `WINDOW_CYCLES` one is kept."""

    blocks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Line of a block in the C source -> what to call it."""

    @property
    def complete(self) -> bool:
        """Whether nothing was dropped."""
        return len(self.spans) == self.seen

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that have a span, in order of appearance."""
        return tuple(dict.fromkeys(span.track for span in self.spans if span.kind not in ("block", "stall")))

    def of(self, *kinds: str, track: str | None = None) -> list[Span]:
        """The spans of these kinds, of one stream if `track` names it, in order."""
        return [span for span in self.spans if span.kind in kinds and track in (None, span.track)]


class _Event(ctypes.Structure):
    _fields_ = (
        ("begin", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("transfer", ctypes.c_uint64),
        ("kind", ctypes.c_uint32),
        ("track", ctypes.c_uint32),
    )


def read(library: ctypes.CDLL, tape: int | ctypes.c_void_p, blocks: Mapping[str, str] | None = None) -> Timeline:
    """The timeline of the call that ran last on `tape`, which has ended.

    Args:
        library: compiled with TF_MODEL_EXPORTS for a machine header with `timeline=True`.
        tape: the `tf_tape *` that the call was given.
        blocks: names for lines of the C source.
    """
    results = {
        "tf_timeline_events": ctypes.POINTER(_Event),
        "tf_timeline_kept": ctypes.c_size_t,
        "tf_timeline_seen": ctypes.c_uint64,
        "tf_timeline_stride": ctypes.c_uint64,
    }
    for name, result in results.items():
        getattr(library, name).argtypes = [ctypes.c_void_p]
        getattr(library, name).restype = result
    library.tf_timeline_name.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.tf_timeline_name.restype = ctypes.c_char_p
    events = library.tf_timeline_events(tape)
    streams: list[str] = []
    while name := library.tf_timeline_name(tape, len(streams)):
        streams.append(name.decode())
    kept = [events[k] for k in range(library.tf_timeline_kept(tape))]
    return _timeline(kept, streams, library.tf_timeline_seen(tape), library.tf_timeline_stride(tape), blocks)


def read_bytes(content: bytes, blocks: Mapping[str, str] | None = None) -> Timeline:
    """The timeline that a program of its own wrote, see `tf_object_write_recorded`; it has no streams.

    Args:
        content: what it wrote.
        blocks: names for lines of the C source.
    """
    seen, stride = struct.unpack_from("=2Q", content)
    count = (len(content) - 16) // ctypes.sizeof(_Event)
    return _timeline([*(_Event * count).from_buffer_copy(content, 16)], (), seen, stride, blocks)


def _timeline(
    events: Sequence[Any], streams: Sequence[str], seen: int, stride: int, blocks: Mapping[str, str] | None
) -> Timeline:
    spans = sorted((_span(event, streams) for event in events), key=lambda span: (span.begin, -span.end))
    return Timeline(tuple(spans), seen, stride, blocks or {})


def _span(event: Any, streams: Sequence[str]) -> Span:
    kind, number = KINDS[int(event.kind)], int(event.track)
    tracks = {"block": (str(number),), "stall": CAUSES[number : number + 1]}
    track = tracks[kind][0] if kind in tracks else streams[number]
    return Span(kind, event.begin, event.end, track, event.number, event.transfer)


def lanes(spans: Iterable[Span]) -> list[list[Span]]:
    """`spans`, which are in order, spread over as few rows as hold them without overlap."""
    rows: list[list[Span]] = []
    for span in spans:
        free = next((row for row in rows if row[-1].end <= span.begin), None)
        if free is None:
            rows.append([span])
        else:
            free.append(span)
    return rows


# The trace

_DATAPATH = 1
"""Process number of the datapath; the streams come after it."""


def chrome_trace(timeline: Timeline, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The run as a trace in Chrome's JSON format, times in cycles.

    The datapath has a track of blocks and one of stalls; every stream one of layers with the waits in them, one for
    each copy of its buffer, and some for its transfers. An arrow leads from the end of a transfer to the layer, or the
    wait in it, that needs it. An arrow whose other end was dropped is left out.

    Args:
        timeline: the run.
        about: what else to say of it in `otherData`.
    """
    events = [*_datapath(timeline)]
    arrows = count(1)
    for process, stream in enumerate(timeline.streams, _DATAPATH + 1):
        events += _stream(timeline, stream, process, arrows)
    # Names first; then in the order of time, what encloses before what it encloses and the arrows that begin in it.
    events.sort(key=lambda event: (event.get("ts", -1), event["ph"] in "sf", -event.get("dur", 0)))
    sampled = {"spans": timeline.seen, "spans kept": len(timeline.spans), "windows kept": f"1 of {timeline.stride}"}
    return {
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": {"time unit": "1 us is 1 cycle", **sampled, **(about or {})},
    }


def _datapath(timeline: Timeline) -> Iterator[dict[str, Any]]:
    yield _named("process_name", "datapath", _DATAPATH, 0)
    yield _named("thread_name", "blocks", _DATAPATH, 1)
    yield _named("thread_name", "stalls", _DATAPATH, 2)
    for span in timeline.of("block"):
        name = timeline.blocks.get(span.track, f"line {span.track}")
        yield _slice(span, name, _DATAPATH, 1, {"line of the C": int(span.track)})
    for span in timeline.of("stall"):
        yield _slice(span, span.track, _DATAPATH, 2, {})


def _stream(timeline: Timeline, stream: str, process: int, arrows: Iterator[int]) -> Iterator[dict[str, Any]]:
    yield _named("process_name", stream, process, 0)
    yield _named("thread_name", "layers", process, 1)
    starts: dict[int, tuple[Span, int]] = {}
    thread = 2
    held = timeline.of("tile", track=stream)
    for copy in sorted({span.transfer for span in held}):
        yield _named("thread_name", f"buffer {copy}", process, thread)
        for span in held:
            if span.transfer == copy:
                yield _slice(span, f"tile {span.number}", process, thread, {})
        thread += 1
    for number, lane in enumerate(lanes(timeline.of("out", "in", track=stream))):
        yield _named("thread_name", f"DMA {number}", process, thread)
        for span in lane:
            starts[span.transfer] = span, thread
            yield _slice(span, f"{span.kind} tile {span.number}", process, thread, {"transfer": span.transfer})
        thread += 1
    layers = timeline.of(*LAYERS, track=stream)
    for span in layers:
        yield _slice(span, f"{span.kind} tile {span.number}", process, 1, {})
    yield from _waits(timeline.of("wait", track=stream), layers, starts, process, arrows)


def _waits(
    waits: Sequence[Span],
    layers: Sequence[Span],
    starts: Mapping[int, tuple[Span, int]],
    process: int,
    arrows: Iterator[int],
) -> Iterator[dict[str, Any]]:
    """Waits that last, and an arrow to each wait, or to its layer if it did not last; `arrows` numbers them."""
    begun = {span.begin for span in layers}
    for wait in waits:
        if wait.cycles:
            yield _slice(wait, f"wait for tile {wait.number}", process, 1, {"transfer": wait.transfer})
        if wait.transfer not in starts or not (wait.cycles or wait.begin in begun):
            continue
        transfer, thread = starts[wait.transfer]
        # Arrows lead forward in time, but a wait may begin before its transfer, which waits for an earlier one.
        # Perfetto takes numbers only: it drops an arrow whose id is another text.
        arrow = {"cat": "dma", "name": "needs", "id": next(arrows), "pid": process}
        yield arrow | {"ph": "s", "tid": thread, "ts": transfer.begin}
        yield arrow | {"ph": "f", "bp": "e", "tid": 1, "ts": max(wait.begin, transfer.begin)}


def _named(what: str, name: str, process: int, thread: int) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(span: Span, name: str, process: int, thread: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": span.kind,
        "name": name,
        "pid": process,
        "tid": thread,
        "ts": span.begin,
        "dur": span.cycles,
        "args": dict(arguments),
    }

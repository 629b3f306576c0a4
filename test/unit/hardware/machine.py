"""Builds the C model for a machine, and drives its parts from Python."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tapeflow
from tapeflow.hardware import Counters, Hardware, counters

HERE = Path(__file__).parent
INCLUDE = Path(tapeflow.__file__).parent / "backend" / "include"
COMPILER = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), None)
BROWSER = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
NO_SCHEDULE = """
#define TF_LINE_COUNT 1000
static const tf_line tf_lines[TF_LINE_COUNT] = {[0] = {TF_LINE_NONE, 0, 0, 0, 0}};
"""

_WORK = tempfile.TemporaryDirectory(prefix="tapeflow-model-")


def build(
    hardware: Hardware, source: str, *flags: str, shared: bool = True, schedule: str = NO_SCHEDULE, compiler: str = ""
) -> Path:
    """Compile C `source` for `hardware`; the same text is compiled once."""
    machine = hardware.machine_header()
    key = hashlib.sha256(repr((machine, source, flags, shared, schedule, compiler)).encode()).hexdigest()[:16]
    folder = Path(_WORK.name) / key
    output = folder / ("model.so" if shared else "model")
    if not output.exists():
        folder.mkdir(exist_ok=True)
        (folder / "tf_machine.h").write_text(machine)
        (folder / "tf_schedule.h").write_text(schedule)
        (folder / "model.c").write_text(source)
        kind = ["-shared", "-fPIC"] if shared else []
        command = [compiler or COMPILER or "cc", "-std=c99", "-Og", *flags, *kind, f"-I{folder}", f"-I{INCLUDE}"]
        subprocess.run([*command, str(folder / "model.c"), "-o", str(output), "-lm"], check=True)
    return output


@functools.cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.drive_new.restype = ctypes.c_void_p
    library.drive_error.restype = ctypes.c_char_p
    library.drive_dram.restype = ctypes.c_uint64
    library.drive_poison.restype = ctypes.c_size_t
    library.drive_reach.restype = ctypes.c_ssize_t
    library.drive_reach.argtypes = [*[ctypes.c_ssize_t] * 3, ctypes.c_uint64, ctypes.c_int]
    counters.bind(library)
    return library


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Machine:
    """One cold machine."""

    def __init__(self, hardware: Hardware, *flags: str):
        self.library = _library(build(hardware, (HERE / "driver.c").read_text(), *flags))
        self.tape = ctypes.c_void_p(self.library.drive_new())

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.library.drive_free(self.tape)

    @property
    def error(self) -> str | None:
        message = self.library.drive_error(self.tape)
        return message.decode() if message else None

    def counters(self) -> Counters:
        return counters.read(self.library, self.tape)

    def accesses(self, addresses: Sequence[int] | np.ndarray, writes: Sequence[int] | np.ndarray, slack: int = 0):
        a, w = np.asarray(addresses, dtype=np.uint64) + np.uint64(1 << 32), np.asarray(writes, dtype=np.uint8)
        self.library.drive_accesses(self.tape, ctypes.c_size_t(len(a)), _pointer(a), _pointer(w), slack)

    def chase(self, addresses: Sequence[int]):
        a = np.asarray(addresses, dtype=np.uint64) + np.uint64(1 << 32)
        self.library.drive_chase(self.tape, ctypes.c_size_t(len(a)), _pointer(a))

    def lifo(self, records: int, size: int, *, grow: bool = False):
        self.library.drive_lifo(self.tape, ctypes.c_size_t(records), ctypes.c_size_t(size), int(grow))

    def records(self, pushes: Sequence[bool], size: int):
        """Records of `size` bytes pushed and popped in this order, until none is left."""
        push = np.asarray(pushes, dtype=np.uint8)
        self.library.drive_tape(self.tape, ctypes.c_size_t(len(push)), _pointer(push), ctypes.c_size_t(size))

    def loops(self, loops: Sequence[tuple[int, int, int]], tile: int):
        """Loops of (II, depth, iterations), a record written each iteration, in layers of `tile` records."""
        parts = [np.asarray([loop[k] for loop in loops], dtype=np.uint32) for k in range(3)]
        pointers = [_pointer(part) for part in parts]
        self.library.drive_loops(self.tape, ctypes.c_size_t(len(loops)), *pointers, ctypes.c_size_t(tile))

    def activates(self, wanted: Sequence[int]) -> list[int]:
        """The clocks of activates of one rank, each wanted at a clock or later."""
        clocks = np.asarray(wanted, dtype=np.uint64)
        self.library.drive_activates(self.tape, ctypes.c_size_t(len(clocks)), _pointer(clocks))
        return [int(clock) for clock in clocks]

    def dram(self, addresses: np.ndarray, writes: np.ndarray, in_flight: int) -> int:
        a, w = addresses.astype(np.uint64), writes.astype(np.uint8)
        return self.library.drive_dram(
            self.tape, ctypes.c_size_t(len(a)), _pointer(a), _pointer(w), ctypes.c_size_t(in_flight)
        )

    def bus(self, requests: Sequence[tuple[int, int, bool]]) -> list[int]:
        """When requests are done: each a cycle, bursts that the DMA engine moves (0: a store misses), whether out."""
        at, bursts = (np.asarray([request[k] for request in requests], dtype=np.uint32) for k in (0, 1))
        out = np.asarray([request[2] for request in requests], dtype=np.uint8)
        done = np.zeros(len(requests), dtype=np.uint64)
        pointers = [_pointer(part) for part in (at, bursts, out, done)]
        self.library.drive_bus(self.tape, ctypes.c_size_t(len(requests)), *pointers)
        return [int(cycle) for cycle in done]

    def stack(
        self, pushes: Sequence[bool], copies: int, records: int, *, blocking: bool = False, grow: bool = False
    ) -> list[int]:
        push = np.asarray(pushes, dtype=np.uint8)
        popped = np.zeros(len(push) + 1, dtype=np.uint64)
        self.library.drive_stack(
            self.tape,
            ctypes.c_size_t(len(push)),
            _pointer(push),
            _pointer(popped),
            copies,
            ctypes.c_size_t(records),
            int(blocking),
            int(grow),
        )
        return [int(value) for value in popped[: len(push) - int(push.sum())]]

    def mixed(self, steps: Sequence[Sequence[tuple[int, int, int]]], slack: int):
        """In each step, a cycle apart, accesses: 0 load, 1 store, 2 record, 3 replay; address; cycles into it."""
        flat = [access for step in steps for access in step]
        what = np.asarray([access[0] for access in flat], dtype=np.uint8)
        addresses = np.asarray([access[1] for access in flat], dtype=np.uint64) + np.uint64(1 << 32)
        offsets = np.asarray([access[2] for access in flat], dtype=np.uint32)
        counts = [ctypes.c_size_t(len(steps)), ctypes.c_size_t(len(steps[0]))]
        pointers = [_pointer(part) for part in (addresses, what, offsets)]
        self.library.drive_mixed(self.tape, *counts, *pointers, slack)

    def banks(self, steps: Sequence[Sequence[tuple[int, int, int]]]):
        """In each step, a cycle apart, accesses of records: cycles into it, bytes, buffer (with a minus to read)."""
        each = len(steps[0])
        flat = [access for step in steps for access in step]
        offsets, sizes = (np.asarray([access[k] for access in flat], dtype=np.uint32) for k in (0, 1))
        turns = np.asarray([access[2] for access in flat], dtype=np.int8)
        self.library.drive_banks(
            self.tape,
            ctypes.c_size_t(len(steps)),
            ctypes.c_size_t(each),
            _pointer(offsets),
            _pointer(sizes),
            _pointer(turns),
        )

    def reach(self, j: int, end: int, step: int, records: int, *, down: bool) -> int:
        return self.library.drive_reach(j, end, step, records, int(down))

    def fresh_bytes(self, records: int) -> int:
        """Bytes of the scratchpad that are not poisoned after so many records were written and read."""
        return self.library.drive_poison(self.tape, ctypes.c_size_t(records))

    def reserved(self, reserved: int, recorded: int, *, stream: bool):
        self.library.drive_reserved(self.tape, ctypes.c_size_t(reserved), ctypes.c_size_t(recorded), int(stream))

    def tiles(self, copies: int, records: int, tiles: int, compute: int):
        self.library.drive_tiles(self.tape, copies, ctypes.c_size_t(records), ctypes.c_size_t(tiles), compute)

"""Building the modelled machine: the program with the way of a hit in it, and the machine's parts, which it shares.

A program and the parts of the machine are translation units that are compiled at the same time and kept, each by the
hash of what it depends on: its own text, that of the headers that it includes, and those constants of "tf_machine.h"
that these mention. So another cache leaves DRAM as it is, and another program leaves the machine as it is.

```python
model = build_model(printed, "f_grad", machine_header(hardware), schedule_printed(printed, hardware).header)
model.call(inputs)
model.counters["cycles"]
```
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tapeflow.backend.native import EXPORTS, INCLUDE, NativeFunction, Unit, compile_units, link_library
from tapeflow.backend.printed import PrintedC

PROGRAM_FLAGS = ("-O1", "-DTF_MODEL_UNITS")
"""In addition to those of both machines. The program is compiled anew for every geometry: -O1 halves the time that this
takes, and what the model does on an access is inlined by attributes, whatever the level."""

MODEL_FLAGS = (*PROGRAM_FLAGS, "-DTF_MODEL")

PARTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tapeflow_dram.c": (("dram",), ("-O2",)),
    "tapeflow_cache.c": (("cache", "clock", "reuse"), ("-O2",)),
    "tapeflow_rest.c": (("call", "memory", "spad", "timeline"), ("-Og",)),
}
"""Translation units of the machine: which `tapeflow_model_*.c` each has, and further flags.

What a miss goes through is compiled for speed: DRAM, which is large and changes least, and the cache, whose geometry
changes most often, each on its own. What is left runs once a tile or once a call; it is compiled for little, as it
takes the longest. Each unit costs 40 ms of reading headers."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"\bTF_[A-Z0-9_]+\b")
_DEFINED = re.compile(r"^#define (TF_\w+)(?: .*)?$", re.MULTILINE)


def compile_model(name: str, program: str, headers: Mapping[str, str], machine_header: str) -> Path:
    """Compile a program with the machine that it runs on to a shared library, or find what was built of the same.

    Args:
        name: of the program's C file.
        program: its text, which includes "tapeflow_rt.h".
        headers: name to text, of what it includes beside the runtime headers: the schedule, "tf_schedule.h", too.
        machine_header: text of "tf_machine.h".

    Raises:
        TapeflowError: there is no C compiler, or it refuses the text.
    """
    units = [_unit(name, program, headers, machine_header), *machine_units(machine_header)]
    return link_library(name.removesuffix(".c"), compile_units(units))


def machine_units(machine_header: str) -> list[Unit]:
    """The translation units of the machine, which no program is part of."""
    return [
        _unit(name, "".join(f'#include "tapeflow_model_{part}.c"\n' for part in parts), {}, machine_header, flags)
        for name, (parts, flags) in PARTS.items()
    ]


def _unit(name: str, text: str, given: Mapping[str, str], machine_header: str, flags: tuple[str, ...] = ()) -> Unit:
    """A unit with the headers that it includes, and of the machine's constants those that they mention."""
    headers = {**given, **dict(_includes(text, given))}
    mentioned = frozenset[str]().union(*map(_mentioned, (text, *headers.values())))
    constants = [line.group() for line in _DEFINED.finditer(machine_header) if line.group(1) in mentioned]
    return Unit(name, text, headers | {"tf_machine.h": "\n".join([*constants, ""])}, (*MODEL_FLAGS, *flags))


@lru_cache(256)
def _mentioned(text: str) -> frozenset[str]:
    """Names of macros in C, comments excepted."""
    return frozenset(_NAME.findall(_COMMENT.sub(" ", text)))


def _includes(text: str, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and texts of all files that `text` includes, those of the C library and "tf_machine.h" excepted."""
    seen = {"tf_machine.h"}
    waiting = _INCLUDED.findall(text)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        found = given[name] if name in given else _runtime(name)
        yield name, found
        # What a header includes that is no header is for a program that has all of the model in one unit.
        waiting += [other for other in _INCLUDED.findall(found) if other.endswith(".h") or not name.endswith(".h")]


@lru_cache
def _runtime(name: str) -> str:
    return (INCLUDE / name).read_text(encoding="utf-8")


class ModelFunction(NativeFunction):
    """A printed function on the modelled machine.

    Args:
        printed: the C.
        name: of the function in it.
        machine_header: text of `tf_machine.h`, the machine's geometry.
        schedule_header: text of the header with the schedule of every block of `printed`.

    Raises:
        TapeflowError: there is no C compiler, or it refuses the text.
    """

    def __init__(self, printed: PrintedC, name: str, machine_header: str, schedule_header: str):
        self._machine, self._schedule = machine_header, schedule_header
        super().__init__(printed, name)
        for function, result in (
            ("tf_model_finish", None),
            ("tf_counters", ctypes.POINTER(ctypes.c_uint64)),
            ("tf_executions", ctypes.POINTER(ctypes.c_uint64)),
        ):
            # Not `library[function]`, which is a new object each time and forgets what it is told.
            getattr(self.library, function).argtypes = [ctypes.c_void_p]
            getattr(self.library, function).restype = result
        self._finish, self._counters = self.library.tf_model_finish, self.library.tf_counters
        self._executions = self.library.tf_executions
        self.library.tf_counter_names.restype = ctypes.POINTER(ctypes.c_char_p)
        self.library.tf_counter_count.restype = ctypes.c_size_t
        self.library.tf_line_count.restype = ctypes.c_size_t

    def _compile(self, printed: PrintedC) -> Path:
        # One translation unit, so that the schedule is read once. The header is the first that includes the model.
        source = f"{printed.name}.c"
        exports = "#define TF_MODEL_EXPORTS\n" + EXPORTS.format(header=source)
        included = {source: printed.source, f"{printed.name}.h": printed.header, "tf_schedule.h": self._schedule}
        return compile_model(f"{printed.name}_model.c", exports, included, self._machine)

    def call(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Call the function on a cold machine, as `NativeFunction.call` does, and let the machine come to rest."""
        try:
            return super().call(inputs)
        finally:
            self._finish(self.tape)

    @property
    def counters(self) -> dict[str, int]:
        """What the machine counted in the last call."""
        names, values = self.library.tf_counter_names(), self._counters(self.tape)
        return {names[k].decode(): values[k] for k in range(self.library.tf_counter_count())}

    @property
    def executions(self) -> dict[int, int]:
        """How often each block ran in the last call, by its line in the source."""
        counts = self._executions(self.tape)
        return {line: counts[line] for line in range(self.library.tf_line_count()) if counts[line]}


def build_model(printed: PrintedC, name: str, machine_header: str, schedule_header: str) -> ModelFunction:
    """The function `name` of `printed` on the modelled machine; see `ModelFunction`."""
    return ModelFunction(printed, name, machine_header, schedule_header)

"""The counters of one simulated call, as integers, read from the shared library that the call ran in."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counters(Mapping[str, int]):
    """What the model in C counted; names and units are listed in tapeflow_model_state.h."""

    counts: Mapping[str, int]
    """Counter name -> count."""

    executions: Mapping[int, int]
    """Line of a `TF_STEP` or `TF_ARM` in the C source -> how often it ran; lines that never ran are left out."""

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)


def bind(library: ctypes.CDLL) -> None:
    """Declare the functions that a library compiled with TF_MODEL_EXPORTS offers; each takes the `tf_tape *`."""
    library.tf_model_reset.argtypes = [ctypes.c_void_p]
    library.tf_model_reset.restype = ctypes.c_bool
    library.tf_model_finish.argtypes = [ctypes.c_void_p]
    library.tf_model_finish.restype = None
    library.tf_counter_names.argtypes = []
    library.tf_counter_names.restype = ctypes.POINTER(ctypes.c_char_p)
    for count in (library.tf_counter_count, library.tf_line_count):
        count.argtypes = []
        count.restype = ctypes.c_size_t
    for read in (library.tf_counters, library.tf_executions):
        read.argtypes = [ctypes.c_void_p]
        read.restype = ctypes.POINTER(ctypes.c_uint64)


def read(library: ctypes.CDLL, tape: int | ctypes.c_void_p) -> Counters:
    """End the call that ran last on `tape` (final dirty lines are written back and charged) and read its counters.

    Args:
        library: compiled with TF_MODEL_EXPORTS.
        tape: the `tf_tape *` that the call was given.
    """
    bind(library)
    library.tf_model_finish(tape)
    names = library.tf_counter_names()
    counts = library.tf_counters(tape)
    executions = library.tf_executions(tape)
    return Counters(
        {(names[k] or b"").decode(): int(counts[k]) for k in range(library.tf_counter_count())},
        {line: int(executions[line]) for line in range(library.tf_line_count()) if executions[line]},
    )

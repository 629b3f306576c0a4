"""A native object that somebody else compiled, run on the modelled machine as a program of its own.

The object was compiled by clang with a call before each load and store; the program made here defines these calls
(`tapeflow_object.h`), reads the arguments from a file, calls the entry, and writes what was counted to another. It is
a process of its own, so that an entry that crashes is an error and takes nothing with it.
"""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tapeflow.backend.model_build import PROGRAM_FLAGS, machine_units
from tapeflow.backend.native import INCLUDE, compile_program, compile_units
from tapeflow.errors import TapeflowError, remark

FLAGS = "-fsanitize-coverage=func,trace-loads,trace-stores"
"""What clang is to compile an object with."""

_WRAPPED = (
    *("malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "memalign"),
    *("memset", "memcpy", "memmove", "__memset_chk", "__memcpy_chk", "__memmove_chk"),
)
_SHARED = b"\x03\x00"
"""ET_DYN in bytes 16 and 17 of an ELF file: a shared library."""

_SITES = 1 << 14
_LINES = f"""
#define TF_LINE_COUNT {_SITES}
static const tf_line tf_lines[TF_LINE_COUNT] = {{[0] = {{TF_LINE_NONE, 0, 0, 0, 0}}}};
"""


@dataclass(frozen=True)
class CArgument:
    """One argument of the entry.

    Attributes:
        c_type: of the number, or of the array's elements; empty for a runtime object of Tapeflow's own gradients.
        value: the number, or the array, C-contiguous; None for a runtime object.
        dtype: of a number.
    """

    c_type: str
    value: NDArray[Any] | int | float | bool | None
    dtype: np.dtype[Any] | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is passed as a pointer to its elements."""
        return isinstance(self.value, np.ndarray)

    @property
    def payload(self) -> bytes:
        """Its bytes in the file of arguments."""
        if isinstance(self.value, np.ndarray):
            return struct.pack("<Q", self.value.nbytes) + self.value.tobytes()
        return b"" if self.value is None else np.asarray(self.value, self.dtype).tobytes()


@dataclass(frozen=True)
class Issue:
    """When the accesses of an object begin, for which nobody has a schedule.

    Attributes:
        ports: accesses that begin together.
        interval: cycles from there to the next ones.
        slack: cycles from the arrival of a hit to the use of the value.
    """

    ports: int
    interval: int = 1
    slack: int = 0


@dataclass(frozen=True)
class ObjectRun:
    """What a run of an object gave.

    Attributes:
        counts: by the counter's name.
        executions: cycles in which accesses began.
        returned: what the entry returned.
        arrays: as the entry left them.
        distances: those between accesses of a line, as `tf_object_write_recorded` wrote them; empty if not counted.
        events: the timeline, likewise.
    """

    counts: dict[str, int]
    executions: int
    returned: Any
    arrays: tuple[NDArray[Any], ...]
    distances: bytes = b""
    events: bytes = b""


def check_objects(paths: Sequence[Path]) -> None:
    """Refuse objects none of which has callbacks; say of those without that their accesses, if any, do not count.

    Raises:
        TapeflowError: a file cannot be read, is a shared library, or no accesses are told.
    """
    if sys.platform != "linux":
        raise TapeflowError(
            "objects are measured on Linux only", hint="the linker of other systems does not replace malloc and memcpy"
        )
    silent: list[Path] = []
    shared: list[Path] = []
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise TapeflowError(f"cannot read '{path}': {error.strerror}") from error
        if b"__sanitizer_cov_load" not in content and b"__sanitizer_cov_store" not in content:
            silent.append(path)
        elif content[:4] == b"\x7fELF" and content[16:18] in (_SHARED, _SHARED[::-1]):
            shared.append(path)
    if shared:
        raise TapeflowError(
            f"'{shared[0]}' is a shared library, whose calls of malloc and memcpy would not be seen",
            hint="give the object files that it was linked from",
        )
    if len(silent) == len(paths):
        names = ", ".join(f"'{path}'" for path in silent)
        raise TapeflowError(
            f"{names} {'does not tell its' if len(silent) == 1 else 'do not tell their'} loads and stores",
            hint=f"compile it with clang -O2 {FLAGS} -c",
        )
    for path in silent:
        remark("tells no loads and stores: it has none, or they are not counted", str(path))


def run_object(
    objects: Sequence[Path],
    entry: str,
    arguments: Sequence[CArgument],
    result: tuple[str, np.dtype[Any]] | None,
    machine_header: str,
    issue: Issue,
    link: Sequence[str] = (),
) -> ObjectRun:
    """Call `entry` once on a machine that starts cold.

    Args:
        objects: the object that has it, and others that it needs.
        entry: its name in C.
        arguments: in order.
        result: C type and NumPy type of what it returns, None for `void`.
        machine_header: text of "tf_machine.h".
        issue: when accesses begin.
        link: options for the linker, e.g. libraries.

    Raises:
        TapeflowError: an object does not tell its accesses or does not link, or the entry crashed.
    """
    check_objects(objects)
    if entry == "main" or entry.startswith("tf_"):
        raise TapeflowError(
            f"'{entry}' is a name of the program that is made to call it",
            hint="rename it: objcopy --redefine-sym",
        )
    flags = (
        *PROGRAM_FLAGS,
        f"-DTF_OBJECT_PORTS={issue.ports}",
        f"-DTF_OBJECT_II={issue.interval}",
        f"-DTF_OBJECT_SLACK={issue.slack}",
        f"-DTF_OBJECT_ARRAYS={sum(argument.is_array for argument in arguments)}",
    )
    headers = {"tf_machine.h": machine_header, "tf_schedule.h": _LINES}
    # Not position-independent, as an object need not be either.
    linked = ["-no-pie", *(f"-Wl,--wrap={name}" for name in _WRAPPED)]
    source = _main(entry, arguments, result)
    parts = compile_units(machine_units(machine_header))
    try:
        program = compile_program({f"{entry}_object.c": source}, headers, flags, [*objects, *parts], (*linked, *link))
    except TapeflowError as error:
        raise TapeflowError(
            f"{', '.join(map(str, objects))}: no program can be made that calls '{entry}'\n{error.message}",
            hint=f"is '{entry}' in there, under its C name? What it needs from elsewhere is given as further objects",
        ) from None
    return _run(program, entry, arguments, result)


def _run(
    program: Path, entry: str, arguments: Sequence[CArgument], result: tuple[str, np.dtype[Any]] | None
) -> ObjectRun:
    with tempfile.TemporaryDirectory(prefix="tapeflow-") as directory:
        given, found = Path(directory, "arguments"), Path(directory, "results")
        given.write_bytes(b"".join(argument.payload for argument in arguments))
        # What the entry prints is nobody's, and need not be text.
        command = [str(program), str(given), str(found)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode < 0:
            raise TapeflowError(
                f"'{entry}' died of {signal.Signals(-done.returncode).name}",
                hint="do its arguments have the sizes that it expects? Does it run natively?",
            )
        if done.returncode != 0 or not found.exists():
            said = done.stderr.decode(errors="backslashreplace").strip()
            raise TapeflowError(f"'{entry}' ended the program: {said or f'exit {done.returncode}'}")
        content = found.read_bytes()
    return _results(content, arguments, result)


def _results(content: bytes, arguments: Sequence[CArgument], result: tuple[str, np.dtype[Any]] | None) -> ObjectRun:
    names = counter_names()
    offset = 8 * (len(names) + 1)
    *counts, executions = struct.unpack_from(f"={len(names) + 1}Q", content)
    returned = None
    if result is not None:
        returned = np.frombuffer(content, result[1], 1, offset)[0].item()
        offset += result[1].itemsize
    arrays: list[NDArray[Any]] = []
    for argument in arguments:
        if isinstance(argument.value, np.ndarray):
            value = argument.value
            arrays.append(np.frombuffer(content, value.dtype, value.size, offset).reshape(value.shape).copy())
            offset += value.nbytes
    recorded: list[bytes] = []
    for _ in ("distances", "events"):
        (length,) = struct.unpack_from("=Q", content, offset)
        recorded.append(content[offset + 8 : offset + 8 + length])
        offset += 8 + length
    return ObjectRun(dict(zip(names, counts, strict=True)), executions, returned, tuple(arrays), *recorded)


def counter_names() -> tuple[str, ...]:
    """The counters of the model in their order, read from its own list of them."""
    text = (INCLUDE / "tapeflow_model_state.h").read_text(encoding="utf-8")
    listed = text.partition("#define TF_COUNTERS(X)")[2].partition("typedef struct")[0]
    return tuple(part.partition(")")[0] for part in listed.split("X(")[1:])


def _main(entry: str, arguments: Sequence[CArgument], result: tuple[str, np.dtype[Any]] | None) -> str:
    """The text of the program."""
    returned = result[0] if result is not None else "void"
    types = [
        "tf_tape *" if not argument.c_type else f"{argument.c_type} *" if argument.is_array else argument.c_type
        for argument in arguments
    ]
    names = [f"tf_argument_{k}" for k in range(len(arguments))]
    lines = ["#define _GNU_SOURCE", '#include "tapeflow_object.h"', ""]
    # Under a name of ours, as its own may be one of the C library's: `gamma`.
    lines += [f'{returned} tf_entry({", ".join(types) or "void"}) __asm__("{entry}");', ""]
    lines += [f"static {type_} {name};" for type_, name in zip(types, names, strict=True)]
    lines += [f"static {returned} tf_result;"] if result is not None else []
    assigned = "tf_result = " if result is not None else ""
    lines += ["", "static TF_COLD void tf_call_entry(void)", "{"]
    lines += [f"    {assigned}tf_entry({', '.join(names)});", "}"]
    lines += ["", "int main(int count, char **files)", "{", "    uint64_t bytes = 0;"]
    lines += ['    FILE *in = count == 3 ? fopen(files[1], "rb") : NULL;', "    (void)bytes;"]
    lines += ['    if (in == NULL) tf_object_die("no file of arguments");', "    tf_object_begin();"]
    for argument, type_, name in zip(arguments, types, names, strict=True):
        if argument.is_array:
            lines += ["    tf_object_read(in, &bytes, sizeof bytes);"]
            lines += [f"    {name} = ({type_})tf_object_array(in, bytes);"]
        elif argument.value is None:
            lines += [f"    {name} = tf_new();"]
        else:
            lines += [f"    tf_object_read(in, &{name}, sizeof {name});"]
    lines += ["    (void)fclose(in);", "    tf_object_call(tf_call_entry);"]
    lines += ['    FILE *out = fopen(files[2], "wb");']
    lines += ['    if (out == NULL) tf_object_die("the results cannot be written");', "    tf_object_end(out);"]
    lines += ["    tf_object_write(out, &tf_result, sizeof tf_result);"] if result is not None else []
    lines += ["    tf_object_write_arrays(out);", "    tf_object_write_recorded(out);"]
    lines += ["    return fclose(out) == 0 ? 0 : 3;", "}", ""]
    return "\n".join(lines)

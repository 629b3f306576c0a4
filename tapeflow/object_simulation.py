"""Any native object on the modelled machine: another differentiator's gradient on the same caches and DRAM as ours.

The object tells its loads and stores, not its operations: there is no schedule. Accesses begin as many a cycle as the
cache has ports, and functional units cost no energy in the report, which says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from tapeflow.arguments import Array, BoundArray, Parameter, bind
from tapeflow.backend.object_program import CArgument, Issue, ObjectRun, run_object
from tapeflow.errors import TapeflowError
from tapeflow.frontend.c_prototypes import Prototype, read_prototype
from tapeflow.frontend.c_records import RecordArrayType
from tapeflow.frontend.c_signatures import Parameter as DeclaredParameter
from tapeflow.frontend.c_types import ArrayType, Scalar
from tapeflow.hardware import Counters, Hardware, Report
from tapeflow.hardware.machine import machine_header
from tapeflow.hardware.reuse import read_bytes as read_reuse
from tapeflow.hardware.timeline import read_bytes as read_timeline
from tapeflow.simulation import machine

LONGEST_ISSUE = 1_000_000
"""The most cycles between accesses, and to the use of a value: beyond all hardware, and short of overflow."""


class NativeObject:
    """A function in an object file that clang compiled with callbacks.

    Args:
        path: the object file; or several, the first of which has the function.
        entry: the function's name in C.
        declaration: a C header or source that declares it, or the text of a prototype. Its parameters are numbers,
            arrays of numbers, and `tf_tape *`, which is given a fresh runtime object.
        link: options for the linker, e.g. `["-lstdc++"]`.

    Raises:
        TapeflowError: the function is not declared there, or with a parameter of another kind.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        entry: str,
        declaration: str | os.PathLike[str],
        *,
        link: Sequence[str] = (),
    ):
        paths = [path] if isinstance(path, (str, Path)) else path
        self.objects = tuple(Path(part) for part in paths)
        self.prototype: Prototype = read_prototype(declaration, entry)
        self.link = tuple(link)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What arguments are given for, in order."""
        return tuple(_parameter(declared) for declared in self.prototype.parameters if declared is not None)

    def run(
        self,
        arguments: Sequence[Any],
        *,
        hardware: Hardware,
        interval: int | None = None,
        slack: int = 0,
        timeline: bool = False,
        reuse: bool = False,
    ) -> ObjectRun:
        """Call the function on `hardware`; see `simulate_object`."""
        if not (interval is None or 1 <= interval <= LONGEST_ISSUE) or not 0 <= slack <= LONGEST_ISSUE:
            raise TapeflowError(
                f"an interval of {interval} and a slack of {slack} cycles",
                hint=f"at least 1, and 0; at most {LONGEST_ISSUE:,}",
            )
        parameters = self.parameters
        written = [parameter.is_array for parameter in parameters]
        # More arguments than parameters, or fewer, are refused by `bind`.
        shapes = [*(parameter.extents for parameter in parameters), *[None] * len(arguments)]
        copies = [_copy(argument, extents) for argument, extents in zip(arguments, shapes, strict=False)]
        bound = iter(bind(parameters, written, copies, self.prototype.name))
        given = [
            CArgument("", None) if declared is None else _argument(declared, next(bound))
            for declared in self.prototype.parameters
        ]
        result = self.prototype.result
        returned = None if result is None else (result.name, _dtype(result))
        ports = hardware.cache.ports if hardware.cache else 1
        issue = Issue(1, interval, slack) if interval is not None else Issue(ports, 1, slack)
        header = machine_header(hardware, timeline=timeline, reuse=reuse)
        return run_object(self.objects, self.prototype.name, given, returned, header, issue, self.link)


def simulate_object(
    path: str | Path | Sequence[str | Path],
    entry: str,
    arguments: Sequence[Any],
    *,
    declaration: str | os.PathLike[str],
    hardware: Hardware | str | os.PathLike[str],
    interval: int | None = None,
    slack: int = 0,
    link: Sequence[str] = (),
    timeline: bool = False,
    reuse: bool = False,
) -> Report:
    """Run a native object on a modelled machine that starts cold.

    The object is compiled with `clang -O2 -fsanitize-coverage=func,trace-loads,trace-stores -c`. Arguments lie where
    they lie for our own code. What the object allocates is counted as tape, all else as arrays. Loads and stores wider
    than 16 bytes have no callback: leave AVX off.

    Args:
        path: the object file; or several, the first of which has the function.
        entry: the function's name in C.
        arguments: in the order of the declaration; they are not changed. An array passed for a plain pointer may have
            any number of dimensions.
        declaration: a C header or source that declares the function, or the text of a prototype.
        hardware: a machine, a preset's name, or a YAML file. Its scratchpad, if it has one, is not used.
        interval: cycles between two accesses, 1 to a million; None: as many begin in each cycle as the cache has ports.
        slack: cycles between the arrival of a hit and the use of the value, 0 to a million.
        link: options for the linker.
        timeline: whether to record when the accesses wait, and for what; it changes no count.
        reuse: whether to count how far apart accesses of a line are, for caches of every size; nor does this.

    Raises:
        ArgumentError: an argument does not fit the declaration.
        TapeflowError: the object does not tell its accesses, does not link, or its function crashed; there is no such
            machine, or no C compiler.
    """
    chosen = machine(hardware)
    native = NativeObject(path, entry, declaration, link=link)
    done = native.run(arguments, hardware=chosen, interval=interval, slack=slack, timeline=timeline, reuse=reuse)
    return object_report(native, done, chosen)


def object_report(native: NativeObject, done: ObjectRun, hardware: Hardware) -> Report:
    """The report of a run, which knows of no operations."""
    counts: Mapping[str, int] = done.counts
    counters = Counters(counts, {1: done.executions})
    name = native.prototype.name
    return Report.from_counters(
        hardware,
        counters,
        {1: {}},
        label=name,
        timeline=read_timeline(done.events, {"1": f"accesses of {name}"}) if done.events else None,
        reuse=read_reuse(done.distances) if done.distances else None,
        accesses_only=True,
    )


def _copy(argument: Any, extents: tuple[int | str | None, ...] | None) -> Any:
    """What may be changed in place of `argument`; flat, where the declaration has only a pointer."""
    if not isinstance(argument, np.ndarray):
        return argument
    copy: Array = np.array(cast(Array, argument), order="C")
    return copy.reshape(-1) if extents == (None,) else copy


def _parameter(declared: DeclaredParameter) -> Parameter:
    extents = None
    assert not isinstance(declared.type, RecordArrayType)  # refused by `read_prototype`
    if isinstance(declared.type, ArrayType):
        extents = tuple(_extent(extent) for extent in declared.extents)
    element = declared.type.element if isinstance(declared.type, ArrayType) else declared.type
    return Parameter(declared.name, element.ir, extents, declared.declaration.location, declared.name)


def _extent(spelled: str) -> int | str | None:
    return int(spelled) if spelled.isdecimal() else spelled or None


def _argument(declared: DeclaredParameter, value: Any) -> CArgument:
    if isinstance(value, BoundArray):
        assert isinstance(declared.type, ArrayType)
        return CArgument(declared.type.element.name, value.used)
    assert isinstance(declared.type, Scalar)
    return CArgument(declared.type.name, value, _dtype(declared.type))


def _dtype(scalar: Scalar) -> np.dtype[Any]:
    if scalar.is_float:
        return np.dtype(f"float{scalar.width}")
    return np.dtype(np.bool_) if scalar.width == 1 else np.dtype(f"{'' if scalar.signed else 'u'}int{scalar.width}")

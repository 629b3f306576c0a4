"""Printed C to running code: a C compiler, a shared library kept in a cache, and calls with NumPy arrays.

Both machines are compiled by the same compiler with flags that leave arithmetic as it is written, so their values are
the same bit for bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType
from xdsl.ir import Attribute

from tapeflow.backend.linked_files import contents
from tapeflow.backend.printed import PrintedC, PrintedParameter
from tapeflow.errors import TapeflowError

INCLUDE = Path(__file__).parent / "include"
"""Where `tapeflow_rt.h` and the headers of the modelled machine are."""

FLAGS = ("-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno")
"""For both machines. Neither changes a value: contraction is off, and nobody reads `errno` after `sqrt`."""

OUT_OF_MEMORY = "out of memory"
STACK_OVERFLOW = "this recursion is too deep for the stack"

STACK_BYTES = 1 << 28
"""The stack that functions which call themselves run on; only what they use of it takes memory."""

_STACK_SPARE = 1 << 20
"""What of it is left to what they call, and to what goes on around the call."""

_POSITION = () if sys.platform == "win32" else ("-fPIC",)

# Compilers


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: that starts it.
        version: what it says about itself.
    """

    command: tuple[str, ...]
    version: str


def find_compiler() -> Compiler:
    """The C compiler: `$CC`, `cc`, `gcc`, `clang`, or the `ziglang` package, whichever is there first.

    Raises:
        TapeflowError: there is none, or `$CC` is set but not there.
    """
    hint = "install one of them: $CC, cc, gcc, clang, or `pip install ziglang` for `python -m ziglang cc`"
    if given := os.environ.get("CC", "").strip():
        command = tuple(shlex.split(given))
        if (path := shutil.which(command[0])) is None:
            raise TapeflowError(f"$CC is '{given}', which is not there", hint=f"unset CC, or {hint}")
        # It runs in other folders: a place relative to this one must be made absolute, a name on the PATH stays.
        in_a_folder = os.path.dirname(command[0]) != ""
        return _described((os.path.abspath(path), *command[1:]) if in_a_folder else command)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) is not None:
            return _described((name,))
    if importlib.util.find_spec("ziglang") is not None:
        return _described((sys.executable, "-m", "ziglang", "cc"))
    raise TapeflowError(
        "no C compiler: looked for $CC, cc, gcc, clang and `python -m ziglang cc`",
        hint=hint,
    )


@lru_cache
def _described(command: tuple[str, ...]) -> Compiler:
    path = shutil.which(command[0]) or command[0]
    try:
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise TapeflowError(f"the C compiler '{shlex.join(command)}' does not start: {error}") from None
    return Compiler(command, f"{path}\n{answer.stdout}{answer.stderr}")


# Libraries


def cache_directory() -> Path:
    """Where compiled libraries are kept: `$TAPEFLOW_CACHE`, or the place that the platform has for caches."""
    if given := os.environ.get("TAPEFLOW_CACHE"):
        # Compilers run in other folders.
        return Path(given).absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or "~/.cache").expanduser() / "tapeflow"


@lru_cache
def _writable_cache(directory: Path) -> Path:
    """`directory`, or one for this process alone where that cannot be written to."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory):
            return directory
    except OSError:
        fallback = tempfile.mkdtemp(prefix="tapeflow-")
        weakref.finalize(_writable_cache, shutil.rmtree, fallback, ignore_errors=True)
        return Path(fallback)


def compile_library(
    sources: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    link: Sequence[Path] = (),
) -> Path:
    """Compile C files to a shared library, or find the one that the same text was compiled to before.

    Args:
        sources: name to text, of the C files.
        headers: name to text, of what they include beside the runtime headers.
        flags: in addition to `FLAGS`.
        link: C sources, objects and archives that define what the files only declare.

    Returns:
        The path of the library.

    Raises:
        TapeflowError: there is no compiler, or it refuses the text; then with its words.
    """
    compiler = find_compiler()
    files = {**sources, **(headers or {})}
    key = _key(compiler, files, (*flags, *contents(compiler.command, FLAGS, link)))
    cache = _writable_cache(cache_directory())
    library = cache / f"{next(iter(sources)).removesuffix('.c')}-{key}{_suffix()}"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            built = _compiled(compiler, Path(directory), files, [*sources, *map(str, link)], flags)
            built.replace(library)  # at once, so that nobody sees half a file
    return library


@dataclass(frozen=True)
class Unit:
    """A translation unit that is compiled to an object of its own.

    Attributes:
        name: of its C file.
        text: of that.
        headers: name to text, of all headers that it includes, those of the C library excepted.
        flags: in addition to `FLAGS`.
    """

    name: str
    text: str
    headers: Mapping[str, str]
    flags: tuple[str, ...] = field(default=())


def compile_units(units: Sequence[Unit]) -> list[Path]:
    """Compile each unit to an object, at the same time, or find the one that the same text was compiled to before.

    Returns:
        The paths of the objects, in order.

    Raises:
        TapeflowError: there is no compiler, or it refuses a text; then with its words.
    """
    compiler = find_compiler()
    cache = _writable_cache(cache_directory())
    objects = [cache / f"{unit.name.removesuffix('.c')}-{_unit_key(compiler, unit)}.o" for unit in units]
    missing = [(compiler, unit, path) for unit, path in zip(units, objects, strict=True) if not path.exists()]
    if missing:
        with ThreadPoolExecutor(len(missing)) as pool:
            for compiled in [pool.submit(_compile_unit, *one) for one in missing]:
                compiled.result()
    return objects


def link_library(name: str, objects: Sequence[Path]) -> Path:
    """Link objects of `compile_units` to the shared library `name`, or find the one that they were linked to before.

    Raises:
        TapeflowError: there is no compiler, or the objects do not fit together.
    """
    compiler = find_compiler()
    cache = _writable_cache(cache_directory())
    key = hashlib.sha256(repr([path.name for path in objects]).encode()).hexdigest()[:20]
    library = cache / f"{name}-{key}{_suffix()}"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            built = f"library{_suffix()}"
            _run_compiler(compiler, Path(directory), {}, ("-shared", "-o", built, *map(str, objects), "-lm"))
            (Path(directory) / built).replace(library)
    return library


def _unit_key(compiler: Compiler, unit: Unit) -> str:
    """The name of an object says all that it depends on: what is named by its parts' names needs no other key."""
    given = [unit.name, unit.text, sorted(unit.headers.items()), FLAGS, unit.flags]
    parts = [compiler.command, compiler.version, platform.machine(), given]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _compile_unit(compiler: Compiler, unit: Unit, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        output = ("-I.", "-c", "-o", "unit.o", unit.name)
        files = {unit.name: unit.text, **unit.headers}
        _run_compiler(compiler, Path(directory), files, (*unit.flags, *_POSITION, *output))
        (Path(directory) / "unit.o").replace(path)


def compile_program(
    sources: Mapping[str, str],
    headers: Mapping[str, str],
    flags: Sequence[str],
    objects: Sequence[Path],
    link: Sequence[str] = (),
) -> Path:
    """Compile C files and link them with object files to a program, or find the one made of the same before.

    Args:
        sources: name to text, of the C files.
        headers: name to text, of what they include beside the runtime headers.
        flags: in addition to `FLAGS`.
        objects: object files, in order.
        link: what the linker is told after the objects.

    Raises:
        TapeflowError: there is no compiler, it refuses the text, or the objects do not fit together.
    """
    compiler = find_compiler()
    files = {**sources, **headers}
    compiled = [hashlib.sha256(path.read_bytes()).hexdigest() for path in objects]
    cache = _writable_cache(cache_directory())
    program = cache / f"{next(iter(sources)).removesuffix('.c')}-{_key(compiler, files, (*flags, *compiled, *link))}"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            folder = Path(directory)
            parts = [str(path.resolve()) for path in objects]
            output = ("-o", "program", *sources, *parts, *link, "-lm")
            _run_compiler(compiler, folder, files, (*flags, f"-I{INCLUDE}", "-I.", *output))
            (folder / "program").replace(program)
    return program


def _suffix() -> str:
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def _key(compiler: Compiler, files: Mapping[str, str], flags: Sequence[str]) -> str:
    runtime = {path.name: path.read_text(encoding="utf-8") for path in sorted(INCLUDE.glob("*.[ch]"))}
    parts = [
        compiler.command,
        compiler.version,
        platform.machine(),
        FLAGS,
        tuple(flags),
        sorted(files.items()),
        runtime,
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _compiled(
    compiler: Compiler, directory: Path, files: Mapping[str, str], sources: Sequence[str], flags: Sequence[str]
) -> Path:
    library = f"library{_suffix()}"
    output = ("-shared", "-I.", f"-I{INCLUDE}", "-o", library, *sources, "-lm")
    _run_compiler(compiler, directory, files, (*flags, *_POSITION, *output))
    return directory / library


def _run_compiler(compiler: Compiler, directory: Path, files: Mapping[str, str], options: Sequence[str]) -> None:
    """Write `files` into `directory` and run the compiler there.

    Raises:
        TapeflowError: it fails; then with its words.
    """
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    command = [*compiler.command, *FLAGS, *options]
    # zig keeps a cache of its own, by default in the home directory; filling it takes ten seconds.
    environment = {"ZIG_GLOBAL_CACHE_DIR": str(directory.parent / "zig"), **os.environ}
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise TapeflowError(
            f"the C compiler failed\n  {shlex.join(command)}\n{done.stderr.strip()}",
            hint="try another compiler by setting CC; if none takes the generated C, that is a bug of Tapeflow",
        )


# Calls

EXPORTS = """\
#include "{header}"

tf_tape *tapeflow_new(void);
void tapeflow_free(tf_tape *tf);
const char *tapeflow_error(const tf_tape *tf);
void tapeflow_limit_stack(tf_tape *tf, size_t bytes);
size_t tapeflow_use_count(const tf_tape *tf);
const tf_use *tapeflow_uses(const tf_tape *tf);

tf_tape *tapeflow_new(void) {{ return tf_new(); }}
void tapeflow_free(tf_tape *tf) {{ tf_free(tf); }}
const char *tapeflow_error(const tf_tape *tf) {{ return tf->error; }}
void tapeflow_limit_stack(tf_tape *tf, size_t bytes) {{ tf_limit_stack(tf, bytes); }}
size_t tapeflow_use_count(const tf_tape *tf) {{ return tf->use_count; }}
const tf_use *tapeflow_uses(const tf_tape *tf) {{ return tf->uses; }}
"""
"""What calls from Python need beside the function itself; `header` declares that."""


class _Use(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("bytes", ctypes.c_uint64))


def scalar_type(type_: Attribute) -> Any:
    """The ctypes type of a scalar."""
    match type_:
        case Float64Type():
            return ctypes.c_double
        case Float32Type():
            return ctypes.c_float
        case IndexType():
            return ctypes.c_ssize_t
        case IntegerType():
            widths = {1: ctypes.c_bool, 8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}
            return widths[cast(IntegerType[Any, Any], type_).width.data]
        case _:
            raise AssertionError(f"{type_} is no scalar of C")


_STACKS = threading.Lock()
"""The size of new threads' stacks belongs to all of them."""

_LINKING = "link C sources, or objects compiled with -fPIC, that define each function once"


def _refuse_externals(printed: PrintedC) -> None:
    """Refuse to run what calls a function that is only declared.

    Raises:
        TapeflowError: at the first one.
    """
    for external, location in printed.externals:
        raise TapeflowError(
            f"'{external}' is only declared here, so what calls it cannot be run from here",
            location=location,
            hint=f"give the source or object that defines '{external}': tapeflow.load(..., link=['g.c']), or --link "
            "g.c; or write C, with 'tapeflow grad' or 'tapeflow jvp', and link that",
        )


class NativeFunction:
    """A printed function as machine code, with the memory that its calls use again.

    The memory is freed with the object. One call at a time: whoever shares an object among threads takes turns.

    Args:
        printed: the C.
        name: of the function in it.
        link: C sources, objects and archives that define the functions that it calls and that are only declared.

    Raises:
        TapeflowError: there is no C compiler, or it refuses the text; a function that it calls is only declared, and
            `link` does not define it.
    """

    def __init__(self, printed: PrintedC, name: str, link: Sequence[Path] = ()):
        if not link:
            _refuse_externals(printed)
        self._link = link if printed.externals else ()
        self._recursive = printed.recursive
        self.signature = printed.function(name)
        self._load(self._compile(printed))

    def _compile(self, printed: PrintedC) -> Path:
        # One unit: starting the compiler and reading the headers takes longer than most functions.
        sources = {f"{printed.name}.c": printed.source + EXPORTS.format(header=f"{printed.name}.h")}
        try:
            return compile_library(sources, {f"{printed.name}.h": printed.header}, (), self._link)
        except TapeflowError as error:
            if not self._link:
                raise
            # Not a bug of ours, then, but most likely what was given to be linked.
            raise TapeflowError(error.message, hint=_LINKING) from None

    def _load(self, path: Path) -> None:
        try:
            library = self.library = ctypes.CDLL(str(path))
        except OSError as error:
            if not self._link:
                raise
            raise TapeflowError(f"what is linked is not all that is called: {error}", hint=_LINKING) from None
        library.tapeflow_new.restype = ctypes.c_void_p
        library.tapeflow_free.argtypes = [ctypes.c_void_p]
        library.tapeflow_error.argtypes = [ctypes.c_void_p]
        library.tapeflow_error.restype = ctypes.c_char_p
        library.tapeflow_limit_stack.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.tapeflow_limit_stack.restype = None
        library.tapeflow_use_count.argtypes = [ctypes.c_void_p]
        library.tapeflow_use_count.restype = ctypes.c_size_t
        library.tapeflow_uses.argtypes = [ctypes.c_void_p]
        library.tapeflow_uses.restype = ctypes.POINTER(_Use)
        self._function = library[self.signature.name]
        self._function.argtypes = [_argument_type(parameter) for parameter in self.signature.parameters]
        returned = self.signature.returned
        self._function.restype = None if returned is None else scalar_type(self.signature.results[returned])
        self.tape = library.tapeflow_new()
        if not self.tape:
            raise MemoryError(f"{self.signature.name}: no memory for the runtime object")
        self.freed = weakref.finalize(self, library.tapeflow_free, self.tape)

    def call(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Call the function.

        Args:
            inputs: one an argument of the IR function: numbers, and C-contiguous arrays, which may be written. A
                complex number stands for two arguments, its parts; an array of them for one of floats that has an
                axis of 2 more.

        Returns:
            The results of the IR function, in its order, as Python numbers.

        Raises:
            TypeError: an input is of the wrong kind, dtype or rank.
            ValueError: an array is not contiguous, or read-only though the function writes it.
            MemoryError: there is no memory for the tape; reserved at entry, that leaves all arrays as they were.
            RecursionError: the function calls itself too deep for a stack of `STACK_BYTES`.
            RuntimeError: a machine's rule was violated; the message says which.
        """
        results: dict[int, Any] = {}
        arguments: list[Any] = []
        inputs = list(_in_parts(inputs))
        for parameter in self.signature.parameters:
            if parameter.role == "tape":
                arguments.append(self.tape)
            elif parameter.role == "result":
                results[parameter.index] = scalar_type(cast(Attribute, parameter.type))()
                arguments.append(ctypes.addressof(results[parameter.index]))
            else:
                arguments.append(_argument(parameter, inputs[parameter.index]))
        value = self._run_on_stack(arguments) if self._recursive else self._function(*arguments)
        self._raise_error()
        return tuple(
            value if index == self.signature.returned else results[index].value
            for index in range(len(self.signature.results))
        )

    def _run_on_stack(self, arguments: Sequence[Any]) -> Any:
        """Run the function on a stack of its own, whose size is known, so that its end is seen."""
        values: list[Any] = []

        def run() -> None:
            self.library.tapeflow_limit_stack(self.tape, STACK_BYTES - _STACK_SPARE)
            values.append(self._function(*arguments))

        with _STACKS:
            before = threading.stack_size(STACK_BYTES)
            try:
                thread = threading.Thread(target=run, daemon=True)
                thread.start()
            except RuntimeError as error:
                raise MemoryError(f"{self.signature.name}: {error}") from None
            finally:
                threading.stack_size(before)
        # It uses the caller's arrays, so it is waited for even if the wait is interrupted.
        interrupt: KeyboardInterrupt | None = None
        while thread.is_alive():
            try:
                thread.join()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return values[0]

    def _raise_error(self) -> None:
        error = self.library.tapeflow_error(self.tape)
        if error is None:
            return
        kind = {OUT_OF_MEMORY: MemoryError, STACK_OVERFLOW: RecursionError}.get(error.decode(), RuntimeError)
        raise kind(f"{self.signature.name}: {error.decode()}")

    @property
    def tape_bytes(self) -> dict[str, int]:
        """The bytes that each tape held at the turn-around of the last call, by its name in C."""
        uses = self.library.tapeflow_uses(self.tape)
        return {uses[k].name.decode(): uses[k].bytes for k in range(self.library.tapeflow_use_count(self.tape))}


def _in_parts(inputs: Sequence[Any]) -> Iterator[Any]:
    """`inputs` without complex numbers: their parts, and views of the parts of arrays."""
    for given in inputs:
        if isinstance(given, complex):
            yield given.real
            yield given.imag
        elif isinstance(given, np.ndarray) and np.iscomplexobj(array := cast("np.ndarray[Any, Any]", given)):
            # Of a rank of 0 the new axis would have nothing to split.
            flat = array.reshape(*array.shape, 1) if array.flags.c_contiguous else array[..., np.newaxis]
            yield flat.view(array.real.dtype)
        else:
            yield given


def _argument_type(parameter: PrintedParameter) -> Any:
    match parameter.role:
        case "tape" | "array" | "handle" | "result":
            return ctypes.c_void_p
        case "extent":
            return ctypes.c_ssize_t
        case "scalar":
            return scalar_type(cast(Attribute, parameter.type))


def _argument(parameter: PrintedParameter, given: Any) -> Any:
    if parameter.role == "scalar":
        return given
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{parameter.name}: expected a NumPy array, got {type(given).__name__}")
    array = cast("np.ndarray[Any, Any]", given)
    if parameter.role == "extent":
        return array.shape[parameter.dimension]
    dtype = np.dtype(scalar_type(cast(Attribute, parameter.type)))
    if array.dtype != dtype:
        raise TypeError(f"{parameter.name}: expected elements of {dtype}, got {array.dtype}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ValueError(f"{parameter.name}: the array is not C-contiguous and aligned")
    if parameter.written and not array.flags.writeable:
        raise ValueError(f"{parameter.name}: the function writes this array, but it is read-only")
    return array.ctypes.data

"""Kernels: functions that were loaded from a source, before anything is done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tapeflow.arguments import Parameter, parameters_of
from tapeflow.backend.linked_files import linkable
from tapeflow.errors import TapeflowError


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function to differentiate, as it was imported.

    Attributes:
        name: of the function.
        path: of the source.
        module: what the frontend made of the source; never changed.
        link: files that define what the source only declares: C sources, objects, archives.
    """

    name: str
    path: Path
    module: ModuleOp = field(repr=False)
    link: tuple[Path, ...] = ()

    @property
    def function(self) -> func.FuncOp:
        """The function itself."""
        return next(function for function in _functions(self.module) if function.sym_name.data == self.name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The function's parameters in source order."""
        return parameters_of(self.function)

    def dtype(self, name: str) -> np.dtype[Any]:
        """The NumPy type of a parameter, or of its elements; of structs a structured one.

        Raises:
            KeyError: there is no such parameter.
        """
        for parameter in self.parameters:
            if name in (parameter.source, parameter.name):
                return parameter.dtype if parameter.record is None else parameter.record
        raise KeyError(name)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(parameter) for parameter in self.parameters)})"


def load(
    source: str | Path | Callable[..., Any], function: str | None = None, *, link: Sequence[str | Path] = ()
) -> Kernel:
    """Load a kernel from C (`.c`), from MLIR (`.mlir`), or from a Python function.

    Args:
        source: a file; or a Python function, decorated with `tapeflow.kernel` or not.
        function: which function of the file; may be left out when there is only one.
        link: files that define the functions that the file only declares, for derivatives to be run from here: C
            sources (.c), which are compiled as generated code is, objects (.o) and archives (.a).

    Raises:
        FileNotFoundError: there is no such file.
        TapeflowError: the source is a folder, or not in the supported language, or has no such function; or a file
            cannot be linked.
    """
    kernel = _load_file(Path(source), function) if isinstance(source, (str, Path)) else _load_python(source)
    return replace(kernel, link=linkable(link))


def as_kernel(kernel: Kernel | Callable[..., Any]) -> Kernel:
    """What `load` makes of a Python function, or what it made already.

    Raises:
        TapeflowError: it is neither, or a function that is not in the supported language.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not callable(kernel):
        raise TapeflowError(
            f"a kernel is wanted here, not {type(kernel).__name__}", hint="load it: tapeflow.load('kernel.c')"
        )
    return _load_python(kernel)


def _load_python(function: Callable[..., Any]) -> Kernel:
    from tapeflow.frontend.python import PythonKernel, kernel

    marked = cast("PythonKernel[..., Any]", function) if isinstance(function, PythonKernel) else kernel(function)
    return Kernel(marked.name, marked.path, marked.module)


def _load_file(source: Path, function: str | None) -> Kernel:
    if source.is_dir():
        raise TapeflowError(f"{source} is a folder", hint="pass a file in it: C source (.c) or MLIR text (.mlir)")
    if not source.is_file():
        raise FileNotFoundError(f"{source}: no such file")
    module = _import(source, function)
    return Kernel(_choose(source, _functions(module), function), source, module)


def _import(source: Path, function: str | None) -> ModuleOp:
    match source.suffix:
        case ".c":
            from tapeflow.frontend.c import import_c

            return import_c(source, function=function)
        case ".mlir":
            from tapeflow.frontend.mlir import import_mlir

            return import_mlir(source)
        case ".py":
            raise TapeflowError(
                f"{source}: a Python kernel is a function in a program, not a file",
                hint="mark it @tapeflow.kernel and differentiate it in Python: tapeflow.gradient(f, wrt=['x'])(...); "
                "see docs/python.md",
            )
        case suffix:
            what = f"'{suffix}' files" if suffix else "files without a suffix"
            raise TapeflowError(f"{source}: no frontend for {what}", hint="pass C source (.c) or MLIR text (.mlir)")


def _functions(module: ModuleOp) -> Sequence[func.FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]


def _choose(source: Path, functions: Sequence[func.FuncOp], wanted: str | None) -> str:
    names = [function.sym_name.data for function in functions]
    if not names:
        raise TapeflowError(f"{source}: no function is defined here")
    if wanted is None:
        visible = [f.sym_name.data for f in functions if f.sym_visibility is None or f.sym_visibility.data != "private"]
        if len(visible) == 1:
            return visible[0]
        raise TapeflowError(f"{source}: which function?", hint=f"choose one of {', '.join(names)}")
    if wanted not in names:
        raise TapeflowError(f"{source}: no function '{wanted}'", hint=f"defined here: {', '.join(names)}")
    return wanted

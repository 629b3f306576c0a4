"""Options that the benchmarks' programs share, refused before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench.suite import SUITE
from tapeflow.errors import TapeflowError
from tapeflow.hardware import Hardware


def _known_kernels(names: str) -> str:
    unknown = [name for name in names.split(",") if name not in SUITE]
    if unknown:
        raise typer.BadParameter(f"no kernel '{unknown[0]}': there are {', '.join(SUITE)}")
    return names


def _known_size(size: str) -> str:
    known = next(iter(SUITE.values())).sizes
    if size not in known:
        raise typer.BadParameter(f"no size '{size}': there are {', '.join(known)}")
    return size


def _known_machine(name: str) -> str:
    try:
        Hardware.preset(name)
    except TapeflowError as error:
        raise typer.BadParameter(f"{error.message}: {error.hint}") from error
    return name


def chosen(names: str) -> list[str]:
    """The names that an option of `Kernels` lists; none of the empty text."""
    return names.split(",")


ALL = ",".join(SUITE)
"""Every kernel, as `Kernels` has them."""

Kernels = Annotated[str, typer.Option(help="Names, separated by commas.", callback=_known_kernels)]
Size = Annotated[str, typer.Option(help="Which of the kernels' sizes.", callback=_known_size)]
Machine = Annotated[str, typer.Option(help="A preset.", callback=_known_machine)]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of which the least time counts.")]
Out = Annotated[Path, typer.Option(help="The folder that results are saved in.", file_okay=False)]

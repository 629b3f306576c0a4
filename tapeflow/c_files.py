"""The files that a C project needs to use a gradient."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from tapeflow.api import Gradient

RUNTIME = "tapeflow_rt.h"


def runtime_header() -> str:
    """The text of `tapeflow_rt.h`."""
    return (resources.files("tapeflow.backend") / "include" / RUNTIME).read_text(encoding="utf-8")


def gradient_files(gradient: Gradient, source: Path, *, single_file: bool = False) -> dict[Path, str]:
    """The files of `gradient`, path to text: the C file, its header beside it, and the runtime's header.

    Args:
        gradient: to write.
        source: path of the C file.
        single_file: whether the headers are put into the C file instead.
    """
    header = source.with_suffix(".h")
    printed = gradient.compiled.printed
    text = printed.source.replace(f'#include "{printed.name}.h"', f'#include "{header.name}"')
    if not single_file:
        return {source: text, header: gradient.header, source.parent / RUNTIME: runtime_header()}
    text = _inlined(text, header.name, _inlined(gradient.header, RUNTIME, runtime_header()))
    return {source: text}


def _inlined(text: str, name: str, content: str) -> str:
    """`text` with `content` in place of its include of `name`."""
    include = re.compile(rf'^#include "{re.escape(name)}"$', re.MULTILINE)
    return include.sub(lambda _: f"/* ---- {name} ---- */\n{content}/* ---- end of {name} ---- */", text, count=1)

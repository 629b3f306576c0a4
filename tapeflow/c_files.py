"""The files that a C project needs to use a gradient."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from tapeflow.api import Gradient
from tapeflow.errors import TapeflowError

RUNTIME = "tapeflow_rt.h"
_NAME_ANOTHER = "name another C file: -o gradient.c"


def runtime_header() -> str:
    """The text of `tapeflow_rt.h`."""
    return (resources.files("tapeflow.backend") / "include" / RUNTIME).read_text(encoding="utf-8")


def gradient_files(gradient: Gradient, source: Path, *, single_file: bool = False) -> dict[Path, str]:
    """The files of `gradient`, path to text: the C file, its header beside it, and the runtime's header.

    Args:
        gradient: to write.
        source: path of the C file.
        single_file: whether the headers are put into the C file instead.

    Raises:
        TapeflowError: the files would take one another's place, or that of the kernel.
    """
    if not source.name:
        raise TapeflowError(f"'{source}' is not the name of a file", hint=_NAME_ANOTHER)
    header = source.with_suffix(".h")
    printed = gradient.compiled.printed
    text = printed.source.replace(f'#include "{printed.name}.h"', f'#include "{header.name}"')
    if single_file:
        text = _inlined(text, header.name, _inlined(gradient.header, RUNTIME, _quiet(runtime_header())))
        files = {source: text}
    else:
        runtime = source.parent / RUNTIME
        if len({source, header, runtime}) < 3:
            raise TapeflowError(f"{source} would share its name with the header or with {RUNTIME}", hint=_NAME_ANOTHER)
        files = {source: text, header: gradient.header, runtime: runtime_header()}
    kernel = gradient.kernel.path
    for path in files:
        if path.exists() and kernel.exists() and path.samefile(kernel):
            raise TapeflowError(f"{path} is the kernel itself and would be lost", hint=_NAME_ANOTHER)
    return files


def _inlined(text: str, name: str, content: str) -> str:
    """`text` with `content` in place of its include of `name`."""
    include = re.compile(rf'^#include "{re.escape(name)}"$', re.MULTILINE)
    return include.sub(lambda _: f"/* ---- {name} ---- */\n{content}/* ---- end of {name} ---- */", text, count=1)


def _quiet(text: str) -> str:
    """`text` without clang's warnings about functions of the runtime that it does not use: it gives them here only."""
    begin = "#if defined(__clang__)\n#pragma clang diagnostic push\n"
    begin += '#pragma clang diagnostic ignored "-Wunused-function"\n#endif\n'
    end = "#if defined(__clang__)\n#pragma clang diagnostic pop\n#endif\n"
    return begin + text + end

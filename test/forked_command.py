"""The command line in processes of its own that need not import it: they are forked from one that has.

An import takes longer than most commands. The installed command itself runs in the README's examples: see
test_documentation.py.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

_SERVER = multiprocessing.get_context("forkserver")
_LATE = ("c_files", "frontend.c", "gradient_check", "simulation", "tangents")
_PASSES = ("ad_prepare", "ad_differentiate", "tape_plan", "tape_form_regions", "spad_form_layers", "stream_form_fifos")
# What commands import only when they need it is there before, too.
_SERVER.set_forkserver_preload(
    ["tapeflow.cli", *(f"tapeflow.{name}" for name in _LATE), *(f"tapeflow.transforms.{name}" for name in _PASSES)]
)


def run_tapeflow(arguments: Sequence[str], folder: Path, *, together: bool = False) -> subprocess.CompletedProcess[str]:
    """Run `tapeflow` with `arguments` in `folder`, as `subprocess.run` would; what it prints `together` or apart."""
    with tempfile.TemporaryDirectory() as outputs:
        paths = [str(Path(outputs) / name) for name in ("stdout", "stdout" if together else "stderr")]
        process = _SERVER.Process(target=_main, args=([*arguments], str(folder), dict(os.environ), *paths))
        process.start()
        process.join()
        assert process.exitcode is not None
        said = [Path(path).read_text() for path in dict.fromkeys(paths)]
        return subprocess.CompletedProcess(arguments, process.exitcode, *said)


def _main(arguments: Sequence[str], folder: str, environment: Mapping[str, str], *outputs: str) -> None:
    for descriptor, path in enumerate(outputs, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.chdir(folder)
    # The server has that of the time when it started.
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["tapeflow", *arguments]
    from tapeflow.cli import main

    code: object = 0
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:
        # What Python does when it ends so.
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)

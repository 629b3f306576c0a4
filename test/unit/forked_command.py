"""The command line in processes of its own that need not import it: they are forked from one that has.

An import takes longer than most commands. The installed command itself runs in test_documentation.py.
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
_SERVER.set_forkserver_preload(["tapeflow.cli"])


def run_tapeflow(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `tapeflow` with `arguments` in `folder`, as `subprocess.run` would."""
    with tempfile.TemporaryDirectory() as outputs:
        paths = [str(Path(outputs) / name) for name in ("stdout", "stderr")]
        process = _SERVER.Process(target=_main, args=([*arguments], str(folder), dict(os.environ), *paths))
        process.start()
        process.join()
        assert process.exitcode is not None
        return subprocess.CompletedProcess(arguments, process.exitcode, *(Path(path).read_text() for path in paths))


def _main(arguments: Sequence[str], folder: str, environment: Mapping[str, str], *outputs: str) -> None:
    for descriptor, path in enumerate(outputs, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
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

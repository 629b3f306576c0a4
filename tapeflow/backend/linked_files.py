"""Files that are linked with generated C, as they define what it only declares: C sources, objects, archives."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tapeflow.errors import TapeflowError

_KINDS = (".c", ".o", ".obj", ".a")


def linkable(paths: Iterable[str | Path]) -> tuple[Path, ...]:
    """The files at `paths`, absolute.

    Raises:
        FileNotFoundError: one is not there.
        TapeflowError: one is of another kind.
    """
    files = tuple(Path(path).resolve() for path in paths)
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"{file}: no such file")
        if file.suffix not in _KINDS:
            raise TapeflowError(f"{file}: cannot be linked", hint="link C sources (.c), objects (.o) and archives (.a)")
    return files


def contents(command: Sequence[str], flags: Sequence[str], files: Iterable[Path]) -> list[str]:
    """A hash of what each file says, of C sources with what they include.

    Args:
        command: of the C compiler.
        flags: for it.
        files: those of `linkable`.

    Raises:
        TapeflowError: the compiler refuses a source; then with its words.
    """
    return [
        hashlib.sha256(_preprocessed(command, flags, file) if file.suffix == ".c" else file.read_bytes()).hexdigest()
        for file in files
    ]


def _preprocessed(command: Sequence[str], flags: Sequence[str], source: Path) -> bytes:
    done = subprocess.run([*command, *flags, "-E", str(source)], capture_output=True, check=False)
    if done.returncode != 0:
        raise TapeflowError(f"the C compiler refuses {source}\n{done.stderr.decode(errors='replace').strip()}")
    return done.stdout

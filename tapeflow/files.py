"""Writing several files so that all are there, or none has changed."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tapeflow.errors import TapeflowError


def write_together(files: Mapping[Path, str | bytes]) -> None:
    """Write `files`, path to text or bytes: all of them, or on any failure none.

    Everything is written in full beside their places first; only then do they take them.

    Raises:
        TapeflowError: a file cannot be written.
    """
    waiting: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in files.items():
            waiting[_write_beside(path, content)] = path
        for temporary, path in list(waiting.items()):
            os.replace(temporary, path)
            del waiting[temporary]
    except OSError as error:
        raise TapeflowError(f"cannot write {path}: {error.strerror}") from error
    finally:
        for temporary in waiting:
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, as far as can be told without writing it.

    Raises:
        TapeflowError: its folder is missing or may not be written to, or it is a folder itself.
    """
    if path.is_dir():
        raise TapeflowError(f"cannot write {path}: {os.strerror(errno.EISDIR)}")
    if not path.parent.is_dir():
        raise TapeflowError(f"cannot write {path}: {os.strerror(errno.ENOENT)}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise TapeflowError(f"cannot write {path}: {os.strerror(errno.EACCES)}")


def _write_beside(path: Path, content: str | bytes) -> Path:
    """Write `content` to a new file in the folder of `path`, with the permissions that a new file there gets."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(file.name, 0o666 & ~mask)
    return Path(file.name)

"""Output files appear together or not at all."""

import os
import stat

import pytest

from tapeflow.errors import TapeflowError
from tapeflow.files import write_together


def test_all_are_written_with_ordinary_permissions(tmp_path):
    write_together({tmp_path / "a.c": "int a;\n", tmp_path / "a.h": "λ\n"})
    assert (tmp_path / "a.c").read_text() == "int a;\n"
    assert (tmp_path / "a.h").read_text(encoding="utf-8") == "λ\n"
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(os.stat(tmp_path / "a.c").st_mode) == stat.S_IMODE(os.stat(tmp_path / "plain").st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.c", "a.h", "plain"]


def test_one_that_cannot_be_written_leaves_all_as_they_were(tmp_path):
    (tmp_path / "a.c").write_text("before")
    with pytest.raises(TapeflowError, match=r"cannot write .*nowhere/a\.h: No such file"):
        write_together({tmp_path / "a.c": "after", tmp_path / "nowhere" / "a.h": "after"})
    (tmp_path / "a.h").mkdir()
    with pytest.raises(TapeflowError, match=r"cannot write .*a\.h: Is a directory"):
        write_together({tmp_path / "a.c": "after", tmp_path / "a.h": "after"})
    assert (tmp_path / "a.c").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.c", "a.h"]

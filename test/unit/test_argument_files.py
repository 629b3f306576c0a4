"""Files of arguments that are no archives of arrays are refused with their name."""

from pathlib import Path

import numpy as np
import pytest

from tapeflow.errors import TapeflowError
from tapeflow.random_arguments import read_archive


def archive(tmp_path: Path) -> bytes:
    np.savez_compressed(tmp_path / "whole.npz", x=np.arange(1000.0))
    return (tmp_path / "whole.npz").read_bytes()


def one_array(tmp_path: Path) -> bytes:
    np.save(tmp_path / "x.npy", np.ones(3))
    return (tmp_path / "x.npy").read_bytes()


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"x = 1\n", id="text"),
        pytest.param(one_array, id="one array"),
        pytest.param(lambda tmp_path: archive(tmp_path)[:300], id="cut off"),
        pytest.param(lambda tmp_path: archive(tmp_path).replace(archive(tmp_path)[200:260], bytes(60)), id="damaged"),
    ],
)
def test_refused(contents, tmp_path: Path):
    (tmp_path / "inputs.npz").write_bytes(contents(tmp_path))
    with pytest.raises(TapeflowError, match=r"inputs\.npz: not an \.npz archive of arrays"):
        read_archive(tmp_path / "inputs.npz")

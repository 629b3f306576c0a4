"""The runtime header keeps its promises, under sanitizers, in every compiler."""

import subprocess
from pathlib import Path

import pytest
from c_build import COMPILERS, SANITIZE, STRICT, compiled

CHECKS = Path(__file__).with_name("runtime_checks.c")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_promises(tmp_path, compiler: str):
    compiled(tmp_path, compiler, [*STRICT, *SANITIZE, str(CHECKS), "-o", "checks", "-lm"])
    done = subprocess.run([tmp_path / "checks"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""Which random tests run: the same every time, so that a run says something about a change. And what many tests share.

C is compiled with -O1, which takes half as long as what users get, except in modules that are marked `optimized`.

`HYPOTHESIS_PROFILE=explore` draws new ones each time; what fails then is kept in `.hypothesis` and comes first again.
"""

import gc
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tapeflow.backend import native
from tapeflow.backend.model_build import machine_units
from tapeflow.hardware import Hardware
from tapeflow.hardware.machine import machine_header

# IR is full of cycles that live as long as it: rarer collections save a tenth of the time.
gc.set_threshold(100_000, 20, 20)

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


_QUICK = tuple("-O1" if flag == "-O3" else flag for flag in native.FLAGS)


@pytest.fixture(scope="module", autouse=True)
def optimization(request: pytest.FixtureRequest) -> Iterator[None]:
    """How hard the C compiler tries with the gradients of a module's tests; those of commands are left alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("optimized") is None:
            patch.setattr(native, "FLAGS", _QUICK)
        yield


@pytest.fixture(scope="session")
def sanitized_machine(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Objects of the machine `stream-1k` under sanitizers, for programs that are compiled with TF_MODEL_UNITS."""
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    sanitizers = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    objects: list[str] = []
    for unit in machine_units(machine_header(Hardware.preset("stream-1k"))):
        folder = tmp_path_factory.mktemp("machine")
        for name, text in {unit.name: unit.text, **unit.headers}.items():
            (folder / name).write_text(text)
        options = [*warnings, "-DTF_MODEL_UNITS", "-I.", unit.name]
        subprocess.run(["gcc", *sanitizers, *options, "-c", "-o", "unit.o"], cwd=folder, check=True)
        if shutil.which("clang"):
            subprocess.run(["clang", *options, "-fsyntax-only"], cwd=folder, check=True)
        objects.append(str(folder / "unit.o"))
    return objects

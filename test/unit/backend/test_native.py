"""Compiling, keeping and calling: what is found, what is kept, what is refused."""

import gc
import os
import shutil
import sys

import numpy as np
import pytest
from parsing import parse
from stages import module

from tapeflow.backend import native
from tapeflow.backend.c_printer import print_c
from tapeflow.backend.native import NativeFunction, compile_library, find_compiler
from tapeflow.errors import TapeflowError

pytestmark = pytest.mark.optimized

SCALE = """
func.func @scale(%n: i32 {tapeflow.name = "n"}, %a: f32, %x: memref<?x?xf32>, %flag: i1, %k: i64) -> (i1, f32, i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %columns = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %columns step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %w = arith.mulf %v, %a : f32
      memref.store %w, %x[%i, %j] : memref<?x?xf32>
    }
  }
  func.return %flag, %a, %k : i1, f32, i64
}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TAPEFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_scalars_arrays_and_extents_reach_c():
    function = NativeFunction(print_c(parse(SCALE)), "scale")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert function.call([3, 0.5, x, True, -(2**40)]) == (True, 0.5, -(2**40))
    np.testing.assert_array_equal(x, np.arange(6, dtype=np.float32).reshape(2, 3) / 2)
    function.call([3, 0.5, np.empty((0, 3), np.float32), True, 1])


def test_wrong_arrays_are_refused():
    function = NativeFunction(print_c(parse(SCALE)), "scale")
    x = np.ones((2, 3), np.float32)
    with pytest.raises(TypeError, match="x: expected elements of float32, got float64"):
        function.call([3, 0.5, x.astype(np.float64), True, 1])
    with pytest.raises(TypeError, match="x: expected a NumPy array, got list"):
        function.call([3, 0.5, [1.0], True, 1])
    with pytest.raises(ValueError, match="x: the array is not C-contiguous"):
        function.call([3, 0.5, x.T, True, 1])
    x.flags.writeable = False
    with pytest.raises(ValueError, match="x: the function writes this array, but it is read-only"):
        function.call([3, 0.5, x, True, 1])


def test_a_library_is_compiled_once(cache, monkeypatch: pytest.MonkeyPatch):
    printed = print_c(module("worked_example", "aos"))
    NativeFunction(printed, "f_grad")
    (library,) = cache.iterdir()
    monkeypatch.setattr(native, "_compiled", lambda *_: pytest.fail("compiled again"))
    NativeFunction(printed, "f_grad")
    assert list(cache.iterdir()) == [library], "and nothing else is left behind"


def test_other_text_or_flags_are_another_library(cache):
    text = "int f(void);\nint f(void) { return 1; }\n"
    paths = {
        compile_library({"f.c": text}),
        compile_library({"f.c": text.replace("1", "2")}),
        compile_library({"f.c": text}, flags=("-DX",)),
        compile_library({"f.c": text}, {"f.h": "\n"}),
    }
    assert len(paths) == 4


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TAPEFLOW_CACHE", str(tmp_path / "file" / "cache"))
    assert compile_library({"f.c": "int f(void);\nint f(void) { return 3; }\n"}).exists()


def test_the_compilers_words_are_shown(cache):
    with pytest.raises(TapeflowError) as caught:
        compile_library({"f.c": "int f(void) { return nothing; }\n"})
    assert "the C compiler failed" in str(caught.value)
    assert "nothing" in str(caught.value)
    assert "help: try another compiler by setting CC" in str(caught.value)
    assert not any(cache.iterdir())


def test_compilers_are_looked_for_in_order(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TapeflowError) as caught:
        find_compiler()
    for name in ("$CC", "cc", "gcc", "clang", "python -m ziglang cc"):
        assert name in str(caught.value)
    monkeypatch.undo()

    for name in ("clang", "gcc", "cc", "mine"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho this is {name}\n")
        (tmp_path / name).chmod(0o755)
        if name != "mine":
            monkeypatch.delenv("CC", raising=False)
            monkeypatch.setenv("PATH", str(tmp_path))
            assert find_compiler().command == (name,)
    monkeypatch.setenv("CC", "mine -m64")
    assert find_compiler().command == ("mine", "-m64")
    assert "this is mine" in find_compiler().version
    monkeypatch.setenv("CC", "not-there")
    with pytest.raises(TapeflowError, match=r"\$CC is 'not-there', which is not there"):
        find_compiler()


def test_memory_is_freed_with_the_object():
    function = NativeFunction(print_c(module("worked_example", "aos")), "f_grad")
    freed = function.freed
    assert freed.alive
    del function
    gc.collect()
    assert not freed.alive


@pytest.mark.slow
@pytest.mark.skipif(native.importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_zig_will_do(cache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CC", f"{sys.executable} -m ziglang cc")
    test_scalars_arrays_and_extents_reach_c()
    assert shutil.which(os.environ["CC"].split()[0])

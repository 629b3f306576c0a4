"""Enzyme's gradients beside ours: its IR is made readable for an older clang, and what is missing is said in a line."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from bench import enzyme
from bench.enzyme_ir import NoEnzymeError, enzyme_gradient, readable
from bench.suite import SUITE

CLANG = next(
    (clang for clang in ("clang-19", "clang-18", "clang-17", "clang-16", "clang-15") if shutil.which(clang)), None
)

# Adds 2 s sin(x_i) to each shadow, as a newer LLVM shows such functions, after something else.
SHOWN = """define internal double @preprocess_f(ptr %x) #4 {
  ret double 0.000000e+00
}

define internal void @diffef(ptr nofree captures(none) %x, ptr captures(ret: address) %"x'", i32 %n, double %s) #5 {
entry:
  %0 = alloca double, align 8
  call void @llvm.lifetime.start.p0(ptr %0)
  %more = icmp samesign ugt i32 %n, 0
  %end = zext nneg i32 %n to i64
  br i1 %more, label %body, label %done

body:                                             ; preds = %body, %entry
  %i = phi i64 [ %next, %body ], [ 0, %entry ]
  %next = add nuw nsw i64 %i, 1
  %at = getelementptr inbounds nuw [8 x i8], ptr %x, i64 %i
  %"at'" = getelementptr nuw [8 x i8], ptr %"x'", i64 %i
  %value = load double, ptr %at, align 8, !tbaa !15, !alias.scope !52
  %sine = tail call fast double @sin(double noundef %value) #8
  %bar = load double, ptr %"at'", align 8, !tbaa !15
  %half = fmul fast double %sine, %s
  %term = fmul double %half, f0x4000000000000000
  %finite = fcmp olt double %term, +inf
  %known = select i1 %finite, double %term, double +qnan
  %sum = fadd double %bar, %known
  store double %sum, ptr %"at'", align 8, !invariant.group !67
  %last = icmp eq i64 %next, %end
  br i1 %last, label %done, label %body, !llvm.loop !30
done:
  ret void
}
LLVM ERROR: function failed verification (4)
"""


def test_ir_of_a_newer_llvm_is_made_readable():
    text = readable(SHOWN, "diffef")
    assert text.startswith("declare double @sin(double)\ndefine void @diffef(ptr")
    for newer in (
        "captures",
        "samesign",
        "inbounds nuw",
        "lifetime",
        "!15",
        "!52",
        "!67",
        "f0x",
        "#5",
        "#8",
        "LLVM ERROR",
    ):
        assert newer not in text
    with pytest.raises(NoEnzymeError, match=r"Enzyme shows no diffeg, but: LLVM ERROR: .*"):
        readable(SHOWN, "diffeg")


@pytest.mark.skipif(CLANG is None, reason="THE IR OF ENZYME IS NOT COMPILED: there is no clang of version 15 or newer")
def test_an_older_clang_reads_it(tmp_path: Path):
    assert CLANG is not None
    (tmp_path / "f.ll").write_text(readable(SHOWN, "diffef"))
    subprocess.run(
        [CLANG, "-O2", "-Wno-override-module", "-shared", "-fPIC", "f.ll", "-o", "f.so", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    x, shadow = (ctypes.c_double * 2)(0.5, 2.0), (ctypes.c_double * 2)(1.0, 1.0)
    ctypes.CDLL(str(tmp_path / "f.so")).diffef(x, shadow, 2, ctypes.c_double(3.0))
    assert list(shadow) == pytest.approx([1 + 6 * 0.479425538604203, 1 + 6 * 0.909297426825682])


def test_what_is_missing_is_said_in_a_line(tmp_path: Path):
    with pytest.raises(NoEnzymeError, match=r"No module named '\w+': \S+ -m pip install enzyme-ad jax"):
        enzyme_gradient(SUITE["jacobi"], SUITE["jacobi"].arguments("mini"), Path(sys.executable))
    app = Typer()
    app.command()(enzyme.main)
    done = CliRunner().invoke(
        app, ["--python", str(tmp_path / "none"), "--kernels", "jacobi", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 1 and done.stderr == f"error: {tmp_path / 'none'}: No such file or directory\n"
    assert not (tmp_path / "out").exists()
    assert "--python enzyme/bin/python --clang clang-19" in CliRunner().invoke(app, ["--help"]).output


@pytest.mark.skipif(
    CLANG is None or "ENZYME_PYTHON" not in os.environ,
    reason="ENZYME ITSELF IS NOT RUN: ENZYME_PYTHON names no interpreter with enzyme-ad, or there is no clang",
)
def test_gradients_are_those_of_enzyme(tmp_path: Path):
    app = Typer()
    app.command()(enzyme.main)
    given = ["--python", os.environ["ENZYME_PYTHON"], "--clang", str(CLANG), "--size", "mini", "--repeats", "1"]
    done = CliRunner().invoke(app, [*given, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [row["kernel"] for row in rows] == list(SUITE)
    assert all(row["difference"] < enzyme.SAME and row["enzyme"]["accesses"] > 0 for row in rows)
    assert "| jacobi |" in (tmp_path / "enzyme.md").read_text()

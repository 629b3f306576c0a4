"""The command line: files, tables, JSON, exit codes and messages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from forked_command import run_tapeflow

ROOT = Path(__file__).parents[2]
LOGSUM = ROOT / "bench" / "kernels" / "logsum.c"
WORKED = ROOT / "bench" / "kernels" / "worked_example.c"


@pytest.fixture
def tapeflow(tmp_path):
    """Run `tapeflow` in an empty folder; remarks and errors are in `stderr`."""

    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_tapeflow([*map(str, arguments)], tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestGrad:
    def test_writes_three_files_that_build(self, tapeflow, tmp_path):
        done = tapeflow("grad", LOGSUM, "--wrt", "x")
        assert names(tmp_path) == ["logsum_grad.c", "logsum_grad.h", "tapeflow_rt.h"]
        assert done.stdout.startswith("wrote logsum_grad.c, logsum_grad.h, tapeflow_rt.h\n")
        for compiler in filter(shutil.which, ("gcc", "clang")):
            flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
            subprocess.run([compiler, *flags, "logsum_grad.c"], cwd=tmp_path, check=True)

    def test_the_header_serves_cpp(self, tapeflow, tmp_path):
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        tapeflow("grad", LOGSUM, "--wrt", "x", "-o", "lg.c")
        (tmp_path / "use.cc").write_text('#include "lg.h"\nauto *f = &logsum_grad;\n')
        flags = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
        subprocess.run(["g++", *flags, "use.cc"], cwd=tmp_path, check=True)

    def test_calls_stay_calls_above_the_inline_limit(self, tapeflow, tmp_path):
        text = "static double half(double x) { return 0.5 * x * x; }\n"
        text += "double f(double x, double y) { return half(x) * half(y) + half(x * y); }\n"
        (tmp_path / "halves.c").write_text(text)
        for command, name in (("grad", "f_grad.c"), ("jvp", "f_jvp.c")):
            tapeflow(command, "halves.c", "--function", "f", "--wrt", "x,y")
            assert "half" not in (tmp_path / name).read_text().partition("double f_")[2]
            tapeflow(command, "halves.c", "--function", "f", "--wrt", "x,y", "--inline-limit", 0)
            assert "half" in (tmp_path / name).read_text()
        tapeflow("check", "halves.c", "--function", "f", "--wrt", "x,y", "--inline-limit", 0)
        refused = tapeflow("grad", "halves.c", "--function", "f", "--wrt", "x", "--inline-limit", -2, code=2)
        assert "--inline-limit" in refused.stderr

    def test_a_batch_builds_and_its_refusal_writes_nothing(self, tapeflow, tmp_path):
        refused = tapeflow("grad", LOGSUM, "--wrt", "x", "--batch", 1000, code=1)
        assert "batch=1000: a batch has 1 to 64 members" in refused.stderr and not names(tmp_path)
        done = tapeflow("grad", LOGSUM, "--wrt", "x", "--batch", 3, "--single-file", "--json")
        assert json.loads(done.stdout)["gradient"] == "logsum_grad_3"
        done = tapeflow("jvp", LOGSUM, "--wrt", "x", "--batch", 3, "--single-file")
        assert done.stdout == "wrote logsum_jvp_3.c\n"
        flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
        subprocess.run(["cc", *flags, "logsum_grad_3.c", "logsum_jvp_3.c"], cwd=tmp_path, check=True)

    def test_a_single_file_runs_alone(self, tapeflow, tmp_path):
        done = tapeflow("grad", LOGSUM, "--wrt", "x", "-o", "one.c", "--single-file")
        assert names(tmp_path) == ["one.c"]
        assert done.stdout.startswith("wrote one.c\n")
        (tmp_path / "main.c").write_text(
            """
            #include <stdio.h>
            #include "one.c"
            int main(void)
            {
                tf_tape *tf = tf_new();
                double x[2] = {0.0, 0.0}, x_b[2] = {0.0, 0.0};
                double s = logsum_grad(tf, 2, x, 1.0, x_b);
                printf("%.6f %g %g\\n", s, x_b[0], x_b[1]);
                tf_free(tf);
                return 0;
            }
            """
        )
        subprocess.run(["cc", "-std=c99", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
        assert subprocess.check_output([tmp_path / "main"], text=True) == "0.693147 0.5 0.5\n"

    def test_a_single_file_has_no_warnings(self, tapeflow, tmp_path):
        tapeflow("grad", LOGSUM, "--wrt", "x", "-o", "one.c", "--single-file")
        for compiler in filter(shutil.which, ("gcc", "clang")):
            flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
            subprocess.run([compiler, *flags, "one.c"], cwd=tmp_path, check=True)

    def test_options_choose_the_tape(self, tapeflow, tmp_path):
        options = ["--layout", "aos", "--spad-bytes", 1024, "--stream"]
        tapeflow("grad", WORKED, "--wrt", "A,w", *options, "-o", "f.c")
        assert "TF_PUSH(tape_j_if)" in (tmp_path / "f.c").read_text()

    def test_json_names_files_and_tape(self, tapeflow):
        value = json.loads(tapeflow("grad", WORKED, "--wrt", "A", "--wrt", "w", "--layout", "aos", "--json").stdout)
        assert value["files"] == ["f_grad.c", "f_grad.h", "tapeflow_rt.h"]
        assert {region["name"] for region in value["tape"]["regions"]} == {"i", "j_if"}

    def test_a_stage_is_mlir_that_is_read_back(self, tapeflow, tmp_path):
        tapeflow("grad", WORKED, "--wrt", "A,w", "--layout", "aos", "--emit-stage", "regions", "-o", "regions.mlir")
        text = (tmp_path / "regions.mlir").read_text()
        assert "tape.record" in text
        opt = Path(sys.executable).with_name("tapeflow-opt")
        assert subprocess.check_output([opt, "regions.mlir"], cwd=tmp_path, text=True).strip() == text.strip()
        assert tapeflow("grad", WORKED, "--wrt", "A,w", "--emit-stage", "import").stdout.count("ad.vjp") == 1


class TestJvp:
    def test_writes_three_files_that_run(self, tapeflow, tmp_path):
        done = tapeflow("jvp", LOGSUM, "--wrt", "x")
        assert names(tmp_path) == ["logsum_jvp.c", "logsum_jvp.h", "tapeflow_rt.h"]
        assert done.stdout == "wrote logsum_jvp.c, logsum_jvp.h, tapeflow_rt.h\n"
        (tmp_path / "main.c").write_text(
            """
            #include <stdio.h>
            #include "logsum_jvp.h"
            int main(void)
            {
                double x[2] = {0.0, 0.0}, x_d[2] = {1.0, 3.0}, tangent;
                tf_tape *tf = tf_new();
                double value = logsum_jvp(tf, 2, x, x_d, &tangent);
                tf_free(tf);
                printf("%.6f %g\\n", value, tangent);
                return 0;
            }
            """
        )
        flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
        subprocess.run(["cc", *flags, "main.c", "logsum_jvp.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
        assert subprocess.check_output([tmp_path / "main"], text=True) == "0.693147 2\n"

    def test_a_single_file_and_json(self, tapeflow, tmp_path):
        done = tapeflow("jvp", WORKED, "--wrt", "A,w", "-o", "one.c", "--single-file", "--json")
        assert json.loads(done.stdout) == {"jvp": "f_jvp", "files": ["one.c"]}
        subprocess.run(["cc", "-std=c99", "-fsyntax-only", "one.c"], cwd=tmp_path, check=True)

    def test_what_is_refused_is_not_written(self, tapeflow, tmp_path):
        (tmp_path / "f.c").write_text("double f(double x) { return x * x; }\n")
        done = tapeflow("jvp", "f.c", "--wrt", "y", code=1)
        assert "wrt: f has no parameter 'y'" in done.stderr
        done = tapeflow("jvp", "f.c", "--wrt", "x", "-o", "f.c", code=1)
        assert "is the kernel itself" in done.stderr
        assert names(tmp_path) == ["f.c"]


class TestCheck:
    def test_right(self, tapeflow):
        done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=50")
        assert "pass" in done.stdout
        value = json.loads(tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=50", "--json").stdout)
        assert value["passed"]
        assert value["checks"][0]["error"] < 1e-6
        assert value["checks"][0]["forward_error"] < 1e-6
        assert value["checks"][0]["dot_error"] < 1e-12

    def test_wrong(self, tapeflow, tmp_path):
        # The derivative of a step has nothing of its jump.
        (tmp_path / "step.c").write_text("double step(double x) { return x > 0 ? 1.0 + x : x; }\n")
        done = tapeflow("check", "step.c", "--wrt", "x", "--arg", "x=0.0", code=1)
        # Forward mode has the same one, so that the dot product is right.
        assert "FAIL (gradient above 1e-06, forward mode above 1e-06)" in done.stdout

    def test_what_is_no_number_is_wrong(self, tapeflow):
        # The logarithm of an empty sum: differences of infinities.
        done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=-3", code=1)
        assert "FAIL" in done.stdout
        assert "what the kernel computes at these arguments is infinite or no number" in done.stdout

    def test_too_large_arrays_are_not_drawn(self, tapeflow):
        done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=2000000000", code=1)
        assert ":4:35: error: float64 x[n]: arrays of 16,000,000,000 bytes would be drawn at random" in done.stderr
        assert "help: give smaller extents, or an array x in an .npz file" in done.stderr

    def test_arguments_from_a_file(self, tapeflow, tmp_path):
        np.savez(tmp_path / "inputs.npz", n=2, m=3, A=np.ones((2, 3)), w=np.ones(3))
        tapeflow("check", WORKED, "--wrt", "A,w", "--args", "inputs.npz")
        done = tapeflow("check", WORKED, "--wrt", "A,w", "--args", "inputs.npz", "--arg", "n=3", code=1)
        assert "A: expected shape (n, m) = (3, 3), got (2, 3)" in done.stderr


class TestSimulate:
    def test_two_machines(self, tapeflow):
        options = ["--wrt", "x", "--arg", "n=100", "--hardware", "stream-1k", "--against", "cache-32k"]
        done = tapeflow("simulate", LOGSUM, *options)
        assert "stream-1k" in done.stdout
        assert "cache-32k" in done.stdout
        value = json.loads(tapeflow("simulate", LOGSUM, *options, "--json").stdout)
        assert set(value) == {"stream-1k", "cache-32k"}
        assert all(report["cycles"] > 0 for report in value.values())
        assert value["cache-32k"]["unequal"] == ["SRAM bytes: 32768 against 2048"]
        assert "unequal" not in value["stream-1k"]

    def test_a_run_of_no_cycles_is_shown(self, tapeflow):
        done = tapeflow("simulate", LOGSUM, "--wrt", "x", "--arg", "n=0", "--hardware", "stream-1k")
        assert "took 1.00 times that" in done.stdout


SYNTAX_ERROR = "double f(double x) { return x * ; }\n"
UNKNOWN_CALLEE = "double g(double x);\ndouble f(double x) { return g(x); }\n"
ESCAPE = "double f(int n, double *x) { double *p[2]; p[0] = x; return p[0][n]; }\n"


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        pytest.param(SYNTAX_ERROR, [], 1, "kernel.c:1:33: error: ", id="syntax error"),
        pytest.param(UNKNOWN_CALLEE, [], 1, "kernel.c:2:29: error: ", id="unknown callee"),
        pytest.param(
            ESCAPE,
            [],
            1,
            "kernel.c:1:38: error: 'p' has type 'double *[2]', which is not supported",
            id="escaping pointer",
        ),
        pytest.param("double f(double y) { return y; }\n", [], 1, "f has no parameter 'x'", id="unknown wrt"),
        pytest.param("", ["--function", "g"], 1, "kernel.c:1:1: error: this file defines no function", id="empty file"),
        pytest.param(
            "double f(double x) { return x; }\n",
            ["--spad-bytes", 1024],
            2,
            "spad_bytes=1024 needs layout='aos'",
            id="contradicting options",
        ),
        pytest.param(
            "double f(double x) { return x; }\n", ["--layout", "columns"], 2, "'soa' or 'aos'", id="unknown layout"
        ),
        pytest.param("double f(double x) { return x; }\n", ["--stage", "x"], 2, "--stage", id="unknown option"),
        pytest.param(
            "double f(double x) { return x; }\n",
            ["--emit-stage", "layers"],
            2,
            "these options have the stages import, prepare, differentiate, plan, regions",
            id="stage that is not there",
        ),
        pytest.param(
            "double f(double x) { return x; }\n",
            ["-o", "nowhere/f.c"],
            1,
            "cannot write nowhere/f.c: No such file or directory",
            id="folder that is not there",
        ),
        *(
            pytest.param(
                "double f(double x) { return x; }\n",
                ["-o", output],
                1,
                f"{message} help: name another C file: -o gradient.c",
                id=f"-o '{output}'",
            )
            for output, message in (
                ("kernel.c", "error: kernel.c is the kernel itself and would be lost"),
                ("f.h", "error: f.h would share its name with the header or with tapeflow_rt.h"),
                ("tapeflow_rt.c", "error: tapeflow_rt.c would share its name with the header or with tapeflow_rt.h"),
                ("", "error: '.' is not the name of a file"),
            )
        ),
    ],
)
def test_what_is_refused_writes_nothing(tapeflow, tmp_path, text, arguments, code, message):
    (tmp_path / "kernel.c").write_text(text)
    done = tapeflow("grad", "kernel.c", "--wrt", "x", *arguments, code=code)
    assert message in " ".join(done.stderr.replace("│", "").split()), done.stderr
    assert done.stdout == ""
    assert names(tmp_path) == ["kernel.c"]


def test_a_scratchpad_too_small_for_any_region_is_refused(tapeflow, tmp_path):
    options = ["--layout", "aos", "--spad-bytes", 128, "--buffers", 2]
    fields = 20
    values = "".join(f" double v{k} = sin(x[i] * s + {k}); s = exp(s * v{k} + cos(s));" for k in range(fields))
    kernel = f"double f(int n, double x[n]) {{ double s = 1; for (int i = 0; i < n; i++) {{{values} }} return s; }}\n"
    (tmp_path / "wide.c").write_text("#include <math.h>\n" + kernel)
    done = tapeflow("grad", "wide.c", "--wrt", "x", *options, code=1)
    assert "help: give the scratchpad at least" in done.stderr
    assert names(tmp_path) == ["wide.c"]


def test_places_relative_to_the_folder_and_machines_of_one_name(tapeflow, tmp_path, monkeypatch):
    (tmp_path / "cc").write_text('#!/bin/sh\nexec "$(command -v gcc || command -v clang)" "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", "./cc")
    monkeypatch.setenv("TAPEFLOW_CACHE", "kept")
    (tmp_path / "square.c").write_text(
        "void square(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] *= x[i]; }\n"
    )
    for folder, size in (("a", 8192), ("b", 4096)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.yaml").write_text(f'name: "m*/"\ncache: {{size_bytes: {size}, ways: 2}}\n')
    # Nothing is returned: cotangents of the array are drawn.
    arguments = ["square.c", "--wrt", "x", "--arg", "n=4", "--hardware", "a/m.yaml", "--against", "b/m.yaml"]
    reports = json.loads(tapeflow("simulate", *arguments, "--json").stdout)
    assert list(reports) == ["m*/ (b/m.yaml)", "m*/ (a/m.yaml)"]
    compared = json.loads(tapeflow("hardware", "diff", "a/m.yaml", "b/m.yaml", "--json").stdout)
    assert compared["machines"] == ["m*/ (a/m.yaml)", "m*/ (b/m.yaml)"]


def test_a_file_that_is_not_there_is_named(tapeflow):
    assert tapeflow("grad", "nowhere.c", "--wrt", "x", code=1).stderr == "error: nowhere.c: no such file\n"


def test_missing_arguments_are_named(tapeflow):
    done = tapeflow("check", LOGSUM, "--wrt", "x", code=1)
    assert "logsum.c:4:19: error: int32 n: a value is needed" in done.stderr
    done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=3", "--arg", "k=3", code=1)
    assert "the kernel has no parameter 'k'" in done.stderr
    done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n", code=2)
    assert "is not of the form name=number" in " ".join(done.stderr.split())


def test_an_unknown_machine_lists_those_there_are(tapeflow):
    done = tapeflow("simulate", LOGSUM, "--wrt", "x", "--arg", "n=3", "--hardware", "abacus", code=1)
    assert "stream-1k" in done.stderr


def test_no_compiler_is_an_error_that_names_all_places(tapeflow, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    done = tapeflow("check", LOGSUM, "--wrt", "x", "--arg", "n=3", code=1)
    assert done.stderr.startswith("error: $CC is 'no-such-compiler', which is not there")
    assert "$CC, cc, gcc, clang, or `pip install ziglang`" in done.stderr

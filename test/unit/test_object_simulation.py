"""Native objects on the modelled machine: the same counts as our own model build, again and again; and refusals."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tapeflow
from bench.suite import SUITE
from tapeflow import cli
from tapeflow.arguments import ArgumentError
from tapeflow.backend.native import INCLUDE
from tapeflow.backend.object_program import FLAGS, counter_names
from tapeflow.hardware import Hardware
from tapeflow.object_simulation import NativeObject, object_report
from tapeflow.simulation import options_for

CLANG = shutil.which("clang")
pytestmark = pytest.mark.skipif(
    CLANG is None or sys.platform != "linux",
    reason="MEASURING NATIVE OBJECTS IS NOT TESTED: it needs clang (callbacks for loads and stores) and Linux",
)

REVERSE = """
#include <stdlib.h>

double reverse(int n, const double x[n], double y[n]) {
  double *t = malloc(n * sizeof *t);
  double s = 0;
  for (int i = 0; i < n; i++) t[i] = 2 * x[i];
  for (int i = n - 1; i >= 0; i--) y[i] = s += t[i];
  free(t);
  return s;
}
"""
DECLARATION = "double reverse(int n, const double x[n], double y[n])"


def compiled(folder: Path, source: str, *flags: str, name: str = "f", callbacks: bool = True) -> Path:
    (folder / f"{name}.c").write_text(source)
    told = [FLAGS] if callbacks else []
    output = ["-c", f"{name}.c", "-o", f"{name}.o"]
    command = [CLANG or "", "-O2", "-fno-vectorize", "-fno-slp-vectorize", *told, f"-I{INCLUDE}", *flags, *output]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / f"{name}.o"


def test_a_tape_of_n_lines_counts_as_in_closed_form(tmp_path):
    made = compiled(tmp_path, REVERSE)
    n, x = 800, np.linspace(0, 1, 800)
    run = NativeObject(made, "reverse", DECLARATION).run([n, x, np.zeros(n)], hardware=Hardware.preset("cache-2k"))
    assert run.returned == pytest.approx(2 * x.sum())
    np.testing.assert_allclose(run.arrays[1], 2 * np.cumsum(x[::-1])[::-1])
    counted = run.counts
    assert counted["array_reads"] == counted["array_writes"] == n
    assert counted["tape_reads"] == counted["tape_writes"] == n
    assert counted["array_read_misses"] == counted["array_write_misses"] == counted["tape_write_misses"] == n // 8
    assert n // 8 - 2048 // 64 <= counted["tape_read_misses"] <= n // 8
    again = NativeObject(made, "reverse", DECLARATION).run([n, x, np.zeros(n)], hardware=Hardware.preset("cache-2k"))
    assert again.counts == counted


# A compiler keeps elements in registers, which the model build does not; here none may be left out.
EVERY_ACCESS = """
#include "tapeflow_rt.h"
#undef TF_LOAD
#undef TF_STORE
#undef TF_ADD
#undef TF_RECORD
#undef TF_REPLAY
#define AT(p) (*(volatile __typeof__(*(p)) *)(p))
#define TF_LOAD(A, k) AT(&(A)[k])
#define TF_STORE(A, k, v) ((void)(AT(&(A)[k]) = (v)))
#define TF_ADD(A, k, v) ((void)(AT(&(A)[k]) += (v)))
#define TF_RECORD(tape, ...) ((void)(AT(tape) = __VA_ARGS__, tape++))
#define TF_REPLAY(tape) (--tape, AT(tape))
"""

# The runtime's own object is touched too: where its arena is, and what it notes; and saved registers and spilled
# constants on the stack.
BOOKKEEPING = 80


@pytest.mark.parametrize("name", ["worked_example", "logsum", "mttkrp"])
@pytest.mark.parametrize("size_bytes", [4096, 32768])
def test_our_own_c_counts_as_in_our_own_model_build(tmp_path, name: str, size_bytes: int):
    kernel = SUITE[name]
    hardware = Hardware.preset("cache-32k").with_(cache={"size_bytes": size_bytes, "ways": 4})
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt), options=options_for(hardware))
    arguments = kernel.arguments("mini")
    ours = tapeflow.simulate(grad, list(arguments.values()), hardware=hardware).counters

    (tmp_path / f"{grad.name}.h").write_text(grad.header)
    (tmp_path / "every.h").write_text(EVERY_ACCESS)
    made = compiled(tmp_path, grad.c_source, "-ffp-contract=off", "-include", "every.h", name=grad.name)
    native = NativeObject(made, grad.name, tmp_path / f"{grad.name}.h")
    given = [_argument(parameter, arguments) for parameter in native.parameters]
    theirs = native.run(given, hardware=hardware).counts
    for written in ("reads", "writes"):
        here = sum(ours[f"{of}_{written}"] for of in ("array", "tape"))
        there = sum(theirs[f"{of}_{written}"] for of in ("array", "tape"))
        assert here <= there <= here + BOOKKEEPING, written
    misses = [
        sum(counts[f"{of}_{what}_misses"] for of in ("array", "tape") for what in ("read", "write"))
        for counts in (ours, theirs)
    ]
    # The tapes lie side by side in the arena there, five lines apart here: a few lines fall on other sets.
    assert misses[1] == pytest.approx(misses[0], rel=0.03, abs=8)


def _argument(parameter: tapeflow.arguments.Parameter, arguments: dict[str, object]) -> object:
    """The kernel's own argument; for a shadow zeros like its array; 1 for a seed."""
    if parameter.name in arguments:
        return arguments[parameter.name]
    if parameter.is_array:
        return np.zeros_like(arguments[parameter.name.removesuffix("_b")])
    return 1.0


def test_recording_changes_no_count_and_the_curve_has_every_access(tmp_path):
    made = compiled(tmp_path, REVERSE)
    n, hardware = 800, Hardware.preset("cache-2k")
    native, given = NativeObject(made, "reverse", DECLARATION), [n, np.zeros(n), np.zeros(n)]
    recorded = native.run(given, hardware=hardware, timeline=True, reuse=True)
    assert recorded.counts == native.run(given, hardware=hardware).counts
    report = object_report(native, recorded, hardware)
    assert report.reuse is not None and report.timeline is not None
    arrays, tape = report.reuse.of["arrays"], report.reuse.of["tape"]
    assert (arrays.accesses, tape.accesses, tape.cold) == (2 * n, 2 * n, n // 8)
    assert sum(span.cycles for span in report.timeline.of("stall")) == sum(report.stalls.values())
    # A cache of one set is the curve's own. The energy tables have none of so many ways.
    assert hardware.cache is not None
    one_set = hardware.model_copy(update={"cache": hardware.cache.model_copy(update={"ways": 2048 // 64})})
    counted = native.run(given, hardware=one_set).counts
    assert arrays.misses(32) == counted["array_read_misses"] + counted["array_write_misses"]
    assert tape.misses(32) == counted["tape_read_misses"] + counted["tape_write_misses"]


KINDS = """
#include <stdint.h>
float kinds(int64_t n, float a, _Bool twice, const int idx[n], signed char *mask, double m[2][3], float y[n]) {
  float s = twice ? 2 * a : a;
  for (int64_t i = 0; i < n; i++) { y[idx[i]] += s; mask[i] ^= 1; }
  for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) { m[i][j] *= 2; s += m[i][j]; }
  return s;
}
"""


def test_arguments_of_every_kind_and_code_that_comes_as_llvm_ir(tmp_path):
    """LLVM IR is what another differentiator leaves: clang puts the callbacks into it as into C."""
    (tmp_path / "kinds.c").write_text(KINDS)
    run = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True)
    run([CLANG or "", "-O1", "-S", "-emit-llvm", "kinds.c", "-o", "kinds.ll"])
    run([CLANG or "", "-O2", "-fno-vectorize", "-fno-slp-vectorize", FLAGS, "-c", "kinds.ll", "-o", "kinds.o"])
    arguments = [
        *(3, 1.5, True, np.array([2, 0, 2], np.int32), np.array([0, 1, 0], np.int8)),
        *(np.arange(6.0).reshape(2, 3), np.zeros(3, np.float32)),
    ]
    native = NativeObject(tmp_path / "kinds.o", "kinds", tmp_path / "kinds.c")
    done = native.run(arguments, hardware=Hardware.preset("cache-2k"))
    assert done.returned == 33.0
    _, mask, m, y = done.arrays
    np.testing.assert_array_equal(mask, [1, 0, 1])
    np.testing.assert_array_equal(m, 2 * np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(y, [3.0, 0.0, 6.0])
    assert done.counts["array_writes"] == 3 + 3 + 6


def test_an_object_without_accesses_beside_one_with_some_is_taken_with_a_remark(tmp_path):
    main = compiled(tmp_path, "double half(double); void f(double x[1]) { x[0] = half(x[0]); }", name="main")
    part = compiled(tmp_path, "double half(double x) { return x / 2; }", name="part", callbacks=False)
    with pytest.warns(tapeflow.errors.TapeflowRemark, match=r"part\.o: remark: tells no loads and stores"):
        done = NativeObject([main, part], "f", "void f(double x[1]);").run(
            [np.ones(1)], hardware=Hardware.preset("cache-2k")
        )
    assert done.arrays[0][0] == 0.5 and done.counts["array_reads"] == done.counts["array_writes"] == 1


TRAPS = """
#include <stdlib.h>
#include <string.h>
static double table[4096];
struct pair { char c; double d; } __attribute__((packed));
void traps(int n, double y[n]) {
  double *t = calloc(n, sizeof *t), *u = NULL, stack[512];
  volatile double *v = stack;
  for (int i = 0; i < 512; i++) v[i] = table[i] = i;
  for (int i = 0; i < n; i++) { u = realloc(u, (i + 1) * sizeof *u); u[i] = t[i] + table[i % 512]; }
  memcpy(y, u, n * sizeof *y);
  memset(t, 0, n * sizeof *t);
  struct pair *p = malloc(100 * sizeof *p);
  for (int i = 0; i < 100; i++) p[i].d = y[i % n];
  for (int i = 0; i < 100; i++) y[i % n] += p[99 - i].d - y[i % n];
  void *block;
  if (posix_memalign(&block, 4096, 8) == 0) free(block);
  free(p); free(t); free(u);
}
"""


def test_stack_globals_and_every_kind_of_heap_repeat(tmp_path):
    made = compiled(tmp_path, TRAPS)
    runs = [
        NativeObject(made, "traps", "void traps(int n, double y[n]);").run(
            [300, np.zeros(300)], hardware=Hardware.preset("cache-4k")
        )
        for _ in range(3)
    ]
    assert runs[0].counts == runs[1].counts == runs[2].counts
    assert runs[0].arrays[0][200] == 200
    # memset of the heap and memcpy out of it, 300 words each, beside the loops' own accesses.
    assert runs[0].counts["tape_writes"] >= 300 + 300 + 100
    assert runs[0].counts["array_writes"] >= 300 + 2 * 512 + 100


def test_new_and_checked_copies_count_as_malloc_and_copies_do(tmp_path):
    # Named as one of the C library's and one of the program's that calls it; printing what is no text; no PIC.
    source = """
    extern "C" int printf(const char *, ...);
    extern "C" void *__memcpy_chk(void *, const void *, unsigned long, unsigned long);
    extern "C" double NAME(int n, const double *x) {
      static volatile double table[64];
      printf("\\xff");
      double *t = new double[n], s = 0;
      __memcpy_chk(t, x, 8 * n, 8 * n);
      for (int i = 0; i < n; i++) s = s / 2 + t[n - 1 - i] + table[i];
      delete[] t;
      return s;
    }
    """
    for name in ("gamma", "tape", "result"):
        made = compiled(tmp_path, source.replace("NAME", name), "-x", "c++", "-fno-pic", "-mcmodel=small", name="new")
        native = NativeObject(made, name, f"double {name}(int n, const double *x)")
        counts = native.run([50, np.ones(50)], hardware=Hardware.preset("cache-4k")).counts
        assert (counts["tape_writes"], counts["tape_reads"]) == (50, 50)
        assert (counts["array_writes"], counts["array_reads"]) == (0, 100)


def test_accesses_that_cross_lines_look_up_both(tmp_path):
    source = """
    struct __attribute__((packed)) odd { char c; double d; };
    void odd(int n, double y[n]) { volatile struct odd *p = (volatile struct odd *)((char *)y + 55);
      for (int i = 0; i < n; i++) p->d = i; }
    """
    made = compiled(tmp_path, source)
    counted = (
        NativeObject(made, "odd", "void odd(int n, double y[n])")
        .run([16, np.zeros(16)], hardware=Hardware.preset("cache-4k"))
        .counts
    )
    assert counted["array_write_misses"] in (1, 2)
    assert counted["array_writes"] in (16, 32)


def test_ports_and_interval_give_the_time(tmp_path):
    made = compiled(tmp_path, REVERSE)
    n = 64
    arguments = [n, np.zeros(n), np.zeros(n)]
    hardware = Hardware.preset("cache-32k").with_(dram={"timing": "fixed", "fixed_latency_ns": 1})
    reports = {
        interval: tapeflow.simulate_object(
            made, "reverse", arguments, declaration=DECLARATION, hardware=hardware, interval=interval
        )
        for interval in (None, 1, 7)
    }
    assert reports[None].compute == -(-4 * n // 3)
    assert reports[1].compute == 4 * n
    assert reports[7].compute == 7 * 4 * n
    assert all(report.bounds[0].cycles <= report.cycles for report in reports.values())
    relaxed = tapeflow.simulate_object(
        made, "reverse", arguments, declaration=DECLARATION, hardware=hardware, slack=2000
    )
    assert relaxed.stalls["waiting for a cache line"] == 0
    assert relaxed.rows()["  functional units"] == "not known"


def test_a_comparison_with_a_gradient_leaves_functional_units_out(tmp_path):
    kernel = SUITE["logsum"]
    grad = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt))
    ours = tapeflow.simulate(grad, list(kernel.arguments("mini").values()), hardware="cache-4k")
    made = compiled(tmp_path, REVERSE)
    theirs = tapeflow.simulate_object(
        made, "reverse", [64, np.zeros(64), np.zeros(64)], declaration=DECLARATION, hardware="cache-4k"
    )
    both = theirs.against(ours)
    assert "energy of memory" in both.ratios(theirs) and "energy on chip" not in both.ratios(theirs)
    assert "reverse: loads and stores only, so energy is compared without functional units" in both.notes


def test_the_names_of_the_counters_are_those_of_the_model():
    report = tapeflow.simulate(
        tapeflow.gradient(tapeflow.load(SUITE["logsum"].source), wrt=["x"]),
        list(SUITE["logsum"].arguments("mini").values()),
        hardware="cache-4k",
    )
    assert counter_names() == tuple(report.counters)


def test_what_cannot_be_measured_is_refused(tmp_path):
    def simulate(made: Path, entry: str = "reverse", declaration: str = DECLARATION, n: int = 4):
        arguments = [n, np.zeros(4), np.zeros(4)]
        return tapeflow.simulate_object(made, entry, arguments, declaration=declaration, hardware="cache-4k")

    silent = compiled(tmp_path, REVERSE, name="silent", callbacks=False)
    with pytest.raises(
        tapeflow.TapeflowError,
        match=r"silent\.o. does not tell its loads and stores\n  help: compile it with clang -O2 -fsan",
    ):
        simulate(silent)
    made = compiled(tmp_path, REVERSE)
    with pytest.raises(tapeflow.TapeflowError, match=r"cannot read .*nowhere\.o"):
        simulate(tmp_path / "nowhere.o")
    with pytest.raises(tapeflow.TapeflowError, match=r"'backward' is not declared here\n  help: .* declares reverse"):
        simulate(made, "backward")
    with pytest.raises(tapeflow.TapeflowError, match="no program can be made that calls 'backward'"):
        simulate(made, "backward", "double backward(int n, double x[n], double y[n])")
    with pytest.raises(tapeflow.TapeflowError, match="is a pointer to pointers"):
        simulate(made, declaration="double reverse(int n, double **x, double *y)")
    with pytest.raises(ArgumentError, match="expected shape"):
        simulate(made, n=5)
    wild = compiled(tmp_path, "double wild(int n, double *x, double *y) { return *(volatile double *)8; }", name="w")
    with pytest.raises(tapeflow.TapeflowError, match="'wild' died of SIGSEGV"):
        simulate(wild, "wild", "double wild(int n, double *x, double *y)")
    threads = """
    #include <pthread.h>
    static void *add(void *x) { ((volatile double *)x)[0] += 1; return 0; }
    double threads(int n, double *x, double *y) {
      pthread_t other; pthread_create(&other, 0, add, x); pthread_join(other, 0); return x[0]; }
    """
    with pytest.raises(tapeflow.TapeflowError, match="'threads' ended the program: it runs in several threads"):
        simulate(compiled(tmp_path, threads, name="t"), "threads", "double threads(int n, double *x, double *y)")
    link = [CLANG or "", "-shared", "-o", tmp_path / "library.so", "-Wl,--unresolved-symbols=ignore-all", made]
    subprocess.run(link, check=True)
    with pytest.raises(tapeflow.TapeflowError, match="is a shared library"):
        simulate(tmp_path / "library.so")
    with pytest.raises(tapeflow.TapeflowError, match="'tf_new' is a name of the program"):
        simulate(made, "tf_new", "double tf_new(int n, double *x, double *y)")
    # 2**32 + 1 came out as 1.
    for wrong in ({"interval": 0}, {"interval": 2**32 + 1}, {"slack": -1}, {"slack": 2**32 + 1}):
        with pytest.raises(
            tapeflow.TapeflowError, match=r"an interval of .* cycles\n  help: at least 1, and 0; at most 1"
        ):
            tapeflow.simulate_object(made, "reverse", [], declaration=DECLARATION, hardware="cache-4k", **wrong)


def test_the_command_line_measures_objects_alone_and_beside_a_gradient(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    compiled(tmp_path, REVERSE)

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli.app, ["simulate", *arguments, "--arg", "n=100", "--hardware", "cache-2k"])
        assert done.exit_code == code, done.output
        return " ".join(done.output.replace("│", " ").split())

    of_object = ("--object", "f.o", "--entry", "reverse", "--source", "f.c")
    alone = json.loads(run(*of_object, "--json"))
    assert alone["cache-2k"]["counters"]["tape_reads"] == 100 and alone["cache-2k"]["accesses_only"]
    two = json.loads(run(*of_object, "--against", "cache-32k", "--json"))
    assert list(two) == ["cache-32k", "cache-2k"] and two["cache-2k"] == alone["cache-2k"]
    kernel = str(SUITE["logsum"].source)
    assert "reverse on cache-2k" in run(kernel, "--wrt", "x", *of_object)
    both = json.loads(run(kernel, "--wrt", "x", *of_object, "--json", "--interval", "2"))
    assert list(both) == ["reverse on cache-2k", "logsum_grad on cache-2k"]
    run(*of_object, "--report", "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<h1>reverse on cache-2k</h1>" in page
    assert all(f'<img alt="{name}"' in page for name in ("stalls", "energy", "reuse", "timeline"))
    assert "There is no roofline: the operations of reverse are not known." in page
    trace = json.loads((tmp_path / "out" / "timeline.json").read_text())["traceEvents"]
    waited = sum(event["dur"] for event in trace if event["ph"] == "X" and event["cat"] == "stall")
    assert waited == sum(alone["cache-2k"]["stalls"].values()) > 0
    assert {"accesses of reverse"} == {event["name"] for event in trace if event.get("cat") == "block"}
    for wrong, message in (
        ((), "give a kernel's source, or --object"),
        ((kernel,), "--wrt: say what"),
        (of_object[:2], "--entry: say which"),
        (of_object[:4], "--source: give a C header"),
        # Not ignored: whoever gives these means an object, or a kernel.
        ((kernel, "--wrt", "x", "--entry", "reverse"), "--entry is about an object: give --object"),
        ((kernel, "--wrt", "x", "--source", "f.c"), "--source is about an object"),
        ((kernel, "--wrt", "x", "--interval", "2"), "--interval is about an object"),
        ((kernel, "--wrt", "x", "--slack", "0"), "--slack is about an object"),
        ((*of_object, "--wrt", "x"), "--wrt is about a kernel: give its source"),
        ((*of_object, "--function", "f"), "--function is about a kernel"),
    ):
        assert message in run(*wrong, code=2)

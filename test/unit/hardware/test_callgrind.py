"""Validation 1, callgrind: the same references and misses for the same program and geometry."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tapeflow.hardware import Hardware

from .machine import COMPILER, build

pytestmark = pytest.mark.skipif(
    COMPILER is None or not shutil.which("valgrind"), reason="needs a C compiler and valgrind"
)

# Arrays lie in one block, aligned so that native addresses fall on the same sets as the model's virtual ones.
PROGRAM = """
#include "tapeflow_rt.h"
#include <stdio.h>

enum { N = 60, SKEW = 320 / 8, BLOCK = 1 << 21 };

void kernel(tf_tape *tf, const double *restrict A, const double *restrict x, double *restrict y, double *restrict z);

__attribute__((noinline)) void kernel(tf_tape *tf, const double *restrict A, const double *restrict x,
                                      double *restrict y, double *restrict z)
{
    (void)tf;
    TF_ARRAY(A, N * N);
    TF_ARRAY(x, N);
    TF_ARRAY(y, N);
    TF_ARRAY(z, N * N);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            const double a = TF_LOAD(A, i * N + j);
            const double b = TF_LOAD(x, j);
            TF_ADD(y, j, a * b);
            TF_STORE(z, j * N + i, a);
        }
    }
}

int main(void)
{
    static unsigned char memory[2 * BLOCK];
    double *A = (double *)(memory + (BLOCK - (uintptr_t)memory % BLOCK));
    const ptrdiff_t padded = (N + 7) / 8 * 8, square = (N * N + 7) / 8 * 8;
    double *x = A + square + SKEW, *y = x + padded + SKEW, *z = y + padded + SKEW;
    tf_tape *tf = tf_new();
#ifdef TF_MODEL
    if (!tf_model_reset(tf)) return 1;
#endif
    kernel(tf, A, x, y, z);
#ifdef TF_MODEL
    tf_model_finish(tf);
    for (size_t k = 0; k < tf_counter_count(); k++) printf("%s %lu\\n", tf_counter_names()[k], tf_counters(tf)[k]);
#endif
    tf_free(tf);
    return 0;
}
"""


def callgrind(hardware: Hardware, folder: Path) -> dict[str, int]:
    """Events of `kernel` alone, in a cache of this geometry."""
    cache = hardware.cache
    assert cache is not None
    program = build(hardware, PROGRAM, "-O2", "-fno-tree-vectorize", shared=False)
    out = folder / "callgrind.out"
    geometry = f"--D1={cache.size_bytes},{cache.ways},64"
    options = ["--tool=callgrind", "--cache-sim=yes", "--simulate-wb=yes", "--toggle-collect=kernel", geometry]
    command = ["valgrind", *options, "--LL=8388608,16,64", f"--callgrind-out-file={out}", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    text = out.read_text()
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)
    totals = re.search(r"^(?:totals|summary): (.*)$", text, re.MULTILINE)
    assert events and totals
    names, values = events[1].split(), [int(value) for value in totals[1].split()]
    return dict(zip(names, [*values, *[0] * (len(names) - len(values))], strict=True))


def modelled(hardware: Hardware) -> dict[str, int]:
    program = build(hardware, PROGRAM, "-O2", "-DTF_MODEL", "-DTF_MODEL_EXPORTS", shared=False)
    lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


@pytest.mark.parametrize(("size", "ways"), [(2048, 2), (4096, 4), (32768, 8), (262144, 8)])
def test_references_and_misses_equal_callgrinds(size: int, ways: int, tmp_path: Path):
    hardware = Hardware.preset("cache-32k").with_(cache={"size_bytes": size, "ways": ways, "hit_cycles": 4})
    ours, theirs = modelled(hardware), callgrind(hardware, tmp_path)
    stack = 24  # saved registers and spilled constants
    assert abs(theirs["Dr"] - ours["array_reads"]) <= stack
    assert abs(theirs["Dw"] - ours["array_writes"]) <= stack
    assert abs(theirs["D1mr"] - ours["array_read_misses"]) <= stack
    assert abs(theirs["D1mw"] - ours["array_write_misses"]) <= stack

"""Sums in order come out the same however far the C compiler optimises: gcc before 14 counts some elements twice.

Its bug 110381 wants two or more additions to one scalar or element, of neighbours in another order than in memory.
"""

import itertools
import random
import re
import subprocess

import pytest
from c_build import COMPILERS, compiled

import tapeflow

LOOPS = {
    "up": "for (int i = 0; i < n; i++) {{ {} }}",
    "down": "for (int i = n - 1; i >= 0; i--) {{ {} }}",
    "nested": "for (int i = 0; i < n; i++) {{ for (int j = 0; j < m; j++) {{ {} }} }}",
    "unrolled": "for (int i = 0; i < n; i++) {{ for (int j = 1; j >= 0; j--) {{ {} }} }}",
}
TARGETS = ("s", "y[0]", "y[i]")
FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno")


def kernels():
    """C functions, by name."""
    draw = random.Random(5)
    for loop, target in itertools.product(LOOPS, TARGETS):
        order = draw.choice([(1, 0), (1, 0, 3, 2), (3, 1, 2, 0)])
        subscript = "2 * i + j" if loop == "unrolled" else f"{len(order)} * i + {{}}"
        adds = [f"{target} += x[{subscript.format(k)}];" for k in (order[:1] if loop == "unrolled" else order)]
        clears = [f"x[{subscript.format(k)}] = 0;" for k in order] if draw.random() < 0.5 else []
        name = f"k_{loop}_{TARGETS.index(target)}"
        body = LOOPS[loop].format(" ".join([*adds, *clears]))
        yield name, f"double {name}(int n, int m, double x[64], double y[64]) {{ double s = y[1]; {body} return s; }}"


def sources(folder):
    """The gradients in one file, and a program that prints all they give."""
    texts, calls = [], []
    for name, source in kernels():
        path = folder / f"{name}.c"
        path.write_text(source)
        printed = tapeflow.gradient(tapeflow.load(path), wrt=["x", "y"]).compiled.printed
        texts += [printed.header, re.sub(r'#include "\w+_grad.h"', "", printed.source)]
        calls.append(
            f"{{ double a[4][64]; for (int k = 0; k < 256; k++) a[k / 64][k % 64] = (k * 7919) % 1021;"
            f' double v = {name}_grad(tf, 5, 3, a[0], a[1], 1.0, a[2], a[3]); printf("{name} %a", v);'
            f' for (int k = 0; k < 256; k++) printf(" %a", a[k / 64][k % 64]); puts(""); }}'
        )
    main = "\n".join(['#include <stdio.h>\n#include "all.c"\nint main(void) {', "tf_tape *tf = tf_new();", *calls])
    (folder / "all.c").write_text("\n".join(texts))
    (folder / "main.c").write_text(f"{main}\ntf_free(tf);\nreturn 0;\n}}\n")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sums_do_not_depend_on_the_optimiser(tmp_path, compiler):
    sources(tmp_path)
    said = []
    for level in ("-O0", "-O3"):
        compiled(tmp_path, compiler, [*FLAGS, level, "main.c", "-o", f"main{level}", "-lm"])
        run = subprocess.run([tmp_path / f"main{level}"], capture_output=True, text=True, check=True)
        said.append(run.stdout.splitlines())
    plain, optimised = said
    assert len(plain) == len(LOOPS) * len(TARGETS)
    assert [line.split()[0] for line, other in zip(plain, optimised, strict=True) if line != other] == []

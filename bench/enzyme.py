"""Enzyme's own gradients of the suite's kernels beside ours: natively, and on the same modelled machine.

    python3.11 -m venv enzyme && enzyme/bin/python -m pip install enzyme-ad jax
    python -m bench.enzyme --python enzyme/bin/python --clang clang-19 [--size paper] [--machine cache-32k]

Enzyme differentiates in an environment of its own (2 GB); both gradients are then compiled by one clang with the same
flags, and must agree. On the machine both are objects with a call before each load and store (docs/model.md): the same
arrays in the same places, caches and DRAM, no arithmetic; what they allocate is their tape. Natively both allocate it
in each call, and ours is measured with its memory kept as well, as it is meant to be. Writes enzyme.json and enzyme.md.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import tapeflow
from bench.enzyme_ir import NoEnzymeError, enzyme_gradient, prototype
from bench.native import Restored
from bench.options import ALL, Kernels, Machine, Out, Repeats, Size, chosen
from bench.primal import compile_primal, to_c
from bench.results import save
from bench.suite import SUITE, Kernel
from tapeflow.backend.native import INCLUDE

NATIVE = ("-O3", "-ffp-contract=off", "-fno-math-errno")
OBJECT = ("-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fsanitize-coverage=func,trace-loads,trace-stores")

SAME = 1e-9
"""How much gradients may differ, over the largest derivative: sums are taken in different orders."""

_OURS = """
#include "{name}.c"
{head};
{head}
{{
    static tf_tape *kept;
    tf_tape *tf = {keep} && kept != NULL ? kept : tf_new();
    kept = tf;
    const double value = {name}(tf, {given});
    if (!{keep}) tf_free(tf);
    return value;
}}
"""


class Gradients:
    """The gradients of a kernel as C functions of the same arguments: its own, then a shadow for each of its `wrt`.

    Args:
        kernel: of the suite.
        python: an interpreter with `enzyme_ad`.
        clang: the command of a clang that reads LLVM IR with opaque pointers.
        folder: an empty one, for what is compiled.

    Raises:
        NoEnzymeError: Enzyme has no gradient of it, or clang does not take it.
    """

    def __init__(self, kernel: Kernel, python: Path, clang: str, folder: Path):
        self.kernel, self.clang, self.folder = kernel, clang, folder
        arguments = kernel.arguments("mini")
        self.heads = {
            tool: prototype(kernel, arguments, f"{tool}_{kernel.name}") for tool in ("enzyme", "tapeflow", "kept")
        }
        text, wrapper = enzyme_gradient(kernel, arguments, python)
        (folder / "gradient.ll").write_text(text)
        (folder / "enzyme.c").write_text(wrapper)
        printed = tapeflow.gradient(tapeflow.load(kernel.source), wrt=list(kernel.wrt)).compiled.printed
        (folder / f"{printed.name}.c").write_text(printed.source)
        (folder / f"{printed.name}.h").write_text(printed.header)
        given = ", ".join([*arguments, "1.0", *(f"{parameter}_b" for parameter in kernel.wrt)])
        for tool, keep in (("tapeflow", "false"), ("kept", "true")):
            program = _OURS.format(name=printed.name, head=self.heads[tool], given=given, keep=keep)
            (folder / f"{tool}.c").write_text(program)

    def sources(self, tool: str) -> list[str]:
        """What is compiled of one of `heads`, with its entry in the first file."""
        return ["enzyme.c", "gradient.ll"] if tool == "enzyme" else [f"{tool}.c"]

    def function(self, tool: str) -> Callable[..., float]:
        """The gradient as native code."""
        self._compile([*NATIVE, "-shared", "-fPIC", *self.sources(tool), "-o", f"{tool}.so", "-lm"])
        function = getattr(ctypes.CDLL(str(self.folder / f"{tool}.so")), f"{tool}_{self.kernel.name}")
        function.restype = ctypes.c_double
        return lambda *arguments: function(*map(to_c, arguments))

    def objects(self, tool: str) -> list[Path]:
        """The gradient as objects that tell their accesses, that of its entry first."""
        made: list[Path] = []
        for source in self.sources(tool):
            made.append(self.folder / f"{tool}-{Path(source).stem}.o")
            self._compile([*OBJECT, "-c", source, "-o", str(made[-1])])
        return made

    def _compile(self, arguments: Sequence[str]) -> None:
        command = [self.clang, "-Wno-override-module", f"-I{INCLUDE}", *arguments]
        try:
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        except OSError as error:
            raise NoEnzymeError(f"{self.clang}: {error.strerror}") from error
        except subprocess.CalledProcessError as error:
            raise NoEnzymeError(f"{self.kernel.name}: {error.stderr.strip()[-300:]}") from error


def measure(kernel: Kernel, size: str, machine: str, repeats: int, python: Path, clang: str) -> dict[str, Any]:
    """Both gradients' least times, and what they do on the machine.

    Raises:
        NoEnzymeError: as `Gradients`; or the gradients differ.
    """
    with tempfile.TemporaryDirectory(prefix="tapeflow-") as directory:
        made = Gradients(kernel, python, clang, Path(directory))
        functions = {tool: made.function(tool) for tool in made.heads}
        difference = _difference(functions, lambda: _arguments(kernel, size))
        if not difference < SAME:
            raise NoEnzymeError(f"{kernel.name}: the gradients differ by {difference:.1e}")
        primal = compile_primal(kernel, (clang,), ("-std=c99", *NATIVE))
        tasks = {"primal": Restored(primal, list(kernel.arguments(size).values()))}
        tasks |= {tool: Restored(function, _arguments(kernel, size)) for tool, function in functions.items()}
        rounds = [{tool: task.seconds() for tool, task in tasks.items()} for _ in range(repeats + 1)]
        return {
            "kernel": kernel.name,
            "difference": difference,
            "seconds": {tool: min(times[tool] for times in rounds[1:]) for tool in tasks},
            "enzyme": _on_machine(made, "enzyme", size, machine),
            "tapeflow": _on_machine(made, "tapeflow", size, machine),
        }


def _arguments(kernel: Kernel, size: str) -> list[Any]:
    """Of the gradients: fresh ones of the kernel, and shadows of zeros."""
    arguments = kernel.arguments(size)
    return [*arguments.values(), *(np.zeros_like(arguments[parameter]) for parameter in kernel.wrt)]


def _difference(functions: Mapping[str, Callable[..., float]], arguments: Callable[[], list[Any]]) -> float:
    """The largest difference of two gradients' values and derivatives, over the largest of each."""
    results: list[list[Any]] = []
    for function in functions.values():
        given = arguments()
        value = function(*given)
        results.append([np.array(value), *(array for array in given if isinstance(array, np.ndarray))])
    return max(
        float(np.max(np.abs(one - other), initial=0.0) / max(np.max(np.abs(other), initial=0.0), 1e-300))
        for result in results
        for one, other in zip(result, results[0], strict=True)
    )


def _on_machine(made: Gradients, tool: str, size: str, machine: str) -> dict[str, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tapeflow.TapeflowRemark)  # that the entry of Enzyme's has no accesses
        report = tapeflow.simulate_object(
            made.objects(tool),
            f"{tool}_{made.kernel.name}",
            _arguments(made.kernel, size),
            declaration=f"{made.heads[tool]};",
            hardware=machine,
        )
    counts = report.counters.counts
    return {
        "cycles": report.cycles,
        "dram_bytes": report.dram_bytes,
        "accesses": sum(counts[f"{owner}_{what}"] for owner in ("array", "tape") for what in ("reads", "writes")),
        "tape_accesses": counts["tape_reads"] + counts["tape_writes"],
    }


def markdown(rows: Sequence[dict[str, Any]], size: str, machine: str, clang: str) -> str:
    """Two tables: natively, and on the machine."""
    lines = [
        f"Kernels at {size} size, {clang} {' '.join(NATIVE)}; times over the primal's",
        "",
        "| kernel | Enzyme | Tapeflow, allocating in each call | Tapeflow | difference of gradients |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        times = [row["seconds"][tool] / row["seconds"]["primal"] for tool in ("enzyme", "tapeflow", "kept")]
        lines.append(f"| {row['kernel']} | {' | '.join(f'{time:.2f}' for time in times)} | {row['difference']:.0e} |")
    lines += [
        "",
        f"The same gradients on {machine}, {clang} {' '.join(OBJECT[:3])}: Enzyme's, then ours",
        "",
        "| kernel | accesses | of the tape | DRAM bytes | cycles |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        cells = [
            f"{row['enzyme'][what]:,} / {row['tapeflow'][what]:,}"
            for what in ("accesses", "tape_accesses", "dram_bytes", "cycles")
        ]
        lines.append(f"| {row['kernel']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(
    python: Annotated[Path, typer.Option(help="An interpreter with enzyme-ad and jax.")],
    clang: Annotated[str, typer.Option(help="Its command; clang 15 or newer.")] = "clang",
    size: Size = "paper",
    machine: Machine = "cache-32k",
    kernels: Kernels = ALL,
    repeats: Repeats = 21,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measurements as JSON.")] = False,
    out: Out = Path("out"),
) -> None:
    """Measure, print and save. Enzyme's wheel is put into an environment of its own.

    For example:

        python3.11 -m venv enzyme && enzyme/bin/python -m pip install enzyme-ad jax

        python -m bench.enzyme --python enzyme/bin/python --clang clang-19 --kernels jacobi,gravity
    """
    try:
        rows = [measure(SUITE[name], size, machine, repeats, python, clang) for name in chosen(kernels)]
    except NoEnzymeError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    text = markdown(rows, size, machine, clang)
    saved = save(out, "enzyme", rows, text)
    print(saved if as_json else text)


if __name__ == "__main__":
    typer.run(main)

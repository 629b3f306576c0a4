"""Checks a batch of random programs at once, in C: one compiler call a stage, one run.

For every program and size the generated driver compares, in one process under the address and undefined-behaviour
sanitizers:

- the program on dual numbers, as plain C, and as the forward sweep of its gradient after every stage: the same bits;
- the gradient after every stage against that after the first of them: the same bits, and so in a second call;
- every tangent of the forward mode against the dual numbers, and the gradient against them by the dot product: to
  1e-12 (3e-5 with single precision) of the absolute values that were added up.

Everything that is printed on the way counts too: warnings of the C compiler, tracebacks, refusals, hangs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from c_text import Writer, c_text, dual_text
from compiling import CHAINS, Gradients, Printed, compile_stages
from interpreting import SIZE, Numbers, mismatches, parse
from syntax import FLOAT, Parameter, Program
from xdsl.dialects import func

from tapeflow.backend import native
from tapeflow.backend.native import INCLUDE, find_compiler
from tapeflow.errors import TapeflowError
from tapeflow.frontend.c import import_c
from tapeflow.frontend.mlir import import_mlir
from tapeflow.loading import Kernel

HERE = Path(__file__).parent
SIZES = ((0, 0), (1, 2), (3, 0), (2, 1), (4, 3), (5, 9))
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-fno-builtin")
OPTIMIZED = 3
"""Of sixteen batches the one whose gradients are compiled as those of users are, without sanitizers."""

INTERPRETED = 5
"""Of every fourth batch, how many cases are interpreted too."""

KEPT = 1
"""Of three batches the one whose programs' functions stay calls, as recursive and large ones do: `inline-limit=0`."""

WARNINGS = ("-Wall", "-Wextra", "-Wno-tautological-compare")
SECONDS = 60.0
"""That a batch may run; more is a hang."""


@dataclass(frozen=True)
class Case:
    """A program of a batch.

    Attributes:
        name: of its C function.
        surface: that it goes through, "c" or "ir".
        program: itself.
    """

    name: str
    surface: str
    program: Program

    @property
    def text(self) -> str:
        """The source that the compiler gets."""
        if self.surface == "c":
            return c_text(self.program, self.name)
        from mlir_text import mlir_text

        return mlir_text(self.program, self.name)


@dataclass
class Outcome:
    """What was found about a batch.

    Attributes:
        failures: by the name of a case what is wrong with it, in words.
        gradients: of the cases that were compiled.
    """

    failures: dict[str, list[str]] = field(default_factory=dict)
    gradients: dict[str, Gradients] = field(default_factory=dict)

    def add(self, name: str, failure: str) -> None:
        """Note that something is wrong."""
        self.failures.setdefault(name, []).append(failure)


def check(cases: Sequence[Case], number: int = 0) -> Outcome:
    """Compile and run `cases`.

    The number of the batch chooses its C compiler, the stages that are compared, whether functions stay calls, and
    whether the IR is verified after every pass: in one batch of eight.
    """
    outcome = Outcome()
    for case in cases:
        try:
            outcome.gradients[case.name] = compile_case(case, number)
        except TapeflowError as error:
            outcome.add(case.name, f"refused: {error}")
        except Exception as problem:  # whatever the compiler raises is what is looked for
            outcome.add(case.name, f"{type(problem).__name__}: {problem}")
    with tempfile.TemporaryDirectory(prefix="tapeflow-batch-") as folder:
        while compiled := [case for case in cases if case.name in outcome.gradients]:
            refused = build(compiled, outcome.gradients, Path(folder), number)
            if not refused:
                runs = execute(compiled, Path(folder), outcome)
                if number % 4 == 2:
                    interpret(compiled[:INTERPRETED], runs, outcome)
                break
            for name, message in refused.items():
                outcome.add(name, message)
                del outcome.gradients[name]
    return outcome


def compile_case(case: Case, number: int = 0) -> Gradients:
    """The gradient of a case after the stages of batch `number`."""
    path = Path(f"{case.name}.{'c' if case.surface == 'c' else 'mlir'}")
    text = case.text
    module = import_c(text, filename=str(path), function=case.name) if case.surface == "c" else import_mlir(text)
    assert any(isinstance(op, func.FuncOp) and op.sym_name.data == case.name for op in module.ops)
    kernel, stages = Kernel(case.name, path, module), CHAINS[number % len(CHAINS)]
    return compile_stages(kernel, case.program, stages, verify=number % 8 == 7, keep_calls=number % 3 == KEPT)


def interpret(cases: Sequence[Case], runs: Mapping[str, Numbers], outcome: Outcome) -> None:
    """Hold the results of `cases` against the interpreter."""
    for case in cases:
        if case.name in runs and case.name not in outcome.failures:
            try:
                for mismatch in mismatches(case.name, case.program, outcome.gradients[case.name], runs[case.name]):
                    outcome.add(case.name, mismatch)
            except Exception as problem:  # whatever the interpreter raises is what is looked for
                outcome.add(case.name, f"interpreter: {type(problem).__name__}: {problem}")


# Building


@cache
def compilers() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The C compilers that have the sanitizers, with the flags for them; one without if none has."""
    usual = find_compiler().command
    found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for command in dict.fromkeys([("clang",), usual, ("gcc",)]):
        if shutil.which(command[0]) and links(command):
            found.append((command, SANITIZERS))
    return tuple(found) or ((usual, ()),)


def links(command: tuple[str, ...]) -> bool:
    """Whether a compiler makes programs with the sanitizers."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        line = [*command, *SANITIZERS, str(source), "-o", str(source.with_suffix(""))]
        answer = subprocess.run(line, capture_output=True, check=False)
        return answer.returncode == 0 and subprocess.run([line[-1]], capture_output=True, check=False).returncode == 0


def compiler_of(number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The compiler of a batch: mostly the first, which is the fastest; the others in turn for every fourth."""
    first, *others = compilers()
    return others[number // 8 % len(others)] if others and number % 4 == 3 else first


def build(cases: Sequence[Case], gradients: Mapping[str, Gradients], folder: Path, number: int) -> dict[str, str]:
    """Write and compile everything; what the C compiler says, by the name of the case it says it of."""
    stages = [printed.stage for printed in gradients[cases[0].name].printed]
    sources = {f"{stage}.c": grad_source(cases, gradients, k) for k, stage in enumerate(stages)}
    sources["programs.c"] = programs_source(cases)
    sources["driver.c"] = driver_source(cases, gradients, stages)
    for name, text in sources.items():
        (folder / name).write_text(text)
    compiler, sanitizers = compiler_of(number)
    command = [*compiler, *FLAGS, f"-I{HERE}", f"-I{INCLUDE}"]
    said = ""
    for name in sources:
        if name.removesuffix(".c") not in stages:
            mode: Sequence[str] = ("-w",)
        elif number % 16 == OPTIMIZED:
            mode = (*native.FLAGS, *WARNINGS)
        else:
            mode = (*sanitizers, *WARNINGS)
        answer = subprocess.run([*command, *mode, "-c", name], cwd=folder, capture_output=True, text=True, check=False)
        if answer.returncode and name in ("programs.c", "driver.c"):
            raise RuntimeError(f"{name} does not compile:\n{answer.stderr}")
        said += answer.stderr
    complaints = complaints_by_case(said)
    if not complaints:
        objects = [name.replace(".c", ".o") for name in sources]
        subprocess.run([*command, *sanitizers, "-o", "driver", *objects, "-lm"], cwd=folder, check=True)
    return complaints


def complaints_by_case(said: str) -> dict[str, str]:
    """The first warning or error about each case; `#line` gives every gradient a file name of its own."""
    complaints: dict[str, str] = {}
    for found in re.finditer(r"^(\w+)_grad_(\w+)\.c:\d+:\d+: (?:warning|error): .*$", said, re.MULTILINE):
        complaints.setdefault(found[1], found[0])
    if said.strip() and not complaints:
        raise RuntimeError(f"the C compiler says:\n{said}")
    return complaints


def renamed(text: str, name: str, stage: str) -> str:
    """A gradient's text with a name of its own for each stage."""
    text = re.sub(rf"\b{name}_(?:grad|jvp)\b", f"{name}_grad_{stage}", text)
    return re.sub(rf"\b{name.upper()}_(?:GRAD|JVP)_H\b", f"{name.upper()}_GRAD_{stage.upper()}_H", text)


def grad_source(cases: Iterable[Case], gradients: Mapping[str, Gradients], k: int) -> str:
    """The gradients of all cases after stage `k`, one behind the other."""
    parts: list[str] = []
    for case in cases:
        printed: Printed = gradients[case.name].printed[k]
        body = re.sub(r'#include ".*\.h"\n', "", printed.source, count=1)
        parts.append(f'#line 1 "{case.name}_grad_{printed.stage}.h"')
        parts.append(renamed(printed.header, case.name, printed.stage))
        parts.append(f'#line 1 "{case.name}_grad_{printed.stage}.c"')
        parts.append(renamed(body, case.name, printed.stage))
    return "\n".join(parts)


def programs_source(cases: Iterable[Case]) -> str:
    """All programs, as plain C and on dual numbers."""
    parts = ['#include "dual.h"', ""]
    for case in cases:
        parts.append(Writer(prefix=f"{case.name}_").program(case.program, case.name))
        parts.append(dual_text(case.program, f"{case.name}_dual"))
    return "\n".join(parts)


def driver_source(cases: Sequence[Case], gradients: Mapping[str, Gradients], stages: Sequence[str]) -> str:
    """A main program that checks the cases from a given one on."""
    lines = ['#include "driver.h"', ""]
    for case in cases:
        lines += [renamed(p.header, case.name, p.stage) for p in gradients[case.name].printed]
        lines += case_check(case, gradients[case.name], stages)
    calls = ", ".join(f"check_{case.name}" for case in cases)
    names = ", ".join(f'"{case.name}"' for case in cases)
    sizes = ", ".join(f"{{{n}, {m}}}" for n, m in SIZES)
    return "\n".join(
        [
            *lines,
            f"static void (*const checks[])(int, int) = {{{calls}}};",
            f"static const char *const names[] = {{{names}}};",
            f"static const int sizes[][2] = {{{sizes}}};",
            "int main(int argc, char **argv)",
            "{",
            "    for (int k = argc > 1 ? atoi(argv[1]) : 0; k < (int)(sizeof checks / sizeof *checks); k++) {",
            "        program_name = names[k];",
            '        printf("AT %d\\n", k);',
            "        fflush(stdout);",
            "        for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {",
            "            program_n = sizes[s][0], program_m = sizes[s][1];",
            "            draw_state = (uint64_t)(k * 100 + s + 1) * 0x2545f4914f6cdd1du;",
            "            checks[k](program_n, program_m);",
            "            fflush(stdout);",
            "        }",
            "    }",
            '    printf("DONE\\n");',
            "    return 0;",
            "}",
            "",
        ]
    )


def case_check(case: Case, gradients: Gradients, stages: Sequence[str]) -> list[str]:
    """The driver's function for one case."""
    program, name = case.program, case.name
    floats = [p for p in program.parameters if p.type != "int"]
    index = {p.name: k for k, p in enumerate(floats)}
    count = len(floats)
    single = FLOAT in str(program)
    inputs: list[str] = []
    for p in floats:
        extent = " * ".join(f"(ptrdiff_t){extent}" for extent in p.extents) or "1"
        flags = f"{int(p.type == FLOAT)}, {int(p.name in program.wrt)}, {int(not p.extents)}"
        inputs.append(f'        {{"{p.name}", {flags}, {extent}, NULL, NULL, NULL, NULL}},')
    gathers = [p for p in program.parameters if p.type == "int" and p.extents]

    def arguments(array: str, scalar: str) -> str:
        listed: list[str] = []
        for p in program.parameters:
            if p.type == "int":
                listed.append(p.name)
            elif p.extents:
                listed.append(array.format(k=index[p.name]))
            else:
                listed.append(scalar.format(k=index[p.name], type=p.type))
        return ", ".join(listed)

    plain = arguments("r.arrays[{k}]", "*({type} *)r.arrays[{k}]")
    shadows = [f"r.shadows[{index[array]}]" for array in gradients.active]
    shadows += [f"r.shadows[{index[p.name]}]" for p in floats if not p.extents and p.name in program.wrt]
    calls = ", ".join(["tf", plain, "seed", *shadows])
    lines = [
        f"{Writer().signature(name, program.parameters)};",
        f"{Writer(dual=True).signature(f'{name}_dual', program.parameters)};",
        f"static void check_{name}(int n, int m)",
        "{",
        "    input in[] = {",
        *inputs,
        "    };",
        *(f"    int *{p.name} = draw_integers({p.extents[0]});" for p in gathers),
        f"    draw_inputs(in, {count});",
        "    const double seed = draw(0);",
        f"    const dual value = {name}_dual({arguments('in[{k}].duals', 'in[{k}].duals[0]')});",
        f"    run r = begin_run(in, {count});",
        f"    r.value = {name}({plain});",
        f'    compare_values("program", in, {count}, &r, value);',
        f"    end_run(&r, {count});",
        "    run reference;",
    ]
    tolerance = "3e-5" if single else "1e-12"
    lines += forward_check(name, floats, set(gradients.active) | set(program.wrt), plain, tolerance)
    reverse_stages = [stage for stage in stages if stage != "jvp"]
    for k, stage in enumerate(reverse_stages):
        for again in (False, True):
            label = f"{stage}, called again" if again else stage
            if not again:
                lines += ["    {", "    tf_tape *tf = tf_new();"]
            lines += [
                f"    r = begin_run(in, {count});",
                f"    r.value = {name}_grad_{stage}({calls});",
                f'    if (tf->error) FAIL("{label}", "%s", tf->error);',
                f'    compare_values("{label}", in, {count}, &r, value);',
            ]
            if k == 0 and not again:
                lines.append(f'    compare_products("{label}", in, {count}, &r, value, seed, {tolerance});')
                lines.append("    reference = r;")
                lines.append(f"    if (program_n == {SIZE[0]} && program_m == {SIZE[1]}) {{")
                lines.append(f"        print_run(in, {count}, &r, seed);")
                lines += [f'        print_integers("{p.name}", {p.name}, {p.extents[0]});' for p in gathers]
                lines.append("    }")
                continue
            lines.append(f'    compare_runs("{label}", "{reverse_stages[0]}", in, {count}, &r, &reference);')
            lines.append(f"    end_run(&r, {count});")
        lines += ["    tf_free(tf);", "    }"]
    lines += [f"    end_run(&reference, {count});", f"    free_inputs(in, {count});"]
    return [*lines, *(f"    free({p.name});" for p in gathers), "}", ""]


def forward_check(
    name: str, floats: Sequence[Parameter], active_names: set[str], plain: str, tolerance: str
) -> list[str]:
    """The driver's lines for the forward mode: its tangents against those of the dual numbers, one by one."""
    active = [(k, p) for k, p in enumerate(floats) if p.name in active_names]
    tangents = [f"*({p.type} *)r.shadows[{k}]" for k, p in active if not p.extents]
    tangents += [f"r.shadows[{k}]" for k, p in active if p.extents]
    return [
        "    {",
        "    tf_tape *tf = tf_new();",
        f"    r = begin_forward_run(in, {len(floats)});",
        "    double tangent;",
        f"    r.value = {name}_grad_jvp({', '.join(['tf', plain, *tangents, '&tangent'])});",
        f'    compare_values("jvp", in, {len(floats)}, &r, value);',
        f'    compare_tangents("jvp", in, {len(floats)}, &r, value, tangent, {tolerance});',
        f"    end_run(&r, {len(floats)});",
        "    tf_free(tf);",
        "    }",
    ]


# Running


def execute(cases: Sequence[Case], folder: Path, outcome: Outcome) -> dict[str, Numbers]:
    """Run the driver; behind a case that crashes or hangs it is started again. The runs for the interpreter."""
    start, runs = 0, dict[str, Numbers]()
    while start < len(cases):
        try:
            answer = subprocess.run(
                ["./driver", str(start)], cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
            )
            text, trouble = answer.stdout, answer.stderr
        except subprocess.TimeoutExpired as stopped:
            text = stopped.stdout.decode() if isinstance(stopped.stdout, bytes) else ""
            trouble = f"runs longer than {SECONDS:.0f} s"
        runs |= parse(text)
        last = start
        for line in text.splitlines():
            if line.startswith("AT "):
                last = int(line[3:])
            elif line.startswith("FAIL "):
                _, name, message = line.split(" ", 2)
                outcome.add(name, message)
        if text.endswith("DONE\n"):
            if trouble:
                raise RuntimeError(f"the driver says:\n{trouble}")
            break
        outcome.add(cases[last].name, crash(trouble))
        start = last + 1
    return runs


def crash(trouble: str) -> str:
    """The telling lines of a sanitizer's report."""
    telling = [
        line for line in trouble.splitlines() if "ERROR" in line or "runtime error" in line or "runs longer" in line
    ]
    return "; ".join(telling[:2]) or f"crashed: {trouble.strip()[:300]}"

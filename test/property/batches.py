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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from c_text import Writer, c_text, dual_text
from compiling import CHAINS, Gradients, compile_stages
from interpreting import SIZE, Numbers, mismatches, parse
from syntax import DOUBLE, FLOAT, Parameter, Program
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
    stages = list(dict.fromkeys(printed.stage for case in cases for printed in gradients[case.name].printed))
    sources = {f"{stage}.c": grad_source(cases, gradients, stage) for stage in stages}
    sources["programs.c"] = programs_source(cases)
    sources["driver.c"] = driver_source(cases, gradients)
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
    text = re.sub(rf"\b{name}_(?:grad|jvp)s?\b", f"{name}_grad_{stage}", text)
    return re.sub(rf"\b{name.upper()}_(?:GRAD|JVP)S?_H\b", f"{name.upper()}_GRAD_{stage.upper()}_H", text)


def grad_source(cases: Iterable[Case], gradients: Mapping[str, Gradients], stage: str) -> str:
    """The gradients of all cases after a stage, one behind the other."""
    parts: list[str] = []
    for case, printed in ((c, it) for c in cases for it in gradients[c.name].printed if it.stage == stage):
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


def driver_source(cases: Sequence[Case], gradients: Mapping[str, Gradients]) -> str:
    """A main program that checks the cases from a given one on."""
    lines = ['#include "driver.h"', ""]
    for case in cases:
        lines += Writer(prefix=f"{case.name}_").structs(case.program)
        lines += Writer(dual=True, prefix=f"{case.name}_dual_").structs(case.program)
        lines += [renamed(p.header, case.name, p.stage) for p in gradients[case.name].printed]
        lines += case_check(case, gradients[case.name])
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


def case_check(case: Case, gradients: Gradients) -> list[str]:
    """The driver's function for one case."""
    program, name = case.program, case.name
    floats = [p for p in program.parameters if p.type != "int"]
    index = {p.name: k for k, p in enumerate(floats)}
    count = len(floats)
    single = FLOAT in str(program)
    inputs: list[str] = []
    for p in floats:
        kinds = program.numbers(p.type)
        extents = [f"(ptrdiff_t){extent}" for extent in p.extents if extent != "*"]
        extent = " * ".join([*extents, *([str(len(kinds))] if is_struct(p) else [])]) or "1"
        flags = f"{int(kinds[0] == FLOAT)}, {int(p.name in program.wrt)}, {int(not is_memory(p))}"
        flags += f", {int(p.name in gradients.left_out)}"
        inputs.append(f'        {{"{p.name}", {flags}, {extent}, NULL, NULL, NULL, NULL}},')
    gathers = [p for p in program.parameters if p.type == "int" and p.extents]
    plain = arguments(program, index, "({type} *)r.arrays[{k}]", Writer(prefix=f"{name}_"))
    seen = arguments(program, index, "({type} *)r.arrays[{k}]")
    header = next(p.header for p in gradients.printed if p.stage in gradients.modules)
    counted = [p.name for p in floats if f"ptrdiff_t {p.name}_extent0" in header]
    taken = arguments(program, index, "({type} *)r.arrays[{k}]", counted=counted)
    dual = arguments(program, index, "({type} *)in[{k}].duals", Writer(dual=True, prefix=f"{name}_dual_"))
    shadows = [f"r.shadows[{index[array]}]" for array in gradients.shadows]
    shadows += [f"r.shadows[{index[p.name]}]" for p in floats if not is_memory(p) and p.name in program.wrt]
    calls = ", ".join(["tf", taken, "{seed}", *shadows])
    tolerance = "3e-5" if single else "1e-12"
    lines = [
        f"{Writer(prefix=f'{name}_').signature(name, program.parameters)};",
        f"{Writer(dual=True, prefix=f'{name}_dual_').signature(f'{name}_dual', program.parameters)};",
        f"static void check_{name}(int n, int m)",
        "{",
        "    input in[] = {",
        *inputs,
        "    };",
        *(f"    int *{p.name} = draw_integers({p.extents[0]});" for p in gathers),
        f"    draw_inputs(in, {count});",
        "    const double seed = draw(0);",
        f"    const dual value = {name}_dual({dual});",
        f"    run r = begin_run(in, {count});",
        f"    r.value = {name}({plain});",
        f'    compare_values("program", in, {count}, &r, value);',
        f"    end_run(&r, {count});",
        "    run reference;",
    ]
    active = [p for p in floats if p.name in {*gradients.active, *program.wrt}]
    tangents = [f"*({p.type} *)r.shadows[{index[p.name]}]" for p in active if not is_memory(p)]
    tangents += [f"r.shadows[{index[p.name]}]" for p in active if is_memory(p)]
    forward_call = f"{name}_grad_jvp({', '.join(['tf', seen, *tangents, '&tangent'])})"
    lines += forward_check(forward_call, count, tolerance)
    stages = [printed.stage for printed in gradients.printed if printed.stage not in ("jvp", "jvps", "batch")]
    for k, stage in enumerate(stages):
        for again in (False, True):
            label = f"{stage}, called again" if again else stage
            if not again:
                lines += ["    {", "    tf_tape *tf = tf_new();"]
            lines += [
                f"    r = begin_run(in, {count});",
                f"    r.value = {name}_grad_{stage}({calls.format(seed='seed')});",
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
            lines.append(f'    compare_runs("{label}", "{stages[0]}", in, {count}, &r, &reference);')
            lines.append(f"    end_run(&r, {count});")
        lines += ["    tf_free(tf);", "    }"]
    if program.members:
        several = [f"b.shadows[{index[p.name]}]" for p in active if not is_memory(p)]
        several += [f"b.shadows[{index[p.name]}]" for p in active if is_memory(p)]
        forward_calls = (forward_call, f"{name}_grad_jvps({', '.join(['tf', on_batch(seen), *several, 'tangents'])})")
        reverse_calls = (
            f"{name}_grad_{stages[-1]}({calls.format(seed='seeds[member]')})",
            f"{name}_grad_batch({on_batch(calls.format(seed='seeds'))})",
        )
        lines += batch_check(count, program.members, forward_calls, reverse_calls)
    lines += [f"    end_run(&reference, {count});", f"    free_inputs(in, {count});"]
    return [*lines, *(f"    free({p.name});" for p in gathers), "}", ""]


def is_struct(p: Parameter) -> bool:
    """Whether a parameter is of a type of structs."""
    return p.type not in (DOUBLE, FLOAT, "int")


def is_memory(p: Parameter) -> bool:
    """Whether gradients take a parameter as an array: structs are arrays of numbers."""
    return bool(p.extents) or is_struct(p)


def arguments(
    program: Program,
    index: Mapping[str, int],
    place: str,
    writer: Writer | None = None,
    counted: Collection[str] = (),
) -> str:
    """A call's arguments, of a function that `writer` wrote, or else of a gradient, which sees structs as numbers.

    Args:
        program: says which.
        index: of each float parameter among the driver's inputs.
        place: where its numbers are, with its type and that index.
        writer: of the program; none for gradients.
        counted: the arrays of which a gradient is told the extent too, for it makes a shadow of its own.
    """
    listed: list[str] = []
    for p in program.parameters:
        if p.type == "int":
            listed.append(p.name)
            continue
        written = (writer or Writer()).type(p.type if writer or not is_struct(p) else program.numbers(p.type)[0])
        text = place.format(type=written, k=index[p.name])
        by_value = not p.extents if writer else not is_memory(p)
        # A pointer to void is one to arrays of any extents.
        listed.append(f"*{text}" if by_value else f"(void *){text}")
        if p.name in counted:
            listed.append("1" if p.extents == ("*",) else f"(ptrdiff_t){p.extents[0]}")
    return ", ".join(listed)


def on_batch(arguments: str) -> str:
    """The arguments of a call for several derivatives: those of a call for one, but from the run `b`."""
    return arguments.replace("r.arrays", "b.arrays").replace("r.shadows", "b.shadows")


def forward_check(call: str, count: int, tolerance: str) -> list[str]:
    """The driver's lines for the forward mode: its tangents against those of the dual numbers, one by one."""
    return [
        "    {",
        "    tf_tape *tf = tf_new();",
        f"    r = begin_forward_run(in, {count});",
        "    double tangent;",
        f"    r.value = {call};",
        f'    compare_values("jvp", in, {count}, &r, value);',
        f'    compare_tangents("jvp", in, {count}, &r, value, tangent, {tolerance});',
        f"    end_run(&r, {count});",
        "    tf_free(tf);",
        "    }",
    ]


def batch_check(count: int, members: int, forward: tuple[str, str], reverse: tuple[str, str]) -> list[str]:
    """The driver's lines for several derivatives at once: each is bit for bit what a call for it alone gives.

    Args:
        count: of inputs.
        members: how many derivatives.
        forward: the call of the forward mode for one, and for all.
        reverse: the same of the gradient.
    """
    lines = [
        "    {",
        "    tf_tape *tf = tf_new();",
        f"    double seeds[{members}], tangents[{members}], tangent = 0.0;",
        f"    for (int k = 0; k < {members}; k++) seeds[k] = draw(0);",
    ]
    for stage, (one, all_) in (("jvps", forward), ("batch", reverse)):
        lines += [
            "    {",
            f"    run b = begin_batch_run(in, {count}, {members});",
            f"    b.value = {all_};",
            f'    if (tf->error) FAIL("{stage}", "%s", tf->error);',
            f'    compare_values("{stage}", in, {count}, &b, value);',
            f"    for (int member = 0; member < {members}; member++) {{",
            f"        r = begin_member_run(in, {count}, &b, {members}, member);",
            f"        r.value = {one};",
            f'        compare_member("{stage}", in, {count}, &r, &b, {members}, member);',
            *(
                [f'        if (!same(tangent, tangents[member])) FAIL("{stage}", "tangent of member %d", member);']
                if stage == "jvps"
                else []
            ),
            f"        end_run(&r, {count});",
            "    }",
            f"    end_batch_run(&b, {count});",
            "    }",
        ]
    return [*lines, "    tf_free(tf);", "    }"]


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

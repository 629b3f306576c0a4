"""`tapeflow`: gradients of C kernels, their checks and their simulation, on the command line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from tapeflow import cli_hardware
from tapeflow.analysis.call_graph import INLINE_LIMIT, UNLIMITED
from tapeflow.cli_json import Json, print_json
from tapeflow.errors import TapeflowError, TapeflowRemark
from tapeflow.loading import Kernel, load
from tapeflow.options import STAGES, Options
from tapeflow.random_arguments import complete_arguments, parse_assignment, read_archive

if TYPE_CHECKING:
    from tapeflow.arguments import Parameter
    from tapeflow.hardware import Report

INPUT_ERROR, USAGE_ERROR = 1, 2

app = typer.Typer(
    name="tapeflow",
    help="Gradients of loop code, with a say in where the gradient tape lives.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

app.add_typer(cli_hardware.app)

KernelFile = Annotated[Path, typer.Argument(help="C (.c) or MLIR (.mlir) source.", show_default=False)]
Function = Annotated[str | None, typer.Option(help="The function to differentiate; needed if there are several.")]
Link = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file that defines what the kernel's only declares: a C source, an object or an archive; repeat it.",
        exists=True,
        dir_okay=False,
    ),
]
Wrt = Annotated[
    list[str], typer.Option(help="What to differentiate with respect to; repeat it, or separate by commas.")
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        help="What to differentiate: arrays that the kernel writes, and 'return'; repeat it, or separate by commas.  "
        "[default: all of them]"
    ),
]
InlineLimit = Annotated[
    int,
    typer.Option(
        min=UNLIMITED, help="The most operations of a function that is inlined where it is called; -1: no limit."
    ),
]
Recompute = Annotated[
    str,
    typer.Option(
        help="What is computed again, not taped. balanced: where it costs less. all: all that saves tape. "
        "cheap: of that all but divisions, roots and functions."
    ),
]
Layout = Annotated[str, typer.Option(help="soa: an array a taped value. aos: records side by side.")]
SpadBytes = Annotated[int, typer.Option(min=0, help="Send records through a scratchpad of this size; 0: none.")]
Buffers = Annotated[int, typer.Option(min=1, help="Tiles of each region in the scratchpad, in rotation.")]
Stream = Annotated[bool, typer.Option("--stream", help="Overlap transfers with computation.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The C file to write.  [default: its function's name]"),
]
SingleFile = Annotated[bool, typer.Option("--single-file", help="Put the headers into the C file.")]
Batch = Annotated[
    int | None,
    typer.Option(min=1, help="So many derivatives at once, for one run of the kernel.  [default: one alone]"),
]
ArgumentValues = Annotated[
    list[str] | None,
    typer.Option(
        "--arg", help="A number for a parameter, or the length of an array without one: n=100.", metavar="NAME=NUMBER"
    ),
]
ArgumentFile = Annotated[
    Path | None,
    typer.Option("--args", help="Arrays and numbers by parameter name, an .npz file.", exists=True, dir_okay=False),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the generator of random arguments.")]
Interval = Annotated[
    tuple[float, float],
    typer.Option("--range", help="Random arguments are drawn from here, uniformly.", metavar="LOW HIGH"),
]


@app.command()
def grad(
    kernel: KernelFile,
    wrt: Wrt,
    outputs: Outputs = None,
    function: Function = None,
    output: Output = None,
    batch: Batch = None,
    single_file: SingleFile = False,
    emit_stage: Annotated[
        str | None, typer.Option(help=f"Print the IR after a stage instead of writing C: {', '.join(STAGES)}.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say why each array and loop is active, and what is taped, instead of writing C."
        ),
    ] = False,
    inline_limit: InlineLimit = INLINE_LIMIT,
    recompute: Recompute = "balanced",
    layout: Layout = "soa",
    spad_bytes: SpadBytes = 0,
    buffers: Buffers = 2,
    stream: Stream = False,
    as_json: Json = False,
) -> None:
    """Write the gradient of a kernel as C99, with its header and runtime beside it.

    For example:

        tapeflow grad logsum.c --wrt x -o logsum_grad.c

        tapeflow grad kernel.c --function f --wrt A,w --layout aos --spad-bytes 1024 --stream --single-file

        tapeflow grad kernel.c --function f --wrt A --emit-stage regions

        tapeflow grad kernel.c --function f --wrt A --explain

        tapeflow grad kernel.c --function f --wrt A --batch 8

        tapeflow grad kernel.c --function f --wrt A --outputs y,return

    The result builds with `cc -std=c99 -c logsum_grad.c` and links with `-lm`.
    """
    from tapeflow.api import gradient
    from tapeflow.c_files import gradient_files
    from tapeflow.files import write_together

    options = _options(inline_limit, recompute, layout, spad_bytes, buffers, stream)
    if emit_stage is not None and emit_stage not in options.stages:
        stages = ", ".join(options.stages)
        raise typer.BadParameter(f"--emit-stage: these options have the stages {stages}; '{emit_stage}' is none")
    made = gradient(load(kernel, function), wrt=_names(wrt), options=options, batch=batch, outputs=_outputs(outputs))
    if emit_stage is not None:
        text = made.ir(emit_stage)
        if output is None:
            sys.stdout.write(text)
        else:
            write_together({output: text})
        return
    if explain:
        explanation = made.explain()
        if as_json:
            print_json(explanation.as_dict())
        else:
            print(explanation)
        return
    files = gradient_files(made, output or Path(f"{made.name}.c"), single_file=single_file)
    write_together(files)
    report = made.tape_report()
    if as_json:
        print_json({"gradient": made.name, "files": [str(path) for path in files], "tape": report.as_dict()})
    else:
        print(f"wrote {', '.join(str(path) for path in files)}")
        print(report)


@app.command()
def jvp(
    kernel: KernelFile,
    wrt: Wrt,
    function: Function = None,
    output: Output = None,
    batch: Batch = None,
    single_file: SingleFile = False,
    inline_limit: InlineLimit = INLINE_LIMIT,
    as_json: Json = False,
) -> None:
    """Write forward mode, the derivative of a kernel along a direction, as C99; it needs no tape.

    For example:

        tapeflow jvp logsum.c --wrt x -o logsum_jvp.c

        tapeflow jvp kernel.c --function f --wrt A,w --single-file --batch 8

    The function takes a tangent for each argument in --wrt, after the arguments; the header says which.
    """
    from tapeflow.c_files import gradient_files
    from tapeflow.files import write_together
    from tapeflow.tangents import jvp as forward_mode

    made = forward_mode(
        load(kernel, function), wrt=_names(wrt), options=Options(inline_limit=inline_limit), batch=batch
    )
    files = gradient_files(made, output or Path(f"{made.name}.c"), single_file=single_file)
    write_together(files)
    if as_json:
        print_json({"jvp": made.name, "files": [str(path) for path in files]})
    else:
        print(f"wrote {', '.join(str(path) for path in files)}")


@app.command()
def check(
    kernel: KernelFile,
    wrt: Wrt,
    outputs: Outputs = None,
    function: Function = None,
    arg: ArgumentValues = None,
    args: ArgumentFile = None,
    seed: Seed = 0,
    interval: Interval = (-1.0, 1.0),
    batch: Batch = None,
    directions: Annotated[int, typer.Option(min=1, help="Random directions for each argument.")] = 2,
    link: Link = None,
    inline_limit: InlineLimit = INLINE_LIMIT,
    recompute: Recompute = "balanced",
    layout: Layout = "soa",
    spad_bytes: SpadBytes = 0,
    buffers: Buffers = 2,
    stream: Stream = False,
    as_json: Json = False,
) -> None:
    """Compare gradient and forward mode with central differences, and with one another: the dot product.

    For example:

        tapeflow check logsum.c --wrt x --arg n=1000

        tapeflow check kernel.c --function f --wrt A,w --args inputs.npz

        tapeflow check kernel.c --function f --wrt A --args inputs.npz --batch 4

        tapeflow check kernel.c --function f --wrt A --link declared_in_kernel.c

    Exits with 1 if they disagree.
    """
    from tapeflow.api import gradient
    from tapeflow.gradient_check import check as check_gradient

    options = _options(inline_limit, recompute, layout, spad_bytes, buffers, stream)
    loaded = load(kernel, function, link=link or ())
    made = gradient(loaded, wrt=_names(wrt), options=options, batch=batch, outputs=_outputs(outputs))
    arguments = _arguments(made.parameters, arg, args, seed, interval)
    with _working("comparing with central differences"):
        report = check_gradient(made, arguments, seed=seed, directions=directions)
    if as_json:
        print_json({"gradient": made.name} | report.as_dict())
    else:
        print(report)
    if not report.passed:
        raise typer.Exit(INPUT_ERROR)


@app.command()
def simulate(
    hardware: Annotated[str, typer.Option(help="A preset, or a YAML file of one.")],
    kernel: Annotated[
        Path | None, typer.Argument(help="C (.c) or MLIR (.mlir) source; may be left out with --object.")
    ] = None,
    wrt: Annotated[
        list[str] | None, typer.Option(help="What to differentiate with respect to; repeat it, or separate by commas.")
    ] = None,
    outputs: Outputs = None,
    function: Function = None,
    against: Annotated[str | None, typer.Option(help="Another one to compare with.")] = None,
    objects: Annotated[
        list[Path] | None,
        typer.Option(
            "--object",
            help="An object file that clang compiled with -fsanitize-coverage=func,trace-loads,trace-stores: run it, "
            "alone or to compare with the gradient. Repeat it for what it needs; the first has --entry.",
        ),
    ] = None,
    entry: Annotated[str | None, typer.Option(help="The function of the object to call.")] = None,
    source: Annotated[
        Path | None, typer.Option(help="A C header or source that declares --entry.  [default: the kernel's source]")
    ] = None,
    interval: Annotated[
        int | None, typer.Option(min=1, help="Cycles between accesses of the object; else as many a cycle as ports.")
    ] = None,
    slack: Annotated[
        int | None, typer.Option(min=0, help="Cycles from a hit to the use of a value in the object; else 0.")
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(help="Write what happens when: a trace for ui.perfetto.dev (.json), or a picture (.png)."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with numbers, pictures and machines to this folder.")
    ] = None,
    inline_limit: InlineLimit = INLINE_LIMIT,
    arg: ArgumentValues = None,
    args: ArgumentFile = None,
    seed: Seed = 0,
    drawn: Interval = (-1.0, 1.0),
    as_json: Json = False,
) -> None:
    """Run a gradient, or any native object, on a modelled machine: cycles, traffic, on-chip memory and energy.

    The tape is treated as the machine asks for: streamed through its scratchpad where it has one, else in its cache.

    For example:

        tapeflow simulate logsum.c --wrt x --arg n=10000 --hardware stream-1k --against cache-32k

        tapeflow simulate logsum.c --wrt x --arg n=10000 --hardware stream-1k --timeline run.json --report out/

        tapeflow simulate --object f.o --entry f_grad --source f_grad.h --arg n=10000 --hardware cache-32k

        tapeflow simulate f.c --wrt x --arg n=100 --hardware stream-1k --against cache-2k --object f.o --entry f_grad

    With a kernel and an object, the object runs on the machine that is compared with.
    """
    from tapeflow.cli_pictures import check_places, report_files, timeline_file
    from tapeflow.files import write_together
    from tapeflow.hardware import Comparison

    check_places(timeline, report)
    _check_what_is_simulated(kernel, wrt, objects, entry, source)
    about_object = {"entry": entry, "source": source, "interval": interval, "slack": slack}
    _refuse_without(objects, "an object: give --object", **about_object)
    _refuse_without(kernel, "a kernel: give its source", wrt=wrt, outputs=outputs, function=function)
    recorded = {"timeline": timeline is not None or report is not None, "reuse": report is not None}
    issue = {"interval": interval, "slack": slack or 0}
    reports: list[Report] = []
    # The machine that is compared with comes first, as the table's ratios are of the last one over the others.
    if objects:
        names = [against or hardware] if kernel else [name for name in (against, hardware) if name]
        given = (arg, args, seed, drawn)
        reports += _simulate_object(objects, entry or "", source or kernel or Path(), names, given, issue | recorded)
    if kernel is not None:
        names = [hardware] if against is None or objects else [against, hardware]
        given = (arg, args, seed, drawn)
        about = (_names(wrt or []), _outputs(outputs))
        reports += _simulate_kernel(load(kernel, function), about, names, inline_limit, given, recorded)
    files = {} if timeline is None else timeline_file(reports[-1], timeline)
    if report is not None:
        files |= report_files(reports, report)
    write_together(files)
    if as_json:
        print_json(Comparison(tuple(reports)).as_dict())
    else:
        Console().print(Comparison(tuple(reports)) if len(reports) > 1 else reports[0])


_Given = tuple[list[str] | None, Path | None, int, tuple[float, float]]


def _check_what_is_simulated(
    kernel: Path | None,
    wrt: list[str] | None,
    objects: list[Path] | None,
    entry: str | None,
    source: Path | None,
) -> None:
    if kernel is None and not objects:
        raise typer.BadParameter("give a kernel's source, or --object")
    if kernel is not None and not wrt:
        raise typer.BadParameter("--wrt: say what to differentiate the kernel with respect to")
    if objects and entry is None:
        raise typer.BadParameter("--entry: say which function of the object to call")
    if objects and kernel is None and source is None:
        raise typer.BadParameter("--source: give a C header or source that declares the entry")


def _refuse_without(subject: object, need: str, **options: object) -> None:
    """Refuse options that would be ignored, as they are about a `subject` that was not given."""
    for option, value in options.items():
        if value is not None and not subject:
            raise typer.BadParameter(f"--{option} is about {need}")


def _simulate_kernel(
    kernel: Kernel,
    about: tuple[list[str], list[str] | None],
    names: list[str],
    inline_limit: int,
    given: _Given,
    recorded: dict[str, bool],
) -> list[Report]:
    """Simulate the gradient of `kernel` that is `about` arguments and outputs on the machines called `names`."""
    import numpy as np

    from tapeflow.api import gradient
    from tapeflow.gradient_check import random_cotangents
    from tapeflow.simulation import machine, options_for
    from tapeflow.simulation import simulate as simulate_gradient

    reports: list[Report] = []
    # Every machine is found before the first one runs.
    for chosen in [machine(name) for name in names]:
        options = options_for(chosen).model_copy(update={"inline_limit": inline_limit})
        made = gradient(kernel, wrt=about[0], options=options, outputs=about[1])
        arguments = _arguments(made.parameters, *given)
        drawn = None if made.return_is_output else random_cotangents(made, arguments, np.random.default_rng(given[2]))
        with _working(f"running {made.name} on {chosen.name}"):
            reports.append(simulate_gradient(made, arguments, hardware=chosen, seeds=drawn, **recorded))
    return reports


def _simulate_object(
    objects: list[Path], entry: str, source: Path, names: list[str], given: _Given, issue: dict[str, Any]
) -> list[Report]:
    from tapeflow.object_simulation import NativeObject, object_report
    from tapeflow.simulation import machine

    native = NativeObject(objects, entry, source)
    arguments = _arguments(native.parameters, *given)
    reports: list[Report] = []
    for chosen in [machine(name) for name in names]:
        with _working(f"running {entry} on {chosen.name}"):
            reports.append(object_report(native, native.run(arguments, hardware=chosen, **issue), chosen))
    return reports


def main() -> None:
    """Run `tapeflow` on `sys.argv`: exits with 1 for an input that is refused, with 2 for wrong usage."""
    warnings.simplefilter("always", TapeflowRemark)
    warnings.showwarning = _show_warning
    try:
        app()
    except TapeflowError as error:
        print(error, file=sys.stderr)
        sys.exit(INPUT_ERROR)
    except (OSError, MemoryError, RecursionError) as error:
        print(f"error: {str(error) or 'out of memory'}", file=sys.stderr)
        sys.exit(INPUT_ERROR)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a remark as it is: the place in it is the user's, the one that Python would add is ours."""
    text = str(message) if issubclass(category, TapeflowRemark) else f"warning: {message}"
    print(text, file=sys.stderr)


def _options(inline_limit: int, recompute: str, layout: str, spad_bytes: int, buffers: int, stream: bool) -> Options:
    tape = {"recompute": recompute, "layout": layout, "spad_bytes": spad_bytes, "buffers": buffers, "stream": stream}
    try:
        return Options.model_validate({"inline_limit": inline_limit, **tape})
    except ValidationError as error:
        first = error.errors()[0]
        field = "".join(f"--{str(part).replace('_', '-')}: " for part in first["loc"])
        raise typer.BadParameter(field + first["msg"].removeprefix("Value error, ")) from None


def _names(wrt: list[str]) -> list[str]:
    """`A,w` and repeated options alike."""
    return [name.strip() for names in wrt for name in names.split(",") if name.strip()]


def _outputs(outputs: list[str] | None) -> list[str] | None:
    return None if outputs is None else _names(outputs)


def _arguments(
    parameters: Sequence[Parameter],
    numbers: list[str] | None,
    archive: Path | None,
    seed: int,
    interval: tuple[float, float],
) -> list[Any]:
    given = read_archive(archive) if archive is not None else {}
    for text in numbers or []:
        try:
            name, number = parse_assignment(text)
        except ValueError as error:
            raise typer.BadParameter(f"--arg: {error}") from None
        given[name] = number
    if not interval[0] <= interval[1]:
        raise typer.BadParameter(f"--range: {interval[0]:g} is above {interval[1]:g}")
    return complete_arguments(parameters, given, seed=seed, interval=interval)


@contextmanager
def _working(what: str) -> Generator[None]:
    """Show that something is going on, on a terminal."""
    with Console(stderr=True).status(Text(what)):
        yield

"""One random program through the compiler: its gradient after every stage, as C.

The stages are run one after another on one module, and the C is printed after each, so the common prefix of all
pipelines is compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from syntax import Program
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tapeflow.analysis.roots import written_arguments
from tapeflow.backend.c_printer import print_c
from tapeflow.dialects import ad
from tapeflow.loading import Kernel
from tapeflow.options import Options
from tapeflow.pipeline import RETURN, context, gradient_name, gradient_of, requested
from tapeflow.transforms.ad_prepare import AdPreparePass

STREAM = Options(layout="aos", spad_bytes=1024, buffers=3, stream=True)
LAYERS = Options(layout="aos", spad_bytes=512, buffers=2)
SOA = Options()

CHAINS = (
    ("differentiate", "streams"),
    ("plan", "layers"),
    ("differentiate", "soa"),
    ("plan", "streams"),
    ("differentiate", "layers"),
    ("differentiate", "plan", "soa", "aos", "layers", "streams"),
    ("aos", "streams"),
    ("differentiate", "plan"),
    ("soa", "layers"),
    ("plan", "aos"),
    ("soa", "streams"),
)
"""The stages that a batch compares, in turn: all of them in one of eleven."""


@dataclass(frozen=True)
class Printed:
    """A gradient in C, after a stage."""

    stage: str
    source: str
    header: str


@dataclass(frozen=True)
class Gradients:
    """The gradient of one kernel after every stage.

    Attributes:
        active: the arrays that have a tangent.
        shadows: those that have a shadow.
        left_out: those whose final values are not differentiated.
        printed: the C of the forward mode, "jvp", and of the gradient after each stage; with a batch also "jvps" and
            "batch": of the forward mode and of the last stage's gradient for several derivatives.
        modules: the IR that was printed, by stage.
    """

    active: tuple[str, ...]
    shadows: tuple[str, ...]
    left_out: tuple[str, ...]
    printed: tuple[Printed, ...]
    modules: dict[str, ModuleOp] = field(repr=False)


def compile_stages(
    kernel: Kernel, program: Program, stages: Sequence[str], verify: bool, keep_calls: bool = False
) -> Gradients:
    """Differentiate `kernel`, made of `program`, and print the gradient after every stage.

    Args:
        kernel: what a frontend made of the program.
        program: says what it is differentiated with respect to.
        stages: where C is printed.
        verify: whether the IR is verified after every stage, which takes as long as the passes.
        keep_calls: whether the functions of the program are differentiated as calls, instead of inlined.
    """
    written = {kernel.parameters[argument.index].name for argument in written_arguments(kernel.function)}
    active = tuple(
        p.name for p in kernel.parameters if p.is_array and p.is_float and (p.name in program.wrt or p.name in written)
    )
    left_out = tuple(name for name in active if name in program.left_out and name in written)
    outputs = {RETURN, *written} - {*left_out} if left_out else None
    module = requested(kernel, program.wrt, active, outputs=outputs)
    reverse = next(op for op in module.ops if isinstance(op, ad.VjpOp))
    marks = [mark.data for mark in reverse.arguments], [mark.data for mark in reverse.results_]
    moving = [mark if mark is ad.Activity.CONST else ad.Activity.ACTIVE for mark in marks[0]], marks[1]
    more: list[ad.DerivativeRequest] = [ad.JvpOp(jvp_name(kernel), kernel.name, *moving)]
    if program.members:
        more.append(ad.VjpOp(batch_name(kernel), kernel.name, *marks, program.members))
        more.append(ad.JvpOp(jvp_name(kernel, "s"), kernel.name, *moving, program.members))
    for request in more:
        request.location = reverse.location
        module.body.block.add_op(request)
    known = known_dialects()
    printed: list[Printed] = []
    modules: dict[str, ModuleOp] = {}
    for stage, (start, passes) in chain().items():
        if stage not in needed(stages):
            continue
        target = modules[start].clone() if start else module
        for a_pass in passes:
            if keep_calls and isinstance(a_pass, AdPreparePass):
                a_pass = AdPreparePass(inline_limit=0)
            a_pass.apply(known, target)
            if verify:
                target.verify()
        if stage == "differentiate":
            printed.append(take_forward(target, jvp_name(kernel), "jvp"))
            if program.members:
                printed.append(take_forward(target, jvp_name(kernel, "s"), "jvps"))
        modules[stage] = target
        if stage in stages:
            c = print_c(gradient_of(target, kernel), name=gradient_name(kernel))
            printed.append(Printed(stage, c.source, c.header))
    if program.members:
        c = print_c(function_of(modules[stages[-1]], batch_name(kernel)), name=batch_name(kernel))
        printed.append(Printed("batch", c.source, c.header))
    shadows = tuple(name for name in active if name in program.wrt or name not in left_out)
    return Gradients(active, shadows, left_out, tuple(printed), modules)


def jvp_name(kernel: Kernel, plural: str = "") -> str:
    """What the forward mode of `kernel` is called, along one tangent or, with an "s", along several."""
    return f"{kernel.name}_jvp{plural}"


def batch_name(kernel: Kernel) -> str:
    """What the gradient of `kernel` for several cotangents is called."""
    return f"{gradient_name(kernel)}s"


def function_of(module: ModuleOp, name: str) -> func.FuncOp:
    """A function by its name."""
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)


def take_forward(module: ModuleOp, name: str, stage: str) -> Printed:
    """A forward mode as C, taken out of `module`, for it has no tape that later stages could change."""
    function = function_of(module, name)
    c = print_c(function, name=name)
    function.detach()
    function.erase()
    return Printed(stage, c.source, c.header)


known_dialects = cache(context)


@cache
def chain() -> Mapping[str, tuple[str, Sequence[ModulePass]]]:
    """The stages in order: for each the stage it starts from (none: the import), and its passes."""
    prepare, differentiate, plan, soa = SOA.passes()
    aos, layers, streams = STREAM.passes()[3:]
    return {
        "differentiate": ("", [prepare, differentiate]),
        "plan": ("differentiate", [plan]),
        "soa": ("plan", [soa]),
        "aos": ("plan", [aos]),
        "layers": ("aos", [LAYERS.passes()[4]]),
        "streams": ("aos", [layers, streams]),
    }


def needed(stages: Sequence[str]) -> frozenset[str]:
    """`stages` and those they start from."""
    starts = {chain()[stage][0] for stage in stages} - {""}
    return frozenset(stages) | (needed(tuple(starts)) if starts else frozenset())

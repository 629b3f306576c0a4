"""The road from an imported kernel to its gradient in C: the request for it, and the passes that grant it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.universe import Universe

from tapeflow.analysis.activity import varied_arrays
from tapeflow.analysis.complex_pairs import is_complex
from tapeflow.analysis.roots import written_arguments
from tapeflow.arguments import Parameter
from tapeflow.backend.c_printer import print_c
from tapeflow.backend.printed import PrintedC
from tapeflow.dialects import ad
from tapeflow.dialects.ad import has_derivative
from tapeflow.errors import TapeflowError
from tapeflow.loading import Kernel
from tapeflow.options import STAGES, Options

RETURN = "return"
"""What seeds and outputs call the return value."""


class Mode(StrEnum):
    """Which derivative of a kernel is made; the value is what its name ends with."""

    GRADIENT = "grad"
    """Reverse mode."""

    JVP = "jvp"
    """Forward mode."""

    HVP = "hvp"
    """Forward over reverse: the gradient and its tangents."""


@dataclass(frozen=True)
class Compiled:
    """A gradient, or another derivative, in every form it has before it is machine code.

    Attributes:
        kernel: that was differentiated.
        wrt: the parameters it is differentiated with respect to, in source order.
        options: that chose the passes.
        last_stage: the stage that was printed as C.
        written: the array parameters that the kernel writes.
        active: the array parameters that carry derivatives: those of `wrt`, and those that the kernel writes what
            depends on `wrt` to.
        constant: the array parameters of floating-point numbers that the kernel writes, but nothing that depends on
            `wrt` to: they have no shadow, as their cotangents add nothing to a gradient and their tangents are zero.
        outputs: what is differentiated, arrays by name and "return"; None for all that the kernel writes or returns.
        recording: the gradient before layers are formed.
        final: the gradient as it was printed.
        printed: the gradient as C.
        mode: which derivative it is.
        batch: how many cotangents, or tangents in forward mode, it takes at once; None for one alone.
    """

    kernel: Kernel
    wrt: tuple[str, ...]
    options: Options
    last_stage: str
    written: frozenset[str]
    active: tuple[str, ...]
    constant: tuple[str, ...]
    recording: func.FuncOp
    final: func.FuncOp
    printed: PrintedC
    mode: Mode = Mode.GRADIENT
    batch: int | None = None
    outputs: frozenset[str] | None = None

    @property
    def named_outputs(self) -> tuple[str, ...] | None:
        """What it was told to differentiate: arrays in source order, then "return"; None of all outputs."""
        named = self.outputs
        if named is None:
            return None
        names = (*(parameter.name for parameter in self.kernel.parameters), RETURN)
        return tuple(name for name in names if name in named)

    @property
    def shadowed(self) -> tuple[str, ...]:
        """The array parameters that reverse mode takes a shadow of: the active ones but those only worked in."""
        outputs = self.outputs
        return tuple(name for name in self.active if outputs is None or name in outputs or name in self.wrt)

    @property
    def name(self) -> str:
        """Of the function."""
        return gradient_name(self.kernel, self.mode, self.batch)

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages it went through."""
        return STAGES[: STAGES.index(self.last_stage) + 1]

    def ir(self, stage: str) -> str:
        """The IR after `stage`, as MLIR text that `tapeflow-opt` reads.

        Raises:
            ValueError: it did not go through that stage.
        """
        if stage not in self.stages:
            raise ValueError(f"no stage '{stage}' here: the stages are {', '.join(self.stages)}")
        module = requested(self.kernel, self.wrt, self.active, self.mode, self.batch, self.outputs)
        run_passes(module, self.options.passes()[: STAGES.index(stage)])
        return ir_text(module)


def compile_gradient(
    kernel: Kernel,
    wrt: Sequence[str],
    options: Options,
    last_stage: str | None = None,
    mode: Mode = Mode.GRADIENT,
    batch: int | None = None,
    outputs: Sequence[str] | None = None,
) -> Compiled:
    """Differentiate `kernel` and print the result as C.

    Args:
        kernel: to differentiate; it is not changed.
        wrt: names of its parameters.
        options: what to do with the tape.
        last_stage: where to stop, from "differentiate" on; at the end of `options` by default.
        mode: which derivative to make.
        batch: of how many cotangents, or tangents in forward mode, at once.
        outputs: names of arrays that the kernel writes, and "return"; all of them if None. Of forward mode all.

    Raises:
        TapeflowError: `batch` is out of range, `wrt` or `outputs` does not fit the kernel, or the kernel cannot be
            differentiated.
    """
    check_batch(batch)
    chosen = check_wrt(kernel, wrt)
    written = written_arrays(kernel)
    of = None if outputs is None else check_outputs(kernel, outputs)
    derived = tuple(
        p.name for p in kernel.parameters if p.is_array and p.is_float and (p.name in chosen or p.name in written)
    )
    stages = options.stages if last_stage is None else options.stages[: options.stages.index(last_stage) + 1]
    prepare, *passes = options.passes()[: len(stages) - 1]
    unlayered = [a_pass for stage, a_pass in zip(stages[2:], passes, strict=True) if stage not in ("layers", "streams")]
    module = requested(kernel, chosen, derived, mode, batch, of)
    apply_passes(module, [prepare])
    active = _active_arrays(module, kernel, chosen, derived)
    if active != derived:
        _request(module, kernel, chosen, active, mode, batch, of)
    run_passes(module, unlayered)
    recording = module
    if len(unlayered) < len(passes):
        recording = module.clone()
        run_passes(module, passes[len(unlayered) :])
    name = gradient_name(kernel, mode, batch)
    final = _function(module, name)
    return Compiled(
        kernel,
        chosen,
        options,
        stages[-1],
        written,
        active,
        tuple(name for name in derived if name not in active),
        _function(recording, name),
        final,
        print_c(final, name=name),
        mode,
        batch,
        of,
    )


def check_batch(batch: int | None) -> None:
    """Refuse a batch that has no member, or too many.

    Raises:
        TapeflowError: it does.
    """
    if batch is not None and (type(batch) is not int or not 1 <= batch <= ad.MOST_MEMBERS):
        raise TapeflowError(
            f"batch={batch!r}: a batch has 1 to {ad.MOST_MEMBERS} members, a whole number",
            hint="each member has code of its own; go through more cotangents or tangents by several calls",
        )


def refuse_other_than_names(option: str, given: object) -> None:
    """Refuse what is given for `option` if it is no collection of names.

    Raises:
        TapeflowError: it is a single name, or something else.
    """
    if isinstance(given, str):
        raise TapeflowError(f"{option} is a list of names: ['{given}'], not '{given}'")
    if not isinstance(given, Collection):
        raise TapeflowError(f"{option} is a list of names, not {given!r}")


def check_wrt(kernel: Kernel, wrt: Sequence[str]) -> tuple[str, ...]:
    """The names in `wrt`, in source order, if each is a parameter that can be differentiated.

    Raises:
        TapeflowError: a name is unknown, twice there, or not of floating-point numbers; or there is none.
    """
    refuse_other_than_names("wrt", wrt)
    by_name = {parameter.name: parameter for parameter in kernel.parameters}
    wrt = _without_structs(kernel, wrt)
    candidates = ", ".join(name for name, parameter in by_name.items() if parameter.is_float)
    hint = f"these can be differentiated: {candidates}" if candidates else None
    if not wrt:
        raise TapeflowError(f"wrt is empty: {kernel.name} is to be differentiated with respect to nothing", hint=hint)
    for name in wrt:
        if name not in by_name:
            raise TapeflowError(f"wrt: {kernel.name} has no parameter '{name}'", hint=hint)
        if not by_name[name].is_float:
            raise TapeflowError(
                f"wrt: '{by_name[name]}' has no derivative, its numbers are not floating-point",
                location=by_name[name].location,
                hint=hint,
            )
        if list(wrt).count(name) > 1:
            raise TapeflowError(f"wrt: '{name}' is there twice")
    return tuple(name for name in by_name if name in wrt)


def written_arrays(kernel: Kernel) -> frozenset[str]:
    """The names of the array parameters that `kernel` writes."""
    return frozenset(kernel.parameters[argument.index].name for argument in written_arguments(kernel.function))


def check_outputs(kernel: Kernel, outputs: Sequence[str]) -> frozenset[str]:
    """The names in `outputs`, if each is of an array that `kernel` writes, or "return" for what it returns.

    Raises:
        TapeflowError: a name is unknown, twice there, or not of an output of floating-point numbers; or there is none.
    """
    refuse_other_than_names("outputs", outputs)
    by_name, written = {parameter.name: parameter for parameter in kernel.parameters}, written_arrays(kernel)
    known = [RETURN] if any(map(has_derivative, kernel.function.function_type.outputs)) else []
    known += [name for name, parameter in by_name.items() if parameter.is_float and name in written]
    hint = f"its outputs are: {', '.join(known)}" if known else "it returns and writes no floating-point numbers"
    names = _without_structs(kernel, outputs)
    if not names:
        raise TapeflowError(f"outputs is empty: nothing of {kernel.name} is to be differentiated", hint=hint)
    for name in names:
        if name not in known:
            place = by_name[name].location if name in by_name else kernel.function.location
            reason = f"{kernel.name} has no output '{name}'"
            if name in by_name:
                parameter = by_name[name]
                reason = f"'{parameter}' is no output of {kernel.name}, which does not write it"
                if name in written:
                    reason = f"'{parameter}' has no derivative, its numbers are not floating-point"
            elif name == RETURN:
                reason = f"{kernel.name} returns no floating-point number"
            raise TapeflowError(f"outputs: {reason}", location=place, hint=hint)
        if names.count(name) > 1:
            raise TapeflowError(f"outputs: '{name}' is there twice")
    return frozenset(names)


def _without_structs(kernel: Kernel, given: Sequence[str]) -> list[str]:
    """The names `given` with the floats of structs of several types instead of the structs' own names."""
    names: list[str] = []
    for name in given:
        parts = [it.name for it in kernel.parameters if it.source == name != it.name and it.is_float]
        names += parts or [name]
    return names


def gradient_name(kernel: Kernel, mode: Mode = Mode.GRADIENT, batch: int | None = None) -> str:
    """What the gradient, or another derivative, of `kernel` is called."""
    name = f"{kernel.name}_{mode.value}"
    return name if batch is None else f"{name}_{batch}"


def gradient_of(module: ModuleOp, kernel: Kernel, mode: Mode = Mode.GRADIENT) -> func.FuncOp:
    """The gradient, or another derivative, of `kernel` in `module`, after differentiation."""
    return _function(module, gradient_name(kernel, mode))


def _function(module: ModuleOp, name: str) -> func.FuncOp:
    return next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)


def requested(
    kernel: Kernel,
    wrt: Collection[str],
    arrays: Collection[str],
    mode: Mode = Mode.GRADIENT,
    batch: int | None = None,
    outputs: Set[str] | None = None,
) -> ModuleOp:
    """The kernel's module with the request for its derivative: the returned float, `wrt` and `arrays` are active.

    With `outputs` the returned float is if "return" is among them, and the final values of arrays only if they are.

    Requests that were in the module are left out; nobody asked for them here.

    Raises:
        TapeflowError: the module has something else of the gradient's name.
    """
    module = kernel.module.clone()
    _request(module, kernel, wrt, arrays, mode, batch, outputs)
    return module


def _request(
    module: ModuleOp,
    kernel: Kernel,
    wrt: Collection[str],
    arrays: Collection[str],
    mode: Mode,
    batch: int | None,
    outputs: Set[str] | None,
) -> None:
    """Put into `module`, instead of its requests, that for the derivative of `kernel`; see `requested`."""
    made = {gradient_name(kernel, mode, batch), *((gradient_name(kernel),) if mode is Mode.HVP else ())}
    for op in list(module.ops):
        if isinstance(op, ad.DerivativeRequest):
            op.detach()
            op.erase()
        elif isinstance(op, func.FuncOp) and op.sym_name.data in made:
            raise TapeflowError(
                f"'{op.sym_name.data}' is there already, and would be a derivative of '{kernel.name}'",
                location=op.location,
                hint="rename it",
            )
    arguments = [_mark_of(parameter, wrt, arrays, outputs) for parameter in kernel.parameters]
    returned = outputs is None or RETURN in outputs
    results = [_mark(returned and has_derivative(type_)) for type_ in kernel.function.function_type.outputs]
    for request in _requests(kernel, mode, arguments, results, batch):
        request.location = kernel.function.location
        module.body.block.add_op(request)


def _active_arrays(module: ModuleOp, kernel: Kernel, wrt: Collection[str], arrays: Sequence[str]) -> tuple[str, ...]:
    """Those of the array parameters `arrays` that carry derivatives by `wrt`; `module` is prepared."""
    function = _function(module, kernel.name)
    parts = dict(parts_of(kernel, function))
    varied = varied_arrays(
        function, (part for parameter in parts if parameter.name in wrt for part in parts[parameter])
    )
    reached = {parameter.name for parameter in parts if not varied.isdisjoint(parts[parameter])}
    return tuple(name for name in arrays if name in wrt or name in reached)


def parts_of(kernel: Kernel, prepared: func.FuncOp) -> Iterator[tuple[Parameter, Sequence[BlockArgument]]]:
    """Each parameter of `kernel` with the arguments that it is once prepared: a complex number is two."""
    arguments = iter(prepared.args)
    for parameter in kernel.parameters:
        count = 2 if is_complex(parameter.type) and not parameter.is_array else 1
        yield parameter, [next(arguments) for _ in range(count)]


def _requests(
    kernel: Kernel,
    mode: Mode,
    arguments: Sequence[ad.Activity],
    results: Sequence[ad.Activity],
    batch: int | None,
) -> Iterator[ad.DerivativeRequest]:
    name = gradient_name(kernel, mode, batch)
    if mode is Mode.JVP:
        yield ad.JvpOp(name, kernel.name, arguments, results, batch)
    if mode is Mode.GRADIENT:
        yield ad.VjpOp(name, kernel.name, arguments, results, batch)
    if mode is Mode.HVP:
        gradient = gradient_name(kernel)
        yield ad.VjpOp(gradient, kernel.name, arguments, results)
        # Of the gradient's own arguments the seeds are held fixed; of its results only the adjoints have tangents.
        derived = [p for p, mark in zip(kernel.parameters, arguments, strict=True) if mark in _WITH_ADJOINT]
        # Arrays that are only worked in have tangents too.
        active = [_mark(mark is not ad.Activity.CONST) for mark in arguments]
        seeds = [ad.Activity.CONST for mark in results if mark is ad.Activity.ACTIVE]
        shadows = [ad.Activity.ACTIVE for parameter in derived if parameter.is_array]
        adjoints = [ad.Activity.ACTIVE for parameter in derived if not parameter.is_array]
        primal = [ad.Activity.CONST for _ in results]
        yield ad.JvpOp(name, gradient, [*active, *seeds, *shadows], [*primal, *adjoints], batch)


_WITH_ADJOINT = (ad.Activity.ACTIVE, ad.Activity.INPUT)


def _mark(active: bool) -> ad.Activity:
    return ad.Activity.ACTIVE if active else ad.Activity.CONST


def _mark_of(
    parameter: Parameter, wrt: Collection[str], arrays: Collection[str], outputs: Set[str] | None
) -> ad.Activity:
    name = parameter.name
    if name not in wrt and name not in arrays:
        return ad.Activity.CONST
    if outputs is None or not parameter.is_array or name in outputs:
        return ad.Activity.ACTIVE
    return ad.Activity.INPUT if name in wrt else ad.Activity.SCRATCH


def context() -> Context:
    """A context that knows every dialect there is, ours among them."""
    known = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        known.register_dialect(name, factory)
    return known


def apply_passes(module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Run `passes` on `module`, in place."""
    known = context()
    for a_pass in passes:
        a_pass.apply(known, module)


def run_passes(module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Run `passes` on `module`, in place, and verify what the last leaves; tests verify what each does."""
    apply_passes(module, passes)
    module.verify()


def ir_text(module: ModuleOp) -> str:
    """`module` as MLIR text, one that `tapeflow-opt` reads back."""
    text = StringIO()
    Printer(text).print_op(module)
    return text.getvalue().rstrip("\n") + "\n"
